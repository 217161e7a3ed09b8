"""Snippets: the place of a text that a search has found, with the words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sandbar.model.words import ALONE, WITHIN, outline, words_in
from sandbar.store.search import Term

SNIPPET_CHARACTERS_MAX = 200
_LOOKED_AT_CHARACTERS_MAX = 100_000
_BEFORE = 60  # how much of what precedes the match is shown
_MARK = "**"
_MORE = "…"

_CHUNK = re.compile(f"{ALONE}|{WITHIN}+")


class _Word(NamedTuple):
    word: str
    start: int
    end: int


def snippet_of(texts: Sequence[str], terms: Sequence[Term]) -> str:
    """The first match in any of the texts, with what stands around it."""
    for text in texts:
        marks = sorted(set(_matches(text[:_LOOKED_AT_CHARACTERS_MAX], terms)))
        if marks:
            return _cut(text, marks)
    return _cut(texts[0], []) if texts else ""


def _matches(text: str, terms: Sequence[Term]) -> Iterator[tuple[int, int]]:
    """Where the words of the terms stand in a text."""
    words = [
        _Word(word, chunk.start(), chunk.end())
        for chunk in _CHUNK.finditer(outline(text))
        for word in words_in(text[chunk.start() : chunk.end()])
    ]
    for at in range(len(words)):
        for term in terms:
            found = words[at : at + len(term.words)]
            if _fits(found, term):
                yield from ((word.start, word.end) for word in found)


def _fits(found: list[_Word], term: Term) -> bool:
    *exact, last = term.words
    if len(found) != len(term.words) or [word.word for word in found[:-1]] != exact:
        return False
    word = found[-1].word
    return word.startswith(last) if term.is_prefix else word == last


def _cut(text: str, marks: list[tuple[int, int]]) -> str:
    """A piece of the text around the first mark, not longer than a snippet may be."""
    first = marks[0][0] if marks else 0
    start = max(0, first - _BEFORE)
    if start:
        blank = text.find(" ", start, first)
        start = start if blank < 0 else blank + 1
    room = SNIPPET_CHARACTERS_MAX - len(_MORE) * 2
    parts = [_MORE] if start else []
    at = start
    for low, high in marks:
        if low < at:
            continue
        needed = high - low + 2 * len(_MARK)
        if low - at + needed > room:
            break
        parts += [text[at:low], _MARK, text[low:high], _MARK]
        room -= low - at + needed
        at = high
    parts.append(text[at : at + room])
    if at + room < len(text):
        parts.append(_MORE)
    return " ".join("".join(parts).split())
