"""The worker: threads of a server that look after processes which have something to do.

One thread asks the store for jobs that are due, and keeps the leases of those that run here alive.
A server that dies or freezes loses its leases, and others take over; whatever it still tries to
write is refused, because every write of an activity names the lease that it was made under.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from sandbar import clock
from sandbar.errors import Interrupted, NotFound, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.model import Claim, JobQueue, is_over_budget
from sandbar.patience import Patience
from sandbar.workflow.driving import (
    CRASHES_MAX,
    SUSPECT_CRASHES,
    Held,
    activity_of,
    count_crash,
    crashes_of,
    end_crashes,
    fire_timer,
    forget,
    give_up,
    is_timer_due,
    note_code,
    note_no_code,
    rest_s,
    run_activity,
)
from sandbar.workflow.moves import lacks_code
from sandbar.workflow.records import Record
from sandbar.workflow.workflows import Workflows

LEASE_S = 3.0
_RENEW_EVERY_S = 0.5  # also how long a cancelled activity may not know of it
_POLL_S = 0.5
_SOON_S = 0.02
_GRACE_S = 1.0  # for an activity that has run out of time, to notice it by itself
_AILING_PAUSE_S = 2.0
_NO_CODE_PAUSE_S = 5.0  # until somebody else has had a chance who has the code
_RELUCTANCE_S = 0.2  # by how much a server lets others go first when such a process is due again
_LACKING_MAX = 64  # of which it remembers when that is
_TIMERS_BESIDE = 4  # are fired although there is no room for activities
_BUSY_S = 0.1
_NO_ROOM_S = 0.5  # until an activity for which there is no room is looked at again
_OVER_BUDGET_PAUSE_S = 1.0  # at least, however soon there is room for one
_ALONE_S = 60.0  # for one that may have brought servers down, before another such is run beside it
_ASIDE_S = 1.0  # until another such is tried
_LEAVING_MAX = 64  # activities that have lost their job and have not noticed it


class _Running(NamedTuple):
    claim: Claim
    patience: Patience
    held: Held | None = None  # None until it is clear what is to be done
    record: Record | None = None
    late_s: float | None = None  # from when on an attempt is given up that does not stop by itself


class Worker:
    """Runs what is due in all workspaces of a store."""

    def __init__(
        self,
        jobs: JobQueue,
        workflows_of: Callable[[str], Workflows],
        *,
        threads: int = 32,
        lease_s: float = LEASE_S,
    ) -> None:
        self._jobs = jobs
        self._workflows_of = workflows_of
        self._threads = threads
        self._of_one_workspace = max(threads // 2, 1)  # so that none keeps all others waiting
        self._lease_s = lease_s
        self._owner = f"{socket.gethostname()[:100]}:{os.getpid()}:{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        # By token: a process may be ours anew before we are done with what we did for it.
        self._running: dict[int, _Running] = {}
        self._leaving: dict[int, _Running] = {}  # the same, once their job is no longer ours
        self._wake = threading.Event()
        self._is_stopping = False
        self._is_ailing = False
        self._lacking_at_s: deque[float] = deque(maxlen=_LACKING_MAX)
        self._suspect: tuple[int, float] | None = None  # its token, and until when it is alone
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look after processes."""
        self._thread = threading.Thread(target=self._work, name="sandbar-worker", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something may be due by now."""
        if not self._wake.is_set():
            self._wake.set()

    def is_well(self) -> bool:
        """Whether processes are being looked after; for checks of the server's health."""
        is_alive = self._thread is not None and self._thread.is_alive()
        return is_alive and not self._is_ailing and len(self._leaving) < _LEAVING_MAX

    def stop(self, timeout_s: float = 5.0) -> None:
        """Let go of everything: activities are told to stop, and others may go on with them."""
        self._is_stopping = True
        self._wake.set()
        with self._lock:
            running = list(self._running.values())
        for one in running:
            one.patience.cancel()
        if self._thread is not None:
            self._thread.join(timeout_s)
        deadline_s = clock.monotonic_s() + timeout_s
        while (self._running or self._leaving) and clock.monotonic_s() < deadline_s:
            clock.pause_s(0.01)

    # --- the thread --------------------------------------------------------------------------

    def _work(self) -> None:
        next_renewal_s = 0.0
        while not self._is_stopping:
            self._wake.clear()
            try:
                if clock.monotonic_s() >= next_renewal_s:
                    self._renew()
                    next_renewal_s = clock.monotonic_s() + _RENEW_EVERY_S
                self._claim()
                pause_s = self._pause_s()
                self._is_ailing = False
            except BaseException as error:  # noqa: BLE001 - the worker outlives a store that ails
                if isinstance(error, Unavailable) and error.code == "store.closed":
                    return
                self._note(error)
                pause_s = _AILING_PAUSE_S
            self._wake.wait(pause_s)

    def _note(self, error: BaseException) -> None:
        if not self._is_ailing:
            log_fault("workflow.worker-failed", error)
        self._is_ailing = True

    def _pause_s(self) -> float:
        due_s = self._jobs.next_due_s()
        if due_s is None:
            return _POLL_S
        if self._room() <= 0 or self._crowded():
            return min(_POLL_S, max(due_s, _BUSY_S))
        # What is due and was not given to us is locked for the moment by who moves it on.
        return min(_POLL_S, max(due_s, _SOON_S))

    def _renew(self) -> None:
        with self._lock:
            running = list(self._running.values())
        for one in running:
            claim = one.claim
            if not self._jobs.renew(claim.ws, claim.id, claim.token, self._lease_s):
                self._lose(one)  # it was moved on, cancelled, paused, or taken over
            elif one.held is not None and one.record is not None:
                self._watch_time(one, one.held, one.record)

    def _lose(self, one: _Running) -> None:
        """An activity that does not notice it keeps nobody else waiting."""
        with self._lock:
            if self._running.pop(one.claim.token, None) is not None:
                self._leaving[one.claim.token] = one
        one.patience.cancel()

    def _watch_time(self, one: _Running, held: Held, record: Record) -> None:
        """Fire the timer of a state beside its activity, and give up an attempt that hangs."""
        try:
            if is_timer_due(record):
                fire_timer(held, is_beside=True)
                self._look_again(one, held)  # it may have been a timer that cannot fire
            if one.late_s is not None and clock.monotonic_s() > one.late_s:
                give_up(held, record)
        except Problem as problem:
            if problem.code != "job.lost" and not is_over_budget(problem):
                self._note(problem)  # the others' leases are renewed all the same

    def _look_again(self, one: _Running, held: Held) -> None:
        record = held.workflows.records.read(held.process_id)
        with self._lock:
            if one.claim.token in self._running:
                self._running[one.claim.token] = one._replace(record=record)

    def _room(self) -> int:
        return self._threads - len(self._running) if len(self._leaving) < _LEAVING_MAX else 0

    def _crowded(self) -> list[int]:
        """The workspaces that have as much going on here as one may have."""
        return [ws for ws, count in self._busy().items() if count >= self._of_one_workspace]

    def _busy(self) -> Counter[int]:
        with self._lock:
            return Counter(one.claim.ws for one in self._running.values())

    def _share(self) -> int:
        """How many to claim at once, which may all be of the busiest workspace that has room."""
        most = self._of_one_workspace
        return most - max((n for n in self._busy().values() if n < most), default=0)

    def _claim(self) -> None:
        if not self._jobs.is_due():
            return
        now_s = clock.monotonic_s()
        if any(abs(at_s - now_s) < 2 * _RELUCTANCE_S for at_s in self._lacking_at_s):
            clock.pause_s(_RELUCTANCE_S)  # else we might always be quicker than who has the code
        room, crowded = self._room(), self._crowded()
        if room > 0:
            few = min(room, self._share())
            for claim in self._jobs.claim(self._owner, few, self._lease_s, crowded):
                self._begin(claim, is_beside=False)
        if room <= 0 or crowded:
            for claim in self._jobs.claim(self._owner, _TIMERS_BESIDE, self._lease_s, None):
                self._begin(claim, is_beside=True)

    def _begin(self, claim: Claim, *, is_beside: bool) -> None:
        with self._lock:
            self._running[claim.token] = _Running(claim, Patience(None))
        # No pool: the end of the program must not wait for an activity that hangs.
        threading.Thread(
            target=self._look_after, args=(claim, is_beside), name="sandbar-activity", daemon=True
        ).start()

    # --- the threads of activities -----------------------------------------------------------

    def _look_after(self, claim: Claim, is_beside: bool) -> None:
        try:
            held = Held(self._workflows_of(claim.workspace_name), claim.id, claim.token)
            self._serve(held, claim, is_beside=is_beside)
        except Interrupted:
            self._let_go(claim, 0.0)
        except Problem as problem:
            if is_over_budget(problem):
                self._put_off(claim, problem)
            elif problem.code not in ("job.lost", "store.closed"):
                log_fault("workflow.process-stuck", problem)
                self._let_go(claim, _AILING_PAUSE_S)
        except BaseException as error:  # noqa: BLE001 - a process that cannot be served is tried again
            log_fault("workflow.process-stuck", error)
            self._let_go(claim, _AILING_PAUSE_S)
        finally:
            with self._lock:
                self._running.pop(claim.token, None)
                self._leaving.pop(claim.token, None)
                if self._suspect is not None and self._suspect[0] == claim.token:
                    self._suspect = None
            self.wake()

    def _serve(self, held: Held, claim: Claim, *, is_beside: bool) -> None:
        problem = held.workflows.workspace.budgets.background_full()
        if problem is not None:  # without a transaction that the writer would refuse
            raise problem
        try:
            record = held.workflows.records.read(held.process_id)
        except NotFound:
            forget(held)
            return
        if is_timer_due(record, claim.due_us):
            fire_timer(held, claim.due_us)
            return
        if claim.is_taken_over:
            record = count_crash(held, record)
        if is_beside:  # only timers have a place there
            self._let_go(claim, rest_s(record, _NO_ROOM_S))
            return
        activity = activity_of(held, record)
        if activity is None:
            pause_s = _AILING_PAUSE_S
            if record.state.activity is not None:
                pause_s = _NO_CODE_PAUSE_S
                self._lacking_at_s.append(clock.monotonic_s() + pause_s)
                if not lacks_code(record):
                    note_no_code(held)
            self._let_go(claim, rest_s(record, pause_s))
            return
        if lacks_code(record):
            record = note_code(held)
        if crashes_of(record) >= CRASHES_MAX:
            end_crashes(held, record)
        elif crashes_of(record) >= SUSPECT_CRASHES and not self._isolate(claim):
            self._let_go(claim, rest_s(record, _ASIDE_S))
        else:
            run_activity(held, record, activity, self._patience(claim, held, record))

    def _isolate(self, claim: Claim) -> bool:
        """Those that may have brought servers down run one at a time: else all were to blame."""
        now_s = clock.monotonic_s()
        with self._lock:
            if self._suspect is not None and now_s < self._suspect[1]:
                return False
            self._suspect = (claim.token, now_s + _ALONE_S)
        return True

    def _patience(self, claim: Claim, held: Held, record: Record) -> Patience:
        """Ends when the attempt has taken too long, when the job is lost, or when we stop."""
        timeout_s = record.state.timeout_s
        patience = Patience(timeout_s)
        late_s = None if timeout_s is None else clock.monotonic_s() + timeout_s + _GRACE_S
        with self._lock:
            is_held = claim.token in self._running
            if is_held:
                self._running[claim.token] = _Running(claim, patience, held, record, late_s)
        if not is_held or self._is_stopping:
            patience.cancel()
        return patience

    def _put_off(self, claim: Claim, problem: Problem) -> None:
        """The budget of its workspace is used up: others are served, and this one when it can."""
        wait_s = problem.data.get("wait-s")  # then it is all the same for every process of it
        pause_s = max(wait_s or 0.0, _OVER_BUDGET_PAUSE_S)
        is_all, held = wait_s is not None, (claim.ws, claim.id, claim.token)
        try:
            self._jobs.put_off(*held, pause_s, with_all_due=is_all)
        except Problem as refused:
            self._note(refused)  # the lease runs out by itself

    def _let_go(self, claim: Claim, delay_s: float) -> None:
        try:
            self._jobs.release(claim.ws, claim.id, claim.token, delay_s)
        except Problem as problem:
            self._note(problem)  # the lease runs out by itself
