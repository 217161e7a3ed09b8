"""Snippets: the place of a text that says most about what a search has found, its words marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sandbar.model.ranking import places_of
from sandbar.model.search_terms import Wanted
from sandbar.model.words import ALONE, WITHIN, outline, words_in

SNIPPET_CHARACTERS_MAX = 200
_LOOKED_AT_CHARACTERS_MAX = 100_000
_BEFORE = 60  # how much of what precedes the match is shown
_PASSAGE = 130  # how far apart the first and the last word of a passage are
_MARK = "**"
_MORE = "…"

_CHUNK = re.compile(f"{ALONE}|{WITHIN}+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")


class _Word(NamedTuple):
    word: str
    start: int
    end: int


class _Mark(NamedTuple):
    """A word that was sought, where it stands, and which of those it is."""

    start: int
    end: int
    number: int


def snippet_of(texts: Sequence[str], wanted: Sequence[Wanted], weights: Sequence[float]) -> str:
    """The best passage of the texts: the one with the weightiest words, the first of equal ones."""
    best, most = "", 0.0
    for text in texts:
        marks = sorted(set(_matches(text[:_LOOKED_AT_CHARACTERS_MAX], wanted)))
        at, worth = _passage(marks, weights)
        if worth > most:
            best, most = _cut(text, marks[at:]), worth
    return best or (_cut(texts[0], []) if texts else "")


def _words(text: str) -> list[_Word]:
    """The words of a text with their places."""
    if text.isascii():  # as all words are folded, at a tenth of the cost
        found = _ASCII_WORD.finditer(text.lower())
        return [_Word(chunk[0], chunk.start(), chunk.end()) for chunk in found]
    return [
        _Word(word, chunk.start(), chunk.end())
        for chunk in _CHUNK.finditer(outline(text))
        for word in words_in(text[chunk.start() : chunk.end()])
    ]


def _matches(text: str, wanted: Sequence[Wanted]) -> list[_Mark]:
    """Where the words that were sought stand in a text."""
    words = _words(text)
    plain: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        plain.setdefault(word.word, []).append(at)
    marks: list[_Mark] = []
    for number, each in enumerate(wanted):
        for term in each.terms:
            if len(term.words) == 1 and not term.is_prefix:
                places = plain.get(term.words[0], [])
            else:
                places = places_of([word.word for word in words], term)
            for at in places:
                span = words[at : at + len(term.words)]
                marks += (_Mark(word.start, word.end, number) for word in span)
    return marks


def _passage(marks: Sequence[_Mark], weights: Sequence[float]) -> tuple[int, float]:
    """At which mark the best passage begins, and what it is worth: each word counts once."""
    best, most = 0, 0.0
    inside: dict[int, int] = {}
    last = 0
    for first, mark in enumerate(marks):
        while (last < len(marks) and marks[last].end - mark.start <= _PASSAGE) or last == first:
            inside[marks[last].number] = inside.get(marks[last].number, 0) + 1
            last += 1
        worth = sum(weights[number] for number in sorted(inside))
        if worth > most:
            best, most = first, worth
        inside[mark.number] -= 1
        if not inside[mark.number]:
            del inside[mark.number]
    return best, most


def _cut(text: str, marks: Sequence[_Mark]) -> str:
    """A piece of the text around the first mark, not longer than a snippet may be."""
    first = marks[0].start if marks else 0
    start = max(0, first - _BEFORE)
    if start:
        blank = text.find(" ", start, first)
        start = start if blank < 0 else blank + 1
    room = SNIPPET_CHARACTERS_MAX - len(_MORE) * 2
    parts = [_MORE] if start else []
    at = start
    for low, high, _ in marks:
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
