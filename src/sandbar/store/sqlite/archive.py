"""Reading all rows of a SQLite file at one moment, and making a file of such rows."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import apsw
import msgspec

from sandbar import clock
from sandbar.errors import NotFound, Unavailable, Unsupported
from sandbar.sql import load_queries
from sandbar.store.archive import Table, Values, WorkspaceRow, damaged, not_empty
from sandbar.store.files import put_in_place, remove, sync_file
from sandbar.store.sqlite.claim import Claim
from sandbar.store.sqlite.connection import begin_writing, open_reader, open_writer, translated
from sandbar.store.sqlite.store import whole_path
from sandbar.store.sqlite.upgrade import bring_up_to_date

PART = ".restoring"  # what the file is called until it is whole

_Q = load_queries("sandbar.store.sqlite", "archive.sql")
_ID_BITS = 40
_ID_END = 1 << _ID_BITS


@contextmanager
def reading(path: str) -> Iterator[SqliteOrigin]:
    """A file as it is at this moment, while others write to it."""
    whole = whole_path(path)
    if not os.path.exists(whole):
        raise NotFound(
            "store.no-database",
            f"there is no database at {path}",
            hint="look at --database or SANDBAR_DATABASE",
        )
    bring_up_to_date(whole)
    connection = open_reader(whole)
    try:
        with translated():
            connection.execute("BEGIN")
        yield SqliteOrigin(connection)
    finally:
        connection.close(True)


class SqliteOrigin:
    """The rows of a file, from one read transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def workspaces(self) -> list[WorkspaceRow]:
        """Every workspace, by number."""
        with translated():
            return [WorkspaceRow(*row) for row in self._connection.execute(_Q.workspaces)]

    def count(self, ws: int, table: Table) -> int:
        """How many rows there are."""
        return _count(self._connection, ws, table)

    def rows(self, ws: int, table: Table) -> Iterator[Values]:
        """The rows, as SQLite comes across them."""
        if table.name == "entity":
            statement = _Q.read_entities
        else:
            columns = ", ".join(table.columns)
            statement = _Q.read_rows.format(columns=columns, table=table.name, key=table.key)
        with translated():
            found = self._connection.execute(statement, (ws,))
            if table.name != "tx":
                yield from found
                return
            read_ids = msgspec.json.Decoder(list[int]).decode
            for t, instant_us, principal, reason, ids, is_schema, nonce in found:
                yield t, instant_us, principal, reason, read_ids(ids), is_schema, nonce


@contextmanager
def filling(path: str) -> Iterator[SqliteDestination]:
    """A file to be restored: a new one, or one without workspaces; no server may serve it."""
    whole = whole_path(path)
    claim = Claim(whole, None)
    try:
        with _in_place(whole) if os.path.exists(whole) else _beside(whole) as destination:
            yield destination
    finally:
        claim.give_up()


@contextmanager
def _beside(whole: str) -> Iterator[SqliteDestination]:
    """A new file is made beside its place, without a log: it is whole before it is there."""
    part = f"{whole}{PART}"
    _remove_all(part)  # of a restore that was killed; nobody else is at it, since we hold the lock
    connection: apsw.Connection | None = None
    try:
        bring_up_to_date(part)
        connection = open_writer(part)
        opened = connection
        with translated():
            connection.execute(_Q.without_log).fetchall()
            connection.execute("BEGIN IMMEDIATE")

        def place() -> None:
            with translated():
                opened.execute("COMMIT")
                opened.execute(_Q.with_log).fetchall()
                opened.close()
            try:
                sync_file(part)
                put_in_place(part, whole)
            except FileExistsError as error:
                raise not_empty(whole) from error
            except OSError as error:
                raise Unavailable(
                    "store.io", f"{whole} cannot be written: {error.strerror}"
                ) from error

        yield SqliteDestination(connection, place)
    finally:
        if connection is not None:
            connection.close(True)
        _remove_all(part)


@contextmanager
def _in_place(whole: str) -> Iterator[SqliteDestination]:
    """A file that is there is filled in one transaction."""
    bring_up_to_date(whole)
    connection = open_writer(whole)
    try:
        begin_writing(connection)
        with translated():
            if connection.execute(_Q.has_workspaces).get:
                raise not_empty(whole)

        def commit() -> None:
            with translated():
                connection.execute("COMMIT")

        yield SqliteDestination(connection, commit)
    finally:
        connection.close(True)  # and with it whatever was begun


class SqliteDestination:
    """Takes the rows of a backup, within one transaction."""

    def __init__(self, connection: apsw.Connection, commit: Callable[[], None]) -> None:
        self._connection = connection
        self._commit = commit

    def commit(self) -> None:
        """Count what the workspaces use, and let it all be there."""
        with translated():
            self._connection.execute(_Q.count_usage)
        self._commit()

    def begin(self, workspaces: Sequence[WorkspaceRow]) -> None:
        """Make the workspaces; their entities are to be made searchable by whoever opens them."""
        if any(row.next_id > _ID_END for row in workspaces):
            raise Unsupported(
                "backup.ids-too-large",
                "a workspace of this backup has numbers that are too large for a SQLite file",
                hint="restore it into a PostgreSQL database",
            )
        counters = [
            (
                row.ws,
                row.stored_name,
                row.t,
                row.generation,
                secrets.randbits(52),
                row.next_id,
                row.instant_us,
                row.limits,
            )
            for row in workspaces
        ]
        now_us = clock.now_us()
        unsearched = [(row.ws, now_us) for row in workspaces if not row.is_dropped]
        self._add(_Q.put_workspace, counters)
        self._add(_Q.put_unsearched, unsearched)

    def put(self, ws: int, table: Table, rows: Sequence[Values]) -> None:
        """Add rows to a workspace."""
        if table.name == "entity":
            if not all(0 < row[0] < _ID_END for row in rows):
                raise damaged("an entity has an impossible number")
            first = ws << _ID_BITS
            self._add(_Q.put_entities, [(first + id, *rest) for id, *rest in rows])
        elif table.name == "job":
            self._add(_Q.put_jobs, [(ws, *row) for row in rows])
        else:
            columns, marks = ", ".join(table.columns), ", ".join("?" * len(table.columns))
            statement = _Q.put_rows.format(table=table.name, columns=columns, marks=marks)
            stored = _with_texts_of_ids(rows) if table.name == "tx" else rows
            self._add(statement, [(ws, *row) for row in stored])

    def count(self, ws: int, table: Table) -> int:
        """How many rows there are by now."""
        return _count(self._connection, ws, table)

    def _add(self, statement: str, rows: Sequence[Values]) -> None:
        with translated():
            try:
                self._connection.executemany(statement, rows)
            except apsw.ConstraintError as error:
                raise damaged(f"a row is there twice, or impossible ({error})") from error


def _count(connection: apsw.Connection, ws: int, table: Table) -> int:
    is_entity = table.name == "entity"
    statement = _Q.count_entities if is_entity else _Q.count_rows.format(table=table.name)
    with translated():
        return int(connection.execute(statement, (ws,)).get)


def _with_texts_of_ids(rows: Sequence[Values]) -> list[Values]:
    encode = msgspec.json.encode
    return [(*row[:4], encode(row[4]).decode(), *row[5:]) for row in rows]


def _remove_all(part: str) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        remove(f"{part}{ending}")
