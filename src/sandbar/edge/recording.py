"""The audit at the door: every request that was understood gets its row before its answer leaves.

The surface that reads a request of a known caller says what it is (`Record.open`), asks whether
there are not too many of them (`admit`), and says how it ended (`fail`); the row is written by
`settle`, at the latest when the answer begins. One that rode with a write is kept.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio.to_thread

from sandbar import clock
from sandbar.access import Caller
from sandbar.audit import Journal, Note, accompanied
from sandbar.database import Database
from sandbar.errors import Interrupted, Problem, TooMany
from sandbar.faults import log_fault
from sandbar.model import Answer
from sandbar.patience import limited

T = TypeVar("T")

GONE = "client.gone"  # it hung up before its answer

_PARKED_S = 0.25  # a body that takes longer comes from somebody who is asked again who it is


class Recorder:
    """What the records of a server share: the journal, and those whose rows are about to be kept.

    Rows that are settled within one turn of the event loop are written together, on the loop if the
    store answers in microseconds: that is what makes the audit of a read cheap.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.journal: Journal = database.journal
        self._is_inline = database.reads_in_microseconds
        self._waiting: list[tuple[Note, asyncio.Future[None]]] = []

    def note(
        self, caller: Caller, surface: str, method: str, verb: str | None, request_id: str | None
    ) -> Note:
        """A row to be, of somebody who has signed in."""
        return self._database.of(caller).note(
            caller, surface=surface, method=method, verb=verb, request_id=request_id
        )

    def keep(self, note: Note) -> asyncio.Future[None]:
        """Write the row; what is returned is done when it is committed."""
        loop = asyncio.get_running_loop()
        kept: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._write)
        self._waiting.append((note, kept))
        return kept

    async def take(self, caller: Caller) -> float:
        """Take a token from the caller's bucket: how many seconds to wait, 0.0 if there was one."""
        database = self._database.of(caller)
        if self._is_inline:
            return database.take_token(caller)
        return await anyio.to_thread.run_sync(database.take_token, caller)

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        problem: Problem | None = None
        try:
            if self._is_inline and self.journal.settle_at_once([note for note, _ in waiting]):
                _resolve(waiting, None)
                return
        except Problem as found:
            problem = found
        if problem is not None:
            _resolve(waiting, problem)
            return
        for note, kept in waiting:
            self._write_later(note, kept)

    def _write_later(self, note: Note, kept: asyncio.Future[None]) -> None:
        loop = asyncio.get_running_loop()
        try:
            answer = self.journal.settle_later(note)
        except Problem as problem:
            _resolve([(note, kept)], problem)
            return

        def tell(done: object) -> None:
            error = answer.exception()
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, [(note, kept)], error)

        answer.add_done_callback(tell)


def _resolve(waiting: list[tuple[Note, asyncio.Future[None]]], error: BaseException | None) -> None:
    for _, kept in waiting:
        if kept.done():
            continue  # nobody waits any more
        if error is None:
            kept.set_result(None)
        else:
            kept.set_exception(error)


