"""What a search asks for: plain words, "exact phrases", and beginnings*.

There is no other syntax, so nothing can be malformed: marks within a word part it, and its pieces
must follow each other as they do in the text that it was taken from. What stands in quotes or ends
with a star is meant as it is written; a plain word may be found in another form of it, and words
that questions are made of need not be found at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sandbar.errors import Incorrect
from sandbar.model.question_words import COMMON_WORDS, PARTICLES
from sandbar.model.values import door_check
from sandbar.model.word_forms import AS_WRITTEN, INFLECTED, forms_of
from sandbar.model.words import words_in
from sandbar.store import AllOf, AnyOf, Term

QUERY_CHARACTERS_MAX = 1000
QUERY_WORDS_MAX = 32

_PIECE = re.compile(r'"([^"]*)"(\*?)|(\S+)')
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|ll|re|ve|d|m))\b", re.IGNORECASE)
_HINT = 'give words to look for, such as: moon "exact phrase" boot*'


class Wanted(NamedTuple):
    """One thing that is sought, in any of its forms; each form with what finding it is worth."""

    forms: dict[Term, float]

    @property
    def terms(self) -> AnyOf:
        """The forms, of which any will do."""
        return tuple(self.forms)


class Asked(NamedTuple):
    """A search, read."""

    musts: tuple[Wanted, ...]  # what stood in quotes or had a star: nothing is found without
    whole: tuple[Wanted, ...]  # what an entity has that has all of the rest
    parts: tuple[Wanted, ...]  # what an entity may have some of, if too few have all

    @property
    def strict(self) -> AllOf:
        """The search for those that have everything."""
        return tuple(wanted.terms for wanted in (*self.musts, *self.whole))

    def partial(self, *parts: Wanted) -> AllOf:
        """The search for those that have what they must, and some parts."""
        return tuple(wanted.terms for wanted in (*self.musts, *parts))


def parse_search(query: object) -> Asked:
    """What a search asks for."""
    if not isinstance(query, str):
        raise Incorrect("search.malformed", "a search is text", hint=_HINT)
    if len(query) > QUERY_CHARACTERS_MAX:
        raise Incorrect(
            "search.too-long",
            f"a search has at most {QUERY_CHARACTERS_MAX} characters; this one has {len(query)}",
            hint="search for the few words that matter",
        )
    door_check(query)
    musts: list[Term] = []
    plain: list[str] = []
    for phrase, star, piece in _PIECE.findall(query):
        if not piece or piece.endswith("*"):
            musts.append(Term(tuple(words_in(piece or phrase)), bool(star or piece)))
        else:
            plain.append(piece)
    musts = [term for term in dict.fromkeys(musts) if term.words]
    asked = _asked(musts, plain)
    if not asked.strict:
        raise Incorrect("search.no-words", "there is no word in this search", hint=_HINT)
    if _words_of(asked) > QUERY_WORDS_MAX:
        raise Incorrect(
            "search.too-long",
            f"a search has at most {QUERY_WORDS_MAX} words that matter",
            hint="search for the few words that matter",
        )
    return asked


def _words_of(asked: Asked) -> int:
    return sum(len(next(iter(wanted.forms)).words) for wanted in (*asked.musts, *asked.whole))


def _asked(musts: Sequence[Term], plain: Sequence[str]) -> Asked:
    must = tuple(Wanted({term: AS_WRITTEN}) for term in musts)
    lower = any(piece.islower() for piece in plain)
    pieces = [_Piece(text, is_shouted=lower and len(text) > 1 and text.isupper()) for text in plain]
    whole = _merged(piece.whole() for piece in pieces if not piece.is_common)
    if not (whole or must):
        terms = (Term(tuple(words_in(piece))) for piece in plain)
        return Asked((), _merged(Wanted({term: AS_WRITTEN}) for term in terms if term.words), ())
    return Asked(must, whole, _merged(_parts(pieces)))


class _Piece:
    """What stood between blanks."""

    def __init__(self, text: str, *, is_shouted: bool) -> None:
        self.words = tuple(words_in(_CLITIC.sub("", text)))
        self.is_shouted = is_shouted
        # US is not us, if the rest is no shouting either.
        self.is_common = not is_shouted and COMMON_WORDS.issuperset(self.words)

    def whole(self) -> Wanted:
        """The piece as it stands; a single word also in its forms."""
        if len(self.words) == 1:
            return _in_forms(self.words[0])
        return Wanted({Term(self.words): AS_WRITTEN, Term(("".join(self.words),)): INFLECTED})

    def parts(self) -> Iterator[Wanted]:
        """What of it may be found alone."""
        if len(self.words) == 1:
            yield self.whole()
        elif all(len(word) == 1 for word in self.words):  # Chinese, Japanese; a word is often two
            pairs = zip(self.words, self.words[1:], strict=False)
            yield from (Wanted({Term(pair): AS_WRITTEN}) for pair in pairs)
        else:
            joined = Term(("".join(self.words),))
            for word in self.words:
                if word not in COMMON_WORDS:
                    yield Wanted(_in_forms(word).forms | {joined: INFLECTED})


def _in_forms(word: str) -> Wanted:
    return Wanted({Term((form,)): worth for form, worth in forms_of(word).items()})


def _parts(pieces: Sequence[_Piece]) -> Iterator[Wanted]:
    """The parts of all pieces; two neighbours may be one word in the text: sign up, signup."""
    for at, piece in enumerate(pieces):
        if piece.is_common:
            continue
        joined = [
            Term((one.words[0] + two.words[0],))
            for one, two in zip(
                pieces[max(at - 1, 0) : at + 1], pieces[at or 1 : at + 2], strict=False
            )
            if _may_join(one, two)
        ]
        for wanted in piece.parts():
            for term in joined:
                wanted.forms.setdefault(term, INFLECTED)
            yield wanted


def _may_join(one: _Piece, two: _Piece) -> bool:
    if one.is_common or not len(one.words) == len(two.words) == 1:
        return False
    return not two.is_common or two.words[0] in PARTICLES


def _merged(many: Iterator[Wanted]) -> tuple[Wanted, ...]:
    """Each only once, a word and another form of it included: it says no more the second time."""
    kept: list[Wanted] = []
    for wanted in many:
        first = next(iter(wanted.forms))
        same = next((earlier for earlier in kept if first in earlier.forms), None)
        if same is None:
            kept.append(wanted)
        else:
            for term, worth in wanted.forms.items():
                same.forms[term] = max(worth, same.forms.get(term, 0.0))
    return tuple(kept)
