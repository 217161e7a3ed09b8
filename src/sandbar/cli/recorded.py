"""A workspace in which every transaction has a row in the audit, for commands that run long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.access import Guarded, local_caller
from sandbar.database import Database
from sandbar.model import Written


class Recorded(Guarded):
    """The workspace as whoever sits at this machine may see and change it."""

    def __init__(self, db: Database, what: str) -> None:
        super().__init__(db.workspace, local_caller(db.workspace_name))
        self._db = db
        self._what = what

    def transact(
        self,
        operations: Sequence[Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Run operations as one transaction, with a row of the audit in it."""
        with self._db.recorded(self._what, surface="cli"):
            return super().transact(operations, reason=reason, idempotency_key=idempotency_key)
