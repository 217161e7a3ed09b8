"""Looking at the files: which there are, what is in them, and whether somebody is still writing.

Symbolic links are not followed. What a file's status says is believed only if it is old enough:
within the same tick of the clock a file can change without it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from sandbar.clock import now_us, pause_s
from sandbar.projects.sync.paths import Paths, is_ignored_folder
from sandbar.projects.sync.spots import Spot, spot_of

STABLE_S = 0.05  # a file is taken if it is the same on two looks so far apart
_FRESH_US = 2_000_000  # a coarse clock of a file system shows two seconds as one
_DEPTH_MAX = 60
_READ_BYTES = 1 << 20
_SIZE_MAX = 8 << 20  # what the codec reads at most: no file that was agreed on is larger
_NO_HASH = "0" * 64  # of what is no file
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)  # or it is no file any more
_TOO_MUCH = bytes(_SIZE_MAX + 1)  # stands for what is in a file that is too large

Status = tuple[int, int, int, int]  # size, mtime, ctime, inode


class Seen(msgspec.Struct, frozen=True):
    """A file as it was when somebody looked."""

    status: Status
    sha: str
    is_fresh: bool  # its status is too young to be believed next time


class Folder:
    """The files below a folder that are ours to keep in step."""

    def __init__(self, root: Path, top: int, paths: Paths) -> None:
        self.root = root
        self._top = top  # the same as `root`, open
        self._paths = paths
        self.unreadable: dict[str, str] = {}  # files that we have no right to read, and why

    def all(self) -> dict[str, Status]:
        """Every file and its status, by path."""
        found: dict[str, Status] = {}
        waiting = [("", 0)]
        while waiting:
            folder, depth = waiting.pop()
            for name, at in self._entries(folder):
                path = f"{folder}{name}"
                if at is None:
                    if not is_ignored_folder(name) and depth < _DEPTH_MAX:
                        waiting.append((f"{path}/", depth + 1))
                elif stat.S_ISREG(at.st_mode) and _is_text(path):
                    found[path] = _tuple(at)
        return found

    def statuses(self, paths: Iterable[str]) -> dict[str, Status]:
        """The status of those that are there."""
        found = ((path, self.status(path)) for path in paths)
        return {path: status for path, status in found if status is not None}

    def status(self, path: str) -> Status | None:
        """The status of a file of ours, if it is one."""
        parts = path.split("/")
        if not self._paths.is_ours(parts[-1]) or any(map(is_ignored_folder, parts[:-1])):
            return None
        try:
            with self.spot(path) as spot:
                at = spot.status()
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return None
        return _tuple(at) if stat.S_ISREG(at.st_mode) else None

    def spot(self, path: str, *, is_made: bool = False) -> AbstractContextManager[Spot]:
        """The spot of a file; the folders on the way to it are made, if need be."""
        return spot_of(self._top, path, is_made=is_made)

    def relative(self, path: str) -> str | None:
        """The path of something below the folder, as we know it; None if it is not ours."""
        if not path.startswith(f"{self.root}/"):
            return None
        inside = path[len(str(self.root)) + 1 :]
        return inside if _is_text(inside) else None

    def read(self, path: str) -> tuple[Seen, bytes] | None:
        """A file and what is in it; None if it is gone. Too large a one is only measured."""
        try:
            with self.spot(path) as spot:
                fd = spot.open()
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):
                self.unreadable[path] = error.strerror or "no right to read it"
            elif error.errno not in _GONE:
                raise
            return None
        self.unreadable.pop(path, None)
        try:
            at = os.fstat(fd)
            if not stat.S_ISREG(at.st_mode):
                return None
            data = _read(fd, at)
        finally:
            os.close(fd)
        is_fresh = abs(now_us() - at.st_ctime_ns // 1000) < _FRESH_US
        return Seen(_tuple(at), _hash(at, data), is_fresh), data

    def settled(self, paths: Iterable[str]) -> Iterator[tuple[str, tuple[Seen, bytes]]]:
        """The files that are the same on two looks a moment apart."""
        first = {path: found for path in paths if (found := self.read(path)) is not None}
        if first:
            pause_s(STABLE_S)
        for path, (seen, data) in first.items():
            again = self.read(path)
            if again is not None and (again[0].status, again[0].sha) == (seen.status, seen.sha):
                yield path, (again[0], data)

    def _entries(self, folder: str) -> Iterator[tuple[str, os.stat_result | None]]:
        """What of ours is in a folder (its path ends in a slash, or is empty); None: a folder."""
        try:
            with self.spot(folder) as spot, os.scandir(spot.folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        yield entry.name, None
                    elif self._paths.is_ours(entry.name):
                        with suppress(FileNotFoundError):  # it went while we looked
                            yield entry.name, entry.stat(follow_symlinks=False)
        except OSError as error:
            if error.errno not in _GONE:
                raise


def hash_of(spot: Spot) -> str:
    """The SHA-256 of a file; of what can be no file of ours, something that no such file has."""
    if not spot.is_file():
        return _NO_HASH
    fd = spot.open()
    try:
        at = os.fstat(fd)
        return _hash(at, _read(fd, at))
    finally:
        os.close(fd)


def _read(fd: int, at: os.stat_result) -> bytes:
    """What is in a file; its size is looked at first: one of terabytes is made in no time."""
    parts: list[bytes] = []
    left = 0 if at.st_size > _SIZE_MAX else _SIZE_MAX + 1
    while left and (part := os.read(fd, min(left, _READ_BYTES))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts) if left else _TOO_MUCH


def _hash(at: os.stat_result, data: bytes) -> str:
    """The SHA-256 of a file; if it is too large to be read, of what its status says."""
    is_measured = data is _TOO_MUCH
    return sha256(repr(_tuple(at)).encode() if is_measured else data).hexdigest()


def _tuple(found: os.stat_result) -> Status:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _is_text(path: str) -> bool:
    """Whether a path can be written down: not so if its bytes are no UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
