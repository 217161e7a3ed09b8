"""A workspace: a database of its own, with its metamodel, its entities and their past.

Every read comes from one snapshot, schema included. Calls made from inside a write (by a handler
that runs in it) join the open transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from sandbar.errors import Problem
from sandbar.model import core
from sandbar.model.asking import Askable
from sandbar.model.bootstrap import read_metamodel
from sandbar.model.bounds import BOUNDS, SchemaBounds
from sandbar.model.budgets import Budgets
from sandbar.model.commits import Commit, Standing, commits_after
from sandbar.model.core import Entry
from sandbar.model.counting import count_holders
from sandbar.model.credentials import Credentials
from sandbar.model.cursors import other_moment
from sandbar.model.definitions import Definitions, definition_operations
from sandbar.model.former import FormerNames
from sandbar.model.guarding import Guard
from sandbar.model.history import entries_of
from sandbar.model.introspection import Introspection
from sandbar.model.jobs import Jobs
from sandbar.model.kinds import kinds_ever
from sandbar.model.moments import Moment, moment_t
from sandbar.model.naming import Names, as_id, as_keys, resolve, unknown_entity
from sandbar.model.past import difference, entity_history
from sandbar.model.placing import Place, place_in, place_inside
from sandbar.model.preview import Admit, Preview
from sandbar.model.purging import PurgeMode
from sandbar.model.queries import Question, View, answer, cursor_of, with_fields_checked
from sandbar.model.readiness import make_ready
from sandbar.model.recording import plans_of
from sandbar.model.rendering import render, render_plain
from sandbar.model.requests import HISTORY_LIMIT_MAX, check_name, check_window
from sandbar.model.results import (
    Entity,
    HistoryEntry,
    Page,
    Purged,
    SearchPage,
    SlotChange,
    TransactionEntry,
    Written,
)
from sandbar.model.schema import Schema
from sandbar.model.schema_cache import SchemaCache
from sandbar.model.searching import Search, refuse_past, refuse_unbuilt, search_page
from sandbar.model.secrets import kept_secret, matches_secret
from sandbar.model.validity import Validity
from sandbar.model.values.scalars import MAX_REF
from sandbar.model.writes import Writes
from sandbar.store import Answer, Snapshot, Store, Watch

T = TypeVar("T")


class Workspace(Askable):
    """All that can be asked of one workspace, bound to it for good."""

    def __init__(self, store: Store, ws: int, bounds: SchemaBounds = BOUNDS) -> None:
        self._store = store
        self._ws = self.number = ws  # what the store and the audit know it by
        self.bounds = bounds
        self._schemas = SchemaCache(bounds)
        self._writes = Writes(store, ws, self._schema_of_generation, self._latest_schema)
        self.credentials = Credentials(store, ws, self._writes, self._latest_schema)
        self.jobs = Jobs(self._writes)
        self.budgets = Budgets(store, ws, self._writes)
        self.validity = Validity(self._view)
        self.former_names = FormerNames(self._view, self._writes.open_unit)

    @classmethod
    def open(
        cls, store: Store, name: str, metamodel: bytes | None = None, bounds: SchemaBounds = BOUNDS
    ) -> Workspace:
        """The workspace of that name; a new one gets the core metamodel, or the given dump."""
        check_name(name)
        entries = None if metamodel is None else read_metamodel(metamodel)
        ws = store.workspace(name) or store.create_workspace(name)
        return cls.ready(store, ws, entries, bounds)

    @classmethod
    def ready(
        cls,
        store: Store,
        ws: int,
        entries: list[Entry] | None = None,
        bounds: SchemaBounds = BOUNDS,
    ) -> Workspace:
        """A workspace by its number, with whatever was left to be done before it can be used."""
        workspace = cls(store, ws, bounds)
        make_ready(store, ws, entries, workspace._schema_of_generation)
        return workspace

    # --- schema ------------------------------------------------------------------------------

    def schema(self, as_of: Moment | None = None) -> Introspection:
        """The metamodel, now or as of the past."""
        unit = self._writes.open_unit()
        if unit is not None and as_of is None:
            return Introspection(unit.schema)
        with self._view(as_of) as (_, schema, _t):
            return Introspection(schema)

    def schema_at_hand(self) -> Introspection:
        """The metamodel as it was when last looked at: no older than what was read before."""
        return Introspection(self._latest_schema(False))

    def _schema_of_generation(self, generation: int, epoch: int) -> Schema:
        schema = self._schemas.at(generation, epoch)
        if schema is not None:
            return schema
        with self._store.snapshot(self._ws) as snapshot:
            return self._schemas.current(snapshot)

    def _latest_schema(self, refresh: bool) -> Schema:
        known = None if refresh else self._schemas.latest
        if known is None:
            with self._store.snapshot(self._ws) as snapshot:
                known = self._schemas.current(snapshot)
        return known

    @contextmanager
    def _view(self, as_of: Moment | None) -> Iterator[tuple[Snapshot, Schema, int | None]]:
        """A snapshot, the schema that holds in it, and the t to look at (None: now)."""
        with self._store.snapshot(self._ws) as snapshot:
            now = self._schemas.current(snapshot)
            if as_of is None:
                yield snapshot, now, None
                return
            t = moment_t(as_of, snapshot.state.t, snapshot)
            schema = self._schemas.as_of(snapshot, t)
            yield snapshot, schema, None if t == snapshot.state.t else t

    # --- reading -----------------------------------------------------------------------------

    def get(self, entity: Any, *, as_of: Moment | None = None) -> Entity:
        """One entity, by id, ident or `{slot: value}`."""
        unit = self._writes.open_unit()
        if unit is not None and as_of is None:
            return self._writes.get(unit, entity)
        found = self._get_now(entity) if as_of is None else self._get_past(entity, as_of)
        return found if found is not None else self._get_carefully(entity, as_of)

    def _get_now(self, entity: Any) -> Entity | None:
        """The fast way: one statement, if the schema is at hand and no other row is needed."""
        if type(entity) is int:
            if not 0 < entity <= MAX_REF:
                return None
            head, row = self._store.point(self._ws, entity)
        else:
            known = self._schemas.latest
            if known is None or (id := as_id(entity)) is not None:
                return None if known is None else self._get_now(id)
            try:
                property, (key, *_) = as_keys(known, entity)
            except Problem:
                return None  # it may be right by a schema that is not at hand
            head, row = self._store.point_by_key(self._ws, property.id, key)
        schema = self._schemas.at(head.generation, head.epoch)
        return None if schema is None or row is None else render_plain(schema, row)

    def _get_past(self, entity: Any, t: Moment) -> Entity | None:
        """The fast way into the past: the schema of then must be at hand."""
        if type(entity) is not int or type(t) is not int:
            return None
        if not (0 < entity <= MAX_REF and 0 <= t <= MAX_REF):
            return None
        head, row = self._store.point_as_of(self._ws, entity, t)
        schema = self._schemas.at_hand(head, t)
        return None if schema is None or row is None or t > head.t else render_plain(schema, row)

    def _get_carefully(self, entity: Any, as_of: Moment | None) -> Entity:
        with self._view(as_of) as (snapshot, schema, t):
            id = resolve(snapshot, schema, entity, t)
            rows = snapshot.entities([id], t)
            if not rows:
                raise unknown_entity(schema, entity)
            return render(schema, rows, snapshot, as_of=t)[0]

    def ask(self, question: Question) -> Page:
        """One page of the instances of a class that satisfy a filter."""
        question, as_of = with_fields_checked(question), question.as_of
        unit = self._writes.open_unit()
        if unit is not None and as_of is None:
            return self._writes.query(unit, question)
        with self._store.snapshot(self._ws) as snapshot:
            state = snapshot.state
            resume = cursor_of(question, state.epoch)
            t = moment_t(as_of, state.t, snapshot) if as_of is not None else state.t
            if resume is not None and as_of is not None and resume.t != t:
                raise other_moment()
            t = t if resume is None else min(resume.t, state.t)
            past = None if t == state.t else t
            now = self._schemas.current(snapshot)
            schema = now if past is None else self._schemas.as_of(snapshot, t)
            view = View(snapshot, schema, t, state.epoch, past)
            return answer(view, question, resume, Names(snapshot, schema, past))

    def look_for(self, search: Search) -> SearchPage:
        """One page of what is found by words or a question, best first."""
        refuse_past(search.as_of)
        unit = self._writes.open_unit()
        if unit is not None:
            return self._writes.search(unit, search)
        with self._view(None) as (snapshot, schema, _):
            refuse_unbuilt(snapshot.unsearched())
            return search_page(snapshot, schema, snapshot.state.t, snapshot.state.epoch, search)

    def history(
        self, entity: Any, *, after: int = 0, limit: int = HISTORY_LIMIT_MAX
    ) -> list[HistoryEntry]:
        """What happened to an entity, oldest first: who, when, why, and which slots."""
        check_window("history", after, limit)
        with self._view(None) as (snapshot, schema, _):
            at = partial(self._schemas.as_of, snapshot)
            return entity_history(snapshot, schema, at, entity, after, limit)

    def diff(self, entity: Any, before: Moment, after: Moment | None = None) -> list[SlotChange]:
        """The slots in which an entity differs between two moments (the second: now)."""
        with self._view(None) as (snapshot, schema, _):
            at = partial(self._schemas.as_of, snapshot)
            return difference(snapshot, schema, at, entity, before, after)

    def changes(self, *, since: int = 0, limit: int = 100) -> list[TransactionEntry]:
        """The transactions after `since`, oldest first, with the entities that they changed."""
        check_window("changes", since, limit)
        with self._store.snapshot(self._ws) as snapshot:
            return entries_of(snapshot.transactions(after=since, limit=limit))

    def kinds(self, entities: Sequence[Any]) -> list[frozenset[str]]:
        """For each its class and all above it, now and at first, also if it is gone by now."""
        with self._view(None) as (snapshot, schema, _):
            at = partial(self._schemas.as_of, snapshot)
            return [kinds_ever(snapshot, schema, at, entity) for entity in entities]

    def count(self, slot: str, value: Any) -> int:
        """How many entities hold this value now, by the index alone."""
        unit = self._writes.open_unit()
        if unit is not None:
            return self._writes.count(unit, slot, value)
        with self._view(None) as (snapshot, schema, _):
            at_once = partial(resolve, snapshot, schema, as_of=None)
            return count_holders(snapshot, schema, slot, value, at_once)

    def locate(self, entity: Any) -> Place:
        """Where an entity is: its number, and the state that it is in."""
        unit = self._writes.open_unit()
        if unit is not None:
            return place_inside(unit, entity)
        with self._view(None) as (snapshot, schema, _):
            return place_in(snapshot, schema, entity)

    def last_t(self) -> int:
        """The number of the last transaction."""
        return self._store.point(self._ws, core.CLASS)[0].t

    # --- following ---------------------------------------------------------------------------

    def standing(self) -> Standing:
        """The last transaction, and the epoch in which it counts: the cheapest look there is."""
        head = self._store.head(self._ws)
        return Standing(head.t, head.epoch)

    def commits(self, since: Standing, *, limit: int) -> list[Commit]:
        """The next transactions, oldest first; none if the epoch of `since` has ended."""
        with self._view(None) as (snapshot, schema, _):
            if snapshot.state.epoch != since.epoch:
                return []
            at = partial(self._schemas.as_of, snapshot)
            return commits_after(snapshot, schema, at, since.t, limit)

    def watch(self, heard: Callable[[], None]) -> Watch:
        """Call `heard` after commits, on the writer's thread: it must only mark and return."""
        return self._store.watch(self._ws, heard)

    def explain(self, class_: Any, where: Any = None, *, order_by: str | None = None) -> str:
        """The database's own plan for a query."""
        with self._view(None) as (snapshot, schema, _):
            return plans_of(snapshot, schema, Question(class_, where, order_by))

    def secret_matches(self, entity: Any, slot: str, candidate: str) -> bool:
        """Whether the candidate is the secret that a slot keeps the hash of."""
        with self._view(None) as (snapshot, schema, _):
            hashed = kept_secret(snapshot, schema, entity, slot)
        return hashed is not None and matches_secret(hashed, candidate)

    # --- writing -----------------------------------------------------------------------------

    def transact(
        self,
        operations: Sequence[Any],
        *,
        principal: str,
        reason: str | None = None,
        idempotency_key: str | None = None,
        asked: Any = None,
        guard: Guard | None = None,
    ) -> Written:
        """Run several operations as one transaction, as far as the guard lets it.

        A retry with the same key must ask for the same: for these operations, or what is `asked`.
        """
        return self._writes.transact(operations, principal, reason, idempotency_key, asked, guard)

    def submit(
        self,
        operations: Sequence[Any],
        *,
        principal: str,
        reason: str | None = None,
        idempotency_key: str | None = None,
        guard: Guard | None = None,
    ) -> Answer[Written] | None:
        """Queue a transaction, for who is called back; None if `transact` has to take its time."""
        return self._writes.submit(operations, principal, reason, idempotency_key, guard)

    def define(
        self,
        properties: Definitions,
        classes: Definitions,
        *,
        principal: str,
        reason: str | None = None,
        idempotency_key: str | None = None,
        guard: Guard | None = None,
    ) -> Written:
        """Define properties and classes in one transaction; they may refer to each other."""
        operations = definition_operations(self.schema(), properties, classes)
        # The operations depend on what is there; a retry is known by what was asked for.
        asked = [properties, classes]
        return self._writes.transact(operations, principal, reason, idempotency_key, asked, guard)

    def preview(self, *, guard: Guard | None = None, admit: Admit | None = None) -> Preview:
        """What writes would do, as far as the guard lets them, and `admit` what they name."""
        return self._writes.preview(guard, admit)

    def purge(
        self,
        entity: Any,
        *,
        principal: str,
        reason: str | None = None,
        mode: PurgeMode = "refuse",
        guard: Guard | None = None,
    ) -> Purged:
        """Erase every version of an entity and of what it owns; only a mark of that stays.

        Refused while others refer to it, unless `mode` is `detach`, which clears those slots.
        """
        return self._writes.purge(entity, mode, principal, reason, guard)

    def run(
        self,
        work: Callable[[], T],
        *,
        principal: str,
        reason: str | None = None,
        wanted: Sequence[int | str] = (),
        alone: bool = False,
    ) -> T:
        """Run a function as one transaction: every call that it makes here joins in.

        Give the ids and idents that it will probably read: a remote store fetches them in one go.
        `alone` keeps one that changes the metamodel from being begun twice.
        """
        return self._writes.run(work, principal, reason, wanted, alone=alone)

    def reserve_ids(self, up_to: int) -> None:
        """Keep the numbers up to this one for entities that had them elsewhere."""
        self._writes.reserve_ids(up_to)

    def once(self, principal: str, key: str, asked: Any) -> bool:
        """Inside `run`: whether this was asked for under this key, and done, before."""
        return self._writes.once(principal, key, asked)
