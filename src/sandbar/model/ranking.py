"""How well an entity answers a search: one formula for all stores, made from its text alone.

It is that of BM25: a word weighs the more the fewer have it, it may come often but counts ever
less, and it counts less in a long text. A word in the name counts more than one in the body, words
that stand close together as they do in the search count more, and so does having most of them.

Nothing is taken from those who may not be seen by who asks: how many have a word is counted among
the visible ones, and no farther than a fixed number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sandbar.model import core
from sandbar.model.documents import Doc
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.search_terms import Wanted
from sandbar.model.words import fold
from sandbar.store import Term

COUNTED_MAX = 400
"""Those who have a word are counted so far; whatever more have is common."""

_COMMON = 1.5  # keeps a common word from weighing nothing
_OFTEN = 1.2  # BM25's k1: how soon more of the same word counts no more
_LENGTH = 0.4  # BM25's b: how much a long text lessens it
_USUAL_WORDS = 60  # of an entity
_UNSEEN = 0.3  # a word of which the index knows, beyond what is read here
_NEAR = 4  # words apart
_NEARNESS = 0.5  # what standing side by side adds, of the lesser of two words
_HOLDING = 1.0  # how much it matters to have all instead of some

_NAMES = frozenset({"name", "title", "label", "subject", "heading", "headline"})
_OF_NAME, _OF_IDENT, _OF_TAG, _OF_DOC, _OF_BODY = 3.0, 1.5, 2.0, 1.5, 1.0

READ_CHARACTERS_MAX = 20_000
"""Of one text; what stands beyond is found, but not weighed."""


def weight_of(count: int) -> float:
    """What a word weighs that so many have."""
    return math.log(_COMMON + COUNTED_MAX / max(count, 1))


class Field(NamedTuple):
    """A text of an entity, and how much a word in it counts."""

    text: str
    weight: float


def fields_of(cls: Class, doc: Doc) -> list[Field]:
    """The texts of an entity."""
    fields: list[Field] = []
    for key, many in cls.text_slots:
        if key in doc:
            weight = _field_weight(cls.by_key[key])
            fields += (Field(text, weight) for text in (doc[key] if many else (doc[key],)))
    return fields


def _field_weight(property: Property) -> float:
    if property.id == core.IDENT:
        return _OF_IDENT
    if property.ident.rpartition("/")[2] in _NAMES:
        return _OF_NAME
    if property.id == core.DOC:
        return _OF_DOC
    return _OF_BODY if property.kind.ident == "db.type/string" else _OF_TAG


class Yardstick:
    """Measures entities by what was sought."""

    def __init__(self, wanted: Sequence[Wanted], weights: Sequence[float]) -> None:
        self._weights = weights
        self._total = sum(weights) or 1.0
        self._single: dict[str, list[tuple[int, float]]] = {}
        self._longer: list[tuple[Term, int, float]] = []
        for number, each in enumerate(wanted):
            for term, worth in each.forms.items():
                if len(term.words) == 1 and not term.is_prefix:
                    self._single.setdefault(term.words[0], []).append((number, worth))
                else:
                    self._longer.append((term, number, worth))

    def measure(self, fields: Sequence[Field], known: int = 0) -> tuple[float, float]:
        """The score, and what part of all that was sought the entity has.

        `known` is what the index says it has, a bit for each, also if that stands too far down.
        """
        times = [0.0] * len(self._weights)
        best = [0.0] * len(self._weights)
        near: dict[int, float] = {}
        length = 0
        for field in fields:
            words = fold(field.text[:READ_CHARACTERS_MAX]).split()
            length += len(words)
            if not self._longer and self._single.keys().isdisjoint(words):
                continue
            last: dict[int, int] = {}
            for place, number, worth in self._places(words):
                times[number] += field.weight * worth
                best[number] = max(best[number], worth)
                last[number] = place
                for other in (number - 1, number + 1):
                    apart = place - last.get(other, place)
                    if 0 < apart <= _NEAR:
                        pair = max(number, other)
                        near[pair] = max(near.get(pair, 0.0), 1 / apart)
        for number, seen in enumerate(times):
            if not seen and known >> number & 1:
                times[number] = best[number] = _UNSEEN
        norm = _OFTEN * (1 - _LENGTH + _LENGTH * length / _USUAL_WORDS)
        weights = self._weights
        score = sum(w * n / (n + norm) for w, n in zip(weights, times, strict=True) if n)
        score += sum(
            _NEARNESS * much * min(weights[pair - 1], weights[pair]) for pair, much in near.items()
        )
        share = sum(w * b for w, b in zip(weights, best, strict=True)) / self._total
        return score * share**_HOLDING, share

    def _places(self, words: Sequence[str]) -> list[tuple[int, int, float]]:
        single = self._single
        places = [
            (place, number, worth)
            for place, word in enumerate(words)
            if word in single
            for number, worth in single[word]
        ]
        if self._longer:
            for term, number, worth in self._longer:
                places += ((at, number, worth) for at in places_of(words, term))
            places.sort()
        return places


def places_of(words: Sequence[str], term: Term) -> list[int]:
    """Where in a text a term begins."""
    *exact, last = term.words
    behind = len(exact)
    ends = [
        at
        for at, word in enumerate(words)
        if (word.startswith(last) if term.is_prefix else word == last)
    ]
    return [at - behind for at in ends if at >= behind and list(words[at - behind : at]) == exact]
