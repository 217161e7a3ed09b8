"""A PostgreSQL database as a store: a few writers, a pool of readers, many servers side by side."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sandbar.errors import NotFound, Unavailable
from sandbar.store.opened import OpenStore
from sandbar.store.postgres.connection import Connection, open_reader, open_writer, translated
from sandbar.store.postgres.install import check
from sandbar.store.postgres.pool import Pool, refuse_event_loop
from sandbar.store.postgres.reads import QUERIES, PostgresReads
from sandbar.store.postgres.session import PostgresConnector
from sandbar.store.rows import Head, Row, State
from sandbar.store.scan import Key

_WRITERS = 3


class PostgresStore(OpenStore):
    """One database, reached as a role that row-level security binds."""

    def __init__(self, url: str, *, server: bool = False) -> None:
        """Any number of servers may share a database, so `server` makes no difference here."""
        del server
        self._url = url
        _check(url)
        self._pool = Pool(url)
        super().__init__(lambda: PostgresConnector(url), workers=_WRITERS, yields=False)

    # --- workspaces ------------------------------------------------------------------------

    def workspace(self, name: str) -> int | None:
        """The number of the workspace of that name."""
        (ws,) = self._pool.one_row(None, QUERIES.workspace_by_name, (name,))
        return None if ws is None else int(ws)

    def create_workspace(self, name: str) -> int:
        """Make an empty workspace, unless there is one of that name."""
        refuse_event_loop()
        with translated(), open_writer(self._url) as connection:
            connection.execute(QUERIES.create_workspace, (name, secrets.randbits(52)))
        ws = self.workspace(name)
        assert ws is not None
        return ws

    # --- reads -----------------------------------------------------------------------------

    def point(self, ws: int, id: int) -> tuple[Head, Row | None]:
        """One entity by id, in one statement."""
        return _head_and_row(ws, self._pool.one_row(ws, QUERIES.point, (id, ws)))

    def point_by_key(self, ws: int, property: int, key: Key) -> tuple[Head, Row | None]:
        """One entity by the key of a unique slot, in one statement."""
        bindings = (property, key, ws)
        return _head_and_row(ws, self._pool.one_row(ws, QUERIES.point_by_key, bindings))

    def point_as_of(self, ws: int, id: int, t: int) -> tuple[Head, Row | None]:
        """One entity as of the past, in one statement."""
        bindings = {"ws": ws, "id": id, "t": t}
        return _head_and_row(ws, self._pool.one_row(ws, QUERIES.point_as_of, bindings))

    @contextmanager
    def snapshot(self, ws: int) -> Iterator[PostgresReads]:
        """A consistent view for several reads."""

        def start(connection: Connection) -> PostgresReads:
            row = connection.execute(QUERIES.state, (ws,), prepare=True).fetchone()
            if row is None:
                raise _no_workspace(ws)
            return PostgresReads(connection, ws, State(*row))

        with self._pool.snapshot(ws, start) as reads:
            yield reads

    def _let_go(self) -> None:
        self._pool.close()


def _check(url: str) -> None:
    refuse_event_loop()
    try:
        connection = open_reader(url)
    except Unavailable as problem:
        # Whoever starts a server needs the driver's own words; later on they are for the log.
        raise Unavailable(problem.code, f"{problem.message}: {problem.__cause__}") from problem
    try:
        with translated():
            check(connection)
    finally:
        connection.close()


def _head_and_row(ws: int, columns: Any) -> tuple[Head, Row | None]:
    if columns is None:
        raise _no_workspace(ws)
    t, generation, epoch, id, cls, since, doc = columns
    return Head(t, generation, epoch), None if doc is None else Row(id, cls, since, doc)


def _no_workspace(ws: int) -> NotFound:
    return NotFound("store.no-workspace", f"there is no workspace {ws}")
