"""What a search asks for: plain words, "exact phrases", and beginnings*.

There is no other syntax, so nothing can be malformed: marks within a word part it, and its pieces
must follow each other as they do in the text that it was taken from.
"""

from __future__ import annotations

import re

from sandbar.errors import Incorrect
from sandbar.model.values import door_check
from sandbar.model.words import words_in
from sandbar.store.search import Term

QUERY_CHARACTERS_MAX = 1000
QUERY_WORDS_MAX = 32

_PIECE = re.compile(r'"([^"]*)"(\*?)|(\S+)')
_HINT = 'give words that must all occur, such as: moon "exact phrase" boot*'


def parse_search(query: object) -> tuple[Term, ...]:
    """The terms of a search, all of which must match."""
    if not isinstance(query, str):
        raise Incorrect("search.malformed", "a search is text", hint=_HINT)
    if len(query) > QUERY_CHARACTERS_MAX:
        raise Incorrect(
            "search.too-long",
            f"a search has at most {QUERY_CHARACTERS_MAX} characters; this one has {len(query)}",
            hint="search for the few words that matter",
        )
    door_check(query)
    terms = list(dict.fromkeys(term for term in map(_term, _PIECE.finditer(query)) if term.words))
    if not terms:
        raise Incorrect("search.no-words", "there is no word in this search", hint=_HINT)
    if sum(len(term.words) for term in terms) > QUERY_WORDS_MAX:
        raise Incorrect(
            "search.too-long",
            f"a search has at most {QUERY_WORDS_MAX} words",
            hint="search for the few words that matter",
        )
    return tuple(terms)


def _term(piece: re.Match[str]) -> Term:
    phrase, star, word = piece.groups()
    if phrase is None:
        phrase, star = word, "*" if word.endswith("*") else ""
    return Term(tuple(words_in(phrase)), bool(star))
