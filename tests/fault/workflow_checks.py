"""What must be true of the processes of `workflow_server`, whoever was killed while they ran.

The evidence is gathered first and judged afterwards, so that a test can doctor it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import apsw
import psycopg

from sandbar import clock
from sandbar.database import Database
from sandbar.workflow import HistoryRow, ProcessView, Workflows
from tests.fault.workflow_server import CHILD_STEPS, LONG_STEPS, REST_S, STEPS

Step = tuple[str, str | None, str]  # action, from, to


class Job(NamedTuple):
    """A row of the table of jobs, of whatever workspace."""

    id: int
    due_us: int
    owner: str | None
    token: int | None
    until_us: int

    @property
    def is_held(self) -> bool:
        """Whether somebody has it now, alive or dead."""
        return self.until_us > clock.now_us()

    @property
    def pid(self) -> int | None:
        """The process that holds it."""
        return None if self.owner is None else int(self.owner.split(":")[-2])


_JOBS = "SELECT id, due_us, owner, token, until_us FROM {}job ORDER BY id"


def sqlite_jobs(path: str) -> list[Job]:
    """The jobs of a file."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(5000)
        return [Job(*row) for row in connection.execute(_JOBS.format(""))]
    finally:
        connection.close()


def postgres_jobs(admin_url: str) -> list[Job]:
    """The jobs of a PostgreSQL database."""
    with psycopg.connect(admin_url) as connection:
        return jobs_of(connection)


def jobs_of(connection: psycopg.Connection) -> list[Job]:
    """The same over a connection of the database's owner."""
    rows = connection.execute(_JOBS.format("sandbar.").encode()).fetchall()
    return [Job(*row) for row in rows]


class Promise(NamedTuple):
    """What a process of a workflow must have done."""

    path: list[Step]
    activity_steps: list[str]
    counted: bool = True  # whether its subject counts its transitions


def _path(*states: str, actions: list[str]) -> list[Step]:
    before = [None, *states[:-1]]
    return list(zip(["start", *actions], before, states, strict=True))


PROMISES: dict[str, Promise] = {
    "work/order": Promise(
        _path(
            "work/new", "work/building", "work/resting", "work/checking", "work/done",
            actions=["begin", "built", "wake", "checked"],
        ),
        [f"build-{n}" for n in range(STEPS)],
    ),
    "work/child": Promise(
        _path("child/new", "child/done", actions=["done"]),
        [f"child-{n}" for n in range(CHILD_STEPS)],
    ),
    "work/long": Promise(
        _path("long/new", "long/done", actions=["done"]),
        [f"long-{n}" for n in range(LONG_STEPS)],
    ),
}  # fmt: skip


@dataclass
class Evidence:
    """All that is known of the processes at the end."""

    processes: dict[int, ProcessView] = field(default_factory=dict)
    active: set[int] = field(default_factory=set)  # as the index of running ones has it
    history: dict[int, list[HistoryRow]] = field(default_factory=dict)
    effects: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[int, int] = field(default_factory=dict)  # of the subjects
    total: int = 0
    jobs: list[Job] = field(default_factory=list)


def gather(db: Database, jobs: list[Job]) -> Evidence:
    """Everything about every process."""
    workflows = Workflows(db.workspace)
    evidence = Evidence(jobs=jobs)
    for view in _all(workflows, is_all=True):
        evidence.processes[view.process_id] = view
        evidence.history[view.process_id] = workflows.history(view.process_id)
        if isinstance(view.subject, int):
            evidence.counts[view.subject] = db.get(view.subject)["work/count"]
    evidence.active = {view.process_id for view in _all(workflows, is_all=False)}
    for effect in db.each("work/Effect"):
        evidence.effects[effect["work/of"]].append(effect["work/step"])
    evidence.total = db.get("work/total")["work/count"]
    return evidence


def _all(workflows: Workflows, *, is_all: bool) -> list[ProcessView]:
    found: list[ProcessView] = []
    cursor = None
    while True:
        page, cursor = workflows.active(is_all=is_all, limit=200, cursor=cursor)
        found += page
        if cursor is None:
            return found


Broken = dict[str, list[Any]]


def judge(evidence: Evidence, expected: dict[str, int]) -> Broken:
    """What is wrong, by kind; nothing, if the promises were kept."""
    broken: Broken = defaultdict(list)
    kinds = Counter(view.workflow for view in evidence.processes.values())
    if kinds != expected:
        broken["processes"].append(dict(kinds))
    for id, view in evidence.processes.items():
        _judge_state(evidence, view, broken)
        _judge_history(id, view, evidence.history[id], broken)
        _judge_effects(id, view, evidence.effects[id], broken)
    if evidence.jobs:
        broken["job"].append(evidence.jobs)
    _judge_counts(evidence, broken)
    _judge_chain(evidence, broken)
    return dict(broken)


def _judge_state(evidence: Evidence, view: ProcessView, broken: Broken) -> None:
    id = view.process_id
    if view.state != PROMISES[view.workflow].path[-1][2] or view.completed_at is None:
        broken["unfinished"].append((id, view.state, view.error))
    if (id in evidence.active) == view.is_complete:
        broken["active"].append(id)


def _judge_history(id: int, view: ProcessView, rows: list[HistoryRow], broken: Broken) -> None:
    if [row.n for row in rows] != list(range(len(rows))) or view.step != len(rows) - 1:
        broken["holes"].append((id, view.step, [row.n for row in rows]))
    if [(row.action, row.from_, row.to) for row in rows] != PROMISES[view.workflow].path:
        broken["path"].append((id, [(row.action, row.from_, row.to) for row in rows]))
    instants = [clock.us_of_text(row.at) for row in rows]
    if instants != sorted(instants) or [row.t for row in rows] != sorted({row.t for row in rows}):
        broken["order"].append((id, instants, [row.t for row in rows]))
    rested = [
        (later - earlier) / 1e6
        for earlier, later, row in zip(instants, instants[1:], rows, strict=False)
        if row.to == "work/resting"
    ]
    if any(seconds < REST_S for seconds in rested):
        broken["early"].append((id, rested))


def _judge_effects(id: int, view: ProcessView, effects: list[str], broken: Broken) -> None:
    promise = PROMISES[view.workflow]
    wanted = Counter([action for action, _, _ in promise.path[1:]] + promise.activity_steps)
    found = Counter(effects)
    if missing := wanted - found:
        broken["missing"].append((id, dict(missing)))
    if more := found - wanted:
        broken["twice"].append((id, dict(more)))


def _judge_counts(evidence: Evidence, broken: Broken) -> None:
    """Every transition adds one to its subject and one to the total."""
    wanted: Counter[int] = Counter()
    total = 0
    for view in evidence.processes.values():
        moves = len(PROMISES[view.workflow].path) - 1
        total += moves
        if isinstance(view.subject, int):
            wanted[view.subject] += moves
    for subject, count in evidence.counts.items():
        if count != wanted[subject]:
            broken["count"].append((subject, count, wanted[subject]))
    if evidence.total != total:
        broken["total"].append((evidence.total, total))


def _judge_chain(evidence: Evidence, broken: Broken) -> None:
    """Every order has started one child."""
    parents = Counter(view.parent for view in evidence.processes.values() if view.parent)
    orders = Counter(
        view.process_id for view in evidence.processes.values() if view.workflow == "work/order"
    )
    if parents != orders:
        broken["chain"].append((parents - orders, orders - parents))
