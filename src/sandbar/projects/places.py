"""The names of files that state none: by their place in the folder that is imported."""

from __future__ import annotations

from sandbar.codecs import Place, ident_for_path, stated_ident
from sandbar.errors import Problem
from sandbar.model import Introspection
from sandbar.projects.layout import below_class, placed
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sums import composed

_REMEMBERED_MAX = 10_000


class Places:
    """What the path of a file says, in a folder of any kind.

    What is in the folders of a class (`mm/Memory/…`) has its name from there on. A path that an
    export would write is read back as one.
    """

    def __init__(self, schema: Introspection, folder: RootedFolder | None = None) -> None:
        self._schema = schema
        self._classes = frozenset(schema.classes())
        self._folder = folder if folder is not None and folder.only is None else None
        self._stated: dict[str, str | None] = {}

    def of(self, path: str) -> Place:
        """The place of a file."""
        inside = below_class(path)
        is_classed = inside is not None and inside[0] in self._classes
        top = "/".join(path.split("/")[:2]) if is_classed else ""
        return Place(path, self._ident, self._stated_ident, self._has, top)

    def class_of(self, path: str) -> str | None:
        """The class whose folders a file is in, if its instances are named by their place."""
        inside = below_class(path)
        if inside is None or inside[0] not in self._classes:
            return None
        document = self._schema.document(inside[0])
        return None if document.ident_from is None else inside[0]

    def _ident(self, path: str, namespace: str) -> str:
        whole = composed(path)
        inside = below_class(whole)
        if inside is None or inside[0] not in self._classes:
            return ident_for_path(whole, namespace)
        at = placed(whole)
        if at is not None and at.ident is not None:
            return at.ident
        class_, below = inside
        return ident_for_path(below, self._schema.document(class_).ident_in or namespace)

    def _has(self, path: str) -> bool:
        try:
            return self._folder is not None and self._folder.has(path)
        except Problem:
            return False  # it leads to no place inside

    def _stated_ident(self, path: str) -> str | None:
        """The ident that another file of the folder states."""
        if self._folder is None:
            return None
        if path not in self._stated:
            if len(self._stated) >= _REMEMBERED_MAX:
                self._stated.clear()
            try:
                text = self._folder.read(path).decode(errors="replace")
            except Problem:
                text = ""  # whoever reads that file will say what is wrong with it
            self._stated[path] = stated_ident(text, f".{path.rpartition('.')[2]}")
        return self._stated[path]
