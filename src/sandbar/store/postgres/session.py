"""The writer's side of PostgreSQL: one workspace locked, rows applied table by table.

The lock on the workspace's row makes writers serial; every one of them takes it first, and what is
read afterwards nobody else can change. So reads are remembered until this session writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import uuid_utils
from psycopg import errors
from psycopg.pq import TransactionStatus

from sandbar import clock
from sandbar.errors import Fault, Problem, Unavailable
from sandbar.store.api import Wanted
from sandbar.store.batch import InDoubt, in_doubt
from sandbar.store.pieces import Pair
from sandbar.store.plan import Plan
from sandbar.store.postgres.apply import apply_plan
from sandbar.store.postgres.arrays import Texts
from sandbar.store.postgres.connection import (
    command,
    is_lost,
    open_writer,
    problem_of,
    translated,
)
from sandbar.store.postgres.jobs import lock_job
from sandbar.store.postgres.reads import QUERIES, PostgresReads
from sandbar.store.postgres.standby import Unreplicated, WritingConnection
from sandbar.store.rows import Record, Row, State
from sandbar.store.scan import Key
from sandbar.store.usage import Account, Limits
from sandbar.store.workspaces import no_workspace

LOCK_PATIENCE_S = 10.0
RESOLVE_PATIENCE_S = 10.0
_RECONNECT_PAUSE_S = 0.25


class PostgresConnector:
    """Owns the writing connection of one worker."""

    def __init__(self, url: str, limits: Limits | None = None) -> None:
        """`limits` are those of workspaces for which no others were set."""
        self._url = url
        self._limits = limits or Limits()
        self._connection: WritingConnection | None = None

    def begin(self, ws: int) -> PostgresSession:
        """Begin a transaction and take the workspace's lock."""
        connection = self._connection
        if connection is not None and not connection.closed:
            try:
                return self._lock(connection, ws)
            except psycopg.Error as error:
                self.close()
                if not is_lost(error):
                    raise problem_of(error) from error
                # It had gone stale while it was idle; nothing was begun, so a new one may try.
            except BaseException:
                self.close()
                raise
        self._connection = connection = open_writer(self._url)
        try:
            return self._lock(connection, ws)
        except psycopg.Error as error:
            self.close()
            raise problem_of(error) from error
        except BaseException:
            self.close()
            raise

    def _lock(self, connection: WritingConnection, ws: int) -> PostgresSession:
        state, used = lock_workspace(connection, ws)
        account = Account.of_row(used[:-1], self._limits, used[-1])
        return PostgresSession(self, connection, ws, state, account)

    def was_kept(self, ws: int, t: int, nonce: bytes) -> bool:
        """Whether a COMMIT without an answer was kept; under the lock there is no doubt."""
        deadline_s = clock.monotonic_s() + RESOLVE_PATIENCE_S
        while True:
            try:
                self.close()
                self._connection = connection = open_writer(self._url)
                with translated():
                    lock_workspace(connection, ws)
                    row = connection.execute(QUERIES.nonce_at, (ws, t)).fetchone()
                    connection.commit_now()
                return row is not None and bytes(row[0]) == nonce
            except InDoubt:
                raise
            except Problem:
                if clock.monotonic_s() > deadline_s:
                    raise
                clock.pause_s(_RECONNECT_PAUSE_S)

    def reset(self) -> None:
        """Throw the connection away, and with it whatever was open."""
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def lock_workspace(connection: WritingConnection, ws: int) -> tuple[State, Sequence[Any]]:
    """Begin, and wait for the lock: the first statement, before anything is read.

    Returns where the workspace stands, and what it uses, as `usage` selects it.
    """
    deadline_s = clock.monotonic_s() + LOCK_PATIENCE_S
    while True:
        try:
            cursor = connection.execute(QUERIES.lock_workspace.format(ws=int(ws)), prepare=False)
            row = cursor.set_result(-1).fetchone()
        except errors.LockNotAvailable:
            command(connection, "ROLLBACK")
            if clock.monotonic_s() > deadline_s:
                raise
            continue
        if row is None:
            command(connection, "ROLLBACK")
            raise no_workspace(ws)
        return State(*row[:5]), row[5:]


