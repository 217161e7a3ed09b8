"""What a verb is given besides its arguments."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.access import Guarded
from sandbar.verbs.catalogue import Catalogue
from sandbar.verbs.conversation import Conversation


class Context(msgspec.Struct, frozen=True):
    """The workspace as the caller may see it, and the door's side of the call."""

    db: Guarded
    catalogue: Catalogue
    surface: str = "library"  # library, cli, mcp, …
    request_id: str | None = None
    conversation: Conversation | None = None

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the caller how far the work has come, if somebody listens."""
        if self.conversation is not None:
            self.conversation.progress(done, total, message)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Tell the caller what is going on, if somebody listens."""
        if self.conversation is not None:
            self.conversation.log(level, data, logger)
