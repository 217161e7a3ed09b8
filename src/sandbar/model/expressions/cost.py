"""An upper bound on the time that an evaluation can take, computed before it starts.

The evaluator cannot be interrupted, so whatever might be slow is refused. The model follows what
was measured of it: reading a value copies it; each operator takes time in proportion to its
operands; `map` and `filter` copy the list they have built at every step. Constants are two to
three times what was measured, so that a slower machine keeps the promise too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sandbar.errors import Incorrect
from sandbar.model.expressions.shape import Comprehension, Shape

MAX_ITEMS = 1_000
MAX_NODES = 20_000
MAX_BYTES = 1 << 20
BUDGET_NS = 20_000_000

_NODE_NS = 120.0
_BYTE_NS = 0.1
_MATCHED_BYTE_NS = 2.0  # a matched text is copied into Python
_WORD_NS = 150.0
_MATCH_NS = 2_000.0
_MIN_LONG, _MAX_LONG = -(1 << 63), (1 << 63) - 1


@dataclass(slots=True)
class Load:
    """How much the bindings hold."""

    nodes: int = 0
    size: int = 0
    longest: int = 0


def too_costly(message: str) -> Incorrect:
    """The refusal of an evaluation that might take too long."""
    return Incorrect(
        "expression.too-costly",
        message,
        hint="shorten the lists or texts it reads, or use all or exists instead of map and filter",
    )


def weigh(bindings: dict[str, object]) -> Load:
    """Count what the bindings hold; refuses too much of it, and what CEL cannot represent."""
    load = Load()
    stack: list[object] = list(bindings.values())
    while stack:
        value = stack.pop()
        load.nodes += 1
        if isinstance(value, str):
            load.size += len(value) if value.isascii() else 4 * len(value)
        elif isinstance(value, dict):
            load.longest = max(load.longest, len(value))
            load.size += sum(map(len, value))
            load.nodes += len(value)
            stack.extend(value.values())
        elif isinstance(value, list):
            if len(value) > MAX_ITEMS:
                raise too_costly(f"a list has {len(value)} items, an expression takes {MAX_ITEMS}")
            load.longest = max(load.longest, len(value))
            stack.extend(value)
        elif not _representable(value):
            raise Incorrect(
                "expression.failed",
                "a value is of no type that an expression can read",
                hint="expressions read text, 64-bit integers, doubles, instants, lists and objects",
            )
        if load.nodes > MAX_NODES or load.size > MAX_BYTES:
            raise too_costly("the values that the expression reads are too large")
    return load


def check_cost(shape: Shape, load: Load) -> None:
    """Refuse an evaluation that might take more than the budget."""
    byte = _MATCHED_BYTE_NS if shape.matches else _BYTE_NS
    weight = load.nodes * _NODE_NS + load.size * byte
    passes = 2 + shape.growers
    word = _WORD_NS + (_MATCH_NS / 4 if shape.matches else 0.0)  # a match takes four words
    total = shape.whole.words * word + shape.whole.outer * weight * passes
    results: list[float] = []
    for comprehension in shape.comprehensions:
        before = results[comprehension.feeds_on] if comprehension.feeds_on is not None else 0.0
        time, result = _comprehension(comprehension, load.longest, weight, passes, word, before)
        results.append(result)
        total += time + result * passes
    if total > BUDGET_NS:
        raise too_costly("the expression could take too long on values of this size")


def _comprehension(
    comprehension: Comprehension,
    longest: int,
    weight: float,
    passes: int,
    word: float,
    before: float,
) -> tuple[float, float]:
    """The most time that it can take, and the most that its list can weigh."""
    source, body = comprehension.source, comprehension.body
    items = (1 + source.pluses) * longest + source.commas + 1
    ranged = max(before, max(1, source.outer) * weight) + source.plain * _NODE_NS
    once = items * body.outer * weight + body.own * ranged + items * body.plain * _NODE_NS
    time = once * passes + items * body.words * word + items * 2 * _WORD_NS
    if comprehension.macro == "filter":
        return time + items * ranged / 2, ranged
    if comprehension.macro == "map":
        result = once + items * _NODE_NS
        return time + items * result / 2, result
    return time, 0.0


def _representable(value: object) -> bool:
    if isinstance(value, int):
        return _MIN_LONG <= value <= _MAX_LONG
    return value is None or isinstance(value, float | datetime)
