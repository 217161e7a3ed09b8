"""Files that appear as a whole or not at all, whenever the process or the machine dies."""

from __future__ import annotations

import errno
import os

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def put_in_place(part: str, path: str) -> None:
    """Give a finished file its name; raises FileExistsError if that is taken by now."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links: nearly as good, since only a moment lies in between.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from error
        os.rename(part, path)
    else:
        os.unlink(part)
    sync_folder_of(path)


def put_over(part: str, path: str) -> None:
    """Give a finished file its name, in place of the file that had it."""
    os.replace(part, path)
    sync_folder_of(path)


def sync_file(path: str) -> None:
    """Wait until what was written to a file is on the disk."""
    _sync(path, os.O_RDWR)


def sync_folder_of(path: str) -> None:
    """Wait until the name of a file is on the disk."""
    _sync(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_DIRECTORY)


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _sync(path: str, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
