"""Files that were open when this process was forked from another: here nobody may open them.

SQLite keeps its locks by file and process, and the copies of the parent's connections say that it
has locks which, in the child, the system has never given it. A new connection to such a file would
rely on them: it would write without any lock, and overwrite what others have committed.
"""

from __future__ import annotations

import os
from weakref import WeakKeyDictionary

import apsw

from sandbar.store.forks import forked

Identity = tuple[int, int]  # of a file, whatever it is called: its device and its number there

# Connections, and not stores: one that is still lent when its store is closed counts, too.
_opened: WeakKeyDictionary[apsw.Connection, Identity] = WeakKeyDictionary()
_inherited: set[Identity] = set()


def identity_of(path: str) -> Identity | None:
    """Which file bears this name; None, if none does."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def refuse_inherited(path: str) -> None:
    """Go on only if the file was not open when this process was forked."""
    if _inherited and identity_of(path) in _inherited:
        raise forked("this file was open when this process was forked from another")


def note_opened(connection: apsw.Connection, path: str) -> None:
    """Remember which file a connection is to, for as long as it is open."""
    identity = identity_of(path)
    if identity is not None:
        _opened[connection] = identity


def _inherit() -> None:
    _inherited.update(file for connection, file in _opened.items() if _is_open(connection))
    _opened.clear()


def _is_open(connection: apsw.Connection) -> bool:
    try:
        return bool(connection.filename)
    except apsw.ThreadingViolationError:  # it was in use: here it will stay so for ever
        return True
    except apsw.ConnectionClosedError:
        return False


os.register_at_fork(after_in_child=_inherit)
