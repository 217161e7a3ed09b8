"""What a verb is given besides its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sandbar.access import Guarded, Neighbours
from sandbar.audit import Journal, Note
from sandbar.codecs import Codecs, base_codecs
from sandbar.projects import Source
from sandbar.verbs.catalogue import Catalogue
from sandbar.verbs.conversation import Conversation
from sandbar.verbs.tasks import Started, Tasks
from sandbar.workflow import Workflows


class Context(msgspec.Struct, frozen=True):
    """The workspace as the caller may see it, and the door's side of the call."""

    db: Guarded
    catalogue: Catalogue
    surface: str = "library"  # library, cli, mcp, …
    request_id: str | None = None
    conversation: Conversation | None = None
    engine: Workflows | None = None
    neighbours: Neighbours | None = None  # the workspaces of the same database
    note: Note | None = None  # the call's row in the audit
    audit: Journal | None = None
    codecs_of: Callable[[], Codecs] = base_codecs  # of the packs, too; looked at if need be
    pack_sources: Callable[[], tuple[Source, ...]] = tuple  # what packs can import
    projects: Path | None = None  # the folder that callers from outside are kept to
    count_streams: Callable[[str], int] = lambda workspace: 0  # that are open at this server

    @property
    def workflows(self) -> Workflows:
        """The workflows of the workspace."""
        assert self.engine is not None, "this context was made without workflows"
        return self.engine

    @property
    def journal(self) -> Journal:
        """The audit of the database."""
        assert self.audit is not None, "this context was made without an audit"
        return self.audit

    @property
    def codecs(self) -> Codecs:
        """The formats of documents."""
        return self.codecs_of()

    @property
    def tasks(self) -> Tasks:
        """The caller's tasks."""
        return Tasks(self.workflows, self.db)

    def named(self, entity: Any) -> Any:
        """An entity as somebody names it: the handle of a task is the name of its process."""
        is_maybe = self.engine is not None and isinstance(entity, str) and entity[:1].isdigit()
        if is_maybe and self.workflows.handles.parsed(entity) is not None:
            return self.tasks.find(entity).process_id
        return entity

    def start_task(self, workflow: str, subject: Any, data: Mapping[str, Any]) -> Started:
        """Begin a process in the caller's name: what a verb of a pack answers with."""
        return self.tasks.started(self.tasks.start(workflow, subject, data))

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the caller how far the work has come, if somebody listens."""
        if self.conversation is not None:
            self.conversation.progress(done, total, message)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Tell the caller what is going on, if somebody listens."""
        if self.conversation is not None:
            self.conversation.log(level, data, logger)
