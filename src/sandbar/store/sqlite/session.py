"""The writer's side of SQLite: one open transaction, rows applied table by table."""

from __future__ import annotations

import threading
from operator import itemgetter
from typing import Any

import apsw
import msgspec
import uuid_utils

from sandbar import clock
from sandbar.errors import Fault, Unavailable
from sandbar.store.api import Wanted
from sandbar.store.batch import MaybeKept
from sandbar.store.pieces import PastRow
from sandbar.store.plan import Plan
from sandbar.store.rows import RECORDS_KEPT_US, Record
from sandbar.store.scan import level_of
from sandbar.store.sqlite.connection import (
    begin_writing,
    open_writer,
    problem_of,
    translated,
)
from sandbar.store.sqlite.erasure import erase
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.jobs import apply_jobs, token_of_job
from sandbar.store.sqlite.owed import owe_scrub
from sandbar.store.sqlite.reads import QUERIES, SqliteReads
from sandbar.store.sqlite.trail import apply_rides
from sandbar.store.sqlite.words import apply_words
from sandbar.store.usage import Account, Limits

_IDS_MAX = 1 << 40  # the rest of a place is the workspace
_PROPERTY, _KEY = itemgetter(1), itemgetter(2)  # of a row of the index


class SqliteConnector:
    """Owns the writing connection of one worker."""

    def __init__(
        self, file: File, lock: threading.RLock | None = None, limits: Limits | None = None
    ) -> None:
        """`lock` keeps the writers of this process from asking SQLite for its lock in vain.

        `limits` are those of workspaces for which no others were set.
        """
        self._file = file
        self._limits = limits or Limits()
        self._lock = lock or threading.RLock()
        self._is_locked = False
        self._connection: apsw.Connection | None = None

    def begin(self, ws: int) -> SqliteSession:
        """Take the database's write lock."""
        self._lock.acquire()
        self._is_locked = True
        try:
            if self._connection is None:
                self._connection = self._file.connect(open_writer)
            begin_writing(self._connection)
            return SqliteSession(self, self._connection, ws, self._file, self._limits)
        except BaseException:
            self.close()  # and with it whatever was begun
            raise

    def unlock(self) -> None:
        """Let others of this process write; whoever has done so has nothing to give."""
        if self._is_locked:
            self._is_locked = False
            self._lock.release()

    def reset(self) -> None:
        """Throw the connection away, and with it whatever was open."""
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        try:
            if self._connection is not None:
                self._connection.close(True)
                self._connection = None
        finally:
            self.unlock()