class Record:
    """One request, from the moment it was understood until its row is kept."""

    def __init__(
        self,
        recorder: Recorder,
        caller: Caller,
        surface: str,
        request_id: str | None,
        refused_since: Callable[[], Awaitable[bool]],
    ) -> None:
        self._began_s = clock.monotonic_s()
        self._refused_since = refused_since
        self._recorder = recorder
        self._caller = caller
        self._surface = surface
        self._request_id = request_id
        self._lock = threading.Lock()
        self._is_settled = self._is_working = self._is_abandoned = False
        self.note: Note | None = None
        self.id: int | str | None = None  # by which the client knows its request
        self.lost: Problem | None = None  # why there is no row, and so must be no answer

    def open(self, method: str, verb: str | None = None, id: int | str | None = None) -> None:
        """What is asked for; the journal keeps of it only what looks like a name."""
        self.id = id
        self.note = self._recorder.note(self._caller, self._surface, method, verb, self._request_id)

    async def is_refused_now(self) -> bool:
        """Whether a request that took its time comes too late: its caller is let in no more."""
        if clock.monotonic_s() - self._began_s < _PARKED_S:
            return False
        return await self._refused_since()

    async def admit(self) -> None:
        """Go on only if the caller has not asked too often."""
        if self._caller.limit is None:
            return
        wait_s = await self._recorder.take(self._caller)
        if wait_s > 0:
            problem = refuse_often(self._caller.limit.per_minute, wait_s)
            self.fail(problem.code)
            raise problem

    def fail(self, code: str) -> None:
        """How it ended, if not well; the first word counts."""
        if self.note is not None and self.note.code is None:
            self.note.is_success = False
            self.note.code = code

    async def settle(self) -> None:
        """The row is committed when this returns; asked a second time it is already."""
        note = self.note
        if note is None or self._is_settled:
            return
        self._is_settled = True
        if not (note.is_kept and note.is_success):
            try:
                await self._recorder.keep(note)
            except Problem as problem:
                self.lost = problem
                raise

    def working(self, work: Callable[[], T]) -> T:
        """Work in a thread that outlives its client if need be, and then keeps the row itself."""
        self._begin_work()
        try:
            with accompanied(self.note):
                return work()
        finally:
            if self._end_work():
                self._keep_blocking()

    def writing(self, begin: Callable[[], Answer[T] | None]) -> Answer[T] | None:
        """Queue a write that outlives its client if need be; then its row is kept as well."""
        self._begin_work()
        answer = None
        try:
            answer = begin()
        finally:
            if answer is None:
                self._end_work()
        if answer is not None:
            loop = asyncio.get_running_loop()

            def tell(answer: Answer[T]) -> None:
                del answer
                if not loop.is_closed():
                    loop.call_soon_threadsafe(self._written)

            answer.add_done_callback(tell)
        return answer

    def _written(self) -> None:
        note = self.note
        if self._end_work() and note is not None and not note.is_kept:
            self.fail(GONE)
            self._recorder.keep(note).add_done_callback(_complain)

    def _begin_work(self) -> None:
        """Refused if the client has hung up, which its row says already."""
        with self._lock:
            if self._is_abandoned:
                raise Interrupted("client.gone", "the client hung up", hint="send it again")
            self._is_working = True

    def _end_work(self) -> bool:
        """Whether the row is left to us."""
        with self._lock:
            self._is_working = False
            return self._is_abandoned

    def abandon(self) -> None:
        """The client is gone before its answer: there is a row all the same."""
        note = self.note
        if note is None or self._is_settled:
            return
        self._is_settled = True
        with self._lock:
            self._is_abandoned = True
            if self._is_working:
                return
        self.fail(GONE)
        if not note.is_kept:
            # Nobody waits for it, but a failure must not go unseen.
            self._recorder.keep(note).add_done_callback(_complain)

    def _keep_blocking(self) -> None:
        note = self.note
        assert note is not None
        if note.is_kept:
            return
        self.fail(GONE)
        try:
            with limited(None):  # the client's patience has ended, and ours has not
                self._recorder.journal.settle(note)
        except Problem as problem:
            log_fault("audit.lost", problem)


def _complain(kept: asyncio.Future[None]) -> None:
    if not kept.cancelled() and (error := kept.exception()) is not None:
        log_fault("audit.lost", error)


def refuse_often(per_minute: int, wait_s: float) -> TooMany:
    """The answer to whoever asks too often."""
    return TooMany(
        "limit.exceeded",
        f"this key may ask {per_minute} times a minute",
        hint=f"try again in {seconds_up(wait_s)} s; the header Retry-After says when",
        data={"retry-after-s": seconds_up(wait_s)},
    )


def seconds_up(wait_s: float) -> int:
    """Whole seconds, rounded up: who waits so long is served."""
    return max(1, -int(-wait_s // 1))
