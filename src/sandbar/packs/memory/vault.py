"""A folder of notes as a whole: which notes and tags there are, and what a link in it leads to.

Links lead where Obsidian leads them: to the note with that path, else to the nearest one whose path
ends like that; aliases count where no file has the name. What grows with the folder is in scratch
tables, not in memory.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import normalize

from sandbar.codecs import OWN_NAMESPACES, derived_ident, ident_for_path
from sandbar.keywords import looks_like_ident, namespace
from sandbar.model import Introspection
from sandbar.packs.memory.naming import Idents, digest_of
from sandbar.packs.memory.note_text import NOTE_SUFFIXES
from sandbar.scratch import Scratch, Table

TAG = "mm/Tag"
_HOME = "mm"
_NESTED_MAX = 32


class Tag(NamedTuple):
    """A tag of the folder."""

    ident: str
    names: list[str]  # every way in which it is written; the first is its name
    parent: str | None  # the ident of the wider one


class Vault:
    """The notes of a folder by everything that links may call them; made in one walk."""

    def __init__(self, schema: Introspection, scratch: Scratch) -> None:
        self._schema = schema
        self._definitions = {*schema.classes(), *schema.properties()}
        self._count = 0  # of names so far: what comes first is sorted first
        self._idents = Idents(scratch.table())  # of notes; each leads to the path
        self._idents_of: Table[str] = scratch.table()  # path of a note to its ident
        self._unnamed: Table[str] = scratch.table()  # path to the ident that it wants
        self._paths: Table[str] = scratch.table()  # folded path to path
        self._by_name: Table[str] = scratch.table()  # upturned path and a number to path
        self._others: Table[None] = scratch.table()  # the same of files that are no notes
        self._by_alias: Table[str] = scratch.table()  # to the path, or nothing if several have it
        self._tag_idents = Idents(scratch.table())
        self._tags: Table[str] = scratch.table()  # folded tag to ident
        self._written: Table[str] = scratch.table()  # tag as it is written to ident
        self._tag_order: Table[str] = scratch.table()  # number to ident
        self._tag_names: Table[str] = scratch.table()  # ident and a number to tag as it is written

    def add_note(
        self, path: str, aliases: list[str], tags: list[str], stated: str | None = None
    ) -> None:
        """Take in a note. Notes come in the order of their paths; `settle` ends it."""
        if stated is not None and self._may_state(stated):
            self._name(path, stated.removeprefix(":"))
        else:
            self._unnamed[path] = ident_for_path(path, _HOME)
        folded = _folded(path)
        if folded not in self._paths:
            self._paths[folded] = path
        self._by_name[f"{_upturned(folded)}/{self._next()}"] = path
        for alias in aliases:
            key = _folded(alias)
            self._by_alias[key] = "" if key in self._by_alias else path
        for tag in tags:
            self.add_tag(tag)

    def settle(self) -> None:
        """Name those that state no ident, by their paths: what is stated goes first."""
        for path, wanted in self._unnamed.items():
            self._name(path, wanted)
        self._unnamed.clear()

    def is_named_by(self, path: str, stated: str) -> bool:
        """Whether a note has the ident that it states."""
        return self.ident_of(path) == stated.removeprefix(":")

    def _name(self, path: str, wanted: str) -> None:
        self._idents_of[path] = self._idents.give(wanted, path)

    def _may_state(self, given: str) -> bool:
        """Whether a note may be called so: not as what is no note, nor as another note."""
        ident = given.removeprefix(":")
        space = namespace(ident)
        is_free = space not in OWN_NAMESPACES or space == _HOME
        is_known = ident in self._definitions or self._idents.key_of(ident) is not None
        return looks_like_ident(ident) and is_free and not is_known

    def add_other(self, path: str) -> None:
        """Take in a file that is no note."""
        self._others[f"{_upturned(_folded(path))}/{self._next()}"] = None

    def add_tag(self, name: str) -> str:
        """Take in a tag and those that it is nested in; its ident."""
        ident = self._written.get(name)
        if ident is None:
            key = _folded(name)
            ident = self._tags.get(key) or self._new_tag(name, key)
            self._written[name] = ident
            self._tag_names[f"{ident}/{self._next()}"] = name
        return ident

    def _new_tag(self, name: str, key: str) -> str:
        if above := _wider(name):
            self.add_tag(above)
        wanted = derived_ident(self._schema, TAG, {"tag/name": name}) or f"tag/x-{digest_of(key)}"
        ident = self._tag_idents.give(wanted, key)
        self._tags[key] = ident
        self._tag_order[self._next()] = ident
        return ident

    def tags(self) -> Iterator[Tag]:
        """Every tag, wider ones before those that are nested in them."""
        idents = (ident for _, ident in self._tag_order.items())
        for ident in idents:
            names = list(self._tag_names.below(ident))
            yield Tag(ident, names, self._written.get(_wider(names[0])))

    def _next(self) -> str:
        self._count += 1
        return f"{self._count:09}"

    def ident_of(self, path: str) -> str:
        """The ident of a note."""
        ident = self._idents_of.get(path)
        assert ident is not None
        return ident

    def has_note(self, path: str) -> bool:
        """Whether a note was taken in."""
        return path in self._idents_of

    def note_called(self, ident: str) -> str | None:
        """The note that has an ident."""
        return self._idents.key_of(ident)

    def note_of_name(self, target: str, source: str) -> str | None:
        """The note that `[[target]]` leads to from a note, by path."""
        if target.startswith(("./", "../")):
            return self.note_at(target, source)
        wanted = _folded(target.lstrip("/"))
        for candidate in (f"{wanted}.md", wanted, f"{wanted}.markdown"):
            if found := self._nearest(candidate, source):
                return found
        return self._by_alias.get(wanted) or None

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
        return any(True for _ in self._others.below(_upturned(path)))

    def _nearest(self, folded: str, source: str) -> str | None:
        if not folded.endswith(NOTE_SUFFIXES):
            return None
        if exact := self._paths.get(folded):
            return exact
        here = posixpath.dirname(source)
        return min(
            self._by_name.below(_upturned(folded)),
            key=lambda path: (not path.startswith(f"{here}/") if here else False, len(path), path),
            default=None,
        )


def is_note(path: str) -> bool:
    """Whether a file of a folder is a note."""
    return path.lower().endswith(NOTE_SUFFIXES)


def _upturned(path: str) -> str:
    """A path from its file up: those that end alike stand together."""
    return "/".join(reversed(path.split("/")))


def _wider(tag: str) -> str:
    """The tag that a tag is nested in; empty, if it is in none, or in too many to be meant so."""
    return tag.rpartition("/")[0].rstrip("/") if tag.count("/") <= _NESTED_MAX else ""


def _folded(text: str) -> str:
    """A name as file systems and Obsidian compare it."""
    return normalize("NFC", normalize("NFC", text).casefold())
