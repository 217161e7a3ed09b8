"""What an expression is made of: its names, its comprehensions, and what it reads.

Refuses unknown names and functions, nested comprehensions, shadowing, and patterns that are not
literal. Works on tokens; the grammar proper is the parser's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbar.errors import Incorrect
from sandbar.model.expressions.tokens import Token, closing, malformed
from sandbar.model.patterns import compile_pattern

MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})
MATCHES = "sandbar_matches"
_LITERALS = frozenset({"true", "false", "null"})
_TYPES = frozenset({"bool", "int", "uint", "double", "string", "list", "map", "null_type"})
_FUNCTIONS = frozenset(
    [
        "size",
        "contains",
        "startsWith",
        "endsWith",
        "matches",
        "has",
        "string",
        "int",
        "uint",
        "double",
        "timestamp",
        "duration",
        "type",
        "dyn",
        "getFullYear",
        "getMonth",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getHours",
        "getMinutes",
        "getSeconds",
        "getMilliseconds",
    ]
)
# operators whose answer can be as large as what they were given
_GROWERS = frozenset({"+", "?", "[", "{", "string", "dyn"})
_OPERAND_ENDS = frozenset({")", "]", "}"})


@dataclass(slots=True)
class Span:
    """A stretch of tokens, counted for the cost model."""

    words: int = 0
    outer: int = 0  # mentions of the expression's variables
    own: int = 0  # mentions of the comprehension's variable
    plain: int = 0  # literals
    commas: int = 0
    pluses: int = 0


@dataclass(slots=True)
class Comprehension:
    """One all/exists/exists_one/map/filter: what it runs over and what it runs."""

    macro: str
    source: Span
    body: Span
    feeds_on: int | None = None  # the earlier comprehension whose list it continues


@dataclass(slots=True)
class Shape:
    """All that the cost model and the evaluator need to know of an expression."""

    whole: Span
    growers: int
    matches: bool
    comprehensions: list[Comprehension] = field(default_factory=list)
    reads: dict[str, frozenset[str] | None] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()  # that stand in it


def read_shape(tokens: list[Token], variables: frozenset[str]) -> Shape:
    """Check the names of an expression and describe it."""
    _check_calls(tokens)
    spans = _comprehension_spans(tokens)
    _check_names(tokens, variables, spans)
    uses_matches = any(_called(tokens, i, "matches") for i in range(len(tokens)))
    shape = Shape(
        whole=_span(tokens, 0, len(tokens), variables, ""),
        growers=sum(token.text in _GROWERS for token in tokens if token.kind != "string"),
        matches=uses_matches,
        reads={name: _keys_read(tokens, name) for name in variables},
        texts=frozenset(token.text for token in tokens if token.kind == "string"),
    )
    for start, end in spans:
        first = _operand_start(tokens, start - 1)
        inner = [i for i, (s, _) in enumerate(spans) if first <= s < start]
        own = tokens[start + 2].text
        source = _span(tokens, first, start - 1, variables, "")
        body = _span(tokens, start + 4, end, variables, own)
        feeds_on = inner[-1] if inner else None
        shape.comprehensions.append(Comprehension(tokens[start].text, source, body, feeds_on))
    return shape


def with_own_matches(tokens: list[Token]) -> list[Token]:
    """The same tokens with `matches` renamed to the function that we provide."""
    return [
        Token("name", MATCHES) if _called(tokens, i, "matches") else token
        for i, token in enumerate(tokens)
    ]


def _sign(tokens: list[Token], index: int, text: str) -> bool:
    return 0 <= index < len(tokens) and tokens[index] == ("sign", text)


def _called(tokens: list[Token], index: int, name: str) -> bool:
    return tokens[index] == ("name", name) and _sign(tokens, index + 1, "(")


def _check_calls(tokens: list[Token]) -> None:
    for index, (kind, text) in enumerate(tokens):
        if kind == "sign" and text == ".":
            before = tokens[index - 1] if index else Token("sign", "")
            if before.kind == "sign" and before.text not in _OPERAND_ENDS:
                raise malformed("a dot must follow a value")
        if kind == "name" and text != "in" and _sign(tokens, index + 1, "{"):
            raise malformed(f"{text[:40]!r} cannot be built: there are no message types")
        if kind != "name" or text == "in" or not _sign(tokens, index + 1, "("):
            continue
        if text not in _FUNCTIONS and text not in MACROS:
            known = ", ".join(sorted(_FUNCTIONS | MACROS))
            raise Incorrect(
                "expression.unknown-function",
                f"there is no function {text[:40]!r}",
                hint=f"the functions are {known}",
            )
        if text == "matches":
            _check_matches(tokens, index)


def _check_matches(tokens: list[Token], index: int) -> None:
    literal = index + 2 < len(tokens) and tokens[index + 2].kind == "string"
    if not (_sign(tokens, index - 1, ".") and literal and _sign(tokens, index + 3, ")")):
        raise malformed(
            "matches takes one literal pattern", 'for example this["a/sku"].matches("^[A-Z]+$")'
        )
    compile_pattern(tokens[index + 2].text)


def _comprehension_spans(tokens: list[Token]) -> list[tuple[int, int]]:
    """Where each comprehension's name stands and where its bracket closes."""
    spans: list[tuple[int, int]] = []
    for index, (kind, text) in enumerate(tokens):
        if kind != "name" or text not in MACROS or not _sign(tokens, index + 1, "("):
            continue
        if not _sign(tokens, index - 1, "."):
            raise malformed(
                f"{text} follows a list", f'for example this["a/tags"].{text}(x, x > 0)'
            )
        end = closing(tokens, index + 1)
        if tokens[index + 2].kind != "name" or not _sign(tokens, index + 3, ","):
            raise malformed(f"{text} names its item first", f"for example {text}(x, x > 0)")
        if spans and index < spans[-1][1]:
            raise Incorrect(
                "expression.nested-comprehension",
                f"{text} stands inside another comprehension",
                hint="use in, or compare one list at a time in separate validators",
            )
        spans.append((index, end))
    return spans


