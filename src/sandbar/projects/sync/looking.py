"""Looking at the files: which there are, what is in them, and whether somebody is still writing.

Symbolic links are not followed. What a file's status says is believed only if it is old enough:
within the same tick of the clock a file can change without it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from sandbar.clock import now_us, pause_s
from sandbar.projects.sync.paths import Paths, is_ignored_folder

STABLE_S = 0.05  # a file is taken if it is the same on two looks so far apart
_FRESH_US = 2_000_000  # a coarse clock of a file system shows two seconds as one
_DEPTH_MAX = 60
_READ_BYTES = 1 << 20

Status = tuple[int, int, int, int]  # size, mtime, ctime, inode


class Seen(msgspec.Struct, frozen=True):
    """A file as it was when somebody looked."""

    status: Status
    sha: str
    is_fresh: bool  # its status is too young to be believed next time


class Folder:
    """The files below a folder that are ours to keep in step."""

    def __init__(self, root: Path, paths: Paths, size_max: int) -> None:
        self.root = root
        self._paths = paths
        self._size_max = size_max
        self.unreadable: dict[str, str] = {}  # files that we have no right to read, and why

    def all(self) -> dict[str, Status]:
        """Every file and its status, by path."""
        found: dict[str, Status] = {}
        waiting = [("", 0)]
        while waiting:
            folder, depth = waiting.pop()
            for entry in _entries(self.root / folder):
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if not is_ignored_folder(entry.name) and depth < _DEPTH_MAX:
                        waiting.append((f"{path}/", depth + 1))
                elif self._paths.is_ours(entry.name) and _is_text(path):
                    status = _status(Path(entry.path))
                    if status is not None:
                        found[path] = status
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
        return _status(self.root / path) if self.has_plain_folder(path) else None

    def has_plain_folder(self, path: str) -> bool:
        """Whether no folder on the way to a file is a symbolic link."""
        at = self.root
        for part in path.split("/")[:-1]:
            at = at / part
            if at.is_symlink():
                return False
        return True

    def relative(self, path: str) -> str | None:
        """The path of something below the folder, as we know it; None if it is not ours."""
        if not path.startswith(f"{self.root}/"):
            return None
        inside = path[len(str(self.root)) + 1 :]
        return inside if _is_text(inside) else None

    def read(self, path: str) -> tuple[Seen, bytes] | None:
        """A file and what is in it; None if it is gone. Too large a one is only measured."""
        try:
            fd = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):
                self.unreadable[path] = error.strerror or "no right to read it"
            elif error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
            return None
        self.unreadable.pop(path, None)
        with os.fdopen(fd, "rb") as file:
            at = os.fstat(fd)
            if not stat.S_ISREG(at.st_mode):
                return None
            data = file.read(self._size_max + 1)
            rest = sha256(data)
            while more := file.read(_READ_BYTES):
                rest.update(more)
        is_fresh = abs(now_us() - at.st_ctime_ns // 1000) < _FRESH_US
        return Seen(_tuple(at), rest.hexdigest(), is_fresh), data

    def settled(self, paths: Iterable[str]) -> Iterator[tuple[str, tuple[Seen, bytes]]]:
        """The files that are the same on two looks a moment apart."""
        first = {path: found for path in paths if (found := self.read(path)) is not None}
        if first:
            pause_s(STABLE_S)
        for path, (seen, data) in first.items():
            again = self.read(path)
            if again is not None and (again[0].status, again[0].sha) == (seen.status, seen.sha):
                yield path, (again[0], data)


def hash_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        found = sha256()
        while more := file.read(_READ_BYTES):
            found.update(more)
    return found.hexdigest()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []  # it went while we looked


def _status(path: Path) -> Status | None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _tuple(found) if stat.S_ISREG(found.st_mode) else None


def _tuple(found: os.stat_result) -> Status:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _is_text(path: str) -> bool:
    """Whether a path can be written down: not so if its bytes are no UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
