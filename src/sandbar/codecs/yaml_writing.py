"""Values as YAML that every reader understands alike: what could be mistaken is quoted.

Deterministic. Lines are never folded. What would take too many nodes is written as `!json '…'`.
"""

from __future__ import annotations

import re
from typing import Any

from sandbar.codecs.json_text import write_json
from sandbar.codecs.yaml_reading import JSON_TAG, number_word

KEY_CHARACTERS_MAX = 100  # libyaml reads keys of 1,024, and escapes have up to ten each
BLOCK_CHARACTERS_MAX = 16 * 1024
VALUE_NODES_MAX = 1_000

# Written by number: controls, marks that turn text around, line breaks of other standards.
_ESCAPED = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff]"
)
_QUOTED_ESCAPED = re.compile(_ESCAPED.pattern[:-1] + '"\\\\]')
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
# Begins and ends with something harmless, and has no `: `, ` #` inside.
_PLAIN = re.compile(r"(?![-?:,\[\]{}#&*!|>'\"%@` ])(?:(?!: | #).)+(?<![ :])")
# Whatever YAML 1.1 or 1.2 may take for a number, a moment, an end of document.
_NUMBERLIKE = re.compile(
    r"[-+.0-9][-+.0-9_:,xXoObBa-fA-FeEtTzZ ]*|[-+]?\.(?:inf|nan)|\.\.\..*", re.I
)
_WORDS = frozenset(("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<"))


def text_word(text: str) -> str:
    """A text on one line: plain if nobody can mistake it, else in double quotes."""
    if _is_plain(text):
        return text
    return f'"{_QUOTED_ESCAPED.sub(_escape, text)}"'


def is_key(text: str) -> bool:
    """Whether a text is short enough for a key."""
    return len(text) <= KEY_CHARACTERS_MAX


def text_lines(key: str, text: str) -> list[str]:
    """A key and a text: on lines of its own if it has several that are kept as they are."""
    if "\n" not in text or not _is_block(text):
        return [f"{key}: {text_word(text)}"]
    chomp = "" if text.endswith("\n") else "-"
    lines = text.removesuffix("\n").split("\n")
    return [f"{key}: |{chomp}", *(f"  {line}" if line else "" for line in lines)]


def nodes_of(value: Any) -> int:
    """How many nodes a value takes; more than any may have, if a key in it is too long."""
    count = 0
    waiting = [value]
    while waiting and count <= VALUE_NODES_MAX:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            count += len(item)
            if count <= VALUE_NODES_MAX:
                count += 0 if all(map(is_key, item)) else VALUE_NODES_MAX
                waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item if len(item) <= VALUE_NODES_MAX else ())
            count += len(item) if len(item) > VALUE_NODES_MAX else 0
    return count


def value_lines(key: str, value: Any) -> list[str]:
    """A key and a JSON value that has not too many nodes."""
    if isinstance(value, str):
        return text_lines(key, value)
    if not isinstance(value, list | dict) or not value:
        return [f"{key}: {_scalar(value)}"]
    return [f"{key}:", *(f"  {line}" for line in _block(value))]


def items_lines(key: str, words: list[str]) -> list[str]:
    """A key and a list of words that are YAML already."""
    return [f"{key}:", *(f"  - {word}" for word in words)]


def json_word(value: Any) -> str:
    """Any value as one node."""
    text = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", write_json(value))
    return f"{JSON_TAG} '{text.replace(chr(39), chr(39) * 2)}'"


def _block(value: list[Any] | dict[str, Any]) -> list[str]:
    if isinstance(value, dict):
        return [
            line for key in sorted(value) for line in _under(f"{text_word(key)}:", value[key], "  ")
        ]
    return [line for item in value for line in _under("-", item, "")]


def _under(head: str, value: Any, indent: str) -> list[str]:
    """A head (`key:` or `-`) and what stands below it."""
    if not isinstance(value, list | dict) or not value:
        return [f"{head} {_scalar(value)}"]
    lines = _block(value)
    if indent:
        return [head, *(indent + line for line in lines)]
    return [f"{head} {lines[0]}", *(f"  {line}" for line in lines[1:])]


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text_word(value)
    if isinstance(value, float):
        return number_word(value)
    return "[]" if value == [] else "{}" if value == {} else str(value)


def _is_plain(text: str) -> bool:
    return (
        _PLAIN.fullmatch(text) is not None
        and _ESCAPED.search(text) is None
        and text.lower() not in _WORDS
        and _NUMBERLIKE.fullmatch(text) is None
    )


def _is_block(text: str) -> bool:
    """Whether a text of several lines survives as a literal block, also in an editor."""
    if len(text) > BLOCK_CHARACTERS_MAX or text.endswith("\n\n") or text[0] in "\n ":
        return False
    lines = text.removesuffix("\n").split("\n")
    return not any(line.endswith(" ") or _ESCAPED.search(line) for line in lines)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
