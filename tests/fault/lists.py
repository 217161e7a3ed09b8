"""The list-append workload: lists are entities, transactions read some and append to some.

Four styles are mixed: functions run as transactions (some fail on purpose), updates that `expect`
what was read, and queries that read several lists at once. `weak` is the deliberate mistake: read,
then write, in two calls and without `expect`.
"""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sandbar.database import Database
from sandbar.errors import Conflict, Incorrect
from sandbar.model import Workspace
from sandbar.store.api import Store
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.fault.checker import Append, Outcome, Read, Txn
from tests.fault.load import CLASSES, PROPERTIES

HOT = 5  # lists in use at a time
TURN = 25  # transactions of a thread until one list is left for a new one
_PLACES = 10_000_000  # room for the numbers of one thread


class Abort(Exception):
    """A transaction that fails on purpose."""


def open_all(target: str, workspaces: list[str]) -> list[Database]:
    """Several workspaces of one store, as a server has them."""
    store: Store = PostgresStore(target) if "://" in target else SqliteStore(target)
    return [Database(store, Workspace.open(store, name), "lists", name) for name in workspaces]


def prepare(db: Database, transactions: int) -> None:
    """Empty lists, as many as a thread with so many transactions will need."""
    db.define(properties=PROPERTIES, classes=CLASSES)
    tags = [f"list-{number}" for number in range(transactions // TURN + HOT)]
    db.transact(
        [{"op": "create", "class": "fault/Item", "slots": {"fault/tag": tag}} for tag in tags]
    )


def final_lists(db: Database) -> dict[str, tuple[int, ...]]:
    """All lists as they are."""
    return {e["fault/tag"]: tuple(e.get("fault/list", ())) for e in db.each("fault/Item")}


def run_lists(
    target: str,
    workspaces: list[str],
    out: str,
    seed: str,
    process: int,
    threads: int,
    transactions: int,
    weak: bool = False,
) -> None:
    """Run the threads, then write what each transaction saw, one JSON line for each."""
    dbs = open_all(target, workspaces)
    workers = [
        Worker(dbs, f"{seed}/{process}/{n}", process * threads + n, weak) for n in range(threads)
    ]
    with ThreadPoolExecutor(threads) as pool:
        for running in [pool.submit(worker.work, transactions) for worker in workers]:
            running.result()
    lines = [
        json.dumps({"ws": workspaces[number]} | asdict(txn))
        for worker in workers
        for number, txn in worker.history
    ]
    Path(out).write_text("\n".join(lines))
    dbs[0].close()


def read_histories(paths: list[Path]) -> dict[str, list[Txn]]:
    """The histories by workspace."""
    found: defaultdict[str, list[Txn]] = defaultdict(list)
    for path in paths:
        for line in path.read_text().splitlines():
            record = json.loads(line)
            ws = record.pop("ws")
            record["steps"] = [_step(*step) for step in record["steps"]]
            found[ws].append(Txn(**record))
    return found


def _step(key: str, seen: Any) -> Read | Append:
    return Append(key, seen) if isinstance(seen, int) else Read(key, tuple(seen))


class Worker:
    """One thread of the workload."""

    def __init__(self, dbs: list[Database], name: str, number: int, weak: bool) -> None:
        self._dbs = dbs
        self._random = random.Random(name)
        self._next = (number + 1) * _PLACES
        self._weak = weak
        self.history: list[tuple[int, Txn]] = []

    def work(self, transactions: int) -> None:
        """One transaction after another."""
        styles: dict[Callable[[Database, Txn, list[str]], None], int] = {
            self._run: 5,
            self._expecting: 3,
            self._query: 2,
        }
        if self._weak:
            styles = {self._blindly: 3, self._query: 1}
        for turn in range(transactions):
            number = self._random.randrange(len(self._dbs))
            hot = [f"list-{turn // TURN + place}" for place in range(HOT)]
            txn = Txn(time.monotonic_ns(), 0, "ok")
            style = self._random.choices([*styles], [*styles.values()])[0]
            txn.outcome = self._outcome(style, self._dbs[number], txn, hot)
            txn.ended = time.monotonic_ns()
            self.history.append((number, txn))

    def _outcome(
        self,
        style: Callable[[Database, Txn, list[str]], None],
        db: Database,
        txn: Txn,
        hot: list[str],
    ) -> Outcome:
        try:
            style(db, txn, hot)
        except (Abort, Conflict):
            return "failed"
        except Incorrect as problem:
            findings = problem.data.get("findings", [{}])
            if any(finding.get("code") != "entity.moved" for finding in findings):
                raise  # several stale expectations are a conflict; anything else is a defect
            return "failed"
        return "ok"

    def _some(self, hot: list[str]) -> list[str]:
        return self._random.sample(hot, self._random.randint(1, 3))

    def _value(self) -> int:
        self._next += 1
        return self._next

    def _run(self, db: Database, txn: Txn, hot: list[str]) -> None:
        """Reads and appends in one function; one in ten fails, one in ten appends twice."""
        reads, appends = self._some(hot), self._some(hot)
        fate = self._random.randrange(10)
        if fate == 1:
            appends.append(appends[0])

        def work() -> None:
            txn.steps = []  # it may be run more than once
            for key in reads:
                _read(db, txn, key)
            for key in appends:
                values = (*_read(db, txn, key)[0], self._value())
                db.update({"fault/tag": key}, {"fault/list": list(values)})
                txn.steps.append(Append(key, values[-1]))
            if fate == 0:
                raise Abort

        db.run(work)

    def _expecting(self, db: Database, txn: Txn, hot: list[str]) -> None:
        """Reads first; the appends hold only if nothing that was read has changed."""
        operations = []
        for key in self._some(hot):
            values, t = _read(db, txn, key)
            value = self._value()
            operations.append(_update(key, (*values, value), expect=t))
            txn.steps.append(Append(key, value))
        db.transact(operations)

    def _query(self, db: Database, txn: Txn, hot: list[str]) -> None:
        """Reads several lists in one snapshot."""
        keys = self._some(hot)
        found = db.query("fault/Item", {"fault/tag": {"in": keys}}).items
        assert len(found) == len(keys)
        txn.steps = [Read(e["fault/tag"], tuple(e.get("fault/list", ()))) for e in found]

    def _blindly(self, db: Database, txn: Txn, hot: list[str]) -> None:
        """The mistake: what was read may be old when it is written."""
        operations = []
        for key in self._some(hot):
            value = self._value()
            operations.append(_update(key, (*_read(db, txn, key)[0], value)))
            txn.steps.append(Append(key, value))
        db.transact(operations)


def _read(db: Database, txn: Txn, key: str) -> tuple[tuple[int, ...], int]:
    entity = db.get({"fault/tag": key})
    values = tuple(entity.get("fault/list", ()))
    txn.steps.append(Read(key, values))
    return values, entity.t


def _update(key: str, values: tuple[int, ...], **more: Any) -> dict[str, Any]:
    return {
        "op": "update",
        "entity": {"fault/tag": key},
        "set": {"fault/list": list(values)},
        **more,
    }
