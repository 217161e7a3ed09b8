"""Answering queries: choose an index to walk, walk it in pages, check every document.

All pages of a query look at the moment of the first one, so that writes in between neither
hide nor repeat anything. The index proposes, the filter decides: whatever the walk yields is
checked against the whole filter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sandbar.errors import Incorrect, NotFound, Problem, Unsupported
from sandbar.findings import Findings
from sandbar.model import core
from sandbar.model.cursors import Cursor, question_digest, read_cursor, write_cursor
from sandbar.model.documents import Doc, read_doc
from sandbar.model.drives import Drive, choose_drive
from sandbar.model.filter_evaluation import Evaluator
from sandbar.model.filters import EVERYTHING, Node, is_local, parse_filter
from sandbar.model.hiding import hidden_ids
from sandbar.model.moments import Moment
from sandbar.model.naming import Naming, unknown_entity
from sandbar.model.neighbours import Neighbours, Surroundings
from sandbar.model.properties import Property
from sandbar.model.rendering import render_read
from sandbar.model.results import Page
from sandbar.model.schema import Class, Schema
from sandbar.model.values.refusals import suggestion
from sandbar.patience import check as check_patience
from sandbar.store import Between, Equals, Found, Position, Scan

LIMIT_DEFAULT = 50
LIMIT_MAX = 1000
FIELDS_MAX = 1000
SCANNED_ROWS_MAX = 50_000
_CHUNK_MAX = 2_000
_SORTED_ROWS_MAX = 1_000
_LOOK_AHEAD_ROWS = 250
_ROWS_BETWEEN_LOOKS = 128  # how often a walk asks whether anybody still waits


class Question(NamedTuple):
    """A query as it was asked. It is passed on whole; a field is read where it counts."""

    class_: Any
    where: Any = None
    order_by: str | None = None
    fields: Sequence[str] | None = None
    limit: int = LIMIT_DEFAULT
    cursor: str | None = None
    as_of: Moment | None = None
    hidden: Collection[str] = ()  # classes whose instances are left out


class View(NamedTuple):
    """What a query looks at: a source, the schema that holds there, and the moment."""

    source: Surroundings
    schema: Schema
    t: int
    epoch: int
    as_of: int | None  # None: now, which is t


Read = tuple[Found, Doc]
Wrong = tuple[str, Problem]  # which part of the question, and what is wrong with it


class _Stop(NamedTuple):
    phase: int
    key: bytes
    id: int


_START = _Stop(0, b"", 0)


def question_of(question: Question) -> str:
    """The digest that ties a cursor to its query."""
    return question_digest(question.class_, question.where, question.order_by)


def with_fields_checked(question: Question) -> Question:
    """The question, with the slots that the caller wants to see as a tuple of them."""
    fields: object = question.fields
    if fields is None:
        return question
    if isinstance(fields, list | tuple | set | frozenset) and len(fields) <= FIELDS_MAX:
        return question._replace(fields=tuple(fields))
    wrong = f"fields is a list of at most {FIELDS_MAX} slots"
    raise Incorrect("query.fields", wrong, hint='for example ["db/ident"]')


def cursor_of(question: Question, epoch: int) -> Cursor | None:
    """The cursor that the question continues from."""
    if question.cursor is None:
        return None
    return read_cursor(question.cursor, question_of(question), epoch)


def answer(view: View, question: Question, cursor: Cursor | None, names: Naming) -> Page:
    """One page of the answer."""
    if type(question.limit) is not int or not 1 <= question.limit <= LIMIT_MAX:
        raise Incorrect(
            "query.limit", f"limit is from 1 to {LIMIT_MAX}", hint="page with the cursor"
        )
    walk = _Walk(view, question, names)
    start = _START if cursor is None else _Stop(cursor.phase, cursor.key, cursor.id)
    fields = walk.fields
    rows, stop = walk.page(start, question.limit)
    items = render_read(view.schema, rows, view.source, as_of=view.as_of, fields=fields)
    if stop is None:
        return Page(items, view.t)
    word = write_cursor(Cursor(view.epoch, view.t, question_of(question), *stop))
    return Page(items, view.t, word)


def _all_of(wrong: list[Wrong]) -> Problem:
    """One problem as it is, several as one."""
    if len(wrong) == 1:
        return wrong[0][1]
    findings = Findings()
    for argument, problem in wrong:
        findings.adopt(problem, argument=argument)
    return Incorrect(
        "query.invalid",
        f"the query is wrong: {wrong[0][1].message}{findings.and_more}",
        hint="; ".join(findings.hints),
        data=findings.data(),
    )


def _unordered(property: Property) -> Unsupported:
    hint = "order by an indexed slot with one value; class.describe shows which are indexed?"
    can_be = not (property.many or property.inverse_of or property.secret)
    if can_be and property.kind.indexable:
        hint += f"; schema.define makes {property.ident} one (dt/indexed?), which takes an admin"
    return Unsupported("query.order", f"{property.ident} cannot be ordered by", hint=hint)


class _Seen(NamedTuple):
    """The entities that a filter names; by a value nobody is found who is hidden."""

    names: Naming
    view: View
    hidden: Collection[int]

    def expect(self, given: list[Any]) -> None:
        self.names.expect(given)

    def resolve(self, given: Any) -> int:
        id = self.names.resolve(given)
        if isinstance(given, dict):
            rows = self.view.source.entities([id], self.view.as_of)
            if rows and rows[0].cls in self.hidden:
                raise unknown_entity(self.view.schema, given)
        return id


class _Walk:
    def __init__(self, view: View, question: Question, names: Naming) -> None:
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
            seen = _Seen(names, view, self.hidden) if self.hidden else names
            self.filter = parse_filter(schema, self.cls, question.where, seen)
        except Problem as problem:
            wrong.append(("where", problem))
        try:
            self.order, self.descending = self._order(question.order_by)
        except Problem as problem:
            wrong.append(("order-by", problem))
        self.fields = self._fields(question.fields, wrong)
        if wrong:
            raise _all_of(wrong)
        self.evaluator = Evaluator(Neighbours(view.source, view.as_of, self.hidden))
        self.is_local = is_local(self.filter)
        type_keys = tuple(schema.class_by_id(id).type_key for id in self.classes)
        self.everything = Equals(core.TYPE, type_keys)
        self.drive: Drive = choose_drive(self.filter, self.everything, self._ids, self._is_small)

    def _fields(self, names: Sequence[str] | None, wrong: list[Wrong]) -> frozenset[str] | None:
        """The idents of the slots to be shown; None for all."""
        if names is None:
            return None
        found = set()
        for name in names:
            try:
                found.add(self._property(name).ident)
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
        property = self._property(order_by.removeprefix("-"))
        if property.ident not in self.view.schema.slots_of_any(self.classes):
            raise Incorrect(
                "slot.unknown",
                f"{self.cls.ident} has no slot {property.ident}",
                hint=f"class.slots {self.cls.ident} lists its slots",
            )
        if property.many or not property.indexed:
            raise _unordered(property)
        return property, order_by.startswith("-")

    def _property(self, name: object) -> Property:
        """The property of that name; what was meant instead is a slot of the class."""
        try:
            return self.view.schema.property_named(name)
        except NotFound as problem:
            slots = (slot for id in self.classes for slot in self.view.schema.class_by_id(id).slots)
            call = f"class.slots {self.cls.ident} lists its slots"
            plain, _, way = name.rpartition(" ") if isinstance(name, str) else ("", "", "")
            is_way = plain and way.lower() in ("asc", "desc")
            meant = f'use "{"-" if way.lower() == "desc" else ""}{plain}"' if is_way else None
            hint = suggestion(name, slots, call, meant)
            raise NotFound(problem.code, problem.message, hint=hint, data=problem.data) from None

    # --- pages -------------------------------------------------------------------------------

    def page(self, start: _Stop, limit: int) -> tuple[list[Read], _Stop | None]:
        """Rows after `start`, and where the next page begins (None: nowhere)."""
        if self.order is not None and self._sorts_in_memory():
            return self._sorted_page(start, limit)
        rows: list[Read] = []
        phase_of_last = 0
        for scanned, (phase, row, doc) in enumerate(self._candidates(start, limit), 1):
            if not scanned % _ROWS_BETWEEN_LOOKS:
                check_patience()
            if self._accepts(phase, row, doc):
                if len(rows) == limit:
                    return rows, self._stop_of(phase_of_last, rows[-1][0])
                rows.append((row, doc))
                phase_of_last = phase
            if scanned >= SCANNED_ROWS_MAX:
                return rows, self._stop_of(phase, row)
        return rows, None

    @staticmethod
    def _stop_of(phase: int, row: Found) -> _Stop:
        return _Stop(phase, row.key, row.id)

    def _candidates(self, start: _Stop, limit: int) -> Iterator[tuple[int, Found, Doc]]:
        """Rows in order: by the ordering slot first, then (phase 1) those that lack it."""
        if self.order is None:
            yield from ((0, *row) for row in self._scan(self.drive.main, start, limit))
            return
        if start.phase == 0:
            drive = self.drive.ordered_by(self.order)
            yield from ((0, *row) for row in self._scan(drive, start, limit))
            start = _Stop(1, b"", 0)
        if self.order.id in self.drive.ranges or self.order in self.cls.required_slots:
            return  # whoever lacks the slot is no result
        yield from ((1, *row) for row in self._scan(self.everything, start, limit))

    def _scan(self, drive: Equals | Between, start: _Stop, limit: int) -> Iterator[Read]:
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
            if self.is_local:
                yield from ((row, read_doc(row.doc)) for row in found)
            else:
                yield from self._looking_ahead(found)
            if len(found) < chunk:
                return
            after = Position(found[-1].key, found[-1].id)
            chunk = min(chunk * 2, _CHUNK_MAX)

    def _looking_ahead(self, found: list[Found]) -> Iterator[Read]:
        """Rows whose neighbours are at hand when they come, in pieces: a page may be full soon."""
        for start in range(0, len(found), _LOOK_AHEAD_ROWS):
            rows = [(row, read_doc(row.doc)) for row in found[start : start + _LOOK_AHEAD_ROWS]]
            wanted = [(row.id, doc) for row, doc in rows if self.is_wanted(row.cls)]
            self.evaluator.look_ahead(self.filter, wanted)
            yield from rows

    def _accepts(self, phase: int, row: Found, doc: Doc) -> bool:
        if not self.is_wanted(row.cls):
            return False
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

    def _sorted_page(self, start: _Stop, limit: int) -> tuple[list[Read], _Stop | None]:
        assert self.order is not None
        order = self.order
        rows = [
            (row, doc)
            for row, doc in self._scan(self.drive.main, _START, _SORTED_ROWS_MAX)
            if self._accepts(0, row, doc)
        ]
        has = [(order.index_keys(one[1][order.key])[0], one) for one in rows if order.key in one[1]]
        has.sort(key=lambda pair: (pair[0], pair[1][0].id), reverse=self.descending)
        lacks = [one for one in rows if order.key not in one[1]]  # in order of id, as they came
        line = [(_Stop(0, key, one[0].id), one) for key, one in has]
        line += [(_Stop(1, b"", one[0].id), one) for one in lacks]
        if start != _START:
            line = [(place, one) for place, one in line if self._is_after(start, place)]
        page = line[:limit]
        return [one for _, one in page], page[-1][0] if len(line) > limit else None

    def _is_after(self, start: _Stop, place: _Stop) -> bool:
        """Whether a place comes after another, where nobody may stand any more: it was purged."""
        if place.phase != start.phase or place.phase == 1:
            return (place.phase, place.id) > (start.phase, start.id)
        here, there = place[1:], start[1:]
        return here < there if self.descending else here > there

    # --- looking things up -------------------------------------------------------------------

    def _is_small(self, drive: Equals) -> bool:
        scan = Scan(drive, _SORTED_ROWS_MAX + 1, classes=self.classes, as_of=self.view.as_of)
        return len(self.view.source.scan(scan)) <= _SORTED_ROWS_MAX

    def _ids(self, drive: Equals | Between, node: Node, limit: int) -> list[int] | None:
        """Ids of all entities that satisfy `node`, or None if the walk finds too many."""
        found = self.view.source.scan(Scan(drive, limit + 1, as_of=self.view.as_of))
        if len(found) > limit:
            return None
        seen = {row.id: read_doc(row.doc) for row in found if row.cls not in self.hidden}
        return sorted(self.evaluator.satisfying(node, list(seen.items())))
