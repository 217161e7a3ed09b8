"""Where an export goes: a folder that may hold an earlier one, or an archive."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from typing import BinaryIO, Protocol

import msgspec

from sandbar.errors import Conflict, NotFound
from sandbar.projects.results import LISTED_MAX
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sums import (
    MANIFEST,
    SUMS,
    digest_of,
    plain_digest,
    read_manifest,
    read_sums,
    write_manifest,
)

_JOURNAL = ".sandbar-export"  # what an export that was killed had written
_WHEN = (1980, 1, 1, 0, 0, 0)  # the first day of this format: an export has no date
_MODE = 0o644 << 16


class Left(msgspec.Struct):
    """What a target did to files that were there before."""

    removed: int = 0
    edited: int = 0
    edited_paths: list[str] = []


class Target(Protocol):
    """Takes the files of an export, one by one."""

    def begin(self) -> None:
        """Look at what is there."""

    def put(self, path: str, data: bytes) -> str:
        """Write a file; the digest that SHA256SUMS is to name for it."""

    def finish(self, sums: bytes, files: int, was_put: Callable[[str], bool]) -> Left:
        """Write SHA256SUMS and the manifest, when all files are there."""


class FolderTarget:
    """A folder, which becomes just what the workspace is.

    A file that somebody has edited since the last export is left as it is, and SHA256SUMS goes on
    to name the digest that it had: so an import can tell. One that is no export is in the way.
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
            self._before = read_sums(self._folder)
        self._killed = read_sums(self._folder, _JOURNAL)
        self._journal = self._folder.appending(_JOURNAL)

    def put(self, path: str, data: bytes) -> str:
        """Write a file, unless it is there just so or has been edited."""
        digest = digest_of(data)
        there = self._digests(path)
        if digest in there:
            return digest
        before = self._before.get(path)
        if there and not self._is_ours(path, there):
            if before is None:
                raise Conflict(
                    "project.in-the-way",
                    f"{path} is there already, and no export has written it",
                    hint="import it first, move it away, or export to another folder",
                )
            self._edited(path)
            return before
        # Before the file is there: whoever is killed in between must know it as ours.
        assert self._journal is not None, "begin comes first"
        self._journal.write(f"{digest}  {path}\n".encode())
        self._folder.write(path, data)
        return digest

    def finish(self, sums: bytes, files: int, was_put: Callable[[str], bool]) -> Left:
        """Remove what is no more, then write the files that say what there is."""
        for path in sorted(self._before.keys() | self._killed.keys()):
            if was_put(path):
                continue
            there = self._digests(path)
            if there and self._is_ours(path, there):
                self._folder.remove(path)
                self._left.removed += 1
            elif there:
                self._edited(path)
        os.sync()  # the manifest is there when all files are, also after a power cut
        self._folder.write(SUMS, sums)
        self._folder.write(MANIFEST, write_manifest(sums, files))
        assert self._journal is not None, "begin comes first"
        self._journal.close()
        self._folder.remove(_JOURNAL)
        os.sync()
        return self._left

    def _digests(self, path: str) -> tuple[str, ...]:
        """The digest of the file that is there, and that with plain ends of lines."""
        try:
            data = self._folder.read(path)
        except NotFound:
            return ()
        return (digest_of(data), plain_digest(data)) if b"\r\n" in data else (digest_of(data),)

    def _is_ours(self, path: str, there: tuple[str, ...]) -> bool:
        return self._before.get(path) in there or self._killed.get(path) in there

    def _edited(self, path: str) -> None:
        self._left.edited += 1
        if len(self._left.edited_paths) < LISTED_MAX:
            self._left.edited_paths.append(path)


class ZipTarget:
    """A zip archive: the same workspace gives the same bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)

    def begin(self) -> None:
        """Nothing is there."""

    def put(self, path: str, data: bytes) -> str:
        """Add a file."""
        info = zipfile.ZipInfo(path, _WHEN)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3  # a Unix, wherever this runs
        info.external_attr = _MODE
        self._zip.writestr(info, data)
        return digest_of(data)

    def finish(self, sums: bytes, files: int, was_put: Callable[[str], bool]) -> Left:
        """Add the files that say what there is."""
        self.put(SUMS, sums)
        self.put(MANIFEST, write_manifest(sums, files))
        self._zip.close()
        return Left()
