"""Where an export goes: a folder that may hold an earlier one, or an archive."""

from __future__ import annotations

import fcntl
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol

import msgspec

from sandbar.codecs import Codecs
from sandbar.errors import Conflict, NotFound
from sandbar.model import Introspection
from sandbar.projects.built_in import ProjectSource
from sandbar.projects.layout import placed
from sandbar.projects.results import LISTED_MAX
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sources import Item
from sandbar.projects.sums import (
    MANIFEST,
    SUMS,
    composed,
    digest_of,
    plain_digest,
    read_manifest,
    read_sums,
    write_manifest,
)

_JOURNAL = ".sandbar-export"  # what an export that was killed had written
_WHEN = (1980, 1, 1, 0, 0, 0)  # the first day of this format: an export has no date
_MODE = 0o644 << 16


# Whether the bytes of a file say what is to be written; and if it was exported before, all of it.
Meaning = Callable[[bytes, bool], bool]
Classes = frozenset[str] | None  # those that are exported; None: all


class _Others:
    """All paths but some."""

    def __init__(self, known: set[str]) -> None:
        self._known = known

    def __contains__(self, path: object) -> bool:
        return not isinstance(path, str) or composed(path) not in self._known


class Left(msgspec.Struct):
    """What a target did to files that were there before."""

    removed: int = 0
    edited: int = 0
    edited_paths: list[str] = []


class Target(Protocol):
    """Takes the files of an export, one by one."""

    def begin(self) -> None:
        """Look at what is there."""

    def strays(self, schema: Introspection, codecs: Codecs) -> Iterator[Item]:
        """What files say that are among those of an earlier export, and that no export wrote."""

    def take_away(self, path: str) -> None:
        """Remove a stray file: what it says has its own place now."""

    def put(self, path: str, data: bytes, says_same: Meaning) -> str:
        """Write a file; the digest that SHA256SUMS is to name for it.

        `says_same` tells whether what is there already says the same in other words.
        """

    def settle(self, written: Iterable[str], classes: Classes = None) -> dict[str, str]:
        """Remove what is no more, when all is written; what stays, with the digests it had.

        With `classes`, only their instances were written: files of others are left alone.
        """

    def finish(self, sums: bytes, files: int) -> Left:
        """Write SHA256SUMS and the manifest."""

    def close(self) -> None:
        """Let go of it, finished or not."""


