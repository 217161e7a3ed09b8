"""A server's claim to a file: a lock beside it, apart from SQLite's own, which it would break.

A claim that is given up removes the lock's file while it still holds the lock. So a new claim, once
it has locked a file, looks whether that file still bears its name: it may have been removed just
before, and a third process may hold the file that bears the name now.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from sandbar.errors import Conflict, Incorrect

_LOCKS = Path("/proc/locks")
_CLAIM = ".server-lock"
_TRIES_MAX = 100  # each time somebody else has just given the claim up


class Claim:
    """What a server holds; the file says which workspace it is at home in."""

    def __init__(self, path: str, home: str | None) -> None:
        """Only one server may own a file at a time."""
        self._lock = f"{path}{_CLAIM}"
        self._handle = _locked(path, self._lock)
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, (home or "").encode("utf-8", "surrogatepass"), 0)
        except OSError as error:
            self.give_up()
            raise _unclaimed(path, error) from error

    def give_up(self) -> None:
        """Let the next one have the file; of the claim nothing stays."""
        handle, self._handle = self._handle, -1
        if handle < 0:
            return
        try:
            if _bears_name(handle, self._lock):
                os.unlink(self._lock)
        except OSError:
            pass  # an empty file stays, which claims nothing
        finally:
            os.close(handle)


def home_of_server(path: str) -> str | None:
    """The workspace that the server of a file is at home in; None if none runs."""
    lock = Path(f"{path}{_CLAIM}")
    if not is_claimed(path):
        return None
    try:
        return lock.read_bytes().decode("utf-8", "surrogatepass") or None
    except FileNotFoundError:  # it has just stopped
        return None


def is_claimed(path: str) -> bool:
    """Whether a server has claimed the file."""
    try:
        handle = os.open(f"{path}{_CLAIM}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def claimer(path: str) -> int | None:
    """The process that has claimed the file, where the system keeps a list."""
    try:
        number = os.stat(f"{path}{_CLAIM}").st_ino
        listed = _LOCKS.read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    found = re.search(rf"FLOCK\s+\w+\s+WRITE\s+(\d+)\s+\S+:{number}\s", listed)
    return int(found[1]) if found else None


def _locked(path: str, lock: str) -> int:
    """The lock's file, open and locked, and still bearing its name."""
    for _ in range(_TRIES_MAX):
        handle = _opened(path, lock)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_current = _bears_name(handle, lock)
            os.close(handle)
            if is_current:
                break
            continue
        if _bears_name(handle, lock):
            return handle
        os.close(handle)
    raise Conflict(
        "store.server-running",
        f"another Sandbar server already serves {path}",
        hint="stop it, or talk to it; the library and the command line may run beside it",
    )


def _opened(path: str, lock: str) -> int:
    try:
        return os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unclaimed(path, error) from error


def _unclaimed(path: str, error: OSError) -> Incorrect:
    return Incorrect(
        "store.cannot-open",
        f"{path} cannot be claimed: {error}",
        hint="the folder must be there and open to writing by this user",
    )


def _bears_name(handle: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False
