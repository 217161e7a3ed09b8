"""Names for what is imported: the same file gives the same names every time it is read."""

from __future__ import annotations

import hashlib

from sandbar.codecs import derived_ident
from sandbar.model import Introspection
from sandbar.packs.memory.answers import MEMORY

_IDENT_BYTES_MAX = 255
_DIGEST_DIGITS = 8
_FOLDER_BYTES_MAX = 100
# Namespaces in which something else lives: a folder of that name gets another one.
_TAKEN = frozenset(
    {"audit", "auth", "db", "dt", "mm", "pack", "prompt", "relation", "tag", "task", "workflow"}
)


class Idents:
    """Idents that were given away, so that none is given twice."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}

    def give(self, wanted: str, key: str) -> str:
        """The ident for a key: the wanted one, or if somebody has it, one with a digest of the key.

        So whoever comes first in the file has the plain name, and the names of the others do not
        depend on who else is there.
        """
        ident = wanted
        for number in range(len(self._taken) + 2):
            if ident not in self._taken:
                break
            ident = f"{wanted}-{digest_of(f'{key}#{number}' if number else key)}"
        self._taken[ident] = key
        return ident


def digest_of(text: str, digits: int = _DIGEST_DIGITS) -> str:
    """A few digits that stand for a text."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:digits]


def slug_of(schema: Introspection, name: str) -> str:
    """The last part of the ident that a memory of this name has."""
    ident = derived_ident(schema, MEMORY, {"memory/name": name})
    return f"x-{digest_of(name)}" if ident is None else ident.partition("/")[2]


def ident_of_note(schema: Introspection, path: str) -> str:
    """The ident of a note: its folders with dots between them, and its name without the suffix."""
    *folders, file = path.split("/")
    name = slug_of(schema, file.rpartition(".")[0] or file)
    if not folders:
        return f"mm/{name}"
    namespace = ".".join(slug_of(schema, folder) for folder in folders)
    if len(namespace.encode()) > _FOLDER_BYTES_MAX:
        cut = namespace.encode()[: _FOLDER_BYTES_MAX - 10].decode("utf-8", "ignore").rstrip(".-")
        namespace = f"{cut}-{digest_of(namespace)}"
    if not (namespace[0].isalpha() or namespace[0] == "_"):
        namespace = f"_{namespace}"
    if namespace.partition(".")[0] in _TAKEN:
        namespace = f"notes.{namespace}"
    room = _IDENT_BYTES_MAX - len(namespace.encode()) - 2 * _DIGEST_DIGITS - 3
    if len(name.encode()) > room:
        cut = name.encode()[: room - 10].decode("utf-8", "ignore").rstrip("-")
        name = f"{cut}-{digest_of(name)}"
    return f"{namespace}/{name}"
