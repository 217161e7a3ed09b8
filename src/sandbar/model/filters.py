"""The filter language: plain JSON in, a small tree out, and its meaning.

    {"footwear/name": "X"}                      a slot equals a value
    {"footwear/price": {">=": 10, "<": 20}}     = != < <= > >= in contains starts-with exists
    {"order/customer": {"person/name": "Ann"}}  through a reference, as deep as need be
    {"and": [...]} {"or": [...]} {"not": {...}}

On a many-valued slot a comparison holds if any value satisfies it. `contains` looks inside text
and otherwise for an equal value. An absent slot satisfies no comparison but `!=`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sandbar.errors import Incorrect, Problem
from sandbar.findings import Finding, Findings
from sandbar.keywords import composed, spellings
from sandbar.model import core
from sandbar.model.naming import Naming, naming_slot
from sandbar.model.properties import Property
from sandbar.model.schema import Class, Schema
from sandbar.model.synonyms import connective_meant, operator_meant
from sandbar.model.values import door_check
from sandbar.model.values.refusals import named, quoted, typed
from sandbar.suggestions import Suggestion

DEPTH_MAX = 8
NODES_MAX = 200
IN_VALUES_MAX = 1000

TEXT_KINDS = {"db.type/string", "db.type/uri", "db.type/keyword", "db.type/symbol"}
_KEYWORD = "db.type/keyword"
_EQUALITIES = ("=", "!=", "in", "contains")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "in", "contains", "starts-with", "exists")


class Compare(NamedTuple):
    """A slot against operands, given as order keys (text for contains and starts-with)."""

    property: Property
    op: str
    keys: tuple[bytes, ...]
    text: str = ""
    among: frozenset[bytes] = frozenset()  # the same keys: there can be a thousand of them


class Exists(NamedTuple):
    """Whether a slot has any value."""

    property: Property
    wanted: bool


class Through(NamedTuple):
    """Some entity that a slot refers to satisfies another filter."""

    property: Property
    inner: Node


class And(NamedTuple):
    """All of them."""

    parts: tuple[Node, ...]


class Or(NamedTuple):
    """Any of them."""

    parts: tuple[Node, ...]


class Not(NamedTuple):
    """Not that."""

    part: Node


Node = Compare | Exists | Through | And | Or | Not

EVERYTHING = And(())


def is_local(node: Node) -> bool:
    """Whether an entity's own document is enough to decide."""
    if isinstance(node, And | Or):
        return all(is_local(part) for part in node.parts)
    if isinstance(node, Not):
        return is_local(node.part)
    return not isinstance(node, Through) and not node.property.inverse_of


def parse_filter(schema: Schema, cls: Class | None, where: object, names: Naming) -> Node:
    """The tree of a filter, or one refusal with everything that is wrong with it."""
    parser = _Parser(schema, names)
    node = parser.parse(where, cls, 0)
    findings = parser.findings
    if findings.told:
        slot = findings.told[0].slot
        raise findings.as_problem("filter.invalid", f"{slot}: " if slot else "")
    return node


