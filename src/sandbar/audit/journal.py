"""The journal: one row for every request, committed before its answer leaves.

    note = journal.open(ws, "user/anna", surface="mcp", method="tools/call", verb="entity.get")
    with accompanied(note):  # a write takes the row along in its own transaction
        ...
    note.is_success, note.code = False, "entity.unknown"
    journal.settle(note)  # whatever has no row yet gets it now

A row says who asked for what, when, and how it ended: never an argument, never a result.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from typing import Protocol

from sandbar import clock
from sandbar.audit.names import nameable, nameable_id, nameable_method
from sandbar.audit.sealing import Sealed, Sealer
from sandbar.audit.settling import Settler
from sandbar.errors import Interrupted, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.model import Answer, KeyUses, Note, Trail

STRANGE_METHOD = "?"
_KEPT_S = 5.0  # for which a row that was written shows that others can be
_REFUSED_S = 2.0
_ENDED = ("store.closed", "store.forked")


class Audited(Sealed, Protocol):
    """What the journal needs of a store."""

    @property
    def key_uses(self) -> KeyUses:
        """When keys were used."""


class Journal:
    """The audit of one open store; may be used from any number of threads."""

    def __init__(self, store: Audited) -> None:
        self.trail: Trail = store.trail
        self._key_uses = store.key_uses
        self._settler = Settler(self._append)
        self._sealer = Sealer(store, self._write_uses)
        self._lock = threading.Lock()
        self._kept_s = 0.0  # when a row was last written, or tried with success
        self._refused_s = 0.0  # when one could not be
        self._refusal: str | None = None  # and why; None once it can be again
        self._uses: dict[int, dict[int, int]] = {}
        self._is_closed = False
        self._pid = os.getpid()
        atexit.register(self.close)  # before the store's own turn, which was opened earlier

    def open(
        self,
        ws: int,
        principal: str,
        *,
        key: str | None = None,
        surface: str,
        method: str,
        verb: str | None = None,
        request_id: str | None = None,
    ) -> Note:
        """Note a request that begins now.

        What a client has made up (a method, a tool, an id) is kept only if it looks like one: a
        row must neither fail by its text, nor carry what somebody put in the wrong place.
        """
        return Note(
            ws,
            principal,
            key=key,
            surface=surface,
            method=method if nameable_method(method) else STRANGE_METHOD,
            verb=verb if verb is not None and nameable(verb) else None,
            request_id=request_id if request_id is not None and nameable_id(request_id) else None,
        )

    def settle(self, note: Note) -> None:
        """Return when the row is committed; one that went with a transaction costs nothing."""
        if _is_owed(note):
            self._append([note])

    def settle_at_once(self, notes: Sequence[Note]) -> bool:
        """The same if it takes microseconds, for an event loop; False: nothing was done."""
        owed = [note for note in notes if _is_owed(note)]
        if not owed:
            return True
        rows = [_row_of(note) for note in owed]
        try:
            is_done = self.trail.append_at_once(rows)
        except Problem as problem:
            raise self._refused(problem) from problem
        finally:
            _mark(owed, rows)
        if is_done:
            _require_kept(rows)
            self._note_kept()
        return is_done

    def settle_later(self, note: Note) -> Answer[None]:
        """The same by another thread, together with others'."""
        if _is_owed(note):
            return self._settler.add(note)
        answer: Answer[None] = Answer()
        answer.resolve(None, None)
        return answer

    def used(self, ws: int, key_id: int) -> None:
        """A key was used just now; it is written down within a second or so."""
        with self._lock:
            self._uses.setdefault(ws, {})[key_id] = clock.now_us()

    def start_sealing(self) -> None:
        """Seal every second what is new, and what dead runs left."""
        self._sealer.start()

    def ailments(self, ws: int) -> dict[str, str | None]:
        """By part, what ails it: for checks of the server's health; takes a look at the database.

        Whether a row can be written is tried, in this workspace, if no request has shown it lately.
        """
        return {
            "audit": self._why_not_written(ws),
            "settler": None if self._settler.is_well() else "dead",
            "sealer": self._sealer.ailment(),
        }

    def _why_not_written(self, ws: int) -> str | None:
        now_s = clock.monotonic_s()
        if self._refusal is None and now_s - self._kept_s < _KEPT_S:
            return None
        try:
            is_tried = self.trail.rehearse(ws)
        except Problem as problem:
            self._refused_s, self._refusal = now_s, problem.code
        else:
            # What requests meet counts more: one row may find room where others do not.
            if is_tried and now_s - self._refused_s > _REFUSED_S:
                self._note_kept()
        return self._refusal

    def close(self) -> None:
        """Settle what waits, seal this run for good, stop."""
        if self._is_closed or self._pid != os.getpid():  # what a fork copied is left alone
            return
        self._is_closed = True
        atexit.unregister(self.close)
        self._settler.close()
        self._sealer.stop()
        try:
            self._write_uses()
            if self.trail.end_run():
                self._sealer.end_own()
            else:
                self._sealer.seal_own()  # a row may still come from a connection that was lost
        except Problem as problem:
            # The rows stand, and another run will seal them.
            if problem.code != "store.closed":
                log_fault("audit.sealing-failed", problem)

    def _append(self, notes: Sequence[Note]) -> None:
        rows = [_row_of(note) for note in notes]
        try:
            self.trail.append(rows)
        except Problem as problem:
            raise self._refused(problem) from problem
        finally:
            _mark(notes, rows)
        _require_kept(rows)
        self._note_kept()

    def _note_kept(self) -> None:
        self._kept_s = clock.monotonic_s()
        self._refusal = None

    def _refused(self, problem: Problem) -> Problem:
        shown = _unavailable(problem)
        if shown is not problem:
            self._refused_s = clock.monotonic_s()
            self._refusal = problem.code
        return shown

    def _write_uses(self) -> None:
        with self._lock:
            uses, self._uses = self._uses, {}
        for ws, of_workspace in uses.items():
            self._key_uses.note_uses(ws, of_workspace)


def _is_owed(note: Note) -> bool:
    """Whether a row is still to be written: the first, or another that says how it ended."""
    return not note.is_settled and not (note.is_kept and note.is_success)


def _row_of(note: Note) -> Note:
    """The note to write a row of: itself, or the second one of a request that failed later."""
    return note.again() if note.is_kept else note


def _mark(notes: Sequence[Note], rows: Sequence[Note]) -> None:
    """Whatever has its row is settled, also if others could not be written."""
    for note, row in zip(notes, rows, strict=True):
        if row.is_kept:
            note.is_settled = note.is_kept = True
            note.number = row.number


def _require_kept(rows: Sequence[Note]) -> None:
    if not all(row.is_kept for row in rows):
        raise Unavailable("store.closed", "this database has been closed", hint="open it again")


def _unavailable(problem: Problem) -> Problem:
    if isinstance(problem, Interrupted) or problem.code in _ENDED:
        return problem  # the call ends for that reason, and it says so better
    return Unavailable(
        "audit.unavailable",
        f"the audit row of this request cannot be written: {problem.message}",
        hint="whoever runs the server has to act (free some space, reach the database), then retry",
        data={"because": problem.code},
    )