class PostgresSession(PostgresReads):
    """An open write transaction that holds the lock of one workspace."""

    def __init__(
        self,
        connector: PostgresConnector,
        connection: WritingConnection,
        ws: int,
        state: State,
        account: Account,
    ) -> None:
        super().__init__(connection, ws, state)
        self.account = account
        self._writing = connection
        self._connector = connector
        self._rows: dict[int, Row | None] = {}
        self._holders: dict[Pair, list[int]] = {}
        self._records: dict[tuple[str, str], Record | None] = {}
        self._nonce = uuid_utils.uuid7().bytes
        self._applied: Plan | None = None

    def prefetch(self, wanted: Wanted) -> None:
        """Fetch what the batch is likely to read: one statement for rows, one for receipts."""
        ids = tuple(id for id in wanted.ids if id not in self._rows)
        keys = tuple(pair for pair in wanted.keys if pair not in self._holders)
        if ids or keys:
            found = self.look_up(Wanted(ids, keys))
            self._rows.update(found.rows)
            self._holders.update(found.holders)
        if wanted.records:
            self._prefetch_records(wanted)

    def _prefetch_records(self, wanted: Wanted) -> None:
        principals, keys = zip(*wanted.records, strict=True)
        bindings = {"ws": self._ws, "principals": Texts(principals), "keys": Texts(keys)}
        self._records.update(dict.fromkeys(wanted.records))
        for principal, key, *record in self._all(QUERIES.recall_many, bindings):
            self._records[principal, key] = Record(*record)

    def entity(self, id: int) -> Row | None:
        """The current row of an entity."""
        if id not in self._rows:
            self._rows[id] = super().entity(id)
        return self._rows[id]

    def find(self, property: int, key: Key) -> list[int]:
        """Ids of the entities that hold this key now."""
        pair = (property, key)
        if pair not in self._holders:
            self._holders[pair] = super().find(property, key)
        return list(self._holders[pair])

    def recall(self, principal: str, key: str) -> Record | None:
        """What is remembered of a request with this idempotency key."""
        if (principal, key) not in self._records:
            row = self._one(QUERIES.recall, (self._ws, principal, key))
            self._records[principal, key] = None if row is None else Record(*row)
        return self._records[principal, key]

    def job_token(self, id: int) -> int | None:
        """The token under which an entity's job is held; nobody takes it over before the end."""
        with translated():
            return lock_job(self._connection, self._ws, id)

    def is_open(self) -> bool:
        """Whether PostgreSQL still has our transaction open."""
        return self._connection.info.transaction_status == TransactionStatus.INTRANS

    def apply(self, plan: Plan) -> None:
        """Write the plan's rows; what was remembered of the database is no longer so."""
        self._rows, self._holders, self._records = {}, {}, {}
        self._applied = plan
        with translated():
            apply_plan(self._connection, self._ws, plan, self._nonce)

    def commit(self) -> None:
        """Commit and sync."""
        if not self.is_open():
            raise Fault("store.no-transaction", "the transaction ended before its commit")
        try:
            outcome = self._writing.commit_now()
        except psycopg.Error as error:
            if not self._connection.closed:
                raise problem_of(error) from error
            self._find_out(error)
        else:
            if outcome != "COMMIT":
                raise Unavailable(
                    "store.rolled-back", "the database gave up the transaction", hint="retry"
                )

    def release(self) -> None:
        """End a transaction that is to leave nothing.

        If it has no rows of ours, by COMMIT: the driver keeps its prepared statements, and the
        standby is waited for, also for what others committed before and this one has read.
        """
        if self._applied is not None or not self.is_open():
            self.rollback()
            return
        try:
            self._writing.commit_now()
        except Unreplicated as error:
            raise in_doubt() from error
        except psycopg.Error:
            self._connection.close()

    def rollback(self) -> None:
        """Give up, if there is anything left to give up."""
        if self._connection.closed:
            return
        try:
            command(self._connection, "ROLLBACK")
        except psycopg.Error:
            self._connection.close()

    def _find_out(self, lost: psycopg.Error) -> None:
        """Return if the transaction was kept; `Unavailable` means that it certainly was not."""
        plan = self._applied
        assert plan is not None
        if not plan.transactions:
            # Only receipts, which running the items again finds, and schedules, which it repeats.
            raise problem_of(lost) from lost
        try:
            was_kept = self._connector.was_kept(self._ws, plan.t, self._nonce)
        except Problem as problem:
            raise in_doubt() from problem
        if not was_kept:
            raise problem_of(lost) from lost
