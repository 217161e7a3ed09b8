"""Reading all rows of a PostgreSQL database at one moment, and filling an empty one with such rows.

As the role of servers, whom row-level security binds: the session is bound to one workspace after
the other. COPY FROM does not go together with that, so rows come as arrays.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors

from sandbar.sql import load_queries
from sandbar.store.archive import Kind, Table, Values, WorkspaceRow, damaged, not_empty
from sandbar.store.postgres.arrays import Blobs, Longs, Texts
from sandbar.store.postgres.connection import (
    Connection,
    command,
    open_patient_reader,
    open_patient_writer,
    translated,
)
from sandbar.store.postgres.install import check
from sandbar.store.postgres.pool import refuse_event_loop

_Q = load_queries("sandbar.store.postgres", "archive.sql")

_TYPES = {
    Kind.NUMBER: "int8",
    Kind.SMALL: "int4",
    Kind.TEXT: "text",
    Kind.TEXT_OR_NONE: "text",
    Kind.BYTES: "bytea",
    Kind.NUMBERS: "int8[]",
}
_UNFIT = (psycopg.IntegrityError, psycopg.DataError, errors.ProgramLimitExceeded)


class _Bound:
    """A session that is bound to one workspace at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ws: int | None = None

    def count(self, ws: int, table: Table) -> int:
        """How many rows of a workspace there are in a table."""
        self._bind(ws)
        return int(self._value(_Q.count_rows.format(table=table.name), (ws,)))

    def _bind(self, ws: int) -> None:
        if ws != self._ws:
            with translated():
                self._connection.execute(_Q.bind, (str(ws),))
            self._ws = ws

    def _value(self, statement: str, bindings: Values = ()) -> Any:
        with translated():
            row = self._connection.execute(statement, bindings).fetchone()
        assert row is not None
        return row[0]


@contextmanager
def reading(url: str) -> Iterator[PostgresOrigin]:
    """A database as it is at this moment, while others write to it."""
    refuse_event_loop()
    connection = open_patient_reader(url)
    try:
        with translated():
            check(connection)
            command(connection, "BEGIN")  # repeatable read, read only: as every reader's
        yield PostgresOrigin(connection)
    finally:
        connection.close()


class PostgresOrigin(_Bound):
    """The rows of a database, from one snapshot."""

    def workspaces(self) -> list[WorkspaceRow]:
        """Every workspace, by number."""
        with translated():
            numbers = self._connection.execute(_Q.numbers).fetchall()
        return [self._workspace(ws) for (ws,) in numbers]

    def rows(self, ws: int, table: Table) -> Iterator[Values]:
        """The rows, as the server sends them."""
        self._bind(ws)
        columns = ", ".join(table.columns)
        query = _Q.read_rows.format(columns=columns, table=table.name, ws=ws, key=table.key)
        statement = _Q.copy_out.format(query=query)
        with translated(), self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([_TYPES[kind] for kind in table.columns.values()])
            yield from copy.rows()

    def _workspace(self, ws: int) -> WorkspaceRow:
        self._bind(ws)
        with translated():
            row = self._connection.execute(_Q.workspace, (ws,)).fetchone()
        assert row is not None
        return WorkspaceRow(*row)


@contextmanager
def filling(url: str) -> Iterator[PostgresDestination]:
    """A database that is prepared and has no workspaces, to be filled in one transaction."""
    refuse_event_loop()
    connection = open_patient_writer(url)
    try:
        with translated():
            check(connection)
            command(connection, "BEGIN")
            connection.execute(_Q.lock_workspaces)
            if connection.execute(_Q.numbers).fetchone() is not None:
                raise not_empty("this database")
        yield PostgresDestination(connection)
    finally:
        connection.close()  # and with it whatever was begun


class PostgresDestination(_Bound):
    """Takes the rows of a backup, within one transaction."""

    def begin(self, workspaces: Sequence[WorkspaceRow]) -> None:
        """Make the workspaces; their entities are to be made searchable by whoever opens them."""
        bindings = (
            Longs(row.ws for row in workspaces),
            Texts(row.stored_name for row in workspaces),
            Longs(row.t for row in workspaces),
            Longs(row.generation for row in workspaces),
            Longs(secrets.randbits(52) for _ in workspaces),
            Longs(row.next_id for row in workspaces),
            Longs(row.instant_us for row in workspaces),
        )
        if self._value(_Q.put_workspaces, bindings) != len(workspaces):
            raise not_empty("this database")
        self._living = [row for row in workspaces if not row.is_dropped]
        for row in self._living:
            self._add(row.ws, _Q.put_unsearched, [])

    def put(self, ws: int, table: Table, rows: Sequence[Values]) -> None:
        """Add rows to a workspace."""
        kinds = table.columns.values()
        arrays = list(map(_array, kinds, zip(*rows, strict=True)))
        if table.name == "job":
            statement = _Q.put_jobs
        else:
            statement = _Q.put_rows.format(
                table=table.name,
                columns=", ".join(table.columns),
                values=", ".join(map(_value_of, table.columns, kinds)),
                arrays=", ".join(["%s"] * len(arrays)),
            )
        self._add(ws, statement, arrays)

    def commit(self) -> None:
        """Count what the workspaces use, and let it all be there."""
        for row in self._living:
            self._bind(row.ws)
            with translated():
                bindings = {"ws": row.ws, "limits": row.limits}
                self._connection.execute(_Q.count_usage, bindings)
        with translated():
            command(self._connection, "COMMIT")

    def _add(self, ws: int, statement: str, arrays: Sequence[Any]) -> None:
        self._bind(ws)
        with translated():
            try:
                self._connection.execute(statement, (ws, *arrays))
            except _UNFIT as error:
                what = error.diag.message_primary
                raise damaged(f"a row is there twice, or impossible ({what})") from error


def _array(kind: Kind, column: Sequence[Any]) -> Longs | Texts | Blobs:
    if kind in (Kind.NUMBER, Kind.SMALL):
        return Longs(column)
    if kind is Kind.BYTES:
        return Blobs(column)
    if kind is Kind.NUMBERS:
        return Texts("{" + ",".join(map(str, ids)) + "}" for ids in column)
    return Texts(column)


def _value_of(column: str, kind: Kind) -> str:
    return f"u.{column}::bigint[]" if kind is Kind.NUMBERS else f"u.{column}"
