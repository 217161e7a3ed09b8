"""Names for what is imported: the same file gives the same names every time it is read."""

from __future__ import annotations

import hashlib
from itertools import count

from sandbar.codecs import derived_ident
from sandbar.model import Introspection
from sandbar.packs.memory.answers import MEMORY
from sandbar.scratch import Table

_DIGEST_DIGITS = 8


class Idents:
    """Idents that were given away, so that none is given twice."""

    def __init__(self, taken: Table[str] | None = None) -> None:
        """They are noted in the table, or else in memory."""
        self._taken: Table[str] | dict[str, str] = {} if taken is None else taken

    def give(self, wanted: str, key: str) -> str:
        """The ident for a key: the wanted one, or if somebody has it, one with a digest of the key.

        So whoever comes first in the file has the plain name, and the names of the others do not
        depend on who else is there.
        """
        ident = wanted
        for number in count():
            if ident not in self._taken:
                break
            ident = f"{wanted}-{digest_of(f'{key}#{number}' if number else key)}"
        self._taken[ident] = key
        return ident

    def key_of(self, ident: str) -> str | None:
        """Whose an ident is, if it was given away."""
        return self._taken.get(ident)


def digest_of(text: str, digits: int = _DIGEST_DIGITS) -> str:
    """A few digits that stand for a text."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:digits]


def slug_of(schema: Introspection, name: str) -> str:
    """The last part of the ident that a memory of this name has."""
    ident = derived_ident(schema, MEMORY, {"memory/name": name})
    return f"x-{digest_of(name)}" if ident is None else ident.partition("/")[2]
