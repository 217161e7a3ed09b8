"""What was probably meant by a name that means nothing: comparing it with the names there are.

It is only told, never done. Whoever asks says how often: to compare names is slow.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Callable, Iterable

SUGGESTIONS_MAX = 5  # of one request: a caller reads the first few
_COMPARED_MAX = 20
_COMPARED_CHARACTERS_MAX = 100
_NAMED_MAX = 255  # characters of a name that is told again
_NEAR_MAX = 3  # names that a hint suggests
_CLOSE = 0.6  # how much of two names must be the same
_BEGUN, _BEGINNING = 0.9, 3  # how alike a name is to its own beginning, if that has some length
_FAR = 8  # names that differ more in length are not compared
_PUNCTUATION = str.maketrans("", "", "/._-?!:' ")


class Suggestion:
    """A hint that names what was probably meant, and in any case the call that tells.

    What a word of another system is called here (`meant`) is known without a search. `unknown` says
    what means nothing, if that is no plain name.
    """

    def __init__(
        self,
        name: object,
        candidates: Iterable[str],
        call: str | Callable[[], str],
        meant: str | None = None,
        unknown: Callable[[], str] | None = None,
    ) -> None:
        self.name = name
        self.is_searched = meant is None
        self._candidates = candidates
        self._call = call
        self._meant = meant
        self._unknown = unknown

    @property
    def plain(self) -> str:
        """The hint without a search."""
        call = self._call if isinstance(self._call, str) else self._call()
        return f"{self._meant}; {call}" if self._meant else call

    @property
    def unknown(self) -> str | None:
        """The name that means nothing: an ident, or {slot: value} as JSON."""
        if self._unknown is not None:
            return self._unknown()
        return self.name[:_NAMED_MAX] if isinstance(self.name, str) else None

    def __call__(self) -> str:
        near = did_you_mean(self.name, self._candidates) if self.is_searched else None
        return f"{near} {self.plain}" if near else self.plain


def did_you_mean(name: object, candidates: Iterable[str]) -> str | None:
    """A hint that names what was probably meant."""
    if not isinstance(name, str) or len(name) > _COMPARED_CHARACTERS_MAX:
        return None
    plain = name.removeprefix(":")
    same, likely = _likely(plain, dict.fromkeys(candidates))
    near = sorted(same, key=lambda one: (len(one), one)) or _closest(plain, likely)
    is_misspelt = plain not in near  # else it is right, only not here or not then
    return f"did you mean {' or '.join(map(_told, near))}?" if near and is_misspelt else None


def called_now(before: object, now: object) -> str:
    """A hint that says what something is called which had another name before."""
    return f"{before} is called {now} now: use {now}"


def _told(name: str) -> str:
    """A name inside of a question: whose last character is a question mark, in quotes."""
    return f"'{name}'" if name.endswith("?") else name


def _closest(name: str, likely: list[str]) -> list[str]:
    """The three that are most alike, best first.

    A namespace that both have, or that was left out, is not compared: it would make all alike.
    """
    namespace, last = _parted(name)
    found = []
    for candidate in likely:
        theirs, own = _parted(candidate)
        pair = (own, last) if not namespace or theirs == namespace else (candidate, name)
        ratio = difflib.SequenceMatcher(None, *pair).ratio()
        if len(last) >= _BEGINNING and pair[0].startswith(pair[1]):
            ratio = max(ratio, _BEGUN)
        if ratio >= _CLOSE:
            found.append((-ratio, len(candidate), candidate))
    return [candidate for _, _, candidate in sorted(found)[:_NEAR_MAX]]


def _likely(name: str, candidates: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those that differ in spelling only, and the few that are worth a closer look, which is slow.

    These are of the same namespace, or much alike.
    """
    namespace, last = _parted(name)
    letters, tail, start = _letters(name), _letters(last), last[:2].lower()
    same, related, alike = [], [], []
    for candidate in candidates:
        theirs, own = _parted(candidate)
        far, far_in_all = abs(len(own) - len(last)), abs(len(candidate) - len(name))
        is_whole = far_in_all <= 2 and _letters(candidate) == letters
        if is_whole or (not namespace and far <= 2 and _letters(own) == tail):
            same.append(candidate)
        elif own == last or (theirs == namespace and far <= _FAR):
            related.append(candidate)
        elif own[:2].lower() == start and (far_in_all <= 3 or (not namespace and far <= 3)):
            alike.append(candidate)
    likely = related + alike
    if len(likely) > _COMPARED_MAX:
        likely = heapq.nlargest(_COMPARED_MAX, likely, key=lambda near: _shared_ends(near, name))
    return sorted(same, key=lambda one: (len(one), one))[:_NEAR_MAX], likely


def _parted(name: str) -> tuple[str, str]:
    """The namespace of a name (of a verb's, its group), and the rest."""
    namespace, _, last = name.rpartition("/" if "/" in name else ".")
    return namespace, last


def _letters(name: str) -> str:
    """What is left of a name if case and punctuation do not count."""
    return name.translate(_PUNCTUATION).lower()


def _shared_ends(one: str, other: str) -> int:
    """How many characters two names have in common before and after they differ."""
    return _shared_start(one, other) + _shared_start(one[::-1], other[::-1])


def _shared_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
