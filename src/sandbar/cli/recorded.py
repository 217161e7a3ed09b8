"""A workspace in which every transaction is a call of its own, for commands that run long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sandbar.access import Guarded, local_caller
from sandbar.database import Database
from sandbar.model import Written
from sandbar.verbs import Call, Context, Verb


class _Step(msgspec.Struct, frozen=True):
    """A transaction."""

    operations: Sequence[Any]
    reason: str | None
    idempotency_key: str | None


def _read(given: Mapping[str, Any]) -> _Step:
    return _Step(**given)  # our own: nothing of it is JSON that somebody has sent


def _transact(context: Context, step: _Step) -> Written:
    return context.db.transact(
        step.operations, reason=step.reason, idempotency_key=step.idempotency_key
    )


class Recorded(Guarded):
    """The workspace as whoever sits at this machine may see and change it."""

    def __init__(self, db: Database, what: str) -> None:
        caller = local_caller(db.workspace_name, is_at_machine=True)
        super().__init__(db.workspace, caller)
        self._db = db
        self._step = Verb(
            name=what,
            title=what,
            description="One transaction of a command that runs long.",
            access="write",
            arguments=_Step,
            reader=_read,
            result=Written,
            run=_transact,
        )

    def transact(
        self,
        operations: Sequence[Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Run operations as one transaction, with a row of the audit in it."""
        given = {"operations": operations, "reason": reason, "idempotency_key": idempotency_key}
        verb = self._step
        written: Written = self._db.perform(
            Call(self.caller, verb.name, given, verb, surface="cli")
        )
        return written
