"""Calls of verbs: in whose name, out of which catalogue, and under which row of the audit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbar.access import Caller, Guarded, Neighbours, local_caller
from sandbar.audit import Journal, Note, accompanied
from sandbar.codecs import Codecs
from sandbar.database.family import Family
from sandbar.database.offers import Offer, WorkspaceCatalogue
from sandbar.errors import Incorrect, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.model import Workspace
from sandbar.packs import PackReport, Progress
from sandbar.patience import limit
from sandbar.projects import Source
from sandbar.verbs import AS_ZIP, Begun, Call, Permission, Started, Tasks, dispatch, explain
from sandbar.workflow import Workflows

_TASKS = Permission("task", "task.get", "read")
_METHOD = "call"  # what the audit calls a call that came by no protocol


class Calls(ABC):
    """One workspace, as it is asked for things by name."""

    workspace_name: str
    catalogue: WorkspaceCatalogue
    _principal: str
    _family: Family[Any]

    @property
    @abstractmethod
    def workspace(self) -> Workspace:
        """The workspace itself, for the services of the house."""

    @property
    @abstractmethod
    def workflows(self) -> Workflows:
        """The workflows of this workspace and their processes."""

    @property
    @abstractmethod
    def offer(self) -> Offer:
        """The verbs and the packs of this workspace, as they are now."""

    @abstractmethod
    def guarded(self, caller: Caller, permission: Permission | None = None) -> Guarded:
        """The workspace as this caller may see and change it, under a permission or without."""

    @abstractmethod
    def load_pack(self, pack: str | Path, *, progress: Progress | None = None) -> PackReport:
        """Load a pack into the workspace."""

    @property
    def journal(self) -> Journal:
        """The audit of this database."""
        return self._family.journal

    @property
    def neighbours(self) -> Neighbours:
        """The workspaces of the same database, for those who see to them."""
        return self._family.neighbours

    @property
    def codecs(self) -> Codecs:
        """The formats of documents in this workspace."""
        return self.offer.codecs

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the packs of this workspace can import."""
        return self.offer.code.sources

    @property
    def projects(self) -> Path | None:
        """The folder that callers from outside may export to, and import from."""
        return self._family.projects

    def count_streams(self, workspace: str) -> int:
        """How many streams of a workspace are open at this server."""
        return self._family.count_streams(workspace)

    def call(self, verb: str, arguments: dict[str, Any] | None = None, /, **more: Any) -> Any:
        """Call a verb by its name, as any door would; see `docs/reference/verbs.md`."""
        _check_call(verb, arguments)
        caller = local_caller(self.workspace_name, self._principal, is_at_machine=True)
        return self.perform(Call(caller, verb, {**(arguments or {}), **more}))

    def call_as(self, caller: Caller, verb: str, arguments: dict[str, Any]) -> Any:
        """Call a verb in the name of a caller of this workspace."""
        return self.perform(Call(caller, verb, arguments))

    def call_later(self, caller: Caller, verb: str, arguments: dict[str, Any]) -> Started:
        """Call a verb in the background; its task says what came of it."""
        started: Started = self.perform(Call(caller, verb, arguments, is_later=True))
        return started

    def perform(self, call: Call) -> Any:
        """Answer a call: the one turnstile of every door.

        A door that brings a note of the audit settles it; else that is done here.
        """
        if call.note is not None:
            return dispatch(self, call, call.note)
        caller, surface, request_id = call.caller, call.surface, call.request_id
        note = self.note(caller, surface=surface, method=_METHOD, request_id=request_id)
        try:
            return dispatch(self, call, note)
        except BaseException as error:
            _failed(note, error)
            raise
        finally:
            self._settle(note)

    def begin(self, call: Call) -> Begun | None:
        """Begin a point write on an event loop; None: it may take a while, so `perform` it.

        The door brings the verb and the note, and has what goes wrong `explained`.
        """
        assert call.note is not None, "nobody else would settle it"
        begun: Begun | None = dispatch(self, call, call.note, is_on_loop=True)
        return begun

    def explained(self, call: Call, error: BaseException) -> Problem:
        """What to raise for what went wrong with it; may take a while."""
        return explain(self, call, error)

    def exported(self, caller: Caller, cls: str | None, note: Note | None = None) -> bytes:
        """The zip that `project.export` names, of all or of one class, as a caller sees it."""
        given = {} if cls is None else {"classes": [cls]}
        call = Call(caller, AS_ZIP.name, given, AS_ZIP, note=note, names_row=note is None)
        zipped: bytes = self.perform(call)
        return zipped

    def tasks(self, caller: Caller) -> Tasks:
        """The tasks of a caller of this workspace."""
        return Tasks(self.workflows, self.guarded(caller, _TASKS))

    def note(
        self,
        caller: Caller,
        *,
        surface: str,
        method: str,
        verb: str | None = None,
        request_id: str | None = None,
    ) -> Note:
        """A row of the audit to be: what this caller has asked for."""
        if caller.key_id is not None:
            self.journal.used(self.workspace.number, caller.key_id)
        return self.journal.open(
            self.workspace.number,
            caller.principal,
            key=caller.key,
            surface=surface,
            method=method,
            verb=verb,
            request_id=request_id,
        )

    def take_token(self, caller: Caller) -> float:
        """How many seconds the caller has to wait before it may ask; 0.0: it may, and has."""
        return self._family.take_token(self.workspace.number, caller)

    @contextmanager
    def recorded(self, what: str, *, surface: str) -> Iterator[None]:
        """Have a row in the audit for work that no verb does."""
        caller = local_caller(self.workspace_name, self._principal)
        note = self.note(caller, surface=surface, method=_METHOD, verb=what)
        try:
            with accompanied(note):
                yield
        except BaseException as error:
            _failed(note, error)
            raise
        finally:
            self._settle(note)

    def _settle(self, note: Note) -> None:
        """Keep the row at the end; whoever has opened the file reads on without if need be."""
        outer = limit(None)  # the caller's patience may have ended, and ours has not
        try:
            self.journal.settle(note)
        except Unavailable as problem:
            log_fault("audit.unavailable", problem)
        finally:
            limit(outer)


def _failed(note: Note, error: BaseException) -> None:
    note.is_success = False
    note.code = error.code if isinstance(error, Problem) else "call.interrupted"


def _check_call(verb: object, arguments: object) -> None:
    """Whoever calls from Python may give anything."""
    if not isinstance(verb, str) or not isinstance(arguments, Mapping | None):
        raise Incorrect(
            "arguments.invalid",
            "a call is the name of a verb and an object of arguments",
            hint='for example "entity.find", {"entity": "dt/Class"}',
        )