class FolderTarget:
    """A folder, which becomes just what the workspace is.

    A file that somebody has edited since the last export, and that was not imported, is left as it
    is, and SHA256SUMS goes on to name the digest that it had: so an import can tell. One that is no
    export is in the way, unless it says the same.
    """

    def __init__(self, folder: RootedFolder) -> None:
        self._folder = folder
        self._before: dict[str, str] = {}
        self._killed: dict[str, str] = {}  # what an export wrote that did not come to its end
        self._journal: BinaryIO | None = None
        self._left = Left()

    def begin(self) -> None:
        """Read what earlier exports have written."""
        if read_manifest(self._folder) is not None:
            read_sums(self._folder, self._before)
        self._journal = self._folder.appending(_JOURNAL)
        try:
            fcntl.flock(self._journal.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Conflict(
                "project.busy",
                f"somebody else is exporting to {self._folder.name}",
                hint="wait until they are done, or export to another folder",
            ) from error
        read_sums(self._folder, self._killed, _JOURNAL)
        for path in list(self._killed)[-1:]:
            self._folder.clear_parts(path)  # the one that was being written when it was killed

    def strays(self, schema: Introspection, codecs: Codecs) -> Iterator[Item]:
        """Look through the folder, if an export is in it."""
        if self._before:
            others = _Others({*self._before, *self._killed})
            yield from ProjectSource().items(self._folder, schema, codecs, only=others)

    def take_away(self, path: str) -> None:
        """Remove it, and say so."""
        self._folder.remove(path)
        self._left.removed += 1

    def put(self, path: str, data: bytes, says_same: Meaning) -> str:
        """Write a file, unless it is there just so or has been edited."""
        digest = digest_of(data)
        there = self._there(path)
        if there == data:
            return digest
        before = self._before.get(path)
        is_free = there is None or self._is_ours(path, there)
        if not is_free and not says_same(there or b"", before is not None):
            if before is None:
                raise in_the_way(path)
            self._edited(path)
            return before
        # Before the file is there: whoever is killed in between must know it as ours.
        assert self._journal is not None, "begin comes first"
        self._journal.write(f"{digest}  {path}\n".encode())
        self._folder.write(path, data)
        return digest

    def settle(self, written: Iterable[str], classes: Classes = None) -> dict[str, str]:
        """Remove files of what is no more, but not those that somebody has edited."""
        kept: dict[str, str] = {}
        for path in sorted((self._before.keys() | self._killed.keys()).difference(written)):
            there = self._there(path)
            if classes is not None and not _is_of(classes, path):
                if there is not None or path in self._before:  # else it was not written any more
                    kept[path] = self._noted(path, there)
            elif there is not None and self._is_ours(path, there):
                self._folder.remove(path)
                self._left.removed += 1
            elif there is not None:
                self._edited(path)
                kept[path] = self._before.get(path) or self._killed[path]
        return kept

    def finish(self, sums: bytes, files: int) -> Left:
        """Write the files that say what there is."""
        os.sync()  # the manifest is there when all files are, also after a power cut
        self._folder.write(SUMS, sums)
        self._folder.write(MANIFEST, write_manifest(sums, files))
        self.close()
        self._folder.remove(_JOURNAL)
        os.sync()
        return self._left

    def close(self) -> None:
        """Let go of the list of what was written; it stays, if this was not the end."""
        if self._journal is not None:
            self._journal.close()

    def _there(self, path: str) -> bytes | None:
        try:
            return self._folder.read(path)
        except NotFound:
            return None

    def _is_ours(self, path: str, there: bytes) -> bool:
        """Whether an export has written just this, be it with other ends of lines."""
        digests = {digest_of(there), plain_digest(there)}
        return self._before.get(path) in digests or self._killed.get(path) in digests

    def _noted(self, path: str, there: bytes | None) -> str:
        """The digest of what an export has written there last."""
        killed = self._killed.get(path)
        is_newer = there is not None and killed in (digest_of(there), plain_digest(there))
        before = self._before.get(path)
        return killed if killed is not None and (is_newer or before is None) else before or ""

    def _edited(self, path: str) -> None:
        self._left.edited += 1
        if len(self._left.edited_paths) < LISTED_MAX:
            self._left.edited_paths.append(path)


def _is_of(classes: frozenset[str], path: str) -> bool:
    at = placed(path)
    return at is not None and at.class_ in classes


def in_the_way(path: str) -> Conflict:
    """The refusal to write over a file of somebody, or beside one about the same entity."""
    return Conflict(
        "project.in-the-way",
        f"{path} is there already, and no export has written it",
        hint="import it first, move it away, or export to another folder",
    )


class ZipTarget:
    """A zip archive: the same workspace gives the same bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)

    def begin(self) -> None:
        """Nothing is there."""

    def strays(self, schema: Introspection, codecs: Codecs) -> Iterator[Item]:
        """Nothing was there before."""
        return iter(())

    def take_away(self, path: str) -> None:
        """Nothing was there before."""

    def put(self, path: str, data: bytes, says_same: Meaning | None = None) -> str:
        """Add a file."""
        info = zipfile.ZipInfo(path, _WHEN)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3  # a Unix, wherever this runs
        info.external_attr = _MODE
        self._zip.writestr(info, data)
        return digest_of(data)

    def settle(self, written: Iterable[str], classes: Classes = None) -> dict[str, str]:
        """Nothing was there before."""
        return {}

    def finish(self, sums: bytes, files: int) -> Left:
        """Add the files that say what there is."""
        self.put(SUMS, sums)
        self.put(MANIFEST, write_manifest(sums, files))
        self._zip.close()
        return Left()

    def close(self) -> None:
        """Close the archive; one that was not finished has no manifest."""
        self._zip.close()
