"""What a running verb may say to its client, and ask: each door brings its own channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sandbar.errors import Unsupported
from sandbar.workflow import Question, Reply


class Channel(Protocol):
    """The door's side of a running call. Methods may be called from worker threads."""

    @property
    def native(self) -> Any:
        """What else the door can do, in words of its own: for packs that are made for one door.

        None if there is nothing. Such a pack answers with `Verbatim`.
        """

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the work has come."""

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Tell what is going on."""

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | None:
        """What the client's user says to each question; refused if nobody can be asked.

        None: the result has to ask (`NeedsInput`), and the client will make the call once more.
        """


def nobody_to_ask() -> Unsupported:
    """The refusal of a verb that asks where nobody can answer."""
    return Unsupported(
        "client.capability-missing",
        "this asks a question, and nobody can be asked here",
        hint="call it from a client that shows its user forms",
    )
