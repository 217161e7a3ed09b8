"""Mixed load from several threads through the public API, with a journal of every answer.

Each thread creates, changes and deletes entities of its own, writes groups of which all or none
must appear, and moves amounts between shared accounts whose sum is zero.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import sandbar
from sandbar.database import Database
from tests.fault.breakage import BREAKAGES
from tests.fault.journal import Intent, JournalWriter, Slots

THREADS = 6
ACCOUNTS = 4
GROUP = 3

PROPERTIES: dict[str, dict[str, Any]] = {
    "fault/tag": {"dt/range": "db.type/string", "db/unique": "identity"},
    "fault/count": {"dt/range": "db.type/long", "dt/indexed?": True},
    "fault/group": {"dt/range": "db.type/string", "dt/indexed?": True},
    "fault/list": {"dt/range": "db.type/json"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "fault/Item": {"dt/subclass-of": ["dt/Ref"], "dt/slots": [*PROPERTIES]},
}


def prepare(db: Database) -> list[int]:
    """The schema of the load, and its accounts: whatever an earlier kill has left to do."""
    if "fault/Item" not in db.schema.classes():
        db.define(properties=PROPERTIES, classes=CLASSES)
    tags = [f"account-{number}" for number in range(ACCOUNTS)]
    for tag in tags:
        if not db.query("fault/Item", {"fault/tag": tag}).items:
            db.create("fault/Item", {"fault/tag": tag, "fault/count": 0})
    return [db.get({"fault/tag": tag}).entity_id for tag in tags]


def run_load(target: str, journal: str, seed: str, breakage: str = "none") -> None:
    """Write until killed."""
    db = sandbar.open(target)
    accounts = prepare(db)
    BREAKAGES[breakage]()
    out = JournalWriter(journal)
    workers = [Worker(db, out, f"{seed}/{number}", accounts) for number in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        for running in as_completed([pool.submit(worker.work) for worker in workers]):
            out.failed(repr(running.exception()))  # nobody is to stop before the kill


class Worker:
    """One thread of the load."""

    def __init__(self, db: Database, out: JournalWriter, name: str, accounts: list[int]) -> None:
        self._db = db
        self._out = out
        self._name = name
        self._random = random.Random(name)
        self._accounts = accounts
        self._mine: dict[int, Slots] = {}
        self._number = 0

    def work(self) -> None:
        """One operation after another."""
        chances = {self._create: 6, self._group: 4, self._change: 4, self._move: 3, self._delete: 1}
        while True:
            self._number += 1
            operation = self._random.choices([*chances], [*chances.values()])[0]
            if operation in (self._change, self._delete) and not self._mine:
                operation = self._create
            operation()

    def _intent(self) -> Intent:
        return Intent(f"load/{self._name}/{self._number}")

    def _slots(self, part: int = 0) -> Slots:
        tag = f"{self._name}/{self._number}/{part}"
        return {"fault/tag": tag, "fault/count": self._random.randrange(100)}

    def _create(self) -> None:
        intent = self._intent()
        slots = self._slots()
        intent.make = [slots]
        self._out.trying(intent)
        written = self._db.create("fault/Item", slots, reason=intent.op)
        self._out.answered(intent.op, written.t, [written.entity_id])
        self._mine[written.entity_id] = slots

    def _group(self) -> None:
        """Three new entities and, if there is one, a change: all or none."""
        intent = self._intent()
        intent.make = [self._slots(part) | {"fault/group": intent.op} for part in range(GROUP)]
        operations: list[dict[str, Any]] = [
            {"op": "create", "class": "fault/Item", "slots": slots} for slots in intent.make
        ]
        if self._mine:
            id = self._random.choice([*self._mine])
            self._mine[id] = self._mine[id] | {"fault/count": self._number + 100}
            intent.set = {id: self._mine[id]}
            changes = {"fault/count": self._number + 100}
            operations.append({"op": "update", "entity": id, "set": changes})
        self._out.trying(intent)
        written = self._db.transact(operations, reason=intent.op)
        ids = [outcome.entity_id for outcome in written.outcomes]
        self._out.answered(intent.op, written.t, ids)
        self._mine.update(zip(ids[:GROUP], intent.make, strict=True))

    def _change(self) -> None:
        intent = self._intent()
        id = self._random.choice([*self._mine])
        self._mine[id] = self._mine[id] | {"fault/count": self._number + 100}
        intent.set = {id: self._mine[id]}
        self._out.trying(intent)
        written = self._db.update(id, {"fault/count": self._number + 100}, reason=intent.op)
        self._out.answered(intent.op, written.t, [id])

    def _delete(self) -> None:
        intent = self._intent()
        id = self._random.choice([*self._mine])
        del self._mine[id]
        intent.delete = [id]
        self._out.trying(intent)
        written = self._db.delete(id, reason=intent.op)
        self._out.answered(intent.op, written.t, [id])

    def _move(self) -> None:
        intent = self._intent()
        giver, taker = self._random.sample(self._accounts, 2)
        amount = self._random.randrange(1, 10)
        intent.add = {giver: -amount, taker: amount}

        def work() -> int:
            for id, change in intent.add.items():
                count = self._db.get(id)["fault/count"]
                self._db.update(id, {"fault/count": count + change})
            return self._db.get(giver).t

        self._out.trying(intent)
        t = self._db.run(work, reason=intent.op)
        self._out.answered(intent.op, t, [giver, taker])
