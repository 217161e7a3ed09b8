"""Sealing: every second the new rows of each workspace get a seal, which links them to the past.

A run seals what it wrote itself. What a run left that was killed is adopted by another, once it
has visibly come to nothing more. A run that ends in good order is sealed up to the last number
that there is, so that nobody can add to it afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from sandbar import clock
from sandbar.audit.chain import GENESIS, LAST_N, RowsDigest, seal_hash
from sandbar.errors import Problem
from sandbar.faults import log_fault
from sandbar.model import RunEnd, Seal, Trail

UNAVAILABLE = "audit.unavailable"  # what is refused because its row cannot be written
FAILED = "audit.sealing-failed"
SEAL_EVERY_S = 1.0
STUCK_S = 30.0  # for which a turn may stand still
SEAL_ROWS_MAX = 4096
ADOPT_AFTER_S = 60.0  # a run that lives has sealed its rows long before
_LOOK_EVERY_S = 30.0  # for what others left; seen unchanged twice, nobody is about to add to it
_LOOKS_MAX = 500  # at runs that are not known yet, before our own rows have their turn
_DOUBTS_AT_ONCE = 256
_WALK_EVERY_S = 600.0  # through all runs: an old one may have begun anew


class Sealed(Protocol):
    """What the sealer needs of a store."""

    @property
    def trail(self) -> Trail:
        """The rows and the seals."""

    def workspaces(self) -> list[tuple[int, str]]:
        """The workspaces that there are."""


class _Range(NamedTuple):
    run: int
    first_n: int
    last_n: int


def seal_rows(trail: Trail, ws: int, run: int, last_n: int, *, is_end: bool = False) -> int:
    """Seal the rows of a run up to a number; says how many. `is_end`: there will be no more."""
    sealed = 0
    after_n = trail.last_sealed_n(ws, run)
    while after_n < last_n:
        rows = trail.rows_of(ws, run, after_n=after_n, last_n=last_n, limit=SEAL_ROWS_MAX)
        is_last = is_end and len(rows) < SEAL_ROWS_MAX
        if not rows and not (is_last and after_n > 0):
            break
        digest = RowsDigest()
        digest.add(rows)
        span = _Range(run, after_n + 1, LAST_N if is_last else rows[-1].n)
        made = trail.seal(ws, partial(_next_seal, trail, ws, span, digest))
        if made is None:
            after_n = trail.last_sealed_n(ws, run)  # somebody else has sealed them
        else:
            sealed += made.count
            after_n = made.last_n
    return sealed


def _next_seal(
    trail: Trail, ws: int, span: _Range, digest: RowsDigest, last: Seal | None
) -> Seal | None:
    """The seal that continues the chain; None, if somebody has sealed these rows meanwhile."""
    if trail.last_sealed_n(ws, span.run) != span.first_n - 1:
        return None
    number, previous = (1, GENESIS) if last is None else (last.number + 1, last.hash)
    seal = Seal(number, *span, digest.count, clock.now_us(), b"")
    return seal._replace(hash=seal_hash(ws, previous, seal, digest))


class Adopter:
    """Seals what dead runs left, at a price that does not depend on how many runs there were.

    A look is for runs that are new, and for those that may still have something to come: others
    that were at work lately, or left rows unsealed. Now and then all of them are gone through.
    """

    def __init__(self, store: Sealed, *, adopt_after_s: float = ADOPT_AFTER_S) -> None:
        self._store = store
        self._trail = store.trail
        self._adopt_after_us = int(adopt_after_s * 1_000_000)
        self._seen: dict[int, int] = {}  # by workspace, the last run that was looked at
        self._watched: dict[tuple[int, int], int] = {}  # the last number of a run as last seen
        self._next_walk_s = 0.0

    def look(self) -> bool:
        """Seal what is old, and the same as at the last look. False: there is more to look at."""
        self._trail.bring_in()  # a run that is judged by its rows must have all of them
        now_s = clock.monotonic_s()
        if now_s >= self._next_walk_s:
            self._next_walk_s = now_s + _WALK_EVERY_S
            self._seen.clear()
        watched, room = list(self._watched), _LOOKS_MAX
        for ws, _ in self._store.workspaces():
            ends = self._trail.run_ends(ws, after=self._seen.get(ws, 0), limit=room)
            for end in ends:
                self._judge(ws, end)
                self._seen[ws] = end.run
            room -= len(ends)
            if room == 0:
                return False
        for ws, run in watched:
            for end in self._trail.run_ends(ws, after=run - 1, limit=1):
                self._judge(ws, end)
        return True

    def _judge(self, ws: int, end: RunEnd) -> None:
        seen_n = self._watched.pop((ws, end.run), None)
        if end.run == self._trail.run:
            return
        age_us = clock.now_us() - end.at_us
        if end.sealed_n >= end.last_n:
            is_over = end.sealed_n == LAST_N or age_us > _WALK_EVERY_S * 1_000_000
        else:
            is_over = seen_n == end.last_n and age_us >= self._adopt_after_us
            if is_over:
                seal_rows(self._trail, ws, end.run, end.last_n)
        if not is_over:
            self._watched[ws, end.run] = end.last_n


class Sealer:
    """Seals what is new, again and again, on a thread of its own once it is started."""

    def __init__(
        self, store: Sealed, besides: Callable[[], None], *, adopt_after_s: float = ADOPT_AFTER_S
    ) -> None:
        """`besides` is called at every turn, for what else is due each second."""
        self._store = store
        self._trail = store.trail
        self._besides = besides
        self._settled: dict[int, int] = {}  # by workspace, up to where our own rows are sealed
        self._adopter = Adopter(store, adopt_after_s=adopt_after_s)
        self._next_look_s = 0.0
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._ailment: str | None = None
        self._beat_s = 0.0  # when a turn began, or got on

    def start(self) -> None:
        """Seal every second from now on."""
        if self._thread is None:
            self._beat_s = clock.monotonic_s()
            self._thread = threading.Thread(target=self._work, name="sandbar-sealer", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Seal no more; a seal that is being made is finished."""
        self._is_stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def ailment(self) -> str | None:
        """Why what was to be sealed lately has not been, if so."""
        if self._thread is None:
            return None
        if not self._thread.is_alive():
            return "dead"
        if clock.monotonic_s() - self._beat_s > STUCK_S:
            return "stuck"
        return self._ailment

    def seal_own(self) -> int:
        """Seal the rows of this run that are settled; says how many."""
        sealed = 0
        for ws in self._trail.workspaces_of_run():
            self._beat_s = clock.monotonic_s()
            self._settle_doubts(ws)
            settled_n = self._trail.settled_n(ws)
            if self._settled.get(ws, 0) < settled_n:
                sealed += seal_rows(self._trail, ws, self._trail.run, settled_n)
                self._settled[ws] = settled_n
        return sealed

    def _settle_doubts(self, ws: int) -> None:
        """Write rows again that a lost connection left in doubt: nothing is sealed past them."""
        doubtful = self._trail.doubtful(ws)
        for note in doubtful:
            if note.code is None:  # its request was refused
                note.is_success, note.code = False, UNAVAILABLE
        for first in range(0, len(doubtful), _DOUBTS_AT_ONCE):
            self._trail.append(doubtful[first : first + _DOUBTS_AT_ONCE])

    def end_own(self) -> None:
        """Seal this run for good; it writes no more rows."""
        for ws in self._trail.workspaces_of_run():
            seal_rows(self._trail, ws, self._trail.run, LAST_N, is_end=True)

    def adopt(self) -> bool:
        """Seal what dead runs left; False: there is more to look at."""
        return self._adopter.look()

    # --- the thread --------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._is_stopping:
            self._beat_s = clock.monotonic_s()
            try:
                self._turn()
                self._ailment = None
            except BaseException as error:  # noqa: BLE001 - rows wait unsealed, and are sealed later
                if isinstance(error, Problem) and error.code == "store.closed":
                    return
                if self._ailment is None:
                    log_fault(FAILED, error)
                self._ailment = error.code if isinstance(error, Problem) else FAILED
            self._wake.wait(SEAL_EVERY_S)

    def _turn(self) -> None:
        self.seal_own()
        self._trail.checkpoint()
        self._besides()
        now_s = clock.monotonic_s()
        if now_s >= self._next_look_s and self.adopt():
            self._next_look_s = now_s + _LOOK_EVERY_S
