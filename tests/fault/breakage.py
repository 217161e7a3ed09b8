"""Promises broken on purpose, inside a child process: the checkers must notice each of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sandbar.database import Database
from sandbar.model import Written
from sandbar.store import batch
from sandbar.store.postgres import connection as postgres
from sandbar.store.sqlite import connection as sqlite
from sandbar.store.sqlite.session import SqliteSession

_GAP_S = 0.02  # makes room for the kill; a rare fault would prove little


def _nothing() -> None:
    """The honest program."""


def _answer_before_commit() -> None:
    """Answers leave when the batch is planned; then the disk is in no hurry."""
    plan_items = batch._plan_items

    def too_early(session: Any, plan: Any, items: Any, enter: Any, *, alone: bool) -> Any:
        deferred = plan_items(session, plan, items, enter, alone=alone)
        for item in items:
            if item not in deferred:
                item.answer()
        time.sleep(_GAP_S)
        return deferred

    batch._plan_items = too_early


def _transact_in_pieces() -> None:
    """Every operation of a transaction commits by itself."""
    transact = Database.transact

    def in_pieces(self: Database, operations: Any, **more: Any) -> Written:
        pieces = [transact(self, [operation], **more) for operation in operations]
        outcomes = [outcome for piece in pieces for outcome in piece.outcomes]
        return Written(pieces[-1].receipt, outcomes)

    Database.transact = in_pieces  # type: ignore[method-assign]


def _index_apart() -> None:
    """Index rows are committed first, documents in a second transaction."""
    apply_slots = SqliteSession._apply_slots

    def and_commit(self: SqliteSession, plan: Any) -> None:
        apply_slots(self, plan)
        self._connection.execute("COMMIT")
        time.sleep(_GAP_S)
        self._connection.execute("BEGIN IMMEDIATE")

    SqliteSession._apply_slots = and_commit  # type: ignore[method-assign]


def _seldom_ask() -> None:
    """Whoever waits for SQLite's lock looks for it once a second."""
    sqlite._BUSY_PAUSE_S = 1.0


def _short_silence() -> None:
    """No promise broken: PostgreSQL ends a silent writing session sooner than usual."""
    postgres._WRITER["idle_in_transaction_session_timeout"] = "1s"


def _endless_silence() -> None:
    """PostgreSQL keeps a silent writing session, and with it the workspace's lock."""
    postgres._WRITER["idle_in_transaction_session_timeout"] = "0"


BREAKAGES: dict[str, Callable[[], None]] = {
    "none": _nothing,
    "answer-before-commit": _answer_before_commit,
    "transact-in-pieces": _transact_in_pieces,
    "index-apart": _index_apart,
    "seldom-ask": _seldom_ask,
    "short-silence": _short_silence,
    "endless-silence": _endless_silence,
}
