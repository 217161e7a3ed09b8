"""The file of an open store: no other that comes to bear its name is ever taken for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from sandbar.errors import Incorrect, Unavailable
from sandbar.store.sqlite.connection import begin_writing, open_writer, translated
from sandbar.store.sqlite.inheritance import identity_of


class File:
    """One file, as it was when it was opened."""

    __slots__ = ("_identity", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._identity = identity_of(path)

    def require(self) -> None:
        """Go on only while its name leads to it: nobody would ever find what is written to it."""
        if identity_of(self.path) != self._identity:
            raise Unavailable(
                "store.file-gone",
                f"{self.path} has been removed, or another file has taken its place",
                hint="put it back, or close the database and open it again",
            )

    def connect(self, opener: Callable[[str], apsw.Connection]) -> apsw.Connection:
        """One more connection to this file."""
        self.require()
        try:
            connection = opener(self.path)
        except Incorrect as problem:  # it could be opened before, so nobody's request is wrong
            raise Unavailable(
                "store.cannot-reopen",
                "the database file cannot be opened once more",
                hint="perhaps too many files are open (see ulimit -n): close some, then retry",
            ) from problem
        try:
            self.require()  # the name may have led elsewhere in the meantime
        except BaseException:
            connection.close(True)
            raise
        return connection

    def commit(self, connection: apsw.Connection) -> None:
        """Commit, unless the file is gone."""
        self.require()
        with translated():
            connection.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """One transaction, synced, over a connection of its own."""
        connection = self.connect(open_writer)
        try:
            begin_writing(connection)
            with translated():
                yield connection
            self.commit(connection)
        finally:
            connection.close(True)  # and with it whatever was begun
