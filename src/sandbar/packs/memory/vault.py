"""A folder of notes as a whole: which notes and tags there are, and what a link in it leads to.

Links lead where Obsidian leads them: to the note with that path, else to the nearest one whose path
ends like that; aliases count where no file has the name.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import normalize

from sandbar.codecs import OWN_NAMESPACES, derived_ident, ident_for_path
from sandbar.keywords import looks_like_ident
from sandbar.model import Introspection
from sandbar.packs.memory.naming import Idents, digest_of
from sandbar.packs.memory.note_text import NOTE_SUFFIXES

TAG = "mm/Tag"
_HOME = "mm"


class Tag(NamedTuple):
    """A tag of the folder."""

    ident: str
    names: list[str]  # every way in which it is written; the first is its name
    parent: str | None  # the ident of the wider one


class Vault:
    """The notes of a folder by everything that links may call them; made in one walk."""

    def __init__(self, schema: Introspection) -> None:
        self._schema = schema
        self._definitions = {*schema.classes(), *schema.properties()}
        self._idents = Idents()
        self._tag_idents = Idents()
        self._paths: dict[str, str] = {}  # folded path to path
        self._by_name: dict[str, list[tuple[str, str]]] = {}  # folded file name to such pairs
        self._by_alias: dict[str, list[str]] = {}
        self._others: dict[str, list[str]] = {}  # the same for files that are no notes
        self._tags: dict[str, Tag] = {}
        self._idents_of: dict[str, str] = {}  # path of a note to its ident
        self._by_ident: dict[str, str] = {}
        self._unnamed: list[str] = []  # paths of notes that are named when all are taken in

    def add_note(
        self, path: str, aliases: list[str], tags: list[str], stated: str | None = None
    ) -> None:
        """Take in a note. Notes come in the order of their paths; `settle` ends it."""
        if stated is not None and self._may_state(stated):
            self._name(path, stated.removeprefix(":"))
        else:
            self._unnamed.append(path)
        folded = _folded(path)
        self._paths.setdefault(folded, path)
        self._by_name.setdefault(posixpath.basename(folded), []).append((folded, path))
        for alias in aliases:
            self._by_alias.setdefault(_folded(alias), []).append(path)
        for tag in tags:
            self.add_tag(tag)

    def settle(self) -> None:
        """Name those that state no ident, by their paths: what is stated goes first."""
        for path in self._unnamed:
            self._name(path, ident_for_path(path, _HOME))
        self._unnamed = []

    def is_named_by(self, path: str, stated: str) -> bool:
        """Whether a note has the ident that it states."""
        return self._idents_of[path] == stated.removeprefix(":")

    def _name(self, path: str, wanted: str) -> None:
        ident = self._idents.give(wanted, path)
        self._idents_of[path] = ident
        self._by_ident[ident] = path

    def _may_state(self, given: str) -> bool:
        """Whether a note may be called so: not as what is no note, nor as another note."""
        ident = given.removeprefix(":")
        space = ident.partition("/")[0].partition(".")[0]
        is_free = space not in OWN_NAMESPACES or space == _HOME
        is_known = ident in self._by_ident or ident in self._definitions
        return looks_like_ident(ident) and is_free and not is_known

    def add_other(self, path: str) -> None:
        """Take in a file that is no note."""
        self._others.setdefault(posixpath.basename(_folded(path)), []).append(path)

    def add_tag(self, name: str) -> str:
        """Take in a tag and those that it is nested in; its ident."""
        key = _folded(name)
        known = self._tags.get(key)
        if known is not None:
            if name not in known.names:
                known.names.append(name)
            return known.ident
        above = name.rpartition("/")[0].rstrip("/")
        parent = self.add_tag(above) if above else None
        wanted = derived_ident(self._schema, TAG, {"tag/name": name}) or f"tag/x-{digest_of(key)}"
        ident = self._tag_idents.give(wanted, key)
        self._tags[key] = Tag(ident, [name], parent)
        return ident

    def tags(self) -> Iterator[Tag]:
        """Every tag, wider ones before those that are nested in them."""
        yield from self._tags.values()

    def ident_of(self, path: str) -> str:
        """The ident of a note."""
        return self._idents_of[path]

    def has_note(self, path: str) -> bool:
        """Whether a note was taken in."""
        return path in self._idents_of

    def note_called(self, ident: str) -> str | None:
        """The note that has an ident."""
        return self._by_ident.get(ident)

    def note_of_name(self, target: str, source: str) -> str | None:
        """The note that `[[target]]` leads to from a note, by path."""
        if target.startswith(("./", "../")):
            return self.note_at(target, source)
        wanted = _folded(target.lstrip("/"))
        for candidate in (f"{wanted}.md", wanted, f"{wanted}.markdown"):
            if found := self._nearest(candidate, source):
                return found
        aliased = self._by_alias.get(wanted, [])
        return aliased[0] if len(aliased) == 1 else None

    def note_at(self, target: str, source: str) -> str | None:
        """The note at a path that is seen from a note, or else from the folder."""
        near = posixpath.normpath(posixpath.join(posixpath.dirname(source), target.lstrip("/")))
        far = posixpath.normpath(target.lstrip("/"))
        first = (far, near) if target.startswith("/") else (near, far)
        for path in first:
            for candidate in (path, f"{path}.md"):
                if found := self._paths.get(_folded(candidate)):
                    return found
        return None

    def has_other(self, target: str) -> bool:
        """Whether a file that is no note could be meant by a link."""
        path = _folded(posixpath.normpath(target).lstrip("./"))
        others = self._others.get(posixpath.basename(path), [])
        return any(_ends_with(_folded(other), path) for other in others)

    def _nearest(self, folded: str, source: str) -> str | None:
        if not folded.endswith(NOTE_SUFFIXES):
            return None
        if exact := self._paths.get(folded):
            return exact
        named = self._by_name.get(posixpath.basename(folded), [])
        found = [path for known, path in named if _ends_with(known, folded)]
        here = posixpath.dirname(source)
        return min(
            found,
            key=lambda path: (not path.startswith(f"{here}/") if here else False, len(path), path),
            default=None,
        )


def is_note(path: str) -> bool:
    """Whether a file of a folder is a note."""
    return path.lower().endswith(NOTE_SUFFIXES)


def _ends_with(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith(f"/{wanted}")


def _folded(text: str) -> str:
    """A name as file systems and Obsidian compare it."""
    return normalize("NFC", normalize("NFC", text).casefold())
