"""Exported files that were moved: they are known by what is in them, and keep their names."""

from __future__ import annotations

from msgspec.structs import replace

from sandbar.projects.comparing import IDENT
from sandbar.projects.layout import placed
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sources import Item
from sandbar.projects.sums import composed, read_sums


class Moves:
    """Looks for the place that a file had when it was exported."""

    def __init__(self, folder: RootedFolder) -> None:
        self._folder = folder
        self._exported: frozenset[int] | None = None  # hashes of paths
        self._gone: dict[str, str] | None = None  # digest to the path of a file that is no more

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
        if self._exported is None:
            self._exported = frozenset(map(hash, read_sums(self._folder)))
        return hash(composed(path)) in self._exported

    def _gone_files(self) -> dict[str, str]:
        if self._gone is None:
            sums = read_sums(self._folder)
            self._gone = {
                digest: path for path, digest in sums.items() if not self._folder.has(path)
            }
        return self._gone
