"""Two moves of files that the kernel makes in one step, and what to do where it cannot."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from pathlib import Path

_AT_FDCWD = -100
_NO_REPLACE = 1
_EXCHANGE = 2
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)

_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


class NotOffered(Exception):
    """This kernel or file system has no such move."""


def exchange(one: Path, other: Path) -> None:
    """Let two files change places; nobody sees a moment in which either is missing."""
    _rename(one, other, _EXCHANGE)


def move_new(source: Path, target: Path) -> None:
    """Give a file its name, unless something has it already (FileExistsError)."""
    try:
        _rename(source, target, _NO_REPLACE)
    except NotOffered:
        os.link(source, target)
        source.unlink()


def is_open_for_writing(path: Path) -> bool | None:
    """Whether anybody can still write to a file that only we know the name of.

    A read lease is granted only if nobody has it open for writing. Where there are no leases this
    is not known (None), and the time that has passed must do.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    finally:
        os.close(fd)
    return False


def _rename(source: Path, target: Path, how: int) -> None:
    if _renameat2 is None:
        raise NotOffered
    failed = _renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), how)
    if failed:
        number = ctypes.get_errno()
        if number in _NOT_OFFERED:
            raise NotOffered
        raise OSError(number, os.strerror(number), str(source), None, str(target))
