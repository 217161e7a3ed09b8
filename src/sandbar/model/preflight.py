"""Checking a change of the metamodel against large populations before the writer is held up.

The operations are tried on a copy of nothing: a transaction whose changes go nowhere. Existing
instances are then checked page by page, each page in a short snapshot, all as of one moment. The
write itself only has to look again at what has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sandbar.errors import Fault, Problem
from sandbar.model import core
from sandbar.model.affected import Affected, affected_by, turned_slots
from sandbar.model.guarding import Guard
from sandbar.model.impact import PAGE, Checked, report_on
from sandbar.model.operations import Create, Migrate, Operation, Update
from sandbar.model.perform import perform
from sandbar.model.prefetch import wanted_by
from sandbar.model.schema import Class, Schema
from sandbar.model.unit import Unit
from sandbar.store import (
    Equals,
    Found,
    Key,
    LookedUp,
    Plan,
    Position,
    Record,
    Row,
    Scan,
    Snapshot,
    Sought,
    Store,
    Transaction,
    TxRow,
    Version,
    Wanted,
)


def preflight(
    store: Store,
    ws: int,
    latest: Callable[[bool], Schema],
    operations: Sequence[Operation],
    guard: Guard | None,
) -> Checked | None:
    """What could be checked beforehand; raises if existing data would be broken.

    `latest` gives the schema at hand, or reads whether there is a later one.
    """
    schema = latest(False)
    for op in operations:
        if not defines(schema, op):
            return None
    if all(isinstance(op, Create) for op in operations):
        return Checked(schema.generation, 0, frozenset())  # what is new has no instances yet
    base, schema = Elsewhere(store, ws), latest(True)
    with store.snapshot(ws) as snapshot:
        state = snapshot.state
        if state.generation != schema.generation:
            return None  # the metamodel is being changed at this moment
        base.look_ahead(snapshot, schema, operations)
    unit = Unit(Transaction(Plan(state), base, alone=True), schema, guard)
    try:
        perform(unit, operations)
        unit.ask_guard()
    except Problem:
        return None  # the write will say the same, and with more authority
    unit.take_time()
    large = [
        item
        for item in affected_by(unit)
        if not _is_reformed(schema, item)
        and (_matches(item) or len(base.page(item.cls, None, state.t)) == PAGE)
    ]
    report_on(unit, large, lambda item: base.instances(item.cls, state.t))
    return Checked(state.generation, state.t, frozenset(item.cls.id for item in large))


def _is_reformed(schema: Schema, item: Affected) -> bool:
    """Whether values are kept in another form, which the writer has to give them anyway."""
    has_other_kind = any(was.kind is not now.kind for was, now in item.reindex)
    return has_other_kind or bool(turned_slots(schema, item))


def _matches(item: Affected) -> bool:
    """Whether values are matched with a pattern: a few long ones can take as long as a crowd."""
    return any(property.pattern_text for property in item.recheck)


def defines(schema: Schema, op: Operation) -> bool:
    """Whether an operation is about the metamodel only."""
    if isinstance(op, Migrate):
        return False
    if isinstance(op, Create):
        cls = schema.class_if_known(op.class_)
        return cls is not None and cls.id in schema.metaclasses
    named = op.entity.removeprefix(":") if isinstance(op.entity, str) else None
    return isinstance(op, Update) and named is not None and schema.id_named(named) is not None


class Elsewhere:
    """Reads through a short snapshot each what was not looked up ahead; writes nothing."""

    def __init__(self, store: Store, ws: int) -> None:
        self._store = store
        self._ws = ws
        self._known = LookedUp({}, {})

    def look_ahead(
        self, snapshot: Snapshot, schema: Schema, operations: Sequence[Operation]
    ) -> None:
        """Fetch together what these operations are likely to read."""
        self._known = snapshot.look_up(wanted_by(schema, operations, ()))

    def instances(self, cls: Class, t: int) -> Iterator[Row]:
        """Every direct instance as of `t`."""
        after: Position | None = None
        while page := self.page(cls, after, t):
            for found in page:
                yield Row(found.id, found.cls, found.t, found.doc)
            after = Position(page[-1].key, page[-1].id)

    def page(self, cls: Class, after: Position | None, t: int) -> list[Found]:
        """Some direct instances as of `t`."""
        drive = Equals(core.TYPE, (cls.type_key,))
        with self._store.snapshot(self._ws) as snapshot:
            past = None if snapshot.state.t == t else t
            return snapshot.scan(Scan(drive, PAGE, after=after, as_of=past))

    def prefetch(self, wanted: Wanted) -> None:
        """A trial looks ahead once, and no further."""

    def entity(self, id: int) -> Row | None:
        """The current row of an entity."""
        rows = self._known.rows  # which do not grow: large populations pass through here
        return rows[id] if id in rows else self._store.point(self._ws, id)[1]

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.entities(ids, as_of)

    def find(self, property: int, key: Key) -> list[int]:
        """Ids of the entities that hold this key now."""
        holders = self._known.holders
        if (property, key) not in holders:
            with self._store.snapshot(self._ws) as snapshot:
                holders[property, key] = snapshot.find(property, key)
        return list(holders[property, key])

    def count(self, property: int, key: Key) -> int:
        """How many entities hold this key now."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.count(property, key)

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.holders(property, keys, limit, as_of)

    def referrers(self, key: Key, properties: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """(property, id) pairs that hold this key now."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.referrers(key, properties, limit)

    def secret(self, id: int, property: int) -> str | None:
        """The hash kept for a secret slot."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.secret(id, property)

    def scan(self, scan: Scan) -> list[Found]:
        """One page of an index walk."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.scan(scan)

    def transaction_at(self, instant_us: int) -> int:
        """The last t committed at or before this instant."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.transaction_at(instant_us)

    def entity_as_of(self, id: int, t: int) -> Row | None:
        """The row of an entity right after transaction `t`."""
        return self._store.point_as_of(self._ws, id, t)[1]

    def last_version(self, id: int) -> Version | None:
        """The last version of an entity that was superseded."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.last_version(id)

    def former(self, property: int, key: Key) -> int | None:
        """The id of the entity that was the last to hold this key."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.former(property, key)

    def search(self, sought: Sought) -> list[list[int]]:
        """One page of a search for words."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.search(sought)

    def unsearched(self) -> int | None:
        """A trial builds no index."""
        return None

    def entities_after(self, id: int, limit: int) -> list[Row]:
        """Entities with greater ids, lowest first."""
        with self._store.snapshot(self._ws) as snapshot:
            return snapshot.entities_after(id, limit)

    def transactions(self, *, after: int, limit: int) -> list[TxRow]:
        """Nothing happens between a trial and itself."""
        return []

    def recall(self, principal: str, key: str) -> Record | None:
        """A trial is no retry."""
        return None

    def job_token(self, id: int) -> int | None:
        """A trial holds no job."""
        return None

    def apply(self, plan: Plan) -> None:
        """A trial writes nothing."""
        raise Fault("preflight.write", "a trial must not write")
