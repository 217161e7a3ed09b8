"""The audit in a PostgreSQL database, and when keys were last used.

Rows come by two ways: with the batch of whoever wrote, or over connections of their own that wait
for no disk, and take no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from sandbar.sql import load_queries
from sandbar.store.numbering import Numbers, NumberTaken, Outcome, number_taken, strangers
from sandbar.store.plan import Plan
from sandbar.store.postgres.arrays import Longs, Texts
from sandbar.store.postgres.connection import Connection, command
from sandbar.store.postgres.pool import Pool
from sandbar.store.trail import (
    AUDIT_TYPES,
    AuditRow,
    Note,
    Place,
    RunEnd,
    Seal,
    audit_row,
    rehearsed_row,
    require_next,
)
from sandbar.store.writer import refuse_on_writer

_Q = load_queries("sandbar.store.postgres", "trail.sql", audit=AuditRow._fields)

_GREATEST = (1 << 63) - 1
_NUMBERS = {name for name, kind in AUDIT_TYPES.items() if kind in (int, bool)}


def apply_rides(connection: Connection, ws: int, plan: Plan) -> None:
    """Write the rows of the notes that come along with a batch."""
    if not plan.rides:
        return
    rows = list(plan.rides.values())
    if connection.execute(_Q.put_audit, _columns(ws, rows)).fetchone() == (len(rows),):
        return
    found = [connection.execute(_Q.rows_of, _at(ws, row)).fetchall() for row in rows]
    if strangers(rows, map(audit_row, chain.from_iterable(found))):
        raise number_taken()


class PostgresTrail:
    """The audit of all workspaces of a database, and `KeyUses`."""

    def __init__(self, numbers: Numbers, readers: Pool, appenders: Pool) -> None:
        self._numbers = numbers
        self._readers = readers
        self._appenders = appenders
        self.run = numbers.run

    # --- appending ---------------------------------------------------------------------------

    def append(self, notes: Sequence[Note]) -> None:
        """Commit the rows of notes that are not kept yet, workspace by workspace."""
        refuse_on_writer()
        by_ws: dict[int, list[Note]] = {}
        for note in notes:
            by_ws.setdefault(note.ws, []).append(note)
        for ws, theirs in by_ws.items():
            try:
                self._put(ws, theirs)
            except NumberTaken:
                self._put(ws, theirs)  # under the next one

    def append_at_once(self, notes: Sequence[Note]) -> bool:
        """Never: there is a network in between."""
        return False

    def rehearse(self, ws: int) -> bool:
        """Write a row, and roll it back: rows are never deleted here."""
        columns = _columns(ws, [rehearsed_row(self.run)])

        def put(connection: Connection) -> None:
            command(connection, "BEGIN")
            connection.execute(_Q.put_audit, columns)
            command(connection, "ROLLBACK")

        self._appenders.run(ws, put)
        return True

    def note_uses(self, ws: int, uses: Mapping[int, int]) -> None:
        """Note when keys were used, as far as that is news."""
        refuse_on_writer()
        bindings = {"ws": ws, "ids": Longs(uses), "at": Longs(uses.values())}
        self._appenders.one_row(ws, _Q.note_uses, bindings)

    def _put(self, ws: int, notes: Sequence[Note]) -> None:
        begun: dict[Note, AuditRow] = {}
        taken: list[AuditRow] = []
        outcome = Outcome.LOST  # as long as nothing was sent

        def put(connection: Connection) -> Any:
            nonlocal outcome
            outcome = Outcome.DOUBTFUL
            return connection.execute(_Q.put_audit, columns, prepare=True).fetchone()

        try:
            for note in notes:
                row = self._numbers.begin(note)
                if row is not None:
                    begun[note] = row
            if begun:
                columns = _columns(ws, begun.values())
                # A connection that proves stale is replaced, and the statement run again.
                if self._appenders.run(ws, put) != (len(begun),):
                    taken = self._strangers(ws, begun.values())
            outcome = Outcome.KEPT
        finally:
            for note, row in begun.items():
                self._numbers.end(note, Outcome.TAKEN if row in taken else outcome)
        if taken:
            raise number_taken()

    def _strangers(self, ws: int, rows: Iterable[AuditRow]) -> list[AuditRow]:
        """The rows in whose place there are others; the rest is committed."""
        found = [self._appenders.all_rows(_Q.rows_of, _at(ws, row), ws) for row in rows]
        return strangers(rows, map(audit_row, chain.from_iterable(found)))

    # --- reading -----------------------------------------------------------------------------

    def rows(
        self,
        ws: int,
        *,
        limit: int,
        before_us: int | None = None,
        principal: str | None = None,
        verb: str | None = None,
        is_success: bool | None = None,
        cursor: Place | None = None,
    ) -> list[AuditRow]:
        """Rows from before an instant, newest first."""
        end = _GREATEST if before_us is None else before_us
        at_us, run, n = min(cursor or (end, 0, 0), (end, 0, 0))
        bindings: dict[str, Any] = {"ws": ws, "last_us": at_us, "at_us": at_us, "run": run, "n": n}
        bindings |= {"principal": principal, "verb": verb, "limit": limit}
        bindings["is_success"] = None if is_success is None else int(is_success)

        def start(connection: Connection) -> list[Any]:
            return connection.execute(_Q.rows, bindings, prepare=True).fetchall()

        with self._readers.snapshot(ws, start) as found:
            return list(map(audit_row, found))

    def rows_of(
        self, ws: int, run: int, *, after_n: int, last_n: int | None = None, limit: int
    ) -> list[AuditRow]:
        """Rows of a run, ascending."""
        last = _GREATEST if last_n is None else last_n
        rows = self._readers.all_rows(_Q.rows_of, (ws, run, after_n, last, limit), ws)
        return list(map(audit_row, rows))

    def runs(self, ws: int) -> list[tuple[int, int, int]]:
        """The runs that have rows, with the last of each."""
        rows = self._readers.all_rows(_Q.runs, {"ws": ws}, ws)
        return [(run, n, at_us) for run, n, at_us in rows]

    def run_ends(self, ws: int, *, after: int, limit: int) -> list[RunEnd]:
        """The next runs that have rows, and how far each has got."""
        rows = self._readers.all_rows(_Q.run_ends, {"ws": ws, "after": after, "limit": limit}, ws)
        return [RunEnd(*row) for row in rows]

    def settled_n(self, ws: int) -> int:
        """Up to where this run's numbers are settled."""
        return self._numbers.settled(ws)

    def doubtful(self, ws: int) -> list[Note]:
        """Notes of this run whose outcome nobody can tell."""
        return self._numbers.doubtful(ws)

    def end_run(self) -> bool:
        """Give out no more numbers."""
        return self._numbers.end_run()

    def workspaces_of_run(self) -> list[int]:
        """Where this run has given out numbers."""
        return self._numbers.workspaces()

    def seals(self, ws: int, *, after: int, limit: int) -> list[Seal]:
        """Seals with greater numbers."""
        return [Seal(*row) for row in self._readers.all_rows(_Q.seals, (ws, after, limit), ws)]

    def last_seal(self, ws: int) -> Seal | None:
        """The end of the workspace's chain."""
        row = self._readers.one_row(ws, _Q.last_seal, (ws,))
        return None if row is None else Seal(*row)

    def last_sealed_n(self, ws: int, run: int) -> int:
        """The last number of a run that a seal covers."""
        return int(self._readers.one_row(ws, _Q.last_sealed, (ws, run))[0])

    def uses(self, ws: int) -> dict[int, int]:
        """The last use of every key."""
        return dict(self._readers.all_rows(_Q.uses, (ws,), ws))

    # --- sealing -----------------------------------------------------------------------------

    def seal(self, ws: int, make: Callable[[Seal | None], Seal | None]) -> Seal | None:
        """Store the seal that follows the last one, whoever made that."""
        refuse_on_writer()
        while True:
            last = self.last_seal(ws)
            made = make(last)
            if made is None:
                return None
            require_next(last, made)
            (stored,) = self._appenders.one_row(ws, _Q.put_seal, (ws, *made))
            if stored:
                return made

    def bring_in(self) -> None:
        """Nothing to do: rows are never anywhere else."""

    def checkpoint(self) -> None:
        """Nothing to do: PostgreSQL looks after its log."""


def _columns(ws: int, rows: Iterable[AuditRow]) -> dict[str, Any]:
    columns = zip(AuditRow._fields, zip(*rows, strict=True), strict=True)
    arrays: dict[str, Any] = {
        name: Longs(map(int, values)) if name in _NUMBERS else Texts(values)
        for name, values in columns
    }
    return arrays | {"ws": ws}


def _at(ws: int, row: AuditRow) -> tuple[int, ...]:
    return ws, row.run, row.n - 1, row.n, 1
