"""Writing files that somebody else may be writing at the same moment: nothing of theirs is lost.

A file is never overwritten. Ours is written elsewhere and changes places with theirs in one step;
what comes out is what was there, whatever that is. If it is what both sides had agreed on it is
deleted, though not at once: an editor may still have it open. If it is anything else it is kept
beside the file.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from sandbar.clock import monotonic_s
from sandbar.errors import Conflict
from sandbar.projects.sync.exchange import NotOffered, exchange, is_open_for_writing, move_new
from sandbar.projects.sync.home import NAME as HOME
from sandbar.projects.sync.home import Home
from sandbar.projects.sync.journal import Swap
from sandbar.projects.sync.looking import Folder, hash_of
from sandbar.projects.sync.paths import Paths
from sandbar.projects.sync.spots import NEW, READ, Spot, is_inside, spot_of, write_all

_GRACE_S = 2.0  # what came out is looked at once more after so long
_SYNCED_ONE_BY_ONE_MAX = 16
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)  # or no plain way leads to it
_NAME_MAX = 60  # characters of up to four bytes
_CAME_BETWEEN = (*_GONE, errno.EEXIST)

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
        self._unsynced: list[str] = []

    def begin(self) -> None:
        """Look after what a killed process has left behind."""
        for left in self._home.all_swapped():
            swap = self._home.journal.swaps.get(left.name)
            if swap is None:
                self._keep(left, f"found-{secrets.token_hex(4)}.md")
            elif not swap.new and hash_of(left) == swap.old:
                self._keep(left, self._paths.beside(swap.path, "deleted", 0, swap.old))
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
        with self._made_spot(target) as there:
            try:
                with self._folder.spot(path) as here:
                    move_new(here, there)
            except OSError as error:
                if error.errno not in _CAME_BETWEEN:
                    raise
                return False
        self._unsynced += [target, path]
        return True

    def write_new(self, path: str, data: bytes) -> Placed:
        """Write a file where there is none."""
        with self._made_spot(path) as target:
            fresh = self._prepare(data)
            try:
                move_new(fresh, target)
            except FileExistsError:
                fresh.unlink()
                return Placed(False)
        self._unsynced.append(path)
        return Placed(True)

    def replace(self, path: str, data: bytes, sha: str, *, expected: str | None, t: int) -> Placed:
        """Write a file over one. What was there is kept unless it is what was expected."""
        name = secrets.token_hex(8)
        swap = self._home.swapped(name)
        self._prepare(data).rename(swap)
        self._home.journal.swap(Swap(name, path, expected or "", sha))
        try:
            with self._folder.spot(path) as target:
                self._exchange(swap, target, path)
        except OSError as error:
            if error.errno not in _CAME_BETWEEN:
                raise
            self._drop(name)
            return Placed(False)
        self._unsynced.append(path)
        if hash_of(swap) == expected:
            self._late[name] = monotonic_s()
            return Placed(True)
        kept = self._keep_beside(swap, path, t)
        self._home.journal.swapped(name)
        return Placed(True, kept)

    def throw_away(self, path: str, *, expected: str, t: int) -> Placed:
        """Move a file to the trash, if it is what both sides had agreed on."""
        name = secrets.token_hex(8)
        swap = self._home.swapped(name)
        self._home.journal.swap(Swap(name, path, expected, ""))
        try:
            with self._folder.spot(path) as spot:
                spot.rename(swap)
        except OSError as error:
            if error.errno not in _GONE:
                raise
            self._home.journal.swapped(name)
            return Placed(True)
        sha = hash_of(swap)
        if sha == expected:
            kept = self._keep(swap, self._paths.beside(path, "deleted", t, sha))
            self._home.journal.swapped(name)
            return Placed(True, kept)
        kept_beside = None
        try:
            with self._folder.spot(path) as spot:
                move_new(swap, spot)  # somebody has just changed it: it is needed
        except OSError as error:
            if error.errno not in _CAME_BETWEEN:
                raise
            kept_beside = self._keep_beside(swap, path, t)
        self._home.journal.swapped(name)
        return Placed(False, kept_beside)

    def sync(self) -> None:
        """Make what was written durable, before anybody relies on it."""
        if len(self._unsynced) > _SYNCED_ONE_BY_ONE_MAX:
            os.sync()
        else:
            for path in set(self._unsynced):
                self._sync(path)
        self._unsynced.clear()

    def look_again(self, *, is_last: bool = False) -> None:
        """Delete what came out when files were replaced; what was written to since is kept.

        At the end, what somebody may still write to stays for the next watch.
        """
        for name, since in list(self._late.items()):
            swap = self._home.swapped(name)
            record = self._home.journal.swaps[name]
            is_due = is_last or monotonic_s() - since > _GRACE_S
            is_there = swap.is_there()
            if not is_there:
                del self._late[name]
            if not is_due or not is_there:
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

    def _prepare(self, data: bytes) -> Spot:
        fresh = self._home.new(secrets.token_hex(8))
        file = fresh.open(NEW)
        try:
            write_all(file, data)
        finally:
            os.close(file)
        return fresh

    def _exchange(self, swap: Spot, target: Spot, path: str) -> None:
        """Let them change places; where the kernel has no such move, in two steps."""
        try:
            exchange(swap, target)
        except NotOffered:
            aside = self._home.swapped(f"{swap.name}.old")
            target.rename(aside)
            try:
                move_new(swap, target)
            except FileExistsError:
                swap.unlink()
                aside.rename(swap)
                self._keep_beside(swap, path, 0)
                raise
            aside.rename(swap)

    def _drop(self, name: str) -> None:
        self._home.swapped(name).unlink()
        self._home.journal.swapped(name)

    @contextmanager
    def _made_spot(self, path: str) -> Iterator[Spot]:
        """The spot of a new file; the folders on the way to it are made."""
        with ExitStack() as opened:
            try:
                if not is_inside(path):
                    raise NotADirectoryError(errno.ENOTDIR, path)
                spot = opened.enter_context(self._folder.spot(path, is_made=True))
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                raise Conflict(
                    "watch.no-place",
                    f"there can be no file {path}: a folder on the way is a link or a file",
                    hint="give that another name; links are not followed",
                ) from error
            yield spot

    def _keep_beside(self, found: Spot, path: str, t: int) -> str:
        sha = hash_of(found)
        with ExitStack() as opened:
            try:
                folder = opened.enter_context(self._folder.spot(path)).folder
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                return self._keep(found, self._paths.beside(path, "conflict", t, sha))
            number = 0
            while True:
                kept = self._paths.beside(path, "conflict", t, sha, number)
                try:
                    move_new(found, Spot(folder, kept.rpartition("/")[2]))
                except FileExistsError:
                    number += 1
                else:
                    self._unsynced.append(kept)
                    return kept

    def _keep(self, found: Spot, path: str, number: int = 0) -> str:
        """Keep a file in the trash, under a name that nothing has yet."""
        name = f"{number}-{path.replace('/', '%2F')[-_NAME_MAX:]}" if number else path
        try:
            with spot_of(self._home.trash, name, is_made=True) as target:
                move_new(found, target)
        except OSError as error:
            if error.errno not in _CAME_BETWEEN or error.errno == errno.ENOENT:
                raise
            return self._keep(found, path, number + 1)
        return f"{HOME}/trash/{name}"

    def _sync(self, path: str) -> None:
        """Make a file and its name durable."""
        try:
            with self._folder.spot(path) as spot:
                os.fsync(spot.folder)
                file = spot.open(READ)
        except OSError:
            return  # it went again; then nothing has to last
        try:
            os.fsync(file)
        finally:
            os.close(file)
