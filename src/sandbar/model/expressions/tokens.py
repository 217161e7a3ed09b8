"""The words of a CEL expression, read before any parser sees it.

The parser is given text rebuilt from these tokens (comments gone, every string spelled in one
safe way), so that what was checked and what is parsed cannot differ. Bytes literals are refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sandbar.errors import Incorrect

MAX_LENGTH = 2_000
MAX_TOKENS = 400
MAX_DEPTH = 16

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<raw>[rR](?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\r\n]*"|'[^'\r\n]*'))
    |(?P<string>\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}
        |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
    |(?P<number>0[xX][0-9a-fA-F]{1,16}[uU]?
        |(?:[0-9]{1,20}(?:\.[0-9]{1,20})?|\.[0-9]{1,20})(?:[eE][+-]?[0-9]{1,3})?[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_SIMPLE = dict(zip("abfnrtv\\?\"'`", "\a\b\f\n\r\t\v\\?\"'`", strict=True))
_OPEN = {"(": ")", "[": "]", "{": "}"}
_HINT = 'write CEL, for example this["footwear/price"] > 0.0 && size(this["footwear/name"]) < 80'


class Token(NamedTuple):
    """One word: its kind (name, number, string or sign) and its text, decoded for strings."""

    kind: str
    text: str


def malformed(message: str, hint: str = _HINT) -> Incorrect:
    """The refusal of an expression that is not in our part of CEL."""
    return Incorrect("expression.malformed", message, hint=hint)


def tokenize(text: str) -> list[Token]:
    """The tokens, with brackets balanced and every bound on length and depth kept."""
    if len(text) > MAX_LENGTH:
        raise _too_long(f"an expression has at most {MAX_LENGTH} characters")
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise malformed(f"{text[position]!a} at character {position + 1} is not CEL")
        position = match.end()
        if match.lastgroup != "space":
            tokens.append(_token(str(match.lastgroup), match.group()))
    if len(tokens) > MAX_TOKENS:
        raise _too_long(f"an expression has at most {MAX_TOKENS} words and signs")
    _check_depth(tokens)
    return tokens


def rebuilt(tokens: list[Token]) -> str:
    """Text for the parser that has exactly these tokens."""
    parts: list[str] = []
    for token in tokens:
        text = _quoted(token.text) if token.kind == "string" else token.text
        # a minus stays next to its number: the least integer is one literal
        parts.append(text if parts and parts[-1].endswith("-") else f" {text}")
    return "".join(parts)


def closing(tokens: list[Token], start: int) -> int:
    """Where the bracket that opens at `start` closes."""
    depth = 0
    for index in range(start, len(tokens)):
        if tokens[index].kind == "sign":
            depth += (tokens[index].text in _OPEN) - (tokens[index].text in _OPEN.values())
        if depth == 0:
            return index
    raise AssertionError("tokenize has balanced the brackets")


def _token(kind: str, text: str) -> Token:
    if kind == "raw":
        return Token("string", _unquoted(text[1:]))
    if kind == "string":
        return Token("string", _ESCAPE.sub(_unescaped, _unquoted(text)))
    return Token(kind, text)


def _unquoted(text: str) -> str:
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[width:-width]


def _unescaped(match: re.Match[str]) -> str:
    *digits, octal, simple = match.groups()
    if simple is not None:
        if simple not in _SIMPLE:
            raise malformed(f"the escape {chr(92) + simple!a} is not CEL", "write \\\\ for \\")
        return _SIMPLE[simple]
    code = int(octal, 8) if octal else int(next(d for d in digits if d), 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise malformed("a string escape names no character", "for example \\u00e9")
    return chr(code)


def _quoted(text: str) -> str:
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'


def _check_depth(tokens: list[Token]) -> None:
    expected: list[str] = []
    prefix = branches = 0
    for kind, text in tokens:
        prefix = prefix + 1 if kind == "sign" and text in "!-" else 0
        branches += kind == "sign" and text == "?"
        if kind == "sign" and text in _OPEN:
            expected.append(_OPEN[text])
        elif kind == "sign" and text in _OPEN.values() and (not expected or text != expected.pop()):
            raise malformed(f"{text!r} closes nothing")
        if max(len(expected), prefix, branches) > MAX_DEPTH:
            raise Incorrect(
                "expression.too-deep",
                f"at most {MAX_DEPTH} brackets, choices or signs may be nested",
                hint="split the rule into several validators or simplify it",
            )
    if expected:
        raise malformed(f"{expected[-1]!r} is missing")


def _too_long(message: str) -> Incorrect:
    return Incorrect("expression.too-long", message, hint="split the rule into several validators")
