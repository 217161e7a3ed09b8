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
from sandbar.sql import load_queries

Value = TypeVar("Value")

_Q = load_queries("sandbar", "scratch.sql")
_PAGE = 1_000
_FAILURES = (
    *(apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.NoMemError, apsw.CorruptError),
    apsw.ConnectionClosedError,
)


class Scratch:
    """Makes tables, and removes them all in the end. For one thread at a time."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self._tables = 0
        _rows(self._connection, _Q.set_up)
        _rows(self._connection, "BEGIN")  # and never a commit: there is nothing to keep

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
        try:
            self._connection.close()
        except apsw.ThreadingViolationError:
            pass  # Ctrl-C does not wait for a writer that still looks into it: it ends with it


class Table(Generic[Value]):
    """Numbers, texts or bytes by a text: like a dictionary, but sorted, and elsewhere.

    It may be changed while somebody walks through it.
    """

    def __init__(self, connection: apsw.Connection, name: str) -> None:
        self._connection = connection
        self._get = _Q.get.format(table=name)
        self._put = _Q.put.format(table=name)
        self._delete = _Q.delete.format(table=name)
        self._delete_all = _Q.delete_all.format(table=name)
        self._count = _Q.count.format(table=name)
        self._first = _Q.first.format(table=name, page=_PAGE)
        self._up = _Q.up.format(table=name, page=_PAGE)
        self._last = _Q.last.format(table=name, page=_PAGE)
        self._down = _Q.down.format(table=name, page=_PAGE)
        self._below = _Q.below.format(table=name, page=_PAGE)
        self._run(_Q.make.format(table=name))

    def get(self, key: str) -> Value | None:
        """What is noted of a key, if anything is."""
        rows = self._run(self._get, _key(key))
        return rows[0][0] if rows else None

    def __setitem__(self, key: str, value: Value) -> None:
        self._run(self._put, _key(key), value)

    def __contains__(self, key: object) -> bool:
        return bool(self._run(self._get, _key(str(key))))

    def __len__(self) -> int:
        return int(self._run(self._count)[0][0])

    def __delitem__(self, key: str) -> None:
        self._run(self._delete, _key(key))

    def clear(self) -> None:
        """Forget all."""
        self._run(self._delete_all)

    def items(self, *, is_backwards: bool = False) -> Iterator[tuple[str, Value]]:
        """All keys with their values, sorted; or the other way round."""
        query, next_ = (self._last, self._down) if is_backwards else (self._first, self._up)
        page = self._run(query)
        while page:
            yield from ((_text(key), value) for key, value in page)
            page = self._run(next_, page[-1][0])

    def below(self, key: str) -> Iterator[Value]:
        """The values of all keys that go on after this one and a slash, sorted by key."""
        end = _key(f"{key}0")  # 0 comes right after the slash
        page = self._run(self._below, _key(f"{key}/"), end)
        while page:
            yield from (value for _, value in page)
            is_last = len(page) < _PAGE
            page = [] if is_last else self._run(self._below, page[-1][0], end)

    def _run(self, statement: str, *values: object) -> list[Any]:
        return _rows(self._connection, statement, *values)


def _rows(connection: apsw.Connection, statement: str, *values: object) -> list[Any]:
    try:
        return connection.execute(statement, values).fetchall()
    except _FAILURES as error:
        raise Unavailable(
            "scratch.failed",
            f"the folder for temporary files cannot be written: {error}",
            hint="make room there, or name another folder in SQLITE_TMPDIR",
        ) from error


# As bytes, because names of files may be no text: half characters are kept like others.
def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")
