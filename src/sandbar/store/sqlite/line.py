"""A connection for short writes beside the writer's: rows of the audit, leases, workspaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from sandbar.store.sqlite.connection import begin_writing, problem_of, translated
from sandbar.store.sqlite.file import File


class NotFree(Exception):
    """Somebody else writes just now."""


class Line:
    """Used by one thread at a time, and kept from one transaction to the next.

    Whatever goes wrong, at whichever moment, the connection is dropped, and with it what was begun:
    Ctrl-C can come between any two steps.
    """

    def __init__(
        self,
        file: File,
        opener: Callable[[str], apsw.Connection],
        require_open: Callable[[], None],
    ) -> None:
        self._file = file
        self._opener = opener
        self._require_open = require_open
        self._connection: apsw.Connection | None = None

    @contextmanager
    def transaction(
        self, begin: Callable[[apsw.Connection], None] = begin_writing
    ) -> Iterator[apsw.Connection]:
        """Begin, and commit what is written over the connection."""
        self._require_open()  # the store may have been closed while we waited for our turn
        try:
            connection = self._ready()
            begin(connection)
            with translated():
                yield connection
            self._file.commit(connection)
        except NotFree:
            raise
        except BaseException:
            self.hang_up()
            raise

    def hang_up(self) -> None:
        """Let go of the connection; the next transaction opens another."""
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None

    def _ready(self) -> apsw.Connection:
        if self._connection is not None and self._connection.in_transaction:
            self.hang_up()  # whoever was to do so was interrupted once more
        if self._connection is None:
            self._connection = self._file.connect(self._opener)
        return self._connection


def begin_at_once(connection: apsw.Connection) -> None:
    """Take the write lock if it is free this instant."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.BusyError as error:
        raise NotFree from error
    except apsw.Error as error:
        raise problem_of(error) from error
