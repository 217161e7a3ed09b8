"""Writing files that somebody else may be writing at the same moment: nothing of theirs is lost.

A file is never overwritten. Ours is written elsewhere and changes places with theirs in one step;
what comes out is what was there, whatever that is. If it is what both sides had agreed on it is
deleted, though not at once: an editor may still have it open. If it is anything else it is kept
beside the file.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from sandbar.clock import monotonic_s
from sandbar.errors import Conflict
from sandbar.projects.sync.exchange import NotOffered, exchange, is_open_for_writing, move_new
from sandbar.projects.sync.home import Home
from sandbar.projects.sync.journal import Swap
from sandbar.projects.sync.looking import Folder, hash_of
from sandbar.projects.sync.paths import Paths

_GRACE_S = 2.0  # what came out is looked at once more after so long
_SYNCED_ONE_BY_ONE_MAX = 16

Keeping = Callable[[str, str], None]  # a path, and where what was there is kept now


class Placed(msgspec.Struct, frozen=True):
    """What became of a file that was to be written."""

    is_done: bool  # not so if something came in between: look again
    kept: str | None = None  # where what was there instead of what was expected is kept


class Files:
    """Writes and removes files below one folder."""

    def __init__(self, folder: Folder, home: Home, paths: Paths, keeping: Keeping) -> None:
        self._folder = folder
        self._root = folder.root
        self._home = home
        self._paths = paths
        self._keeping = keeping
        self._late: dict[str, float] = {}  # what came out, and when
        self._unsynced: list[Path] = []

    def begin(self) -> None:
        """Look after what a killed process has left behind."""
        for left in list(self._home.swap.iterdir()):
            swap = self._home.journal.swaps.get(left.name)
            if swap is None:
                self._keep(left, Path(self._home.trash), f"found-{left.name}.md", 0)
            elif not swap.new and hash_of(left) == swap.old:
                self._keep(
                    left, self._home.trash, self._paths.beside(swap.path, "deleted", 0, swap.old), 0
                )
            elif hash_of(left) in (swap.old, swap.new):
                if is_open_for_writing(left):
                    self._late[left.name] = monotonic_s()
                else:
                    left.unlink()
            else:
                self._keeping(swap.path, self._keep_beside(left, swap.path, 0))
        for name in self._home.journal.swaps.keys() - self._late.keys():
            self._home.journal.swapped(name)

    def move(self, path: str, target: str) -> bool:
        """Give a file another place, if nothing is there; whether that was done."""
        self._make_folder(target)
        try:
            move_new(self._root / path, self._root / target)
        except (FileExistsError, FileNotFoundError, NotADirectoryError):
            return False
        self._unsynced += [self._root / target, self._root / path]
        return True

    def write_new(self, path: str, data: bytes) -> Placed:
        """Write a file where there is none."""
        self._make_folder(path)
        target = self._root / path
        try:
            move_new(self._prepare(data), target)
        except FileExistsError:
            return Placed(False)
        self._unsynced.append(target)
        return Placed(True)

    def replace(self, path: str, data: bytes, sha: str, *, expected: str | None, t: int) -> Placed:
        """Write a file over one. What was there is kept unless it is what was expected."""
        if not self._folder.has_plain_folder(path):
            return Placed(False)
        name = secrets.token_hex(8)
        swap = self._home.swap / name
        self._prepare(data).rename(swap)
        self._home.journal.swap(Swap(name, path, expected or "", sha))
        try:
            self._exchange(swap, self._root / path)
        except (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError):
            self._drop(name)
            return Placed(False)
        self._unsynced.append(self._root / path)
        if hash_of(swap) == expected:
            self._late[name] = monotonic_s()
            return Placed(True)
        kept = self._keep_beside(swap, path, t)
        self._home.journal.swapped(name)
        return Placed(True, kept)

    def throw_away(self, path: str, *, expected: str, t: int) -> Placed:
        """Move a file to the trash, if it is what both sides had agreed on."""
        name = secrets.token_hex(8)
        swap = self._home.swap / name
        self._home.journal.swap(Swap(name, path, expected, ""))
        try:
            (self._root / path).rename(swap)
        except (FileNotFoundError, NotADirectoryError):
            self._home.journal.swapped(name)
            return Placed(True)
        sha = hash_of(swap)
        if sha == expected:
            kept = self._keep(
                swap, self._home.trash, self._paths.beside(path, "deleted", t, sha), 0
            )
            self._home.journal.swapped(name)
            return Placed(True, kept)
        try:
            move_new(swap, self._root / path)  # somebody has just changed it: it is needed
            kept_beside = None
        except FileExistsError:
            kept_beside = self._keep_beside(swap, path, t)
        self._home.journal.swapped(name)
        return Placed(False, kept_beside)

    def sync(self) -> None:
        """Make what was written durable, before anybody relies on it."""
        if len(self._unsynced) > _SYNCED_ONE_BY_ONE_MAX:
            os.sync()
        else:
            for path in {*self._unsynced, *(path.parent for path in self._unsynced)}:
                _sync(path)
        self._unsynced.clear()

    def look_again(self, *, is_last: bool = False) -> None:
        """Delete what came out when files were replaced; what was written to since is kept.

        At the end, what somebody may still write to stays for the next watch.
        """
        for name, since in list(self._late.items()):
            swap = self._home.swap / name
            record = self._home.journal.swaps[name]
            is_due = is_last or monotonic_s() - since > _GRACE_S
            if not swap.exists():
                del self._late[name]
            if not is_due or not swap.exists():
                continue
            is_open = is_open_for_writing(swap)
            if is_open or (is_last and is_open is None):
                continue
            del self._late[name]
            if hash_of(swap) in (record.old, record.new):
                self._drop(name)
            else:
                kept = self._keep_beside(swap, record.path, 0)
                self._home.journal.swapped(name)
                self._keeping(record.path, kept)

    # --- steps -------------------------------------------------------------------------------

    def _prepare(self, data: bytes) -> Path:
        fresh = self._home.new / secrets.token_hex(8)
        fresh.write_bytes(data)
        return fresh

    def _exchange(self, swap: Path, target: Path) -> None:
        """Let them change places; where the kernel has no such move, in two steps."""
        try:
            exchange(swap, target)
        except NotOffered:
            aside = swap.with_suffix(".old")
            target.rename(aside)
            try:
                move_new(swap, target)
            except FileExistsError:
                swap.unlink()
                aside.rename(swap)
                self._keep_beside(swap, target.relative_to(self._root).as_posix(), 0)
                raise
            aside.rename(swap)

    def _drop(self, name: str) -> None:
        (self._home.swap / name).unlink(missing_ok=True)
        self._home.journal.swapped(name)

    def _make_folder(self, path: str) -> None:
        is_there = self._folder.has_plain_folder(path)
        if is_there:
            try:
                (self._root / path).parent.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                is_there = False  # a file has the folder's name
        if not is_there:
            raise Conflict(
                "watch.no-place",
                f"there can be no file {path}: a folder on the way is a link or a file",
                hint="give that another name; links are not followed",
            )

    def _keep_beside(self, found: Path, path: str, t: int) -> str:
        sha = hash_of(found)
        if not (self._root / path).parent.is_dir():
            return self._keep(
                found, self._home.trash, self._paths.beside(path, "conflict", t, sha), 0
            )
        number = 0
        while True:
            kept = self._paths.beside(path, "conflict", t, sha, number)
            try:
                move_new(found, self._root / kept)
            except FileExistsError:
                number += 1
            else:
                self._unsynced.append(self._root / kept)
                return kept

    def _keep(self, found: Path, folder: Path, name: str, number: int) -> str:
        """Keep a file in a folder of our own, under a name that nothing has yet."""
        target = folder / (f"{number}-{name.replace('/', '%2F')}" if number else name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            move_new(found, target)
        except (FileExistsError, NotADirectoryError):
            return self._keep(found, folder, name, number + 1)
        return target.relative_to(self._root).as_posix()


def _sync(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return  # it went again; then nothing has to last
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
