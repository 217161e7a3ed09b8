"""Answering queries: choose an index to walk, walk it in pages, check every document.

All pages of a query look at the moment of the first one, so that writes in between neither
hide nor repeat anything. The index proposes, the filter decides: whatever the walk yields is
checked against the whole filter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

from sandbar.errors import Incorrect, Problem, Unsupported
from sandbar.model import core
from sandbar.model.cursors import Cursor, question_digest, read_cursor, write_cursor
from sandbar.model.documents import Doc, read_doc
from sandbar.model.drives import Drive, choose_drive
from sandbar.model.filters import EVERYTHING, Evaluator, Node, parse_filter
from sandbar.model.findings import Findings, data_of
from sandbar.model.hiding import hidden_ids
from sandbar.model.naming import unknown_entity
from sandbar.model.properties import Property
from sandbar.model.rendering import Source, render
from sandbar.model.results import Page
from sandbar.model.schema import Class, Schema
from sandbar.model.values import VALUE_TYPES
from sandbar.patience import check as check_patience
from sandbar.store.scan import Between, Equals, Found, Position, Scan

LIMIT_DEFAULT = 50
LIMIT_MAX = 1000
SCANNED_ROWS_MAX = 50_000
_CHUNK_MAX = 2_000
_SORTED_ROWS_MAX = 1_000
_ROWS_BETWEEN_LOOKS = 128  # how often a walk asks whether anybody still waits

_REF = VALUE_TYPES["db.type/ref"]


class Question(NamedTuple):
    """A query as it was asked."""

    class_: Any
    where: Any = None
    order_by: str | None = None
    fields: tuple[str, ...] | None = None
    limit: int = LIMIT_DEFAULT
    cursor: str | None = None
    hidden: Collection[str] = ()


class View(NamedTuple):
    """What a query looks at: a source, the schema that holds there, and the moment."""

    source: Source
    schema: Schema
    t: int
    epoch: int
    as_of: int | None  # None: now, which is t


Wrong = tuple[str, Problem]  # which part of the question, and what is wrong with it


class _Stop(NamedTuple):
    phase: int
    key: bytes
    id: int


_START = _Stop(0, b"", 0)


def question_of(question: Question) -> str:
    """The digest that ties a cursor to its query."""
    return question_digest(question.class_, question.where, question.order_by)


def chosen_fields(fields: object) -> tuple[str, ...]:
    """The slots that the caller wants to see."""
    if isinstance(fields, list | tuple | set | frozenset):
        return tuple(fields)
    raise Incorrect("query.fields", "fields is a list of slots", hint='for example ["db/ident"]')


def cursor_of(question: Question, epoch: int) -> Cursor | None:
    """The cursor that the question continues from."""
    if question.cursor is None:
        return None
    return read_cursor(question.cursor, question_of(question), epoch)


def answer(view: View, question: Question, cursor: Cursor | None, resolve: Any) -> Page:
    """One page of the answer."""
    if type(question.limit) is not int or not 1 <= question.limit <= LIMIT_MAX:
        raise Incorrect(
            "query.limit", f"limit is from 1 to {LIMIT_MAX}", hint="page with the cursor"
        )
    walk = _Walk(view, question, resolve)
    start = _START if cursor is None else _Stop(cursor.phase, cursor.key, cursor.id)
    fields = walk.fields
    rows, stop = walk.page(start, question.limit)
    items = render(view.schema, rows, view.source, as_of=view.as_of, fields=fields)
    if stop is None:
        return Page(items, view.t)
    word = write_cursor(Cursor(view.epoch, view.t, question_of(question), *stop))
    return Page(items, view.t, word)


def _all_of(wrong: list[Wrong]) -> Problem:
    """One problem as it is, several as one."""
    if len(wrong) == 1:
        return wrong[0][1]
    findings = Findings()
    arguments: list[str] = []
    for argument, problem in wrong:
        had = len(findings.told)
        findings.adopt(problem)
        arguments += [argument] * (len(findings.told) - had)
    told = zip(arguments, data_of(findings.told), strict=True)
    about = {"findings": [{"argument": argument, **one} for argument, one in told]}
    return Incorrect(
        "query.invalid",
        f"the query is wrong: {wrong[0][1].message}{findings.and_more}",
        hint="; ".join(findings.hints),
        data=findings.data() | about,
    )


def _unordered(property: Property) -> Unsupported:
    hint = "order by an indexed slot with one value; class.describe shows which are indexed?"
    can_be = not (property.many or property.inverse_of or property.secret)
    if can_be and property.kind.indexable:
        hint += f"; schema.define makes {property.ident} one (dt/indexed?), which takes an admin"
    return Unsupported("query.order", f"{property.ident} cannot be ordered by", hint=hint)


class _Walk:
    def __init__(self, view: View, question: Question, resolve: Any) -> None:
        self.view = view
        schema = view.schema
        self.cls: Class = schema.class_named(question.class_)
        self.hidden = hidden_ids(schema, question.hidden)
        below = schema.descendants(self.cls.id)
        self.classes = tuple(id for id in below if id not in self.hidden)
        self.is_wanted = frozenset(self.classes).__contains__
        wrong: list[Wrong] = []
        self.filter: Node = EVERYTHING
        self.order, self.descending = None, False
        try:
            named = partial(self._named, resolve) if self.hidden else resolve
            self.filter = parse_filter(schema, self.cls, question.where, named)
        except Problem as problem:
            wrong.append(("where", problem))
        try:
            self.order, self.descending = self._order(question.order_by)
        except Problem as problem:
            wrong.append(("order-by", problem))
        self.fields = self._fields(question.fields, wrong)
        if wrong:
            raise _all_of(wrong)
        self.evaluator = Evaluator(self._fetch, self._inverse)
        self.docs: dict[int, Doc | None] = {}
        self.inverses: dict[tuple[int, int], list[int]] = {}
        type_keys = tuple(schema.class_by_id(id).type_key for id in self.classes)
        self.everything = Equals(core.TYPE, type_keys)
        self.drive: Drive = choose_drive(self.filter, self.everything, self._ids, self._is_small)

    def _named(self, resolve: Any, given: Any) -> int:
        """The entity that a filter names; by a value nobody is found who is hidden."""
        id: int = resolve(given)
        if isinstance(given, dict):
            rows = self.view.source.entities([id], self.view.as_of)
            if rows and rows[0].cls in self.hidden:
                raise unknown_entity(self.view.schema, given)
        return id

    def _fields(self, names: tuple[str, ...] | None, wrong: list[Wrong]) -> frozenset[str] | None:
        """The idents of the slots to be shown; None for all."""
        if names is None:
            return None
        found = set()
        for name in names:
            try:
                found.add(self.view.schema.property_named(name).ident)
            except Problem as problem:
                wrong.append(("fields", problem))
        return frozenset(found)

    def _order(self, order_by: str | None) -> tuple[Property | None, bool]:
        if order_by is None:
            return None, False
        if not isinstance(order_by, str):
            raise Incorrect(
                "query.order",
                "order-by is a slot, or -slot for the other direction",
                hint='for example "footwear/price"',
            )
        property = self.view.schema.property_named(order_by.removeprefix("-"))
        schema = self.view.schema
        if not any(property.key in schema.class_by_id(id).by_key for id in self.classes):
            raise Incorrect(
                "slot.unknown",
                f"{self.cls.ident} has no slot {property.ident}",
                hint=f"class.slots {self.cls.ident} lists its slots",
            )
        if property.many or not property.indexed:
            raise _unordered(property)
        return property, order_by.startswith("-")

    # --- pages -------------------------------------------------------------------------------

    def page(self, start: _Stop, limit: int) -> tuple[list[Found], _Stop | None]:
        """Rows after `start`, and where the next page begins (None: nowhere)."""
        if self.order is not None and self._sorts_in_memory():
            return self._sorted_page(start, limit)
        rows: list[Found] = []
        phase_of_last = 0
        for scanned, (phase, row) in enumerate(self._candidates(start, limit), 1):
            if not scanned % _ROWS_BETWEEN_LOOKS:
                check_patience()
            if self._accepts(phase, row):
                if len(rows) == limit:
                    return rows, self._stop_of(phase_of_last, rows[-1])
                rows.append(row)
                phase_of_last = phase
            if scanned >= SCANNED_ROWS_MAX:
                return rows, self._stop_of(phase, row)
        return rows, None

    @staticmethod
    def _stop_of(phase: int, row: Found) -> _Stop:
        return _Stop(phase, row.key, row.id)

    def _candidates(self, start: _Stop, limit: int) -> Iterator[tuple[int, Found]]:
        """Rows in order: by the ordering slot first, then (phase 1) those that lack it."""
        if self.order is None:
            yield from ((0, row) for row in self._scan(self.drive.main, start, limit))
            return
        if start.phase == 0:
            drive = self.drive.ordered_by(self.order)
            yield from ((0, row) for row in self._scan(drive, start, limit))
            start = _Stop(1, b"", 0)
        if self.order.id in self.drive.ranges or self.order in self.cls.required_slots:
            return  # whoever lacks the slot is no result
        yield from ((1, row) for row in self._scan(self.everything, start, limit))

    def _scan(self, drive: Equals | Between, start: _Stop, limit: int) -> Iterator[Found]:
        if isinstance(drive, Equals) and not drive.keys:
            return
        after = None if start == _Stop(start.phase, b"", 0) else Position(start.key, start.id)
        chunk = limit + 1
        while True:
            scan = Scan(
                drive,
                chunk,
                classes=() if drive is self.everything else self.classes,
                also=tuple(probe for probe in self.drive.equals if probe != drive),
                after=after,
                descending=self.descending and isinstance(drive, Between),
                as_of=self.view.as_of,
            )
            found = self.view.source.scan(scan)
            yield from found
            if len(found) < chunk:
                return
            after = Position(found[-1].key, found[-1].id)
            chunk = min(chunk * 2, _CHUNK_MAX)

    def _accepts(self, phase: int, row: Found) -> bool:
        if not self.is_wanted(row.cls):
            return False
        doc = read_doc(row.doc)
        if phase == 1 and self.order is not None and self.order.key in doc:
            return False
        if self.order is None and self.drive.is_repeated(row, doc):
            return False
        return self.evaluator.holds(self.filter, row.id, doc)

    # --- sorting -----------------------------------------------------------------------------

    def _sorts_in_memory(self) -> bool:
        drive = self.drive.main
        if not isinstance(drive, Equals) or drive == self.everything:
            return False
        return self.drive.is_unique or self._is_small(drive)

    def _sorted_page(self, start: _Stop, limit: int) -> tuple[list[Found], _Stop | None]:
        assert self.order is not None
        order = self.order
        rows = [
            row
            for row in self._scan(self.drive.main, _START, _SORTED_ROWS_MAX)
            if self._accepts(0, row)
        ]
        has = [
            (order.index_keys(v)[0], row)
            for row in rows
            if (v := read_doc(row.doc).get(order.key)) is not None
        ]
        lacks = [row for row in rows if order.key not in read_doc(row.doc)]
        has.sort(key=lambda pair: (pair[0], pair[1].id), reverse=self.descending)
        lacks.sort(key=lambda row: row.id)
        line = [(0, key, row) for key, row in has] + [(1, b"", row) for row in lacks]
        if start != _START:
            line = [one for one in line if self._is_after(start, *one)]
        page = line[:limit]
        stop = _Stop(page[-1][0], page[-1][1], page[-1][2].id) if len(line) > limit else None
        return [row for _, _, row in page], stop

    def _is_after(self, start: _Stop, phase: int, key: bytes, row: Found) -> bool:
        """Whether a row comes after a place, where none may stand any more: it can be purged."""
        if phase != start.phase or phase == 1:
            return (phase, row.id) > (start.phase, start.id)
        here, there = (key, row.id), (start.key, start.id)
        return here < there if self.descending else here > there

    # --- looking things up -------------------------------------------------------------------

    def _is_small(self, drive: Equals) -> bool:
        scan = Scan(drive, _SORTED_ROWS_MAX + 1, classes=self.classes, as_of=self.view.as_of)
        return len(self.view.source.scan(scan)) <= _SORTED_ROWS_MAX

    def _fetch(self, id: int) -> Doc | None:
        if id not in self.docs:
            rows = self.view.source.entities([id], self.view.as_of)
            is_seen = bool(rows) and rows[0].cls not in self.hidden
            self.docs[id] = read_doc(rows[0].doc) if is_seen else None
        return self.docs[id]

    def _inverse(self, property: Property, id: int) -> list[int]:
        if (property.id, id) not in self.inverses:
            self.inverses[property.id, id] = self._read_inverse(property, id)
        return self.inverses[property.id, id]

    def _read_inverse(self, property: Property, id: int) -> list[int]:
        assert property.inverse_of is not None
        drive = Equals(property.inverse_of, (_REF.index_key(id),))
        ids: list[int] = []
        after: Position | None = None
        while True:
            scan = Scan(drive, _CHUNK_MAX, after=after, as_of=self.view.as_of)
            page = self.view.source.scan(scan)
            ids += [row.id for row in page if row.cls not in self.hidden]
            if len(page) < _CHUNK_MAX:
                return ids
            after = Position(page[-1].key, page[-1].id)

    def _ids(self, drive: Equals | Between, node: Node, limit: int) -> list[int] | None:
        """Ids of all entities that satisfy `node`, or None if the walk finds too many."""
        found = self.view.source.scan(Scan(drive, limit + 1, as_of=self.view.as_of))
        if len(found) > limit:
            return None
        seen = (row for row in found if row.cls not in self.hidden)
        good = {row.id for row in seen if self.evaluator.holds(node, row.id, read_doc(row.doc))}
        return sorted(good)
