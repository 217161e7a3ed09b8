"""JSON Schema for the data of processes and for answers: evaluation within a bound.

The part of draft 2020-12 that can be promised to end soon: no references to elsewhere, patterns of
RE2, and a budget of steps for each evaluation. What a schema may say is checked by
`check_schema` when a workflow is defined; `format` is an annotation, as the draft has it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import isfinite
from typing import Any
from urllib.parse import unquote

import msgspec

from sandbar.errors import Problem
from sandbar.findings import Finding, data_of
from sandbar.model import compile_pattern
from sandbar.suggestions import did_you_mean
from sandbar.workflow.findings import shown

FINDINGS_MAX = 20
STEPS_MAX = 200_000  # one takes a microsecond or two
DEPTH_MAX = 100  # of schemas within schemas within an evaluation
_SCHEMAS_KEPT = 512
_PATTERN_STEPS = 100  # of RE2, which take a microsecond at most

_Found = Generator[Finding, None, None]


class _TooMuch(Exception):
    """The budget is spent."""


class DataSchema:
    """A schema that has passed `check_schema`."""

    __slots__ = ("_schema",)

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema

    def check(self, value: Any, at: str) -> list[dict[str, Any]]:
        """What is wrong with a value, at most twenty findings: at, code, message, hint."""
        run = _Run(self._schema)
        try:
            found = list(islice(run.errors(self._schema, value, at), FINDINGS_MAX))
        except _TooMuch:
            found = [
                Finding(
                    at=at,
                    code="workflow.data-too-costly",
                    message="it takes too long to compare this with its schema",
                    hint="give less data, or simplify the schema",
                )
            ]
        return data_of(found)


@lru_cache(maxsize=_SCHEMAS_KEPT)
def schema_of(schema_json: bytes) -> DataSchema:
    """The schema, read once."""
    return DataSchema(msgspec.json.decode(schema_json))


def resolve(root: Any, reference: str) -> Any:
    """The schema that a reference of the form #/a/b names; LookupError if there is none."""
    found = root
    for name in unquote(reference).split("/")[1:]:
        plain = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and plain.isascii() and plain.isdigit():
            found = found[int(plain)]
        elif isinstance(found, dict):
            found = found[plain]
        else:
            raise LookupError(reference)
    return found


