"""Exported files that were moved: they are known by what is in them, and keep their names."""

from __future__ import annotations

from msgspec.structs import replace

from sandbar.projects.comparing import IDENT
from sandbar.projects.layout import placed
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sources import Item
from sandbar.projects.sums import composed, read_sums
from sandbar.scratch import Scratch, Table


class Moves:
    """Looks for the place that a file had when it was exported."""

    def __init__(self, folder: RootedFolder, scratch: Scratch) -> None:
        self._folder = folder
        self._scratch = scratch
        self._exported: Table[str] | None = None  # digests by path
        self._gone: Table[str] | None = None  # by digest, the path of a file that is no more

    def named(self, item: Item) -> Item:
        """The item; under the name of the file that it was, if it was moved and not edited."""
        parsed = item.parsed
        if parsed is None or not parsed.is_ident_derived or self._is_exported(item.path):
            return item
        gone = self._gone_files()
        path = gone.get(item.digest or "") or gone.get(item.plain_digest or "")
        at = None if path is None else placed(path)
        if at is None or at.ident is None or at.class_ != parsed.class_:
            return item
        return replace(item, parsed=replace(parsed, slots={**parsed.slots, IDENT: at.ident}))

    def _is_exported(self, path: str) -> bool:
        return composed(path) in self._sums()

    def _sums(self) -> Table[str]:
        if self._exported is None:
            self._exported = self._scratch.table()
            read_sums(self._folder, self._exported)
        return self._exported

    def _gone_files(self) -> Table[str]:
        if self._gone is None:
            self._gone = self._scratch.table()
            for path, digest in self._sums().items():
                if not self._folder.has(path):
                    self._gone[digest] = path
        return self._gone
