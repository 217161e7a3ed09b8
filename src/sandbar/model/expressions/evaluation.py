"""Compiled expressions and their evaluation.

Everything that could be slow or unsafe is refused before the evaluator runs; `matches` is ours,
because the evaluator's compiles its pattern at every call and bounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sandbar.errors import Incorrect
from sandbar.model.expressions.cost import check_cost, too_costly, weigh
from sandbar.model.expressions.evaluator import cel
from sandbar.model.expressions.shape import MATCHES, Shape, read_shape, with_own_matches
from sandbar.model.expressions.tokens import malformed, rebuilt, tokenize
from sandbar.model.patterns import MAX_STEPS, compile_pattern
from sandbar.model.values.instants import stored_instant

_MAX_MATCH_STEPS = MAX_STEPS // 2  # of all matches of one evaluation together
_FLOATS = frozenset({"db.type/bigint", "db.type/bigdec", "db.type/double", "db.type/float"})
_FAILURES = (TypeError, ValueError, KeyError, IndexError, ArithmeticError, RuntimeError)


class Expression:
    """A compiled validator; make one with `compile_expression`."""

    __slots__ = ("_checked", "_program", "_shape", "text")

    def __init__(self, text: str, checked: str, shape: Shape, program: cel.Program) -> None:
        self.text = text
        self._checked = checked
        self._shape = shape
        self._program = program

    def holds(self, bindings: dict[str, Any]) -> bool:
        """Whether the expression is true of these bindings."""
        read = self._read(bindings)
        check_cost(self._shape, weigh(read))
        meter = _Meter()
        context = cel.Context(read, {MATCHES: meter.matches} if self._shape.matches else None)
        try:
            answer = self._program.execute(context)
        except _FAILURES as error:
            if meter.problem is not None:
                raise meter.problem from None
            raise self._failure(error, context) from None
        if meter.problem is not None:
            raise meter.problem
        return answer is True

    def may_read(self, slot: str) -> bool:
        """Whether what the expression says of `this` can depend on a slot."""
        keys = self._shape.reads.get("this", frozenset())
        return keys is None or slot in keys

    def may_read_any(self, slots: set[str]) -> bool:
        """The same of any of several."""
        keys = self._shape.reads.get("this", frozenset())
        return keys is None or not slots.isdisjoint(keys)

    def names(self, slot: str) -> bool:
        """Whether a slot of `this` is named in it, be it in a list of names."""
        return self.may_read(slot) and (
            self._shape.reads["this"] is not None or slot in self._shape.texts
        )

    def _read(self, bindings: dict[str, Any]) -> dict[str, Any]:
        """Only what the expression can look at: the rest would be converted for nothing."""
        read: dict[str, Any] = {}
        for name, keys in self._shape.reads.items():
            value = bindings.get(name)
            if keys is not None and isinstance(value, dict):
                value = {key: value[key] for key in keys if key in value}
            read[name] = value
        return read

    def _failure(self, error: Exception, context: cel.Context) -> Incorrect:
        hint = 'guard what may be missing: !("a/b" in this) || this["a/b"] > 0'
        if isinstance(error, KeyError):
            message = f"the expression reads {str(error)[:80]!a}, which is not there"
        elif isinstance(error, IndexError):
            message = "the expression reads beyond the end of a list"
        elif isinstance(error, ArithmeticError):
            message = "the expression divides by zero or leaves the range of its numbers"
        elif isinstance(error, TypeError) and self._answers_otherwise(context):
            message = "the expression does not answer true or false"
            hint = "compare the value with something, for example size(...) > 0"
        else:
            message = "the expression uses a value in a way that its type does not allow"
            hint = "CEL does not convert by itself: use int(x), double(x) or string(x)"
        return Incorrect("expression.failed", message, hint=hint)

    def _answers_otherwise(self, context: cel.Context) -> bool:
        try:
            probe = cel.compile(f"type({self._checked}) == bool")
            return probe.execute(context) is False
        except _FAILURES:
            return False


class _Meter:
    """Answers `matches` and stops paying when one evaluation has matched too much."""

    def __init__(self) -> None:
        self.problem: Incorrect | None = None
        self._room = _MAX_MATCH_STEPS

    def matches(self, value: object, pattern: str) -> bool:
        """Never raises: the evaluator would print the error and go on."""
        if self.problem is not None:
            return False
        if not isinstance(value, str):
            self.problem = Incorrect(
                "expression.failed",
                "matches was asked of what is not text",
                hint="convert it first: string(x).matches(...)",
            )
            return False
        compiled = compile_pattern(pattern)
        self._room -= compiled.steps(value)
        if self._room < 0:
            self.problem = too_costly("the expression matches too much text")
            return False
        return compiled.matches(value)


@lru_cache(maxsize=1024)
def compile_expression(text: str, variables: frozenset[str]) -> Expression:
    """Compile a validator once; Incorrect says what is wrong with it."""
    tokens = tokenize(text)
    if not tokens:
        raise malformed("the expression is empty")
    shape = read_shape(tokens, variables)
    checked = rebuilt(with_own_matches(tokens))
    try:
        # the choice makes the answer a boolean: any other would be copied into Python, at length
        program = cel.compile(f"({checked}) ? true : false")
        cel.compile(checked)
    except ValueError as error:
        raise malformed(f"the expression does not parse: {_first_line(error)}") from None
    return Expression(text, checked, shape, program)


def binding(value_type_ident: str, stored: Any) -> Any:
    """What an expression sees of a stored value.

    Numbers of every kind are CEL ints (long, ref) or doubles (the rest), instants are timestamps,
    and whatever else is seen as stored. A decimal beyond the range of doubles is seen as infinity.
    """
    if value_type_ident == "db.type/instant":
        return stored_instant(stored)
    return _CONVERTERS.get(value_type_ident, _as_stored)(stored)


def _as_stored(stored: Any) -> Any:
    return stored


_CONVERTERS: dict[str, Callable[[Any], Any]] = dict.fromkeys(_FLOATS, float)


def _first_line(error: ValueError) -> str:
    lines = [line for line in str(error).split("\n") if "ERROR: <input>" in line]
    reason = lines[0].rpartition("ERROR: <input>:")[2] if lines else "syntax error"
    return ascii(reason.partition(" expecting ")[0][:160])[1:-1]