class SqliteSession(SqliteReads):
    """An open write transaction.

    SQLite answers a full disk or an interrupted write by rolling everything back on its own; a
    statement after that would run, and commit, by itself. So rows are written in `apply` only,
    whose first error ends the session.
    """

    def __init__(
        self,
        connector: SqliteConnector,
        connection: apsw.Connection,
        ws: int,
        file: File,
        defaults: Limits,
    ) -> None:
        self._connector = connector
        self._file = file
        self._defaults = defaults
        super().__init__(connection, ws)

    def _begin(self, statement: str) -> tuple[Any, ...]:
        row = super()._begin(QUERIES.state_and_usage)
        self.account = Account.of_row(row[5:], self._defaults, clock.now_us())
        return row[:5]

    def prefetch(self, wanted: Wanted) -> None:
        """Nothing to do: a look into the file is as cheap as one into memory."""

    def is_open(self) -> bool:
        """Whether SQLite still has our transaction open."""
        return self._connection.in_transaction

    def recall(self, principal: str, key: str) -> Record | None:
        """What is remembered of a request with this idempotency key."""
        with translated():
            for row in self._connection.execute(QUERIES.recall, (self._ws, principal, key)):
                return Record(*row)
        return None

    def job_token(self, id: int) -> int | None:
        """The token under which an entity's job is held."""
        with translated():
            return token_of_job(self._connection, self._ws, id)

    def apply(self, plan: Plan) -> None:
        """Write the plan's rows; ends come before beginnings, so that values can be swapped."""
        with translated():
            self._apply_slots(plan)
            self._apply_entities(plan)
            self._apply_rest(plan)
            apply_words(self._connection, self._ws, plan)
            apply_jobs(self._connection, self._ws, plan)
            apply_rides(self._connection, self._ws, plan)
            for id, t in plan.erased.items():
                erase(self._connection, self._ws, id, t)
            if plan.erased:
                owe_scrub(self._connection, self._ws, max(plan.erased.values()))

    def commit(self) -> None:
        """Commit and sync."""
        if not self._connection.in_transaction:
            raise Fault("store.no-transaction", "the transaction ended before its commit")
        self._file.require()
        try:
            self._connection.execute("COMMIT")
        except apsw.IOError as error:
            # The commit may stand in the log without being synced; recovery would believe it.
            raise MaybeKept("store.io", "the disk refused to sync a commit") from error
        except apsw.Error as error:
            raise problem_of(error) from error
        self._connector.unlock()

    def release(self) -> None:
        """End a transaction that is to leave nothing."""
        self.rollback()

    def rollback(self) -> None:
        """Give up, if there is anything left to give up."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connector.unlock()

    def _apply_slots(self, plan: Plan) -> None:
        ws, many = self._ws, self._connection.executemany
        past = plan.past + self._end_slots(plan)
        if past:
            many(QUERIES.put_past, [(ws, *row) for row in past])
        begun = plan.begun.rows(ws)
        # In the order of the tree, neighbours find their page still at hand. Sorting twice by one
        # column is twice as quick as sorting once by all.
        begun.sort(key=_KEY)
        begun.sort(key=_PROPERTY)
        many(QUERIES.begin_slot, begun)

    def _end_slots(self, plan: Plan) -> list[PastRow]:
        past = []
        for (property, key), ids in plan.ended.items():
            for id, until in ids.items():
                row = self._connection.execute(QUERIES.end_slot, (self._ws, property, key, id)).get
                if row is None:
                    raise Fault("store.index-hole", f"property {property} of {id} was not indexed")
                since = int(row)
                if since != until:
                    past.append(PastRow(property, key, level_of(since, until), since, id, until))
        return past

    def _apply_entities(self, plan: Plan) -> None:
        ws, many = self._ws, self._connection.executemany
        if plan.versions:
            many(
                QUERIES.put_version,
                [(ws, id, t, cls, doc) for (id, t), (cls, doc) in plan.versions.items()],
            )
        living = [(ws, row.id, row.cls, row.t, row.doc) for row in plan.rows.values() if row]
        if any(not 0 < row[1] < _IDS_MAX for row in living):
            raise Fault("store.id-out-of-range", "an id would reach into another workspace")
        many(QUERIES.put_entity, living)
        gone = [(ws, id) for id, row in plan.rows.items() if row is None]
        if gone:
            many(QUERIES.drop_entity, gone)

    def _apply_rest(self, plan: Plan) -> None:
        ws, many = self._ws, self._connection.executemany
        nonce = uuid_utils.uuid7().bytes
        many(
            QUERIES.put_transaction,
            [
                (ws, *tx[:4], msgspec.json.encode(tx.ids).decode(), int(is_schema), nonce)
                for tx, is_schema in plan.transactions
            ],
        )
        for (id, property), hashed in plan.secrets.items():
            if hashed is None:
                self._connection.execute(QUERIES.drop_secret, (ws, id, property))
            else:
                self._connection.execute(QUERIES.put_secret, (ws, id, property, hashed))
        if plan.tokens is not None:
            many(QUERIES.revoke_tokens, [(ws, id) for id in plan.tokens.revoked_ids])
            many(QUERIES.revoke_token, [(ws, digest) for digest in plan.tokens.revoked])
            many(QUERIES.put_token, [(digest, ws, id) for digest, id in plan.tokens.minted])
        if plan.records:
            many(
                QUERIES.put_record,
                [(ws, *who_key, *record) for who_key, record in plan.records.items()],
            )
            oldest = max(r.instant_us for r in plan.records.values()) - RECORDS_KEPT_US
            self._connection.execute(QUERIES.forget_records, (ws, oldest))
        if plan.next_id > _IDS_MAX:
            raise Unavailable("store.ids-exhausted", "this workspace has no numbers left")
        state = (plan.t, plan.generation, plan.next_id, plan.instant_us)
        used, spent = plan.account.unsaved(), plan.account.usage[4:]
        self._connection.execute(QUERIES.save_state, (*state, *used, *spent, ws))
