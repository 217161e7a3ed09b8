"""Calls of verbs: in whose name, out of which catalogue, and under which row of the audit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sandbar.access import Caller, Guarded, Neighbours, local_caller
from sandbar.audit import Journal, Note, accompanied
from sandbar.database.family import Family
from sandbar.database.offers import Offer
from sandbar.errors import Forbidden, Incorrect, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.model import Workspace
from sandbar.patience import limited
from sandbar.verbs import (
    Context,
    Conversation,
    Started,
    Tasks,
    Verb,
    base_catalogue,
    dispatch,
    dispatch_again,
    dispatch_later,
    zipped,
)
from sandbar.workflow import Workflows

_CLASS_TOOLS = "entity.create"  # what the tool of a class is another spelling of
_TASKS = "task.get"  # and what the methods of tasks are
_EXPORT = "project.export"
_METHOD = "call"  # what the audit calls a call that came by no protocol


class Calls(ABC):
    """One workspace, as it is asked for things by name."""

    workspace_name: str
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
    def guarded(self, caller: Caller, verb: Verb | None = None) -> Guarded:
        """The workspace as this caller may see and change it, by a verb or without."""

    @property
    def journal(self) -> Journal:
        """The audit of this database."""
        return self._family.journal

    @property
    def neighbours(self) -> Neighbours:
        """The workspaces of the same database, for those who see to them."""
        return self._family.neighbours

    def call(self, verb: str, arguments: dict[str, Any] | None = None, /, **more: Any) -> Any:
        """Call a verb by its name, as any door would; see `docs/reference/verbs.md`."""
        _check_call(verb, arguments)
        caller = local_caller(self.workspace_name, self._principal)
        return self.call_as(caller, verb, {**(arguments or {}), **more})

    def call_as(
        self,
        caller: Caller,
        verb: str,
        arguments: dict[str, Any],
        *,
        surface: str = "library",
        request_id: str | None = None,
        conversation: Conversation | None = None,
        note: Note | None = None,
    ) -> Any:
        """Call a verb in the name of a caller of this workspace.

        Whoever brings a note of the audit settles it; else that is done here.
        """
        context = self._context(caller, verb, surface, request_id, conversation, note)
        if note is not None:
            return dispatch(context, verb, arguments)
        return self._recorded(context, lambda: dispatch(context, verb, arguments))

    def call_later(
        self, caller: Caller, verb: str, arguments: dict[str, Any], note: Note | None = None
    ) -> Started:
        """Call a verb in the background; its task says what came of it."""
        context = self._context(caller, verb, note=note)
        if note is not None:
            return dispatch_later(context, verb, arguments)
        started: Started = self._recorded(context, lambda: dispatch_later(context, verb, arguments))
        return started

    def exported(self, caller: Caller, cls: str | None) -> bytes:
        """The zip that `project.export` names, of everything or of one class, as a caller sees it.

        Whoever asks has a row in the audit for it.
        """
        verb = base_catalogue().find(_EXPORT)
        assert verb is not None
        if not verb.may_be_called_by(caller):
            raise Forbidden(
                "verb.forbidden", f"this key may not call {_EXPORT}", hint="use another key"
            )
        context = Context(
            self.guarded(caller, verb), base_catalogue(), codecs_of=lambda: self.offer.codecs
        )
        return zipped(context, cls)

    def tasks(self, caller: Caller) -> Tasks:
        """The tasks of a caller of this workspace."""
        return Tasks(self.workflows, self.guarded(caller, base_catalogue().find(_TASKS)))

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

    def _call_in_background(
        self,
        caller: Caller,
        verb: str,
        arguments: dict[str, Any],
        key: str,
        conversation: Conversation,
    ) -> Any:
        context = self._context(caller, verb, "task", conversation=conversation)
        return self._recorded(context, lambda: dispatch_again(context, verb, arguments, key))

    def _context(
        self,
        caller: Caller,
        verb: str,
        surface: str = "library",
        request_id: str | None = None,
        conversation: Conversation | None = None,
        note: Note | None = None,
    ) -> Context:
        # Only what is not ours needs a look at the packs of this workspace; and whoever hands out
        # keys may narrow them to the verbs of packs.
        base = base_catalogue()
        known = base.find(verb)
        is_ours = known is not None and not known.is_housekeeping
        catalogue = base if is_ours else self.offer.catalogue
        known = known or catalogue.find(verb)
        if note is None:
            note = self.note(caller, surface=surface, method=_METHOD, request_id=request_id)
        return Context(
            self.guarded(caller, known or base.find(_CLASS_TOOLS)),
            catalogue,
            surface,
            request_id,
            conversation,
            self.workflows,
            self._family.neighbours,
            note,
            self.journal,
            lambda: self.offer.codecs,
            lambda: self.offer.code.sources,
            self._family.projects,
            self._family.count_streams,
        )

    @contextmanager
    def recorded(self, what: str, *, surface: str) -> Iterator[None]:
        """Have a row in the audit for work that no verb does, such as adding an account."""
        caller = local_caller(self.workspace_name, self._principal)
        note = self.note(caller, surface=surface, method=_METHOD, verb=what)
        with self._settled(note), accompanied(note):
            yield

    def _recorded(self, context: Context, call: Callable[[], Any]) -> Any:
        assert context.note is not None
        with self._settled(context.note):
            return call()

    @contextmanager
    def _settled(self, note: Note) -> Iterator[None]:
        """Keep the row at the end; whoever has opened the file reads on without if need be."""
        try:
            yield
        except BaseException as error:
            note.is_success = False
            note.code = error.code if isinstance(error, Problem) else "call.interrupted"
            raise
        finally:
            try:
                with limited(None):  # the caller's patience may have ended, and ours has not
                    self.journal.settle(note)
            except Unavailable as problem:
                log_fault("audit.unavailable", problem)


def _check_call(verb: object, arguments: object) -> None:
    """Whoever calls from Python may give anything."""
    if not isinstance(verb, str) or not isinstance(arguments, Mapping | None):
        raise Incorrect(
            "arguments.invalid",
            "a call is the name of a verb and an object of arguments",
            hint='for example "entity.find", {"entity": "dt/Class"}',
        )
