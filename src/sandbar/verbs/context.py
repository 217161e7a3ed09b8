"""What a verb is given besides its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from sandbar.access import Caller, Guarded, Neighbours
from sandbar.audit import Journal
from sandbar.codecs import Codecs
from sandbar.model import Written
from sandbar.projects import Source
from sandbar.verbs.calls import Call
from sandbar.verbs.catalogue import Permission, Verbs
from sandbar.verbs.channel import Channel, nobody_to_ask
from sandbar.verbs.content import NeedsInput
from sandbar.verbs.tasks import Started, Tasks
from sandbar.workflow import Question, Reply, Workflows


class Services(Protocol):
    """What a workspace has to offer to its verbs; nothing of it is looked up before it is used."""

    @property
    def catalogue(self) -> Verbs:
        """The verbs of this workspace."""

    @property
    def workflows(self) -> Workflows:
        """The workflows of this workspace and their processes."""

    @property
    def neighbours(self) -> Neighbours:
        """The workspaces of the same database."""

    @property
    def journal(self) -> Journal:
        """The audit of the database."""

    @property
    def codecs(self) -> Codecs:
        """The formats of documents, those of packs too."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """What packs can import."""

    @property
    def projects(self) -> Path | None:
        """The folder that callers from outside are kept to."""

    def guarded(self, caller: Caller, permission: Permission | None = None) -> Guarded:
        """The workspace as a caller may see and change it, under a permission or without."""

    def load_pack(self, pack: str, *, progress: Callable[[int, int], None]) -> Any:
        """Bring what a pack has into the workspace."""

    def count_streams(self, workspace: str) -> int:
        """How many streams of a workspace are open at this server."""


class Write(msgspec.Struct, frozen=True):
    """What a verb answers that has something to write: a transaction, and what comes of it.

    The turnstile waits for the commit, or is called back: a verb need not know.
    """

    operations: Sequence[Any]
    reason: str | None
    idempotency_key: str | None
    answer: Callable[[Written], Any]


class TakesLongError(Exception):
    """Raised on an event loop by what does not belong there: the call is made again in a thread."""


class Context(msgspec.Struct, frozen=True):
    """A call, the workspace as its caller may see it, and what the workspace has to offer."""

    call: Call
    db: Guarded
    services: Services
    is_on_loop: bool = False  # nothing may block

    def take_time(self) -> None:
        """Say that what follows may take a while."""
        if self.is_on_loop:
            raise TakesLongError

    @property
    def channel(self) -> Channel | None:
        """The way to the client of the call, if there is one."""
        return self.call.channel

    @property
    def workflows(self) -> Workflows:
        """The workflows of the workspace."""
        return self.services.workflows

    @property
    def tasks(self) -> Tasks:
        """The caller's tasks."""
        return Tasks(self.services.workflows, self.db)

    def named(self, entity: Any) -> Any:
        """An entity as somebody names it: the handle of a task is the name of its process."""
        is_maybe = isinstance(entity, str) and entity[:1].isdigit()
        if is_maybe and self.workflows.handles.parsed(entity) is not None:
            return self.tasks.find(entity).process_id
        return entity

    def start_task(self, workflow: str, subject: Any, data: Mapping[str, Any]) -> Started:
        """Begin a process in the caller's name: what a verb of a pack answers with."""
        return self.tasks.started(self.tasks.start(workflow, subject, data))

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the caller how far the work has come, if somebody listens."""
        if self.call.channel is not None:
            self.call.channel.progress(done, total, message)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Tell the caller what is going on, if somebody listens."""
        if self.call.channel is not None:
            self.call.channel.log(level, data, logger)

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | NeedsInput:
        """What the caller's user says to each question, or what the verb answers to get it."""
        channel = self.call.channel
        if channel is None:
            raise nobody_to_ask()
        replies = channel.ask(questions)
        return NeedsInput(dict(questions)) if replies is None else replies
