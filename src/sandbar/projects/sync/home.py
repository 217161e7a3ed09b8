"""`.sandbar` in the folder: the journal, the lock, what was thrown away, and what is under way.

lock           one watch at a time
journal.jsonl  what both sides last agreed on
new/           files of ours that are being written; of no use once we are gone
swap/          what came out when a file was replaced: looked at once more before it is deleted
trash/         files of deleted entities

Somebody else may have made all of it: it is opened step by step, and links are refused.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbar.errors import Conflict, Incorrect, Unavailable
from sandbar.projects.sync.journal import Journal, Owner
from sandbar.projects.sync.proving import Proofs, secret_of
from sandbar.projects.sync.spots import FOLDER, Spot, open_below

NAME = ".sandbar"
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_OURS = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)


class Home:
    """The folder's own folder, locked as long as it is open."""

    def __init__(self, folder: Path, state: Path, owner: Owner) -> None:
        if not folder.is_dir():
            raise Incorrect(
                "watch.no-folder",
                f"{folder} is no folder",
                hint="make it, or look for a typing error: nothing is made by `sandbar watch`",
            )
        self.root = folder / NAME
        self.swap = self.root / "swap"
        self._open: list[int] = []
        try:
            self.folder = self._opened(folder, None)
            self._home = self._opened(self.root, self.folder)
            self._new, self._swap, self.trash = (
                self._opened(self.root / name, self._home) for name in ("new", "swap", "trash")
            )
            self._lock(folder)
            secret = secret_of(state, folder, owner.origin)
            with _told(self.root / "journal.jsonl"):
                self.journal = Journal(self.root, self._home, Proofs(secret))
            self._empty_new()
        except BaseException:
            self._close()
            raise

    def new(self, name: str) -> Spot:
        """The spot of a file that is being written."""
        return Spot(self._new, name)

    def swapped(self, name: str) -> Spot:
        """The spot of what comes out when a file is replaced."""
        return Spot(self._swap, name)

    def all_swapped(self) -> list[Spot]:
        """All that has come out and is still there."""
        return [Spot(self._swap, name) for name in os.listdir(self._swap)]

    def close(self) -> None:
        """Let others have it."""
        self.journal.close()
        self._close()

    def _close(self) -> None:
        for number in self._open:
            os.close(number)
        self._open = []

    def _opened(self, path: Path, above: int | None) -> int:
        with _told(path):
            if above is None:  # which folder is watched says our caller, also by a link
                number = os.open(path, FOLDER & ~os.O_NOFOLLOW)
            else:
                number = open_below(above, path.name, is_made=True, mode=0o700)
        self._open.append(number)
        return number

    def _lock(self, folder: Path) -> None:
        path = self.root / "lock"
        with _told(path):
            lock = os.open(path.name, _LOCK, 0o600, dir_fd=self._home)
        self._open.append(lock)
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            raise _planted(path)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Conflict(
                "watch.running",
                f"another `sandbar watch` looks after {folder}",
                hint="end that one first (Ctrl-C), or watch another folder",
            ) from None

    def _empty_new(self) -> None:
        for name in os.listdir(self._new):
            left = self.new(name)
            if not stat.S_ISDIR(left.status().st_mode):  # we make none: whoever did, it is theirs
                left.unlink()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell what is wrong with something in `.sandbar`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_OURS:
            raise _planted(path) from error
        raise Unavailable(
            "watch.folder",
            f"{path} cannot be used: {error.strerror}",
            hint="look at the rights of the folder",
        ) from error


def _planted(path: Path) -> Conflict:
    return Conflict(
        "watch.planted",
        f"{path} is a link, or not what `sandbar watch` makes there",
        hint="look where it leads and who has put it there, then remove it: links are not followed",
    )
