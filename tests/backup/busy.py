"""Writers that do not stop: money moves between two accounts, and every answer is remembered."""

from __future__ import annotations

import threading
from multiprocessing.connection import Connection

import sandbar
from sandbar.errors import Conflict
from sandbar.model import Create, Update

SUM = 1000
IDLE = 2000  # accounts besides, so that a backup takes its time
CLASS = "bank/Account"
AMOUNT = "bank/amount"


def prepare(address: str, workspace: str) -> None:
    """Two accounts."""
    with sandbar.open(address, workspace) as db:
        db.define(
            properties={AMOUNT: {"dt/range": "db.type/long", "dt/indexed?": True}},
            classes={CLASS: {"dt/slots": [AMOUNT]}},
        )
        for name in ("bank/one", "bank/two"):
            db.create(CLASS, {"db/ident": name, AMOUNT: SUM // 2})
        db.transact([Create(class_=CLASS, slots={"db/doc": f"idle {n}"}) for n in range(IDLE)])


def move(db: sandbar.Database) -> int | None:
    """Move one from the fuller account to the other; the t of that, if nobody else was faster."""
    one, two = db.get("bank/one"), db.get("bank/two")
    poor, rich = sorted((one, two), key=lambda account: int(account[AMOUNT]))
    try:
        written = db.transact(
            [
                Update(entity=rich.entity_id, set={AMOUNT: rich[AMOUNT] - 7}, expect=rich.t),
                Update(entity=poor.entity_id, set={AMOUNT: poor[AMOUNT] + 7}, expect=poor.t),
            ]
        )
    except Conflict:
        return None
    return written.receipt.t


class Writers:
    """Threads that write until they are stopped."""

    def __init__(self, db: sandbar.Database, count: int) -> None:
        self._db = db
        self._stop = threading.Event()
        self.last_t = 0  # of any answer
        self._answers = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._write) for _ in range(count)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        while not self._stop.is_set():
            t = move(self._db)
            if t is not None:
                with self._lock:
                    self.last_t = max(self.last_t, t)
                self._answers.release()

    def wait(self, answers: int) -> None:
        """Until they have been answered so often once more."""
        while self._answers.acquire(blocking=False):
            pass
        for _ in range(answers):
            assert self._answers.acquire(timeout=30)


def write_for_ever(told: Connection, address: str, workspace: str) -> None:
    """Write, in a process of its own, and tell the t of every answer."""
    with sandbar.open(address, workspace) as db:
        while True:
            t = move(db)
            if t is not None:
                told.send(t)
