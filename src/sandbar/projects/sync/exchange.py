"""Two moves of files that the kernel makes in one step, and what to do where it cannot."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from pathlib import Path

from sandbar.projects.sync.spots import READ, Spot

_NO_REPLACE = 1
_EXCHANGE = 2
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)

_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


class NotOffered(Exception):
    """This kernel or file system has no such move."""


def exchange(one: Spot, other: Spot) -> None:
    """Let two files change places; nobody sees a moment in which either is missing."""
    _rename(one, other, _EXCHANGE)


def move_new(source: Spot, target: Spot) -> None:
    """Give a file its name, unless something has it already (FileExistsError)."""
    try:
        _rename(source, target, _NO_REPLACE)
    except NotOffered:
        os.link(
            source.name,
            target.name,
            src_dir_fd=source.folder,
            dst_dir_fd=target.folder,
            follow_symlinks=False,
        )
        source.unlink()


def is_open_for_writing(path: Path | Spot) -> bool | None:
    """Whether anybody can still write to a file that only we know the name of.

    A read lease is granted only if nobody has it open for writing. Where there are no leases this
    is not known (None), and the time that has passed must do.
    """
    fd = path.open() if isinstance(path, Spot) else os.open(path, READ)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    finally:
        os.close(fd)
    return False


def _rename(source: Spot, target: Spot, how: int) -> None:
    if _renameat2 is None:
        raise NotOffered
    failed = _renameat2(
        source.folder, os.fsencode(source.name), target.folder, os.fsencode(target.name), how
    )
    if failed:
        number = ctypes.get_errno()
        if number in _NOT_OFFERED:
            raise NotOffered
        raise OSError(number, os.strerror(number), source.name, None, target.name)
