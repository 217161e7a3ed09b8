"""Whether a JSON Schema can be enforced: known keywords, right operands, references that end.

A keyword that nobody would enforce is refused, because a schema that silently checks less than it
says is worse than none. Keys that begin with x- are the author's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.errors import Problem
from sandbar.findings import Findings, finding_of
from sandbar.model import compile_pattern
from sandbar.workflow.data_schemas import resolve
from sandbar.workflow.findings import shown

SCHEMAS_MAX = 2_000
_PATTERN_CHARACTERS_MAX = 8_000  # of all patterns of a schema
_REFERENCE_CHARACTERS_MAX = 255
_TYPES = ("null", "boolean", "string", "number", "integer", "array", "object")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_INSTEAD = {
    "$dynamicRef": "use $ref",
    "$id": "remove it: a data schema stands alone",
    "$anchor": "use $defs, and $ref with a path",
    "$dynamicAnchor": "use $defs, and $ref with a path",
    "additionalItems": "use prefixItems and items",
    "dependencies": "use dependentRequired or dependentSchemas",
    "unevaluatedProperties": "use additionalProperties",
    "unevaluatedItems": "use items",
}


def check_schema(schema: Any, at: str, findings: Findings) -> None:
    """Put everything that is wrong with a schema into the findings."""
    _Check(schema, findings).run(at)


class _Check:
    """One check; subschemas are known by their identity in the document."""

    def __init__(self, root: Any, findings: Findings) -> None:
        self._root = root
        self._findings = findings
        self._known: dict[int, Any] = {}
        self._beside: dict[int, list[Any]] = {}  # subschemas that see the same value
        self._pattern_room = _PATTERN_CHARACTERS_MAX
        self._references: list[tuple[dict[str, Any], str]] = []

    def run(self, at: str) -> None:
        self.schema(self._root, at)
        if len(self._known) > SCHEMAS_MAX:
            self.refuse(at, f"it has more than {SCHEMAS_MAX:,} parts", "simplify the schema")
            return
        for schema, place in self._references:
            self._check_reference(schema, place)
        self._check_loops(at)

    def refuse(self, at: str, message: str, hint: str | None = None) -> None:
        self._findings.complain("workflow.schema", at, message, hint)

    def schema(self, schema: Any, at: str) -> None:
        """A schema: true, false or an object of keywords."""
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            self.refuse(at, f"expected a schema, got {shown(schema)}", 'for example {"type": …}')
            return
        if len(self._known) > SCHEMAS_MAX:
            return
        self._known[id(schema)] = schema
        beside: list[Any] = []
        for keyword, operand in schema.items():
            place = f"{at}.{keyword[:80]}"
            check = _OPERANDS.get(keyword)
            if check is not None:
                check(self, operand, place)
            elif not keyword.startswith("x-"):
                self._refuse_keyword(keyword, at)
            if keyword in _BESIDE:
                beside += _members(operand, keyword)
        self._beside[id(schema)] = beside
        if isinstance(schema.get("$ref"), str):
            self._references.append((schema, at))

    def pattern(self, pattern: str, at: str) -> None:
        """A pattern that RE2 takes."""
        self._pattern_room -= len(pattern)
        if self._pattern_room < 0:
            self.refuse(at, "the patterns are too long", "shorten them")
            return
        try:
            compile_pattern(pattern)
        except Problem as problem:
            self._findings.add(finding_of(problem, at=at))

    def _refuse_keyword(self, keyword: str, at: str) -> None:
        hint = (
            _INSTEAD.get(keyword)
            or self._findings.guess(keyword, _OPERANDS)
            or "a name for your own use begins with x-"
        )
        self.refuse(at, f"the keyword {shown(keyword)} is not supported", hint)

    def _check_reference(self, schema: dict[str, Any], at: str) -> None:
        reference = schema["$ref"]
        try:
            if not reference.startswith("#") or len(reference) > _REFERENCE_CHARACTERS_MAX:
                raise LookupError(reference)
            target = resolve(self._root, reference)
        except LookupError:
            target = None
        if isinstance(target, bool):
            return
        if id(target) not in self._known:
            self.refuse(
                f"{at}.$ref",
                f"{shown(reference)} names no schema in this document",
                "references look like #/$defs/address and stay within the schema",
            )
            return
        self._beside[id(schema)].append(target)

    def _check_loops(self, at: str) -> None:
        """A schema that applies itself to the same value would never come to an end."""
        done: set[int] = set()
        for start in self._known.values():
            path: list[tuple[int, list[Any]]] = [(id(start), list(self._beside[id(start)]))]
            on_path = {id(start)}
            while path:
                here, waiting = path[-1]
                if here in done or not waiting:
                    done.add(here)
                    on_path.discard(here)
                    path.pop()
                    continue
                there = id(waiting.pop())
                if there in on_path:
                    self.refuse(at, "a $ref leads back to itself", "put a property between them")
                    return
                if there in self._beside:
                    on_path.add(there)
                    path.append((there, list(self._beside[there])))


def _members(operand: Any, keyword: str) -> list[Any]:
    """The schemas of an operand."""
    members = [operand]
    if isinstance(operand, list):
        members = operand
    elif keyword == "dependentSchemas" and isinstance(operand, dict):
        members = list(operand.values())
    return [one for one in members if isinstance(one, dict)]


# --- operands ------------------------------------------------------------------------------------


def _any(check: _Check, operand: Any, at: str) -> None:
    """An annotation, or a value to compare with."""


def _text(check: _Check, operand: Any, at: str) -> None:
    if not isinstance(operand, str):
        check.refuse(at, f"expected a text, got {shown(operand)}")


def _flag(check: _Check, operand: Any, at: str) -> None:
    if not isinstance(operand, bool):
        check.refuse(at, f"expected true or false, got {shown(operand)}")


def _number(check: _Check, operand: Any, at: str) -> None:
    if not isinstance(operand, int | float) or isinstance(operand, bool):
        check.refuse(at, f"expected a number, got {shown(operand)}")


def _divisor(check: _Check, operand: Any, at: str) -> None:
    is_number = isinstance(operand, int | float) and not isinstance(operand, bool)
    if not is_number or operand <= 0:
        check.refuse(at, f"expected a number above zero, got {shown(operand)}")


def _count(check: _Check, operand: Any, at: str) -> None:
    if not isinstance(operand, int) or isinstance(operand, bool) or operand < 0:
        check.refuse(at, f"expected a whole number from zero up, got {shown(operand)}")


def _list(check: _Check, operand: Any, at: str) -> None:
    if not isinstance(operand, list):
        check.refuse(at, f"expected an array, got {shown(operand)}")


def _values(check: _Check, operand: Any, at: str) -> None:
    if not isinstance(operand, list) or not operand:
        check.refuse(at, f"expected an array with something in it, got {shown(operand)}")


def _names(check: _Check, operand: Any, at: str) -> None:
    names = operand if isinstance(operand, list) else [None]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        check.refuse(at, f"expected an array of different names, got {shown(operand)}")


def _type(check: _Check, operand: Any, at: str) -> None:
    names = operand if isinstance(operand, list) and operand else [operand]
    if not all(isinstance(name, str) and name in _TYPES for name in names):
        check.refuse(
            at, f"expected a type, got {shown(operand)}", f"the types are {', '.join(_TYPES)}"
        )


def _dialect(check: _Check, operand: Any, at: str) -> None:
    if not isinstance(operand, str) or operand.removesuffix("#") != _DIALECT:
        check.refuse(at, f"{shown(operand)} is not the dialect spoken here", f"it is {_DIALECT}")


def _pattern(check: _Check, operand: Any, at: str) -> None:
    _text(check, operand, at)
    if isinstance(operand, str):
        check.pattern(operand, at)


def _schema(check: _Check, operand: Any, at: str) -> None:
    check.schema(operand, at)


def _schemas(check: _Check, operand: Any, at: str) -> None:
    _values(check, operand, at)
    for index, one in enumerate(operand if isinstance(operand, list) else ()):
        check.schema(one, f"{at}[{index}]")


def _object(check: _Check, operand: Any, at: str) -> dict[str, Any]:
    if isinstance(operand, dict):
        return operand
    check.refuse(at, f"expected an object, got {shown(operand)}")
    return {}


def _schema_map(check: _Check, operand: Any, at: str) -> None:
    for name, one in _object(check, operand, at).items():
        check.schema(one, f"{at}.{name[:80]}")


def _pattern_map(check: _Check, operand: Any, at: str) -> None:
    for pattern in _object(check, operand, at):
        check.pattern(pattern, at)
    if isinstance(operand, dict):
        _schema_map(check, operand, at)


def _name_map(check: _Check, operand: Any, at: str) -> None:
    for name, names in _object(check, operand, at).items():
        _names(check, names, f"{at}.{name[:80]}")


# Keywords whose schemas see the same value as the schema that they stand in.
_BESIDE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})

_OPERANDS: dict[str, Callable[[_Check, Any, str], None]] = {
    **dict.fromkeys(("title", "description", "format", "$comment", "$ref"), _text),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _text),
    **dict.fromkeys(("default", "const"), _any),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _flag),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _count),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _schemas),
    **dict.fromkeys(("not", "if", "then", "else", "items", "contains"), _schema),
    **dict.fromkeys(("additionalProperties", "propertyNames"), _schema),
    **dict.fromkeys(("properties", "$defs", "definitions", "dependentSchemas"), _schema_map),
    "$schema": _dialect,
    "dependentRequired": _name_map,
    "enum": _values,
    "enumNames": _names,
    "examples": _list,
    "multipleOf": _divisor,
    "pattern": _pattern,
    "patternProperties": _pattern_map,
    "required": _names,
    "type": _type,
}