def _check_names(
    tokens: list[Token], variables: frozenset[str], spans: list[tuple[int, int]]
) -> None:
    for start, _ in spans:
        own = tokens[start + 2].text
        if own in variables or own in _LITERALS or own in _TYPES or own in _FUNCTIONS:
            raise malformed(f"{own[:40]!r} already means something else", "name the item x")
    for index, (kind, text) in enumerate(tokens):
        if kind != "name" or text == "in" or _sign(tokens, index - 1, "."):
            continue
        if (
            text in variables
            or text in _LITERALS
            or text in _TYPES
            or _sign(tokens, index + 1, "(")
        ):
            continue
        if any(s < index < end and tokens[s + 2].text == text for s, end in spans):
            continue
        raise Incorrect(
            "expression.unknown-variable",
            f"there is no variable {text[:40]!r}",
            hint=f'the variables are {", ".join(sorted(variables))}; read this["ns/slot"]',
        )


def _span(tokens: list[Token], start: int, end: int, variables: frozenset[str], own: str) -> Span:
    span = Span(words=end - start)
    for index in range(start, end):
        kind, text = tokens[index]
        if kind == "sign":
            span.commas += text == ","
            span.pluses += text == "+"
        elif kind in ("string", "number"):
            span.plain += 1
        elif not _sign(tokens, index - 1, "."):
            span.outer += text in variables
            span.own += text == own
            span.plain += text not in variables and text != own
    return span


def _operand_start(tokens: list[Token], dot: int) -> int:
    """Where the value that a dot follows begins."""
    index = dot - 1
    while index >= 0:
        if tokens[index].kind == "sign" and tokens[index].text in _OPERAND_ENDS:
            index = next(i for i in range(index, -1, -1) if _closes_at(tokens, i, index))
            before = tokens[index - 1] if index else Token("sign", "")
            if before.kind == "sign" and before.text not in _OPERAND_ENDS:
                return index
            index -= 1
        elif _sign(tokens, index - 1, "."):
            index -= 2
        else:
            return index
    return 0


def _closes_at(tokens: list[Token], start: int, end: int) -> bool:
    return tokens[start] in _OPENERS and closing(tokens, start) == end


_OPENERS = (("sign", "("), ("sign", "["), ("sign", "{"))


def _keys_read(tokens: list[Token], name: str) -> frozenset[str] | None:
    """The keys of a variable that can be read, or None if it is used as a whole."""
    keys: set[str] = set()
    for index, token in enumerate(tokens):
        if token != ("name", name) or _sign(tokens, index - 1, "."):
            continue
        key = _key_read(tokens, index)
        if key is None:
            return None
        keys.add(key)
    return frozenset(keys)


def _key_read(tokens: list[Token], index: int) -> str | None:
    """The key in `this["key"]`, `this.key` or `"key" in this`."""
    after = tokens[index + 2] if index + 2 < len(tokens) else Token("sign", "")
    indexed = _sign(tokens, index + 1, "[") and _sign(tokens, index + 3, "]")
    selected = _sign(tokens, index + 1, ".") and not _sign(tokens, index + 3, "(")
    if (indexed and after.kind == "string") or (selected and after.kind == "name"):
        return after.text
    before = tokens[index - 2] if index >= 2 else Token("sign", "")
    continued = _sign(tokens, index + 1, "[") or _sign(tokens, index + 1, ".")
    if before.kind == "string" and tokens[index - 1] == ("name", "in") and not continued:
        return before.text
    return None
