"""Previews: what operations would do, found out by doing them where nothing is written.

    preview = workspace.preview()
    preview.foresee(operations)   # raises what the write would be refused for
    preview.transact(operations)  # the same, and what comes after it finds it done

The very code of a write runs, in the caller's thread, on a workspace as of one `t`: no lock is
taken, no writer is kept waiting, and the caller's patience ends it. Existing instances are judged
by a changed metamodel as the write judges them. That the write may find a fuller workspace, and
what its budgets leave, is no part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

from sandbar.errors import Problem
from sandbar.findings import data_of, finding_of
from sandbar.model.guarding import Guard
from sandbar.model.impact import Checked, conclude
from sandbar.model.introspection import Introspection
from sandbar.model.operations import Create, Migrate, Operation, Update, parse_operations
from sandbar.model.perform import perform
from sandbar.model.prefetch import wanted_by
from sandbar.model.results import Outcome
from sandbar.model.schema import Schema
from sandbar.model.secrets import ATTEMPTS_MAX, schema_moving, with_hashed_secrets
from sandbar.model.unit import Unit
from sandbar.model.unwritten import Unwritten
from sandbar.store import Plan, State, Store, Transaction

SchemaOf = Callable[[int, int], Schema]  # generation and epoch to schema
Admit = Callable[[Sequence[Any], Introspection], None]  # raises what the caller may not name
Call = Callable[[Sequence[Any]], list[Outcome]]


class Foreseen(NamedTuple):
    """What a transaction would do; new entities have numbers that others may get in the end."""

    outcomes: list[Outcome]
    temps: dict[str, int]
    changed: list[int]  # all that would be made, changed or deleted, as far as it may be told
    schema: Introspection  # the metamodel afterwards
    checked: Checked  # what the writer need not look at again


class Preview:
    """A workspace as of one `t`, and transactions on top of it that nobody else ever sees."""

    def __init__(
        self,
        store: Store,
        ws: int,
        schema_of: SchemaOf,
        guard: Guard | None = None,
        admit: Admit | None = None,
    ) -> None:
        """As far as the guard lets it, and `admit` the names that operations give."""
        self._store = store
        self._ws = ws
        self._state, self._schema = _standing(store, ws, schema_of)
        self.t = self._state.t
        self._base = Unwritten(store, ws, self.t)
        self._guard = guard
        self._admit = admit

    @property
    def schema(self) -> Introspection:
        """The metamodel after all that was transacted here."""
        return Introspection(self._schema)

    def is_outdated(self) -> bool:
        """Whether the workspace has changed since."""
        return self._store.head(self._ws).t != self.t

    def foresee(self, operations: Sequence[Any]) -> Foreseen:
        """What these would do as one transaction, of which nothing stays."""
        with self._unit(self._guard) as unit:
            outcomes = self._call(unit, self._admit, operations)
            checked = self._conclude(unit, is_kept=False)
            told = [draft.id for draft in unit.drafts.values() if unit.has_changed(draft)]
            changed = [id for id in sorted(told) if unit.shows(id)]
            return Foreseen(outcomes, unit.temps, changed, Introspection(unit.schema), checked)

    def findings(self, operations: Sequence[Any]) -> list[dict[str, Any]]:
        """What a write of these would be refused for; none if it would be accepted."""
        try:
            self.foresee(operations)
        except Problem as problem:
            return findings_of(problem)
        return []

    def transact(self, operations: Sequence[Any]) -> list[Outcome]:
        """Do these as one transaction."""
        with self.transaction() as call:
            return call(operations)

    def transaction(self) -> AbstractContextManager[Call]:
        """Several calls as one transaction; one that is refused leaves it as it was."""
        return self._transaction(self._guard, self._admit)

    def prepare(self, operations: Sequence[Operation]) -> None:
        """Do what the house itself would do before: that takes no right of the caller."""
        with self._transaction(None, None) as call:
            call(operations)

    def reserve_ids(self, up_to: int) -> None:
        """Give new entities greater numbers than this from now on."""
        self._state = self._state._replace(next_id=max(self._state.next_id, up_to + 1))

    # --- transactions ------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, guard: Guard | None, admit: Admit | None) -> Iterator[Call]:
        with self._unit(guard) as unit:
            yield partial(self._call, unit, admit)
            self._conclude(unit, is_kept=True)
            self._keep(unit)

    @contextmanager
    def _unit(self, guard: Guard | None) -> Iterator[Unit]:
        tx = Transaction(Plan(self._state), self._base, alone=True)
        try:
            yield Unit(tx, self._schema, guard)
        finally:
            self._base.drop()  # unless it was kept

    def _call(self, unit: Unit, admit: Admit | None, operations: Sequence[Any]) -> list[Outcome]:
        if admit is not None:
            admit(operations, Introspection(unit.schema))

        def attempt(ready: list[Operation]) -> list[Outcome]:
            self._base.prefetch(wanted_by(unit.schema, ready, ()))
            with unit.undone_by_failure():
                outcomes = perform(unit, ready)
                unit.ask_guard(since_undo=True)
            return outcomes

        return with_hashed_secrets(unit.schema, parse_operations(operations), attempt)

    def _conclude(self, unit: Unit, *, is_kept: bool) -> Checked:
        unit.take_time()  # this holds up nobody
        judged = conclude(unit, is_kept=is_kept)
        return Checked(self._state.generation, self._state.t, judged)

    def _keep(self, unit: Unit) -> None:
        tx, state = unit.tx, self._state
        tx.flush()
        self._base.keep()
        t = tx.t if tx.changed_ids else state.t
        generation = state.generation + tx.changes_schema
        if tx.changes_schema:
            self._schema = unit.schema.advance({}, generation, [*self._schema.changes, t])
        self._state = State(t, generation, state.epoch, tx.next_id, tx.instant_us)


def defines(schema: Schema, operations: Sequence[Operation]) -> bool:
    """Whether operations are about the metamodel only: then much may have to be looked at."""
    return all(_defines(schema, op) for op in operations)


def _defines(schema: Schema, op: Operation) -> bool:
    if isinstance(op, Migrate):
        return False
    if isinstance(op, Create):
        cls = schema.class_if_known(op.class_)
        return cls is not None and cls.id in schema.metaclasses
    named = op.entity.removeprefix(":") if isinstance(op.entity, str) else None
    return isinstance(op, Update) and named is not None and schema.id_named(named) is not None


def findings_of(problem: Problem) -> list[dict[str, Any]]:
    """The findings of a refusal; of one that has none, it itself."""
    found: list[dict[str, Any]] = problem.data.get("findings") or []
    return found or data_of([finding_of(problem)])


def _standing(store: Store, ws: int, schema_of: SchemaOf) -> tuple[State, Schema]:
    """Where the workspace stands, and the schema of that very moment."""
    for _ in range(ATTEMPTS_MAX):
        with store.snapshot(ws) as snapshot:
            state = snapshot.state
        schema = schema_of(state.generation, state.epoch)
        if schema.generation == state.generation:
            return state, schema
    raise schema_moving()
