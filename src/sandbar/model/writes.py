"""Writing to a workspace: prepare in the caller's thread, run on the writer, await the commit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from sandbar import clock
from sandbar.errors import Conflict, Fault, Forbidden, Incorrect, NotFound
from sandbar.model.counting import count_holders
from sandbar.model.cursors import other_moment
from sandbar.model.documents import write_doc
from sandbar.model.drafts import SecretNotHashed
from sandbar.model.forms import refuse_unformed
from sandbar.model.guarding import Guard
from sandbar.model.idempotency import (
    checked_operations,
    digest_of,
    other_request,
    receipt_of,
    replay,
)
from sandbar.model.impact import NOTHING_CHECKED, Checked, conclude, settle
from sandbar.model.naming import unknown_entity
from sandbar.model.operations import Create, Operation
from sandbar.model.perform import perform
from sandbar.model.prefetch import wanted_by, wanted_names
from sandbar.model.preview import Admit, Preview, SchemaOf, defines
from sandbar.model.purging import Gone, PurgeMode, check_mode, owes_scrub, purge_entity
from sandbar.model.queries import Question, View, answer, cursor_of
from sandbar.model.rendering import render
from sandbar.model.requests import check_request, check_work
from sandbar.model.restoring import purged
from sandbar.model.results import Entity, Page, Purged, Receipt, SearchPage, Written
from sandbar.model.schema import Schema
from sandbar.model.searching import Search, search_page
from sandbar.model.secrets import (
    ATTEMPTS_MAX,
    hash_secrets,
    schema_moving,
    sets_secrets,
    with_hashed_secrets,
)
from sandbar.model.unit import Unit
from sandbar.model.waiting import outcome_of
from sandbar.store import CHOSEN_ID_MAX, NOTHING_WANTED, Answer, Key, Row, Store, Transaction

T = TypeVar("T")

BATCHED_OPERATIONS_MAX = 256  # larger transactions run alone

Latest = Callable[[bool], Schema]  # the schema at hand, or a fresh one


class _Thread(threading.local):
    unit: Unit | None = None  # as the class's, since a lookup that fails takes 1 µs


class Writes:
    """The write side of one workspace."""

    def __init__(self, store: Store, ws: int, schema_of: SchemaOf, latest: Latest) -> None:
        self._store = store
        self._ws = ws
        self._schema_of = schema_of
        self._latest = latest
        self._local = _Thread()
        self._running: Unit | None = None  # of the function that the writer is inside of

    def open_unit(self) -> Unit | None:
        """The unit of the transaction that this thread is inside of, if it is in this workspace."""
        return self._local.unit

    def open_transaction(self) -> Transaction:
        """The transaction that this thread is inside of, by `run`."""
        unit = self.open_unit()
        assert unit is not None, "only inside run"
        return unit.tx

    def transact(
        self,
        given: Sequence[Any],
        principal: str,
        reason: str | None,
        key: str | None,
        asked: Any = None,
        guard: Guard | None = None,
    ) -> Written:
        """Run operations as one transaction, or as part of the one that is open.

        A retry must ask for the same: for these operations, or for what they were `asked` by.
        """
        operations = checked_operations(given, principal, reason, key)
        unit = self.open_unit()
        if unit is not None:
            outer, unit.guard = unit.guard, guard or unit.guard
            try:
                return self._join(unit, operations, principal, key, asked)
            finally:
                unit.guard = outer
        refuse_in_event_loop()
        seen: Schema | None = None
        for attempt in range(ATTEMPTS_MAX):
            # A stale schema only costs a second attempt, so the first one does without a look.
            schema = self._latest(attempt > 0)
            ready = hash_secrets(seen or schema, operations)
            try:
                answer = self._submit(schema, ready, principal, reason, key, asked, guard)
                return answer.result() if self._running is None else self._outcome(answer)
            except SecretNotHashed as found:
                seen = found.schema
        raise schema_moving()

    def submit(
        self,
        given: Sequence[Any],
        principal: str,
        reason: str | None,
        key: str | None,
        guard: Guard | None,
    ) -> Answer[Written] | None:
        """Queue a transaction, for who is called back; None if `transact` has to take its time.

        It does so to hash secrets, and to check what a change of the metamodel would break.
        """
        operations = checked_operations(given, principal, reason, key)
        schema = self._latest(False)
        if self.open_unit() is not None or any(defines(schema, [op]) for op in operations):
            return None
        if sets_secrets(schema, operations):
            return None
        return self._submit(schema, operations, principal, reason, key, None, guard)

    def _submit(
        self,
        schema: Schema,
        ready: list[Operation],
        principal: str,
        reason: str | None,
        key: str | None,
        asked: Any,
        guard: Guard | None,
    ) -> Answer[Written]:
        digest = digest_of(ready, asked, is_kept=key is not None)
        checked = self._check_before(schema, ready, key, guard)
        work = partial(self._write, ready, checked, principal, reason, key, digest, guard)
        records = () if key is None else ((principal, key),)
        is_near = self._store.reads_in_microseconds  # then there is nothing to fetch ahead
        return self._store.submit(
            self._ws,
            work,
            wanted=NOTHING_WANTED if is_near else wanted_by(schema, ready, records),
            # What defines cannot share a batch: why have the writer find that out?
            alone=len(ready) > BATCHED_OPERATIONS_MAX or checked is not NOTHING_CHECKED,
        )

    def _check_before(
        self, schema: Schema, ready: list[Operation], key: str | None, guard: Guard | None
    ) -> Checked:
        """What a change of the metamodel breaks is found out before the writer is held up by it."""
        if not defines(schema, ready):
            return NOTHING_CHECKED
        if all(isinstance(op, Create) for op in ready):
            return Checked(schema.generation, 0, frozenset())  # what is new has no instances yet
        try:
            return self.preview(guard).foresee(ready).checked
        except (Incorrect, Forbidden, NotFound, Conflict) as problem:
            # A retry only the writer can tell; all else it will say with more authority.
            if problem.code == "schema.would-break" and key is None:
                raise
            return NOTHING_CHECKED

    def preview(self, guard: Guard | None, admit: Admit | None = None) -> Preview:
        """The workspace as it is now, and what writes would make of it."""
        return Preview(self._store, self._ws, self._schema_of, guard, admit)

    def run(
        self,
        work: Callable[[], T],
        principal: str,
        reason: str | None,
        wanted: Sequence[int | str] = (),
        *,
        alone: bool = False,
    ) -> T:
        """Run a function as one transaction; inside another one, as part of it."""
        check_request(principal, reason, None)
        check_work(work)
        if self.open_unit() is not None:
            return work()

        def body(tx: Transaction) -> T:
            tx.attribute(principal, reason)
            unit = self._local.unit = Unit(tx, self._schema_of(tx.generation, tx.epoch))
            self._running = unit
            try:
                value = work()
                conclude(unit)
            finally:
                self._local.unit = self._running = None
            return value

        refuse_in_event_loop()
        names = wanted_names(wanted)
        return self._outcome(self._store.submit(self._ws, body, wanted=names, alone=alone))

    def _outcome(self, answer: Answer[T]) -> T:
        return outcome_of(answer, lambda: self._running)

    def reserve_ids(self, up_to: int) -> None:
        """Give new entities greater numbers than this from now on."""

        def work(tx: Transaction) -> None:
            tx.reserve_ids(min(up_to, CHOSEN_ID_MAX))
            tx.keep_reserved()

        if self.open_unit() is not None:
            self.open_transaction().reserve_ids(min(up_to, CHOSEN_ID_MAX))
            return
        refuse_in_event_loop()
        self._outcome(self._store.submit(self._ws, work))

    def once(self, principal: str, key: str, asked: Any) -> bool:
        """Inside `run`: whether this was asked for, and done, before; if not, it is now."""
        check_request(principal, None, key)
        tx = self.open_transaction()
        digest = digest_of([], asked, is_kept=True)
        record = tx.recall(principal, key)
        if record is None:
            tx.remember(principal, key, digest, "{}")
            return False
        if record.digest != digest:
            raise other_request()
        return True

    def purge(
        self,
        entity: Any,
        mode: PurgeMode,
        principal: str,
        reason: str | None,
        guard: Guard | None = None,
    ) -> Purged:
        """Erase an entity and its whole past, alone and at once, then what may linger of it.

        Of one that was purged before something may still linger: then that is overwritten now.
        """
        check_request(principal, reason, None)
        check_mode(mode)
        if self.open_unit() is not None:
            raise Incorrect(
                "purge.inside", "a purge cannot be part of a transaction", hint="purge afterwards"
            )
        refuse_in_event_loop()

        def work(tx: Transaction) -> tuple[Receipt, Gone]:
            tx.attribute(principal, reason)
            unit = Unit(tx, self._schema_of(tx.generation, tx.epoch), guard)
            gone = purge_entity(unit, entity, mode)
            if gone.mark is None:
                return receipt_of(tx), gone
            return Receipt(gone.mark.t, clock.instant_text(gone.mark.instant_us), tx.epoch), gone

        receipt, gone = self._outcome(self._store.submit(self._ws, work, alone=True))
        if gone.mark is not None and not owes_scrub(self._store, self._ws):
            raise purged(gone.ids[0])
        return Purged(receipt, gone.ids, self._store.scrub())

    def count(self, unit: Unit, slot: str, value: Any) -> int:
        """How many entities hold a value, as the open transaction sees it."""
        unit.tx.require_alone()
        settle(unit)
        return count_holders(unit.tx, unit.schema, slot, value, unit.resolve)

    def search(self, unit: Unit, search: Search) -> SearchPage:
        """A search as the open transaction sees it."""
        unit.tx.require_alone()
        settle(unit)
        return search_page(unit.tx, unit.schema, unit.tx.t, unit.tx.epoch, search)

    def get(self, unit: Unit, entity: Any) -> Entity:
        """An entity as the open transaction sees it."""
        draft = unit.load(unit.resolve(entity))
        if draft is None or draft.doc is None:
            raise unknown_entity(unit.schema, entity)
        refuse_unformed([draft], unit.schema)
        t = unit.tx.t if draft.is_changed() or draft.before is None else draft.before.t
        row = Row(draft.id, draft.class_id, t, write_doc(draft.doc))
        return render(unit.schema, [row], _Inside(unit))[0]

    def query(self, unit: Unit, question: Question) -> Page:
        """A query as the open transaction sees it."""
        unit.tx.require_alone()
        settle(unit)
        resume = cursor_of(question, unit.tx.epoch)
        if resume is not None and resume.t != unit.tx.t:
            raise other_moment()
        view = View(unit.tx, unit.schema, unit.tx.t, unit.tx.epoch, None)
        return answer(view, question, resume, unit)

    def _write(
        self,
        operations: list[Operation],
        checked: Checked,
        principal: str,
        reason: str | None,
        key: str | None,
        digest: str,
        guard: Guard | None,
        tx: Transaction,
    ) -> Written:
        if key is not None:
            record = tx.recall(principal, key)
            if record is not None:
                return replay(record.digest, record.receipt, digest)
        tx.attribute(principal, reason)
        unit = Unit(tx, self._schema_of(tx.generation, tx.epoch), guard)
        outcomes = perform(unit, operations)
        conclude(unit, checked)
        written = Written(receipt_of(tx), outcomes, unit.temps)
        if key is not None:
            tx.remember(principal, key, digest, msgspec.json.encode(written).decode())
        return written

    def _join(
        self, unit: Unit, operations: list[Operation], principal: str, key: str | None, asked: Any
    ) -> Written:
        """Part of an open transaction: a refused call leaves the unit as it was."""
        tx = unit.tx

        def attempt(ready: list[Operation]) -> Written:
            digest = digest_of(ready, asked, is_kept=key is not None)
            record = None if key is None else tx.recall(principal, key)
            if record is not None:
                return replay(record.digest, record.receipt, digest)
            if not self._store.reads_in_microseconds:
                tx.prefetch(wanted_by(unit.schema, ready, ()))
            with unit.undone_by_failure():
                outcomes = perform(unit, ready)
                unit.ask_guard(since_undo=True)
            if any(outcome.changed for outcome in outcomes):
                tx.changed_ids.add(next(o.entity_id for o in outcomes if o.changed))
            written = Written(receipt_of(tx), outcomes, dict(unit.temps))
            if key is not None:
                tx.remember(principal, key, digest, msgspec.json.encode(written).decode())
            return written

        return with_hashed_secrets(unit.schema, operations, attempt)


class _Inside:
    """Reads for rendering inside a transaction, drafts included."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""
        drafts = [draft for id in ids if (draft := self._unit.load(id)) is not None]
        return [Row(d.id, d.class_id, self._unit.tx.t, write_doc(d.doc or {})) for d in drafts]

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it, for derived slots."""
        self._unit.tx.require_alone()
        settle(self._unit)
        return self._unit.tx.holders(property, keys, limit, as_of)


def refuse_in_event_loop() -> None:
    """A write waits for the disk; an event loop must not be made to wait like that."""
    if asyncio._get_running_loop() is not None:
        raise Fault(
            "library.blocking-call",
            "a write would block this thread's event loop",
            hint="call it in a worker thread, for example with asyncio.to_thread",
        )