class _Parser:
    def __init__(self, schema: Schema, names: Naming) -> None:
        self.schema = schema
        self.names = names
        self.findings = Findings()
        self.nodes = 0
        self._below: dict[Class, set[str]] = {}

    def parse(self, where: object, cls: Class | None, depth: int) -> Node:
        self.nodes += 1
        width = len(where) if isinstance(where, dict) else 0
        if depth > DEPTH_MAX or self.nodes > NODES_MAX or width > NODES_MAX:
            raise Incorrect(
                "filter.too-large",
                f"a filter has at most {DEPTH_MAX} levels and {NODES_MAX} parts",
                hint="ask several simpler questions",
            )
        if where is None:
            return EVERYTHING
        if not isinstance(where, dict):
            return self._wrong("filter.malformed", "a filter is a JSON object", None, _EXAMPLE)
        parts = [self._part(key, value, cls, depth) for key, value in where.items()]
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _part(self, key: Any, value: Any, cls: Class | None, depth: int) -> Node:
        if key in ("and", "or"):
            if not isinstance(value, list):
                return self._wrong("filter.malformed", f"{key} takes a list", None, _EXAMPLE)
            parts = tuple(self.parse(part, cls, depth + 1) for part in value)
            return And(parts) if key == "and" else Or(parts)
        if key == "not":
            return Not(self.parse(value, cls, depth + 1))
        property = self._slot(key, cls)
        if property is None:
            return EVERYTHING
        if isinstance(value, dict) and value and not self._is_comparison(value):
            return self._through(property, value, depth)
        if not isinstance(value, dict) or not value:
            value = {"exists": False} if value is None else {"=": value}
        parts = tuple(self._compare(property, op, operand) for op, operand in value.items())
        return parts[0] if len(parts) == 1 else And(parts)

    def _slot(self, name: Any, cls: Class | None) -> Property | None:
        try:
            property = self.schema.property_named(name)
        except Problem:
            asked = "schema.properties lists them"
            call = asked if cls is None else f"class.slots {cls.ident} lists its slots"
            meant = Suggestion(name, self._slots_below(cls), call, connective_meant(name))
            self._wrong("slot.unknown", f"there is no slot {named(name)}", named(name), meant)
            return None
        if cls is not None and not self._has(cls, property.ident):
            call = f"class.slots {cls.ident} lists its slots"
            meant = Suggestion(property.ident, (), call, self._around(property, cls))
            self._wrong("slot.unknown", f"{cls.ident} has no such slot", property.ident, meant)
            return None
        if property.secret:
            hint = "secret_matches compares a secret"
            self._wrong("slot.secret", "a secret slot cannot be asked for", property.ident, hint)
            return None
        return property

    def _has(self, cls: Class, slot: str) -> bool:
        """Whether an instance of the class can have a slot; most have it by the class itself."""
        return slot in cls.slots or slot in self._slots_below(cls)

    def _around(self, property: Property, cls: Class) -> str | None:
        """The reference that leads from a class to one that has a slot, if there is any."""
        for ref in cls.slots.values() if not self.findings.told else ():
            target = None if ref.target is None else self.schema.class_of_id(ref.target)
            if target is not None and property.ident in target.slots:
                return f'follow a reference to it: {{"{ref.ident}": {{"{property.ident}": …}}}}'
        return None

    def _slots_below(self, cls: Class | None) -> Collection[str]:
        if cls is None:
            return self.schema.property_names
        known = self._below.get(cls)
        if known is None:
            below = self.schema.descendants(cls.id)
            known = self._below[cls] = self.schema.slots_of_any(below)
        return known

    @staticmethod
    def _is_comparison(value: dict[Any, Any]) -> bool:
        return not any(
            isinstance(key, str) and ("/" in key or key in ("and", "or", "not")) for key in value
        )

    def _through(self, property: Property, value: dict[str, Any], depth: int) -> Node:
        if not property.is_ref:
            hint = f"it is a {property.kind.ident}; compare it with {', '.join(COMPARISONS)}"
            return self._wrong("filter.not-a-reference", "not a reference", property.ident, hint)
        target = None if property.target is None else self.schema.class_by_id(property.target)
        return Through(property, self.parse(value, target, depth + 1))

    def _compare(self, property: Property, op: Any, operand: Any) -> Node:
        if op not in COMPARISONS:
            return self._wrong(
                "filter.operator",
                f"unknown operator {quoted(op)}",
                property.ident,
                self._operator_hint(property, op, operand),
            )
        if op == "exists":
            if not isinstance(operand, bool):
                return self._operand(property, "exists takes true or false")
            return Exists(property, operand)
        if op == "starts-with" or (op == "contains" and property.kind.ident in TEXT_KINDS):
            return self._text(property, op, operand)
        if not property.kind.indexable:
            hint = "use exists"
            return self._wrong("filter.not-comparable", "has no order", property.ident, hint)
        return self._keys(property, op, operand)

    def _operator_hint(self, property: Property, op: Any, operand: Any) -> str | Suggestion:
        if (meant := operator_meant(op, operand)) is not None:
            return meant
        takes = f"use {', '.join(COMPARISONS)}"
        if not property.is_ref:
            return takes
        target = None if property.target is None else self.schema.class_by_id(property.target)
        return Suggestion(op, self._slots_below(target), f"{takes}; or the slots of its target")

    def _text(self, property: Property, op: str, operand: Any) -> Node:
        if property.kind.ident not in TEXT_KINDS:
            hint = f"it is a {property.kind.ident}; {op} looks inside text"
            return self._wrong("filter.operand", f"{op} takes text", property.ident, hint)
        if not isinstance(operand, str):
            return self._operand(property, f"{op} takes text")
        try:
            door_check(operand)
        except Problem as problem:
            self.findings.note(problem, **_about(property.ident))
        if property.kind.ident == _KEYWORD:
            operand = operand.removeprefix(":")  # as everywhere on the way in; none is stored
        return Compare(
            property, op, (), composed(operand) if property.id == core.IDENT else operand
        )

    def _operand(self, property: Property, message: str) -> Node:
        return self._wrong("filter.operand", message, property.ident, _OPERANDS)

    def _keys(self, property: Property, op: str, operand: Any) -> Node:
        if op == "in" and not isinstance(operand, list | tuple):
            return self._operand(property, "in takes a list")
        operands = list(operand) if op == "in" else [operand]
        if len(operands) > IN_VALUES_MAX:
            return self._operand(property, f"in takes at most {IN_VALUES_MAX} values")
        if property.is_ref and len(operands) > 1:
            self.names.expect(operands)
        keys: list[bytes] = []
        for value in operands:
            try:
                stored = (
                    self.names.resolve(value) if property.is_ref else property.kind.decode(value)
                )
                keys += _order_keys(property, op, value, stored)
            except Problem as problem:
                if isinstance(value, list):
                    problem = _several(property, op, problem)
                elif property.is_ref and problem.code == "keyword.malformed":
                    problem = self._by_value(property, value, problem)
                self.findings.note(problem, **_about(property.ident))
        return Compare(property, op, tuple(keys), among=frozenset(keys))

    def _by_value(self, property: Property, value: str, problem: Problem) -> Problem:
        """The refusal of a text that is no ident: its target can be asked for by what it says."""
        target = None if property.target is None else self.schema.class_by_id(property.target)
        known = None if target is None else naming_slot(self.schema, target)
        if known is None:
            return problem
        inner = typed({property.ident: {known.ident: value}})
        call = f"use {inner}; or the id or the ident of a {target.ident if target else 'target'}"
        return Incorrect(problem.code, problem.message, hint=Suggestion(value, (), call))

    def _wrong(
        self, code: str, message: str, slot: str | None, hint: str | Suggestion | None
    ) -> Node:
        said = self.findings.hint(hint)
        unknown = hint.unknown if isinstance(hint, Suggestion) else None
        found = Finding(code=code, message=message, hint=said, unknown=unknown, **_about(slot))
        self.findings.add(found)
        return EVERYTHING


def _about(slot: str | None) -> dict[str, Any]:
    """Where something is wrong in a filter: with what is asked of a slot, or with the whole."""
    return {"slot": slot, "place": f"where.{slot}" if slot else "where"}


def _order_keys(property: Property, op: str, given: Any, stored: Any) -> list[bytes]:
    """The key of an operand; an ident that may be kept in another spelling has several."""
    is_name = property.id == core.IDENT and isinstance(given, str) and op in _EQUALITIES
    values = spellings(given) if is_name else (stored,)
    return [property.kind.order_key(value) for value in values]


def _several(property: Property, op: str, problem: Problem) -> Problem:
    """The refusal of a list where one value is compared."""
    if op != "=" or property.kind.ident in ("db.type/json", "db.type/tuple"):
        return problem
    hint = f'for any of several values use {{"{property.ident}": {{"in": [value, …]}}}}'
    return Incorrect(problem.code, problem.message, hint=hint)


_OPERANDS = 'for example {"exists": true}, {"in": [1, 2]} or {"starts-with": "Moon"}'
_EXAMPLE = 'for example {"footwear/price": {"<": 100}}'
