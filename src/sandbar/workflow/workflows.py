"""The workflows of a workspace: defining them, starting processes and moving them on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import msgspec

from sandbar.errors import Conflict
from sandbar.model import Entity, Workspace
from sandbar.workflow import metamodel as mm
from sandbar.workflow.acting import Acting, Authority, named
from sandbar.workflow.answerers import may_answer, refuse_skipping
from sandbar.workflow.answering import Reply, answered
from sandbar.workflow.built_in import built_in_workflows, internal_workflow, refuse_own_activities
from sandbar.workflow.cancelling import not_cancelled, way_to_cancel
from sandbar.workflow.conditions import Act
from sandbar.workflow.defining import Admit, Defined, Defining
from sandbar.workflow.handlers import Handlers
from sandbar.workflow.handles import Handles
from sandbar.workflow.lacking import lacking
from sandbar.workflow.looking import Looking
from sandbar.workflow.machines import Machine
from sandbar.workflow.moves import Moves
from sandbar.workflow.pausing import go_on, rest
from sandbar.workflow.possible import Ways, refuse_internal, ways_on
from sandbar.workflow.records import Record, Records, view_of, views_of
from sandbar.workflow.specs import read_spec
from sandbar.workflow.starting import Starting
from sandbar.workflow.views import HistoryRow, ProcessView, Stats


class Workflows:
    """All that can be done with the workflows of one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        handlers: Callable[[], Handlers] = Handlers,
        authority: Authority | None = None,
        scheduled: Callable[[], None] = lambda: None,
    ) -> None:
        """`authority` knows what effects and activities may: without it there are none.

        `scheduled` is told that a process may have something to do by itself.
        """
        self.workspace = workspace
        self.handlers = handlers
        self._scheduled = scheduled
        self.records = Records(workspace)
        self.handles = Handles(workspace)
        self.acting = Acting(workspace, authority)
        self._defining = Defining(workspace, self.records, self.acting)
        self._looking = Looking(workspace, self.records)
        self._starting = Starting(workspace, self.records, self._defining, self.acting)
        start_child = self._starting.start_child
        self.moves = Moves(workspace, self.records, handlers, self.acting, start_child)
        self.wanted = self._starting.wanted

    def install(self) -> None:
        """Bring the metamodel of workflows and our own workflows into the workspace."""
        if not mm.is_installed(self.workspace):
            mm.install_metamodel(self.workspace)
        for spec in built_in_workflows().values():
            if not self._defining.was_defined(spec):
                self._defining.define(spec, named(mm.SYSTEM, None))

    # --- definitions -------------------------------------------------------------------------

    def define(
        self,
        spec: Any,
        *,
        principal: str,
        caller: Mapping[str, Any] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
        admit: Admit | None = None,
    ) -> Defined:
        """Make a definition, or a new version of one, if `admit` does not refuse it.

        `caller` is what is kept of a principal that has not opened the database itself.
        """
        self.ensure()
        read = read_spec(spec)
        if read.name in built_in_workflows():
            raise internal_workflow(read.name)
        refuse_own_activities(read)
        by = named(principal, caller)
        defined = self._defining.define(read, by, reason=reason, key=idempotency_key, admit=admit)
        schema, is_known = self.workspace.schema(), self._defining.is_known
        warnings = lacking(read, self.handlers(), schema, is_known)
        return msgspec.structs.replace(defined, warnings=tuple(warnings))

    def find(self, workflow: str, version: int | None = None) -> Machine:
        """A definition by name: its current version, or the one asked for."""
        return self._defining.machine(workflow, version)

    def spec(self, workflow: str, version: int | None = None) -> dict[str, Any]:
        """A definition as `define` takes it."""
        return self._defining.spec(workflow, version)

    def was_defined(self, spec: Any) -> bool:
        """Whether a version of the workflow is, or has been, just like this."""
        return mm.is_installed(self.workspace) and self._defining.was_defined(read_spec(spec))

    def makers(self, name: str) -> frozenset[str]:
        """Who has defined the workflow as it is, or one that would be the same prompt."""
        return self._defining.makers(name)

    def definitions(self) -> list[Entity]:
        """The current version of every workflow, by name."""
        return self._defining.definitions()

    def ensure(self) -> None:
        """The same, once: what comes in by itself before the first write."""
        if not mm.is_installed(self.workspace):
            self.install()

    # --- processes ---------------------------------------------------------------------------

    def start(
        self,
        workflow: str,
        subject: Any = None,
        data: Mapping[str, Any] | None = None,
        *,
        principal: str,
        roles: Collection[str] = (),
        caller: Mapping[str, Any] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProcessView:
        """Begin a process. With a key, a retry finds the process that it began the first time."""
        self.ensure()
        act = Act(principal, reason, data=dict(data or {}), roles=roles)
        wanted = [*self.records.wanted(workflow.removeprefix(":"))]
        wanted += [subject] if isinstance(subject, int | str) else []

        def work() -> tuple[Record, Ways]:
            record = self._starting.start(workflow, subject, act, caller, None, idempotency_key)
            return record, ways_on(self.workspace, self.records, record, act)

        begun = self.workspace.run(work, principal=principal, reason=reason, wanted=wanted)
        return self._done(*begun)

    def transition(
        self,
        process_id: int,
        name: str,
        *,
        principal: str,
        roles: Collection[str] = (),
        caller: Mapping[str, Any] | None = None,
        reason: str | None = None,
        context: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        expect_state: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProcessView:
        """Move a process on by the name of a transition."""
        by = named(principal, caller)
        act = Act(principal, reason, context or {}, data or {}, roles, by)

        def work(record: Record) -> Record:
            _expect(record, expect_state)
            transition = self.moves.leaving(record, name)
            refuse_internal(record, transition, act)
            refuse_skipping(self.records, record, transition, act)
            return self.moves.make(record, transition, act)

        asked = ["transition", process_id, name, dict(act.context), dict(act.data)]
        return self._change(process_id, work, act, idempotency_key, asked)

    def cancel(
        self,
        process_id: int,
        *,
        principal: str,
        roles: Collection[str] = (),
        caller: Mapping[str, Any] | None = None,
        reason: str | None = None,
        run: int | None = None,
        wordless: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProcessView:
        """End a process by the way that its definition has for that; `run`: only that one.

        `wordless` is for callers who cannot give a reason: it is used where one is demanded.
        """
        act = Act(principal, reason, roles=roles, by=named(principal, caller))

        def work(record: Record) -> Record:
            self.workspace.budgets.use_reserve()
            if run is not None and record.run != run:
                raise not_cancelled(record, "already-completed")
            return self.moves.make(record, *way_to_cancel(self.workspace, record, act, wordless))

        return self._change(process_id, work, act, idempotency_key, ["cancel", process_id, run])

    def pause(
        self,
        process_id: int,
        *,
        principal: str,
        roles: Collection[str] = (),
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProcessView:
        """Let a process rest: no activity, no timer, no transition but to cancel it."""
        act = Act(principal, reason, roles=roles)
        work = partial(rest, self.workspace, self.moves, act)
        return self._change(process_id, work, act, idempotency_key, ["pause", process_id])

    def resume(
        self,
        process_id: int,
        *,
        principal: str,
        roles: Collection[str] = (),
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProcessView:
        """Let it go on; a timer that would have fired meanwhile fires now."""
        act = Act(principal, reason, roles=roles)
        work = partial(go_on, self.workspace, self.moves, act)
        return self._change(process_id, work, act, idempotency_key, ["resume", process_id])

    def answer(
        self,
        process_id: int,
        replies: Mapping[str, Reply],
        *,
        principal: str,
        roles: Collection[str] = (),
        caller: Mapping[str, Any] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProcessView:
        """Tell a process what it asked; once it has been told everything, it moves on."""
        act = Act(principal, reason, roles=roles, by=named(principal, caller))

        def work(record: Record) -> Record:
            return answered(self.moves, self.records, record, replies, act)

        asked = ["answer", process_id, dict(replies)]
        return self._change(process_id, work, act, idempotency_key, asked)

    # --- looking -----------------------------------------------------------------------------

    def view(self, process_id: int, *, as_of: int | None = None) -> ProcessView:
        """A process as it stands, or stood."""
        record = self.records.read(process_id, as_of=as_of)
        return views_of(self.workspace, [record])[0] if as_of is None else view_of(record)

    def state(self, process_id: int, *, principal: str, roles: Collection[str] = ()) -> ProcessView:
        """The same with the transitions that could be made now by this principal."""
        record = self.records.read(process_id)
        act = Act(principal, roles=roles)
        view = views_of(self.workspace, [record])[0]
        return _with_ways(view, ways_on(self.workspace, self.records, record, act))

    def may_answer(self, view: ProcessView, *, principal: str, roles: Collection[str]) -> bool:
        """Whether this principal is among those whom a process asks; it may ask nothing."""
        if not any(question.by for question in view.input.values()):
            return True
        return may_answer(self.records, self.records.read(view.process_id), principal, roles)

    def history(self, process_id: int) -> list[HistoryRow]:
        """What happened to a process, oldest first."""
        self.records.read(process_id)
        return self._looking.history(process_id)

    def history_page(
        self, process_id: int, *, limit: int, cursor: str | None = None
    ) -> tuple[list[HistoryRow], str | None]:
        """One page of the same, and the cursor of the next."""
        self.records.read(process_id)
        return self._looking.history_page(process_id, limit=limit, cursor=cursor)

    def active(
        self,
        workflow: str | None = None,
        *,
        started_by: str | None = None,
        is_all: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        are_calls_hidden: bool = False,
    ) -> tuple[list[ProcessView], str | None]:
        """One page of the processes that run (or of all), and the cursor of the next."""
        name = None if workflow is None else self.find(workflow).name
        if not mm.is_installed(self.workspace):
            return [], None
        hidden = [mm.CALL_PROCESS] if are_calls_hidden else []
        return self._looking.page(
            name, started_by, is_all=is_all, limit=limit, cursor=cursor, hidden=hidden
        )

    def stats(self, workflow: str) -> Stats:
        """How the processes of a workflow are doing, all versions together."""
        return self._looking.stats(self.find(workflow))

    # --- inside ------------------------------------------------------------------------------

    def _change(
        self,
        process_id: int,
        work: Callable[[Record], Record],
        act: Act,
        key: str | None,
        asked: Any,
    ) -> ProcessView:
        """Do something to a process; a retry under the same key only looks at it."""

        def body() -> tuple[Record, Ways]:
            record = self.records.read(process_id)
            if key is None or not self.workspace.once(act.actor, key, asked):
                record = work(record)
            return record, ways_on(self.workspace, self.records, record, act)

        wanted = self.wanted(process_id)
        changed = self.workspace.run(body, principal=act.actor, reason=act.reason, wanted=wanted)
        return self._done(*changed)

    def _done(self, record: Record, ways: Ways) -> ProcessView:
        state = record.state
        if state.is_driven:
            self._scheduled()
        return _with_ways(view_of(record), ways)


def _with_ways(view: ProcessView, ways: Ways) -> ProcessView:
    return msgspec.structs.replace(view, transitions=ways.open, blocked=ways.blocked or {})


def _expect(record: Record, state: str | None) -> None:
    if state is not None and record.state.name != state.removeprefix(":"):
        raise Conflict(
            "workflow.state-changed",
            f"process {record.id} is in {record.state.name}, not in {state[:80]}",
            hint="workflow.process-state shows where it stands and what is possible",
            data={"state": record.state.name},
        )
