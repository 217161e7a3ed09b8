"""Names in open folders: the way to a file is gone step by step, and no link on it is followed.

Somebody else may have made the folder, or change it while we look: what was checked by its path
is no longer what the path leads to a moment later. An open folder stays what it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Spot(NamedTuple):
    """A name in an open folder."""

    folder: int
    name: str

    def open(self, flags: int = READ, mode: int = 0o666) -> int:
        """Open what has the name; a link is refused."""
        return os.open(self.name, flags, mode, dir_fd=self.folder)

    def status(self) -> os.stat_result:
        """The status of what has the name, be it a link."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def is_there(self) -> bool:
        """Whether anything has the name."""
        try:
            self.status()
        except FileNotFoundError:
            return False
        return True

    def is_file(self) -> bool:
        """Whether a plain file has the name."""
        return self.is_there() and stat.S_ISREG(self.status().st_mode)

    def unlink(self) -> None:
        """Remove the name, if anything has it."""
        try:
            os.unlink(self.name, dir_fd=self.folder)
        except FileNotFoundError:
            pass  # that is what was wanted

    def rename(self, target: Spot) -> None:
        """Give it another name, whatever has that now."""
        os.rename(self.name, target.name, src_dir_fd=self.folder, dst_dir_fd=target.folder)


def open_below(folder: int, name: str, *, is_made: bool = False, mode: int = 0o777) -> int:
    """A folder in an open folder; a link or a file is refused (NotADirectoryError, ELOOP)."""
    if is_made:
        try:
            os.mkdir(name, mode, dir_fd=folder)
        except FileExistsError:
            pass  # what it is shows when it is opened
    return os.open(name, FOLDER, dir_fd=folder)


@contextmanager
def spot_of(top: int, path: str, *, is_made: bool = False) -> Iterator[Spot]:
    """The spot of a path below an open folder; the folders on the way are made, if need be."""
    *folders, name = path.split("/")
    at = os.dup(top)
    try:
        for folder in folders:
            below = open_below(at, folder, is_made=is_made)
            os.close(at)
            at = below
        yield Spot(at, name)
    finally:
        os.close(at)


def is_inside(path: str) -> bool:
    """Whether a path leads down from a folder, and to nothing hidden."""
    parts = path.split("/")
    return "\0" not in path and not any(part == "" or part.startswith(".") for part in parts)


def write_all(file: int, data: bytes) -> None:
    """Write all of it, or raise."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
