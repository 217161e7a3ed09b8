"""Keeping the compiled schema of a workspace for as long as its generation lasts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Protocol

from sandbar.model import core
from sandbar.model.bounds import BOUNDS, SchemaBounds
from sandbar.model.documents import Doc, read_doc
from sandbar.model.reaching import reached
from sandbar.model.schema import Schema
from sandbar.model.values import VALUE_TYPES
from sandbar.store import Equals, Found, Head, Position, Row, Scan, State, TxRow

_PAGE = 1000
_PAST_SCHEMAS_MAX = 16

_REF = VALUE_TYPES["db.type/ref"]
_SUBCLASS_OF = str(core.SUBCLASS_OF)


class SchemaSource(Protocol):
    """What loading a schema reads from a snapshot."""

    state: State

    def scan(self, scan: Scan) -> list[Found]: ...
    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]: ...
    def transactions(self, *, after: int, limit: int) -> list[TxRow]: ...
    def schema_changes(self) -> list[int]: ...


class SchemaCache:
    """The current schema, and a few past ones."""

    def __init__(self, bounds: SchemaBounds = BOUNDS) -> None:
        self._bounds = bounds
        self._current: Schema | None = None
        self._epoch = 0
        self._past: OrderedDict[tuple[int, int], Schema] = OrderedDict()

    def at(self, generation: int, epoch: int) -> Schema | None:
        """The schema of that generation, if it is the one at hand."""
        schema = self._current
        if schema is not None and schema.generation == generation and self._epoch == epoch:
            return schema
        return None

    @property
    def latest(self) -> Schema | None:
        """The schema at hand, which may be out of date."""
        return self._current

    def at_hand(self, head: Head, t: int) -> Schema | None:
        """The schema as of `t`, if nothing has to be read for it."""
        now = self.at(head.generation, head.epoch)
        if now is None:
            return None
        basis = max(now.basis(t), 1)
        return now if basis == now.t else self._past.get((head.epoch, basis))

    def current(self, source: SchemaSource) -> Schema:
        """The schema that holds in a snapshot."""
        state = source.state
        schema = self.at(state.generation, state.epoch)
        if schema is None:
            known = self._current if self._epoch == state.epoch else None
            if known is not None and known.generation < state.generation:
                schema = _catch_up(known, source)
            else:
                schema = _load(source, None, source.schema_changes(), state.generation)
            schema.bounds = self._bounds
            if known is None or known.generation < schema.generation:
                if known is not None:
                    self._keep(state.epoch, known)  # whoever looks back needs it next
                self._current, self._epoch = schema, state.epoch
        return schema

    def as_of(self, source: SchemaSource, t: int) -> Schema:
        """The schema that held right after transaction `t`."""
        now = self.current(source)
        basis = max(now.basis(t), 1)  # the first transaction writes the metamodel
        if basis == now.t:
            return now
        key = (source.state.epoch, basis)
        schema = self._past.get(key)
        if schema is None:
            changes = [change for change in now.changes if change <= basis]
            schema = _load(source, basis, changes, -basis)
            self._keep(source.state.epoch, schema)
        return schema

    def _keep(self, epoch: int, schema: Schema) -> None:
        self._past[epoch, schema.t] = schema
        while len(self._past) > _PAST_SCHEMAS_MAX:
            self._past.popitem(last=False)


def _catch_up(known: Schema, source: SchemaSource) -> Schema:
    """Read only what has changed since."""
    changes = source.schema_changes()
    ids: set[int] = set()
    for t in changes:
        if t > known.t:
            ids.update(*(tx.ids for tx in source.transactions(after=t - 1, limit=1)))
    rows = {row.id: row for row in source.entities(sorted(ids))}
    # The same transaction may have written data; only instances of metaclasses are schema.
    fresh: dict[int, tuple[int, Doc] | None] = {
        id: (rows[id].cls, read_doc(rows[id].doc)) if id in rows else None
        for id in ids
        if (rows[id].cls in known.metaclasses if id in rows else id in known.docs)
    }
    schema = known.advance(fresh, source.state.generation, changes)
    if schema.metaclasses == known.metaclasses:
        return schema
    return _load(source, None, changes, source.state.generation)


def _load(source: SchemaSource, as_of: int | None, changes: list[int], generation: int) -> Schema:
    """Read all instances of the metaclasses; metaclasses made by users are found on the way."""
    docs: dict[int, tuple[int, Doc]] = {}
    below: dict[int, list[int]] = {}  # of what was read: who stands directly below whom
    metaclasses = [core.CLASS, core.PROPERTY]
    known = set(metaclasses)
    for class_id in metaclasses:  # which grow meanwhile
        fresh: list[int] = []
        for row in _instances(source, class_id, as_of):
            docs[row.id] = (row.cls, read_doc(row.doc))
            parents = docs[row.id][1].get(_SUBCLASS_OF) or ()
            for parent in parents:
                below.setdefault(parent, []).append(row.id)
            if not known.isdisjoint(parents):
                fresh.append(row.id)
        more = [id for id in reached(fresh, lambda id: below.get(id, ())) if id not in known]
        known.update(more)
        metaclasses += more
    return Schema(generation, changes[-1] if changes else 0, docs, changes)


def _instances(source: SchemaSource, class_id: int, as_of: int | None) -> Iterator[Found]:
    after: Position | None = None
    drive = Equals(core.TYPE, (_REF.index_key(class_id),))
    while True:
        page = source.scan(Scan(drive, _PAGE, after=after, as_of=as_of))
        yield from page
        if len(page) < _PAGE:
            return
        after = Position(page[-1].key, page[-1].id)
