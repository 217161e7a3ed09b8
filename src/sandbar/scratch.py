"""Notes on a disk that nobody keeps: for what is too many to hold in memory.

    with Scratch() as scratch:
        marks = scratch.table()
        marks["n/moss"] = 1

Behind it is a temporary database without a name: the system takes it back when the process ends,
however it ends. Nothing is synced, and it takes two megabytes of memory, however much is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

import apsw

from sandbar.errors import Unavailable

Value = TypeVar("Value")

_CACHE_KIB = 2_000
_PAGE = 1_000
_PRAGMAS = ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KIB}")


class Scratch:
    """Makes tables, and removes them all in the end. For one thread at a time."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        for pragma in _PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._tables = 0
        self._connection.execute("BEGIN")  # and never a commit: there is nothing to keep

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def table(self) -> Table[Any]:
        """A new, empty table."""
        self._tables += 1
        return Table(self._connection, f"t{self._tables}")

    def close(self) -> None:
        """Remove everything."""
        self._connection.close()


class Table(Generic[Value]):
    """Numbers, texts or bytes by a text: like a dictionary, but sorted, and elsewhere.

    It may be changed while somebody walks through it.
    """

    def __init__(self, connection: apsw.Connection, name: str) -> None:
        self._connection = connection
        self._get = f"SELECT value FROM {name} WHERE key = ?"
        self._put = f"REPLACE INTO {name} VALUES (?, ?)"
        self._delete = f"DELETE FROM {name} WHERE key = ?"
        self._delete_all = f"DELETE FROM {name}"
        self._count = f"SELECT count(*) FROM {name}"
        rows = f"SELECT key, value FROM {name} WHERE key"
        self._up = f"{rows} > ? ORDER BY key LIMIT {_PAGE}"
        self._down = f"{rows} < ? ORDER BY key DESC LIMIT {_PAGE}"
        self._below = f"{rows} > ? AND key < ? ORDER BY key LIMIT {_PAGE}"
        self._run(f"CREATE TABLE {name} (key PRIMARY KEY, value) WITHOUT ROWID")

    def get(self, key: str) -> Value | None:
        """What is noted of a key, if anything is."""
        value: Value | None = self._run(self._get, (key,)).get
        return value

    def __setitem__(self, key: str, value: Value) -> None:
        self._run(self._put, (key, value))

    def __contains__(self, key: object) -> bool:
        return self._run(self._get, (key,)).fetchone() is not None

    def __len__(self) -> int:
        count: int = self._run(self._count).get
        return count

    def __delitem__(self, key: str) -> None:
        self._run(self._delete, (key,))

    def clear(self) -> None:
        """Forget all."""
        self._run(self._delete_all)

    def items(self, *, is_backwards: bool = False) -> Iterator[tuple[str, Value]]:
        """All keys with their values, sorted; or the other way round."""
        # In SQLite, numbers come before all texts, and bytes after them.
        query, at = (self._down, b"") if is_backwards else (self._up, -1)
        page: list[Any] = self._run(query, (at,)).fetchall()
        while page:
            yield from page
            page = self._run(query, (page[-1][0],)).fetchall()

    def below(self, key: str) -> Iterator[Value]:
        """The values of all keys that go on after this one and a slash, sorted by key."""
        end = f"{key}0"  # 0 comes right after the slash
        page: list[Any] = self._run(self._below, (f"{key}/", end)).fetchall()
        while page:
            yield from (value for _, value in page)
            is_last = len(page) < _PAGE
            page = [] if is_last else self._run(self._below, (page[-1][0], end)).fetchall()

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> apsw.Cursor:
        try:
            return self._connection.execute(statement, values)
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
            raise Unavailable(
                "scratch.failed",
                f"the folder for temporary files cannot be written: {error}",
                hint="make room there, or name another folder in SQLITE_TMPDIR",
            ) from error
