"""Numbers of audit rows: 1, 2, 3 … of a run in each workspace, and what becomes of each.

A note gets its number when its row is first written, and tries again under the same one as long as
the outcome of that is in doubt: rows are keyed by it, so a note has one row at most.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from enum import Enum

from sandbar import clock
from sandbar.errors import Fault
from sandbar.faults import log_fault
from sandbar.store.trail import AuditRow, Note

# A run is 64ths of a second since 2020 and 17 random bits: below 2^53 until 2054.
_EPOCH_US = 1_577_836_800_000_000
_TICK_US = 15_625
TICK_S = (
    _TICK_US / 1_000_000
)  # of two runs that begin so far apart the later has the greater number
_RANDOM_BITS = 17

DOUBT_S = 60.0  # nothing that a lost session began is committed later than this
OWN_S = 1.0  # whoever opened a note that is in doubt tries again by then, or never


class Outcome(Enum):
    """How an attempt to write a row has ended."""

    KEPT = "it is committed"
    LOST = "it certainly is not"
    TAKEN = "nor will it ever be: a row of somebody else's has its number"
    DOUBTFUL = "nobody can say"
    ASIDE = "it is safe, and not in the table yet"


class _Count:
    """The numbers of one workspace."""

    __slots__ = ("doubtful", "last", "writing")

    def __init__(self) -> None:
        self.last = 0
        self.writing: dict[int, int] = {}  # number to how many are at it
        self.doubtful: dict[int, tuple[float, Note]] = {}  # number to since when, and whose it is


class Numbers:
    """The numbers that one open store gives to notes."""

    def __init__(self) -> None:
        ticks = (clock.now_us() - _EPOCH_US) // _TICK_US
        self.run = ticks << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        self._lock = threading.Lock()
        self._counts: dict[int, _Count] = {}
        self._is_over = False

    def begin(self, note: Note) -> AuditRow | None:
        """The note's row, to be written now: `end` has to follow.

        None: it has one already, or the run is over.
        """
        with self._lock:
            if note.is_kept or self._is_over:
                return None
            n = self._number(note)
        return note.row(self.run, n)

    def end(self, note: Note, outcome: Outcome) -> None:
        """What became of the row."""
        with self._lock:
            count = self._counts[note.ws]
            assert note.number is not None
            n = note.number[1]
            if outcome is Outcome.ASIDE:
                note.is_kept = True
                return  # until it arrives in the table, its number is not settled
            if outcome is Outcome.KEPT:
                note.is_kept = True
            elif outcome is Outcome.DOUBTFUL:
                count.doubtful[n] = (clock.monotonic_s(), note)
            if note.is_kept or outcome is Outcome.TAKEN:
                count.doubtful.pop(n, None)
            count.writing[n] -= 1
            if count.writing[n] == 0:
                del count.writing[n]
                if not note.is_kept and n not in count.doubtful:
                    note.number = None  # it stays unused

    def arrived(self, ws: int, n: int) -> None:
        """A row that was put aside is in the table now."""
        with self._lock:
            count = self._counts[ws]
            count.writing[n] -= 1
            if count.writing[n] == 0:
                del count.writing[n]

    def draw(self, ws: int) -> int:
        """A new number for a row whose own cannot be used any more; `arrived` has to follow."""
        with self._lock:
            count = self._counts.setdefault(ws, _Count())
            count.last += 1
            count.writing[count.last] = 1
            return count.last

    def settled(self, ws: int) -> int:
        """Every number up to this one has a row, or never will."""
        with self._lock:
            count = self._counts.get(ws)
            if count is None:
                return 0
            _forget_doubts(count)
            open_numbers = [*count.writing, *count.doubtful]
            return min(open_numbers) - 1 if open_numbers else count.last

    def doubtful(self, ws: int) -> list[Note]:
        """Notes whose rows nobody can tell the outcome of, once nobody is at them any more.

        To write such a row once more settles it: there is one under its number then.
        """
        latest_s = clock.monotonic_s() - OWN_S
        with self._lock:
            count = self._counts.get(ws)
            if count is None:
                return []
            _forget_doubts(count)
            return [
                note
                for n, (since_s, note) in count.doubtful.items()
                if since_s < latest_s and n not in count.writing
            ]

    def end_run(self) -> bool:
        """Give out no more numbers; whether every one that was given is settled."""
        with self._lock:
            self._is_over = True
            counts = list(self._counts.values())
            for count in counts:
                _forget_doubts(count)
            return not any(count.writing or count.doubtful for count in counts)

    def workspaces(self) -> list[int]:
        """Where numbers were given out."""
        with self._lock:
            return sorted(self._counts)

    def _number(self, note: Note) -> int:
        count = self._counts.get(note.ws)
        if count is None:
            count = self._counts[note.ws] = _Count()
        n = None if note.number is None else self._former(note.number, count)
        if n is None:
            count.last = n = count.last + 1
            note.number = (self.run, n)
        count.writing[n] = count.writing.get(n, 0) + 1
        return n

    def _former(self, number: tuple[int, int], count: _Count) -> int | None:
        """The number under which a row may be written, or have been; not one settled since."""
        run, n = number
        _forget_doubts(count)
        is_open = n in count.writing or n in count.doubtful
        return n if run == self.run and is_open else None


class NumberTaken(Fault):
    """Somebody writes rows under our run: the database is not ours alone."""


def number_taken() -> NumberTaken:
    """What to raise; the log has it, also if another number then does."""
    taken = NumberTaken(
        "audit.number-taken",
        "the number of an audit row is taken by a row that this process has not written",
        hint="find out who else writes to the table of the audit",
    )
    log_fault(taken.code, taken)
    return taken


def strangers(rows: Iterable[AuditRow], found: Iterable[AuditRow]) -> list[AuditRow]:
    """Which of these rows are not of the requests that the rows found under their numbers are of.

    A row that was tried before may have ended otherwise then: its time and outcome are not looked
    at. Who asked for what, and in which microsecond, nobody can have known before us.
    """
    there = {(row.run, row.n): _request(row) for row in found}
    return [row for row in rows if there.get((row.run, row.n)) != _request(row)]


def _request(row: AuditRow) -> tuple[object, ...]:
    return (
        row.at_us,
        row.principal,
        row.key,
        row.surface,
        row.method,
        row.verb,
        row.request_id,
    )


class Ride:
    """A note that comes along with a queued write."""

    __slots__ = ("_is_begun", "_note", "_numbers")

    def __init__(self, numbers: Numbers, note: Note) -> None:
        self._numbers = numbers
        self._note = note
        self._is_begun = False

    def quote(self) -> tuple[int, int] | None:
        """The number of the row, for the receipt of the write that it comes along with."""
        if not self._is_begun:
            self._is_begun = self._numbers.begin(self._note) is not None
        return self._note.number if self._is_begun else None

    def begin(self) -> AuditRow | None:
        """The row that is about to be written; None: it was, in the meantime."""
        row = self._numbers.begin(self._note)
        if self._is_begun:  # under the number that was quoted
            self._numbers.end(self._note, Outcome.LOST)
        self._is_begun = row is not None
        return row

    def end(self, outcome: Outcome) -> None:
        """What became of the row; nothing, if it was never begun."""
        if self._is_begun:
            self._is_begun = False
            self._numbers.end(self._note, outcome)


def _forget_doubts(count: _Count) -> None:
    if count.doubtful:
        first_s = clock.monotonic_s() - DOUBT_S
        count.doubtful = {n: doubt for n, doubt in count.doubtful.items() if doubt[0] > first_s}
