"""Words and numbers that nobody can guess, each noted with the place where it was put.

Every word begins with the same mark, so that one look at a text finds any of them. A *secret* is
never given to the attacker. A *known* one is: a name, a number, a handle that somebody might have
overheard. It may come back to whoever has said it, and to nobody else.
"""

from __future__ import annotations

import base64
import binascii
import re
from random import Random
from typing import NamedTuple
from uuid import UUID

_LETTERS = "bcdfghjklmnpqrstvwxz"  # no vowels: no word of any language
_MARK = 8
_REST = 10
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}")
_NO_WORDS = re.compile(
    r"[0-9]{12,}|19[0-9]{2}-03-14T[0-9:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


class Leak(NamedTuple):
    """A canary where it must not be, and where it had been put."""

    canary: str
    place: str


class Canaries:
    """All that was planted, and what the attacker has said of it."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.mark = self._letters(_MARK)
        self._word = re.compile(f"{self.mark}[{_LETTERS}]{{{_REST}}}")
        self._places: dict[str, str] = {}
        self._exact: dict[str, str] = {}  # values that are no words
        self._known: set[str] = set()
        self._said: set[str] = set()

    def secret(self, place: str) -> str:
        """A word that the attacker does not know."""
        word = self.mark + self._letters(_REST)
        self._places[word] = place
        return word

    def known(self, place: str) -> str:
        """A word that the attacker knows, and may say."""
        word = self.secret(place)
        self._known.add(word)
        return word

    def value(self, kind: str) -> object:
        """A secret value of a value type, such as `db.type/long`."""
        name = kind.removeprefix("db.type/")
        if name in ("boolean", "ref", "string"):
            return None if name == "ref" else name == "boolean" or ""  # others hold the words
        word, place = self.secret(f"a slot of {kind}"), f"a slot of {kind}"
        digits = "".join(self._random.choices("123456789", k=15))
        made: dict[str, object] = {
            "long": int(digits),
            "double": float(f"0.{digits}"),
            "float": float(f"0.{digits[::-1]}"),
            "bigint": digits * 2,
            "bigdec": f"{digits}.{digits[:6]}",
            "instant": f"19{digits[:2]}-03-14T15:09:2{digits[2]}.{digits[3:9]}Z",
            "uuid": str(UUID(int=self._random.getrandbits(128), version=4)),
            "bytes": base64.b64encode(word.encode()).decode(),
            "uri": f"https://{word}.example/{word}",
            "tuple": [word, int(digits[::-1])],
            "json": {word: [word, {"deep": word}]},
        }
        value = made.get(name, word)
        if name in ("long", "double", "float", "bigint", "bigdec", "instant", "uuid"):
            self._exact[
                str(value).removeprefix("0.").split(".")[0] if name != "instant" else str(value)
            ] = place
        return value

    def say(self, text: str) -> None:
        """The attacker has said this."""
        if self.mark in text:
            self._said.update(self._known.intersection(self._word.findall(text)))
        for run in _BASE64.findall(text):
            self._said.update(self._words(_decoded(run)))  # an overheard cursor may hold a secret

    def leaks(self, text: str) -> list[Leak]:
        """What a text betrays, also inside of base64."""
        found = set(self._words(text))
        found.update(self._exact.keys() & _NO_WORDS.findall(text))
        for run in _BASE64.findall(text):
            found.update(self._words(_decoded(run)))
        return [Leak(one, self.place_of(one)) for one in sorted(found - self._said)]

    def place_of(self, canary: str) -> str:
        """Where it was put."""
        return self._places.get(canary) or self._exact.get(canary, "nobody knows where")

    def secret_places(self) -> set[str]:
        """Every kind of place that holds something which the attacker does not know."""
        secret = {self._places[word] for word in self._places.keys() - self._known}
        return secret | set(self._exact.values())

    def _words(self, text: str) -> list[str]:
        return self._word.findall(text) if self.mark in text else []

    def _letters(self, count: int) -> str:
        return "".join(self._random.choices(_LETTERS, k=count))


def _decoded(run: str) -> str:
    """What a run of base64, of either alphabet, says; nothing if it is none."""
    plain = run.replace("-", "+").replace("_", "/")
    try:
        inner = base64.b64decode(plain + "=" * (-len(plain) % 4)).decode("latin-1")
    except (ValueError, binascii.Error):
        return ""
    # A cursor holds another one's key, again in base64.
    return inner + "".join(_decoded(one) for one in _BASE64.findall(inner) if one != run)
