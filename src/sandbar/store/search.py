"""What a search for words asks for, in the store's own words.

Words come ready-made: the model has parted and folded them, so that both stores index the same.
They hold letters, digits and marks, nothing else. `GAP` stands between the words of two values, so
that no phrase reaches from one into the other.

A store says who has the words, not who has them best: whoever asks weighs what it gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

GAP = "_"

Words = Sequence[str]


class Term(NamedTuple):
    """Words that must follow each other; of the last one a beginning may do."""

    words: tuple[str, ...]
    is_prefix: bool = False


AnyOf = tuple[Term, ...]
AllOf = tuple[AnyOf, ...]


class Sought(NamedTuple):
    """Several searches of the same entities. Each answers with ids, greatest first."""

    searches: tuple[AllOf, ...]
    most: int  # for each
    below: int | None = None  # ids must be lower
    classes: tuple[int, ...] | None = None  # None: all
    hidden: tuple[int, ...] = ()
