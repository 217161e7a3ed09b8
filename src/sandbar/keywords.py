"""Keywords: `ns/name` strings that name classes, properties and entities.

A leading colon is accepted on the way in and never written on the way out. Names are compared by
code point: nothing is composed or folded.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category

from sandbar.errors import Incorrect

MAX_BYTES = 255  # an ident must fit an index key whole

_NAME = r"[\w*!?$%&=<>.+\-'#]+"
_NAMESPACE = r"[^\W\d][\w.\-]*"
_IDENT = re.compile(rf"{_NAMESPACE}/{_NAME}")
_KEYWORD = re.compile(rf"(?:{_NAMESPACE}/)?{_NAME}")
_MARKS = ("Mn", "Mc")  # vowel signs of Indic scripts, accents: half of what letters are made of
# Marks that nobody sees: two names must not differ in these alone.
_UNSEEN = re.compile("[\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_IDENT_HINT = "an ident is written ns/name, for example zorp/Boot"
_KEYWORD_HINT = "a keyword is written name or ns/name, for example status/open"


def parse_ident(text: str) -> str:
    """The canonical form of a name that must have a namespace, such as `zorp/Boot`."""
    return _ident(text) if type(text) is str else _parse(text, _IDENT, _IDENT_HINT)


def parse_keyword(text: str) -> str:
    """The canonical form of a keyword value, whose namespace is optional."""
    return _keyword(text) if type(text) is str else _parse(text, _KEYWORD, _KEYWORD_HINT)


# The same few names are written over and over.
@lru_cache(maxsize=4096)
def _ident(text: str) -> str:
    return _parse(text, _IDENT, _IDENT_HINT)


@lru_cache(maxsize=4096)
def _keyword(text: str) -> str:
    return _parse(text, _KEYWORD, _KEYWORD_HINT)


def looks_like_ident(text: str) -> bool:
    """Whether the text could name an entity."""
    return _matches(_IDENT, text.removeprefix(":"))


def _matches(grammar: re.Pattern[str], name: str) -> bool:
    if grammar.fullmatch(name) is not None:
        return True
    return not name.isascii() and grammar.fullmatch(_without_marks(name)) is not None


def _without_marks(name: str) -> str:
    """The name without the marks that belong to a letter: the grammar knows letters only."""
    kept = []
    follows_letter = False
    for char in name:
        if follows_letter and category(char) in _MARKS and _UNSEEN.match(char) is None:
            continue
        kept.append(char)
        follows_letter = char.isalpha()
    return "".join(kept)


def _parse(text: object, grammar: re.Pattern[str], hint: str) -> str:
    if not isinstance(text, str):
        raise Incorrect("keyword.malformed", "a keyword is text", hint=hint)
    name = text.removeprefix(":")
    if len(name.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Incorrect("keyword.too-long", f"a keyword has at most {MAX_BYTES} bytes", hint=hint)
    if not _matches(grammar, name):
        raise Incorrect("keyword.malformed", f"{text[:80]!r} is not a keyword", hint=hint)
    return name
