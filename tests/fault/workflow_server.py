"""A server for child processes: workflows with steps, retries, a timer and a chain, until killed.

Every effect leaves an entity behind that says whose step it was. Nothing forbids a second one, so
whatever is applied twice can be counted.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import sandbar
from sandbar.access import Authority
from sandbar.database import Database
from sandbar.errors import Conflict, Problem
from sandbar.model import Create, Jobs, Update
from sandbar.patience import limited
from sandbar.workflow import Handlers, Happening, Outcome, Running, Worker, Workflows
from sandbar.workflow.jobs import Job
from sandbar.workflow.machines import machine_of
from sandbar.workflow.specs import canonical, read_spec

PRINCIPAL = "starter"
THREADS = 8  # of which one workspace gets half
STEPS = 3  # of the activity that builds
CHILD_STEPS = 2
LONG_STEPS = 16
STEP_S = 0.05  # so ten kills come before all is done, however fast the machine
LONG_STEP_S = 0.1
REST_S = 0.2  # how long the timer runs

PROPERTIES: dict[str, dict[str, Any]] = {
    "work/tag": {"dt/range": "db.type/string", "db/unique": "identity"},
    "work/count": {"dt/range": "db.type/long"},
    "work/of": {"dt/range": "db.type/long", "dt/indexed?": True},
    "work/step": {"dt/range": "db.type/string"},
    "work/by": {"dt/range": "db.type/long"},
    "work/at": {"dt/range": "db.type/long"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "work/Item": {"dt/slots": ["work/tag", "work/count"]},
    "work/Effect": {"dt/slots": ["work/of", "work/step", "work/by", "work/at"]},
}


def _leaves(step: str) -> dict[str, Any]:
    return {"create": "work/Effect", "slots": {"work/of": {"from": "process"}, "work/step": step}}


def _move(name: str, start: str, to: str, *more: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "from": start,
        "to": to,
        "effects": [_leaves(name), *more],
        "handler": "work/count",
    }


_CHAIN = {"start": "work/child", "subject": {"from": "subject"}}

SPECS: list[dict[str, Any]] = [
    {
        "name": "work/order",
        "states": [
            {"name": "work/new", "initial?": True},
            {"name": "work/building", "activity": "work/build"},
            {"name": "work/resting", "after": {"seconds": REST_S, "transition": "wake"}},
            {"name": "work/checking", "activity": "work/check", "retries": 2, "backoff": 0.1},
            {"name": "work/done", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [
            _move("begin", "work/new", "work/building"),
            _move("built", "work/building", "work/resting"),
            _move("wake", "work/resting", "work/checking", _CHAIN),
            _move("checked", "work/checking", "work/done"),
        ],
    },
    {
        "name": "work/child",
        "states": [
            {"name": "child/new", "initial?": True, "activity": "work/build-child"},
            {"name": "child/done", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [_move("done", "child/new", "child/done")],
    },
    {
        "name": "work/long",
        "states": [
            {"name": "long/new", "initial?": True, "activity": "work/stubborn"},
            {"name": "long/done", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [_move("done", "long/new", "long/done")],
    },
    {
        "name": "work/timer",
        "states": [
            {"name": "timer/new", "initial?": True},
            *(
                {"name": f"timer/{n}", "after": {"seconds": n / 10, "transition": "fire"}}
                for n in range(1, 31)
            ),
            {"name": "timer/fired", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [
            *(_move(f"set-{n}", "timer/new", f"timer/{n}") for n in range(1, 31)),
            _move("fire", [f"timer/{n}" for n in range(1, 31)], "timer/fired"),  # type: ignore[arg-type]
        ],
    },
]


# --- what the definitions call -------------------------------------------------------------------


def _effect(job: Running, step: str) -> Create:
    slots = {
        "work/of": job.process.process_id,
        "work/step": step,
        "work/by": os.getpid(),
        "work/at": time.time_ns() // 1000,
    }
    return Create(class_="work/Effect", slots=slots)


def _in_steps(name: str, steps: int, end: str) -> Callable[[Running], Outcome]:
    def activity(job: Running) -> Outcome:
        for step in range(job.checkpoint or 0, steps):
            time.sleep(STEP_S)
            job.transact([_effect(job, f"{name}-{step}")], checkpoint=step + 1)
            job.progress(step + 1, steps)
        return Outcome(end)

    return activity


def _check(job: Running) -> Outcome:
    """Fails at first; what it did before that is undone by nobody, so it does nothing."""
    if job.process.attempt == 0:
        raise Conflict("work.not-yet", "not yet", hint="try again")
    return Outcome("checked", {"attempt": job.process.attempt}, result="checked")


class Stubborn:
    """Writes its steps whatever it is told: nothing but the fence refuses it. Tells a file."""

    def __init__(self, journal: str) -> None:
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self, job: Running) -> Outcome:
        """Run one attempt."""
        assert isinstance(job, Job)
        for step in range(job.checkpoint or 0, LONG_STEPS):
            time.sleep(LONG_STEP_S)
            self._write(job, step)
        return Outcome("done")

    def _write(self, job: Job, step: int) -> None:
        def work() -> None:
            checkpoint = {"workflow/checkpoint": step + 1}
            update = Update(entity=job.process.process_id, set=checkpoint)
            job._workspace.transact([update, _effect(job, f"long-{step}")], principal=PRINCIPAL)

        try:
            with limited(None):
                job.fenced(work)
        except Problem as problem:
            self._tell(job, step, problem.code)
            raise
        self._tell(job, step, "kept")

    def _tell(self, job: Job, step: int, answer: str) -> None:
        line = f"{os.getpid()} {job.process.process_id} {step} {answer}\n"
        os.write(self._journal, line.encode())


def _count(happening: Happening) -> None:
    """Add one to the subject's count, and to everybody's."""
    subject = happening.process.subject
    for entity in ("work/total", *([] if subject is None else [subject])):
        count: int = happening.get(entity)["work/count"]
        happening.transact([Update(entity=entity, set={"work/count": count + 1})])


def handlers(journal: str = os.devnull) -> Handlers:
    """All of it."""
    return Handlers(
        {
            "work/build": _in_steps("build", STEPS, "built"),
            "work/build-child": _in_steps("child", CHILD_STEPS, "done"),
            "work/check": _check,
            "work/stubborn": Stubborn(journal),
        },
        {"work/count": _count},
    )


# --- promises broken on purpose ------------------------------------------------------------------


def _no_fence() -> None:
    """Whoever once held a job may write for ever."""
    Jobs.require = lambda self, entity_id, token: None  # type: ignore[method-assign]


def _checkpoint_apart() -> None:
    """A step and its checkpoint are two transactions."""

    def apart(self: Job, operations: Any, *, checkpoint: Any = None) -> Any:
        written = self.fenced(lambda: self._workspace.transact(operations, principal=PRINCIPAL))
        time.sleep(STEP_S)
        self.save(checkpoint)
        return written

    Job.transact = apart  # type: ignore[method-assign,assignment]


BREAKAGES: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "no-fence": _no_fence,
    "checkpoint-apart": _checkpoint_apart,
}


# --- the server ----------------------------------------------------------------------------------


def prepare(db: Database, items: int = 0) -> None:
    """The schema, the definitions and the subjects: whatever an earlier kill has left to do."""
    if "work/Effect" not in db.schema.classes():
        db.define(properties=PROPERTIES, classes=CLASSES)
    db.create("work/Item", {"db/ident": "work/total", "work/count": 0})
    for spec in SPECS:
        db.workflows.define(spec, principal=PRINCIPAL)
    if items and not db.query("work/Item", {"work/tag": "item-0"}).items:
        made = [{"work/tag": f"item-{n}", "work/count": 0} for n in range(items)]
        db.transact([{"op": "create", "class": "work/Item", "slots": slots} for slots in made])


def open_worker(db: Database, lease_s: float, journal: str = os.devnull) -> Worker:
    """A worker with the code above, running."""
    known = handlers(journal)
    workflows: dict[str, Workflows] = {}

    def workflows_of(name: str) -> Workflows:
        workspace = db.in_workspace(name).workspace
        made = Workflows(workspace, lambda: known, Authority(workspace, name))
        return workflows.setdefault(name, made)

    worker = Worker(db._store.jobs, workflows_of, threads=THREADS, lease_s=lease_s)
    worker.start()
    return worker


def run_orders(target: str, orders: int, lease_s: float, breakage: str = "none") -> None:
    """Start so many orders, as often as it takes, and work until all have ended; then leave."""
    BREAKAGES[breakage]()
    db = sandbar.open(target)
    prepare(db, orders)
    worker = open_worker(db, lease_s)
    authority = Authority(db.workspace, db.workspace_name)
    workflows = Workflows(db.workspace, handlers, authority, worker.wake)
    for n in range(orders):
        view = workflows.start(
            "work/order", {"work/tag": f"item-{n}"}, principal=PRINCIPAL, idempotency_key=f"n-{n}"
        )
        if view.state == "work/new":
            workflows.transition(
                view.process_id, "begin", principal=PRINCIPAL, expect_state="work/new"
            )
    while workflows.active(limit=1)[0]:
        time.sleep(0.02)
    worker.stop()
    db.close()


def serve(target: str, lease_s: float, journal: str, breakage: str = "none") -> None:
    """Look after whatever there is, until killed."""
    BREAKAGES[breakage]()
    db = sandbar.open(target)
    open_worker(db, lease_s, journal)
    while True:
        time.sleep(60)


def read_at_once(threads: int) -> None:
    """The first that a process does with definitions, in several threads at the same moment."""
    sys.setswitchinterval(1e-6)
    barrier = threading.Barrier(threads)
    specs = [canonical(read_spec(SPECS[0] | {"version": n + 1})) for n in range(threads)]

    def read(number: int) -> str:
        barrier.wait()
        return machine_of(specs[number]).name

    with ThreadPoolExecutor(threads) as pool:
        assert set(pool.map(read, range(threads))) == {"work/order"}