class _Run:
    """One evaluation."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._steps = 0
        self._depth = 0

    def errors(self, schema: Any, value: Any, at: str) -> _Found:
        """What is wrong with a value, lazily."""
        self.spend(1)
        if schema is True:
            return
        if schema is False:
            yield _finding(at, "nothing may stand here", "remove it")
            return
        if self._depth >= DEPTH_MAX:
            raise _TooMuch
        self._depth += 1
        try:
            if "$ref" in schema:
                yield from self.errors(resolve(self._root, schema["$ref"]), value, at)
            for keyword, operand in schema.items():
                check = _CHECKS.get(keyword)
                if check is not None:
                    yield from check(self, operand, value, at, schema)
        finally:
            self._depth -= 1

    def is_valid(self, schema: Any, value: Any) -> bool:
        """Whether nothing is wrong with a value."""
        found = self.errors(schema, value, "")
        is_valid = next(found, None) is None
        found.close()
        return is_valid

    def spend(self, steps: int) -> None:
        """Pay for some work; raises when there is nothing left to pay with."""
        self._steps += steps
        if self._steps > STEPS_MAX:
            raise _TooMuch

    def matches(self, pattern: str, value: str) -> bool:
        """Whether the pattern occurs in the value; a value that is too long for it does not."""
        compiled = compile_pattern(pattern)
        self.spend(1 + compiled.steps(value) // _PATTERN_STEPS)
        try:
            return compiled.matches(value)
        except Problem:
            raise _TooMuch from None

    def key(self, value: Any, depth: int = 0) -> Any:
        """Something hashable that is equal for values that JSON Schema holds to be equal."""
        self.spend(1)
        if depth > DEPTH_MAX:
            raise _TooMuch
        if isinstance(value, bool):
            return ("boolean", value)
        if isinstance(value, list):
            return ("array", tuple([self.key(item, depth + 1) for item in value]))
        if isinstance(value, dict):
            pairs = [(name, self.key(item, depth + 1)) for name, item in value.items()]
            return ("object", frozenset(pairs))
        return value


def _finding(at: str, message: str, hint: str | None = None) -> Finding:
    return Finding(at=at, code="workflow.data", message=message, hint=hint)


def _within(at: str, name: str | int) -> str:
    if isinstance(name, int):
        return f"{at}[{name}]"
    return f"{at}.{name[:80]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

_EXAMPLES = {
    "null": "null",
    "boolean": "true",
    "string": '"words"',
    "number": "1.5",
    "integer": "3",
    "array": "[…]",
    "object": "{…}",
}

# --- any value -----------------------------------------------------------------------------------


def _type(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    names = [operand] if isinstance(operand, str) else operand
    if not any(_TYPES[name](value) for name in names):
        given = f"expected {' or '.join(names)}, got {shown(value)}"
        yield _finding(at, given, f"for example {' or '.join(_EXAMPLES[name] for name in names)}")


def _enum(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    wanted = run.key(value)
    if not any(run.key(one) == wanted for one in operand):
        allowed = ", ".join(shown(one) for one in operand[:20])
        yield _finding(at, f"{shown(value)} is not one of those allowed", f"allowed are {allowed}")


def _const(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if run.key(value) != run.key(operand):
        yield _finding(at, f"expected {shown(operand)}, got {shown(value)}")


def _all_of(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    for one in operand:
        yield from run.errors(one, value, at)


def _any_of(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if not any(run.is_valid(one, value) for one in operand):
        yield _finding(at, f"{shown(value)} fits none of the {len(operand)} alternatives")


def _one_of(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    count = sum(run.is_valid(one, value) for one in operand)
    if count != 1:
        how_many = "none" if count == 0 else str(count)
        yield _finding(
            at, f"{shown(value)} fits {how_many} of the {len(operand)} alternatives, not one"
        )


def _not(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if run.is_valid(operand, value):
        yield _finding(at, f"{shown(value)} is what the schema excludes")


def _if(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    branch = "then" if run.is_valid(operand, value) else "else"
    if branch in schema:
        yield from run.errors(schema[branch], value, at)


# --- numbers and texts ---------------------------------------------------------------------------


def _bound(fits: Callable[[Any, Any], bool], words: str, of: Callable[[Any], Any]) -> Any:
    """A check that compares what `of` measures; None where there is nothing to measure."""

    def check(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
        measured = of(value)
        if measured is not None and not fits(measured, operand):
            yield _finding(at, f"{shown(value)} is {words} {operand}")

    return check


def _number(value: Any) -> Any:
    return value if _is_number(value) else None


def _length(kind: type[str] | type[list[Any]] | type[dict[str, Any]]) -> Callable[[Any], Any]:
    return lambda value: len(value) if isinstance(value, kind) else None


def _is_multiple(value: Any, operand: Any) -> bool:
    if not isfinite(value):
        return False
    exact = Fraction(value) if isinstance(value, int) else Fraction(str(value))
    return exact % Fraction(str(operand)) == 0


def _pattern(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, str) and not run.matches(operand, value):
        yield _finding(
            at, f"{shown(value)} does not match the pattern", f"the pattern is {operand}"
        )


# --- arrays --------------------------------------------------------------------------------------


def _items(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, list):
        for index in range(len(schema.get("prefixItems", ())), len(value)):
            yield from run.errors(operand, value[index], _within(at, index))


def _prefix_items(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, list):
        for index, (one, item) in enumerate(zip(operand, value, strict=False)):
            yield from run.errors(one, item, _within(at, index))


def _contains(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if not isinstance(value, list):
        return
    count = sum(run.is_valid(operand, item) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
    if not least <= count <= most:
        yield _finding(at, f"{count} items are of the kind that it must contain")


def _unique_items(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if operand and isinstance(value, list) and len({run.key(item) for item in value}) < len(value):
        yield _finding(at, "its items must differ", "remove those that repeat others")


# --- objects -------------------------------------------------------------------------------------


def _properties(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, dict):
        run.spend(len(operand) // 4)
        for name, one in operand.items():
            if name in value:
                yield from run.errors(one, value[name], _within(at, name))


def _pattern_properties(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, dict):
        for pattern, one in operand.items():
            for name, item in value.items():
                if run.matches(pattern, name):
                    yield from run.errors(one, item, _within(at, name))


def _additional(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if not isinstance(value, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in value.items():
        if name in named or any(run.matches(pattern, name) for pattern in patterns):
            continue
        if operand is False:
            yield _finding(at, f"there is no {shown(name)}", _meant(name, named))
        else:
            yield from run.errors(operand, item, _within(at, name))


def _meant(name: str, named: dict[str, Any]) -> str:
    near = did_you_mean(name, named) if len(name) <= 64 and len(named) <= 100 else None
    return near or f"the names are {', '.join(list(named)[:20])}"


def _names(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, dict):
        for name in value:
            yield from run.errors(operand, name, f"{at} (the name {shown(name)})")


def _required(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, dict):
        run.spend(len(operand) // 4)
        for name in operand:
            if name not in value:
                yield _finding(at, f"{name[:80]} is missing", f"add `{name[:80]}`")


def _dependent_required(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, dict):
        for name, needed in operand.items():
            if name in value:
                yield from _required(run, needed, value, at, schema)


def _dependent_schemas(run: _Run, operand: Any, value: Any, at: str, schema: Any) -> _Found:
    if isinstance(value, dict):
        for name, one in operand.items():
            if name in value:
                yield from run.errors(one, value, at)


_CHECKS: dict[str, Callable[[_Run, Any, Any, str, Any], _Found]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "minimum": _bound(lambda one, other: one >= other, "below", _number),
    "maximum": _bound(lambda one, other: one <= other, "above", _number),
    "exclusiveMinimum": _bound(lambda one, other: one > other, "not above", _number),
    "exclusiveMaximum": _bound(lambda one, other: one < other, "not below", _number),
    "multipleOf": _bound(_is_multiple, "no multiple of", _number),
    "minLength": _bound(lambda one, other: one >= other, "shorter than", _length(str)),
    "maxLength": _bound(lambda one, other: one <= other, "longer than", _length(str)),
    "minItems": _bound(lambda one, other: one >= other, "shorter than", _length(list)),
    "maxItems": _bound(lambda one, other: one <= other, "longer than", _length(list)),
    "minProperties": _bound(lambda one, other: one >= other, "smaller than", _length(dict)),
    "maxProperties": _bound(lambda one, other: one <= other, "larger than", _length(dict)),
    "pattern": _pattern,
    "items": _items,
    "prefixItems": _prefix_items,
    "contains": _contains,
    "uniqueItems": _unique_items,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "required": _required,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
}
