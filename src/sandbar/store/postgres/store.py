"""A PostgreSQL database as a store: a few writers, a pool of readers, many servers side by side."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sandbar.errors import Unavailable
from sandbar.patience import current
from sandbar.store.numbering import Numbers
from sandbar.store.opened import OpenStore
from sandbar.store.postgres.buckets import PostgresBuckets
from sandbar.store.postgres.connection import (
    Connection,
    command,
    open_claimer,
    open_reader,
    open_writer,
    translated,
    without_odd_hosts,
)
from sandbar.store.postgres.install import check
from sandbar.store.postgres.jobs import PostgresJobs
from sandbar.store.postgres.notices import POLL_S, Crier, Ear
from sandbar.store.postgres.owed import PostgresOwed
from sandbar.store.postgres.pool import Pool, refuse_event_loop
from sandbar.store.postgres.reads import QUERIES, Hurry, PostgresReads
from sandbar.store.postgres.session import PostgresConnector
from sandbar.store.postgres.trail import PostgresTrail
from sandbar.store.rows import Head, Row, State, Token
from sandbar.store.scan import Key
from sandbar.store.usage import Account, Limits, limits_of
from sandbar.store.workspaces import no_workspace
from sandbar.store.writer import refuse_on_writer

_WRITERS = 3
_APPENDERS_MAX = 6
_FOUNDERS_MAX = 2


class PostgresStore(OpenStore):
    """One database, reached as a role that row-level security binds."""

    reads_in_microseconds = False

    def __init__(self, url: str, *, server: bool = False, limits: Limits | None = None) -> None:
        """Any number of servers may share a database, so `server` makes no difference here.

        `limits` are those of workspaces for which no others were set.
        """
        del server
        self._limits = limits or Limits()
        self._url = url
        _check(url)
        self._pool = Pool(url)
        self.jobs = PostgresJobs(url)
        numbers = Numbers()
        self._appenders = Pool(url, open_claimer, _APPENDERS_MAX)
        self._founders = Pool(url, open_writer, _FOUNDERS_MAX)  # of workspaces
        self.trail = self.key_uses = PostgresTrail(numbers, self._pool, self._appenders)
        self.buckets = PostgresBuckets(self._appenders)
        self.owed = PostgresOwed(self._appenders)
        self._crier = Crier(url)
        self._ear: Ear | None = None
        super().__init__(
            lambda: PostgresConnector(url, limits),
            numbers,
            workers=_WRITERS,
            yields=False,
            poll_s=POLL_S,
        )

    # --- workspaces ------------------------------------------------------------------------

    def workspace(self, name: str) -> int | None:
        """The number of the workspace of that name."""
        (ws,) = self._pool.one_row(None, QUERIES.workspace_by_name, (name,))
        return None if ws is None else int(ws)

    def workspaces(self) -> list[tuple[int, str]]:
        """Numbers and names of the workspaces that there are."""
        return [(ws, name) for ws, name in self._pool.all_rows(QUERIES.all_workspaces, ())]

    def home_of_server(self) -> str | None:
        """Nobody can tell: any number of servers may be connected, on any machine."""
        return None

    def create_workspace(self, name: str) -> int:
        """Make an empty workspace, unless there is one of that name."""
        self._require_open()
        refuse_on_writer()
        with translated():
            self._founders.one_row(None, QUERIES.create_workspace, (name, secrets.randbits(52)))
        ws = self.workspace(name)
        assert ws is not None
        return ws

    def drop_workspace(self, name: str) -> None:
        """Delete a workspace with all that is in it, however long that takes."""
        refuse_event_loop()
        refuse_on_writer()
        self._require_open()
        with translated(), open_writer(self._url) as connection:
            command(connection, QUERIES.begin_limited.format(ms=0))  # 0: none
            row = connection.execute(
                QUERIES.drop_workspace, (name, secrets.randbits(52))
            ).fetchone()
            connection.execute(QUERIES.reset_usage, row)
            command(connection, "COMMIT")
        if row is None or row[0] is None:
            raise no_workspace(name)

    def account(self, ws: int) -> Account:
        """What a workspace uses, and may use."""
        columns = self._pool.one_row(ws, QUERIES.usage, (ws,))
        if columns is None:
            raise no_workspace(ws)
        return Account.of_row(columns[:-1], self._limits, columns[-1])

    def set_limits(self, ws: int, limits: str) -> None:
        """Set the limits of a workspace."""
        self._require_open()
        refuse_on_writer()
        with translated():
            most = limits_of(self._limits, limits).of_background
            self._founders.one_row(ws, QUERIES.set_limits, (limits, *most, ws))

    # --- reads -----------------------------------------------------------------------------

    def head(self, ws: int) -> Head:
        """Where the workspace stands."""
        columns = self._pool.one_row(ws, QUERIES.head, (ws,))
        if columns is None:
            raise no_workspace(ws)
        return Head(*columns)

    def point(self, ws: int, id: int) -> tuple[Head, Row | None]:
        """One entity by id, in one statement."""
        return _head_and_row(ws, self._pool.one_row(ws, QUERIES.point, (id, ws)))

    def point_by_key(self, ws: int, property: int, key: Key) -> tuple[Head, Row | None]:
        """One entity by the key of a unique slot, in one statement."""
        bindings = (property, key, ws)
        return _head_and_row(ws, self._pool.one_row(ws, QUERIES.point_by_key, bindings))

    def secret(self, ws: int, id: int, property: int) -> str | None:
        """The hash kept for a secret slot, in one statement."""
        columns = self._pool.one_row(ws, QUERIES.secret, (ws, id, property))
        return None if columns is None else str(columns[0])

    def token(self, digest: bytes) -> Token | None:
        """The minted key with this digest, whosever it is."""
        columns = self._pool.one_row(None, QUERIES.token, (digest,))
        return None if columns is None else _token(columns)

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
                raise no_workspace(ws)
            patience = current()
            hurry = None if patience is None else Hurry(connection, patience)
            return PostgresReads(connection, ws, State(*row), hurry)

        with self._pool.snapshot(ws, start) as reads:
            yield reads

    def _committed(self, ws: int, t: int) -> None:
        super()._committed(ws, t)
        self._crier.cry(ws, t)

    def _start_hearing(self) -> None:
        self._ear = Ear(self._url, self._watchers)

    def _stop_hearing(self) -> None:
        if self._ear is not None:
            self._ear.close()
            self._ear = None

    def scrub(self) -> bool:
        """Nothing to do: PostgreSQL's own vacuum clears away the rows that are gone."""
        return True

    def _let_go(self) -> None:
        self._crier.close()
        self.jobs.close()
        self._appenders.close()
        self._founders.close()
        self._pool.close()


def _check(url: str) -> None:
    refuse_event_loop()
    try:
        connection = open_reader(url)
    except Unavailable as problem:
        # Whoever starts a server needs the driver's own words; later on they are for the log.
        words = without_odd_hosts(problem.__cause__)
        raise Unavailable(
            problem.code, f"{problem.message}: {words}", hint=problem.hint
        ) from problem
    try:
        with translated():
            check(connection)
    finally:
        connection.close()


def _head_and_row(ws: int, columns: Any) -> tuple[Head, Row | None]:
    if columns is None:
        raise no_workspace(ws)
    t, generation, epoch, id, cls, since, doc = columns
    return Head(t, generation, epoch), None if doc is None else Row(id, cls, since, doc)


def _token(columns: Any) -> Token:
    ws, workspace, id, is_revoked = columns
    return Token(ws, workspace, id, bool(is_revoked))
