"""Orders and the workflows that tests drive them through."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest

import sandbar
from sandbar.access import Authority, Caller, Role
from sandbar.errors import Problem
from sandbar.workflow import (
    Activity,
    EffectHandler,
    Handlers,
    Outcome,
    ProcessView,
    Running,
    Workflows,
)

Spec = dict[str, Any]

PROPERTIES: dict[str, dict[str, Any]] = {
    "order/code": {"dt/range": "db.type/string", "db/unique": "identity"},
    "order/status": {"dt/range": "db.type/string"},
    "order/total": {"dt/range": "db.type/long", "dt/min": 0},
    "note/text": {"dt/range": "db.type/string", "dt/required?": True, "dt/indexed?": True},
    "note/about": {"dt/range": "order/Order"},
    "note/n": {"dt/range": "db.type/long"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "order/Order": {
        "dt/subclass-of": ["dt/Resource"],
        "dt/slots": ["order/code", "order/status", "order/total"],
    },
    "note/Note": {
        "dt/subclass-of": ["dt/Resource"],
        "dt/slots": ["note/text", "note/about", "note/n"],
    },
}

DONE: Spec = {"name": "end/done", "terminal?": True, "terminal-kind": "success"}
FAILED: Spec = {"name": "end/failed", "terminal?": True, "terminal-kind": "failure"}
CANCELLED: Spec = {"name": "end/cancelled", "terminal?": True, "terminal-kind": "cancel"}

# Two steps to a good end, a way to cancel, and a way back from failure.
PLAIN: Spec = {
    "name": "order/plain",
    "states": [
        {"name": "order/pending", "initial?": True},
        {"name": "order/confirmed"},
        DONE,
        FAILED,
        CANCELLED,
    ],
    "transitions": [
        {"name": "confirm", "from": "order/pending", "to": "order/confirmed"},
        {"name": "deliver", "from": "order/confirmed", "to": "end/done"},
        {"name": "lose", "from": "order/confirmed", "to": "end/failed", "requires-reason?": True},
        {"name": "cancel", "from": ["order/pending", "order/confirmed"], "to": "end/cancelled"},
        {"name": "retry", "from": "end/failed", "to": "order/pending"},
    ],
}


def define(db: sandbar.Database) -> None:
    """The classes, and one order."""
    db.define(properties=PROPERTIES, classes=CLASSES)
    slots = {"db/ident": "order/one", "order/code": "A1", "order/status": "new", "order/total": 10}
    db.create("order/Order", slots)


def one_step(name: str, state: Spec | None = None, go: Spec | None = None) -> Spec:
    """A workflow whose first state is as given; `go` leads from it to a good end."""
    first = {"name": "step/first", "initial?": True, **(state or {})}
    return {
        "name": name,
        "states": [first, DONE, FAILED, CANCELLED],
        "transitions": [
            {"name": "go", "from": "step/first", "to": "end/done", **(go or {})},
            {"name": "fail", "from": "step/first", "to": "end/failed"},
            {"name": "cancel", "from": "step/first", "to": "end/cancelled"},
            {"name": "retry", "from": "end/failed", "to": "step/first"},
        ],
    }


def without(spec: Spec, *names: str) -> Spec:
    """The same without these transitions, and without the states that they led to."""
    spec = copy.deepcopy(spec)
    gone = {move["to"] for move in spec["transitions"] if move["name"] in names}
    spec["transitions"] = [
        move
        for move in spec["transitions"]
        if move["name"] not in names and move["from"] not in gone
    ]
    left = {move["to"] for move in spec["transitions"]}
    spec["states"] = [
        state for state in spec["states"] if state["name"] not in gone or state["name"] in left
    ]
    return spec


# What is kept of a writer who has no account: as of those who have the database, but for the role.
WRITER = {"account": None, "role": "writer", "key": None, "via": "local"}


def begin(db: sandbar.Database, spec: Spec, subject: Any = None, **data: Any) -> int:
    """Define a workflow and start a process of it; returns its number."""
    db.workflows.define(spec, principal="ann")
    return db.workflows.start(spec["name"], subject, data, principal="ann").process_id


def move(db: sandbar.Database, id: int, name: str, **more: Any) -> ProcessView:
    """Make a transition as Ann."""
    return db.workflows.transition(id, name, principal="ann", **more)


def path_of(db: sandbar.Database, id: int) -> list[tuple[str, str]]:
    """What happened to a process: each action and where it led."""
    return [(row.action, row.to) for row in db.workflows.history(id)]


def as_role(db: sandbar.Database, role: Role, name: str | None = None) -> Caller:
    """Somebody of that role."""
    return Caller(name or f"test-{role}", role, db.workspace_name)


def refusal(work: Callable[[], object]) -> Problem:
    """The problem that a call ends in; the call leaves no trace."""
    with pytest.raises(Problem) as caught:
        work()
    return caught.value


def with_code(
    db: sandbar.Database,
    activities: dict[str, Activity] | None = None,
    effects: dict[str, EffectHandler] | None = None,
) -> sandbar.Database:
    """The same database, with code as a pack would bring it."""
    handlers = Handlers(activities or {}, effects or {})
    authority = Authority(db.workspace, db.workspace_name)
    db._workflows = Workflows(db.workspace, lambda: handlers, authority, db._family.wake_worker)
    return db


def working(
    db: sandbar.Database,
    work: Activity,
    *,
    spec: Spec | None = None,
    data: dict[str, Any] | None = None,
    **state: Any,
) -> int:
    """A process whose first state has this activity, looked after by a worker."""
    with_code(db, {"test/work": work})
    spec = spec or one_step("order/work")
    spec["states"][0] |= {"activity": "test/work", **state}
    id = begin(db, spec, "order/one", **(data or {}))
    db.start_worker()
    return id


def wait_for_end(job: Running, bound_s: float = 30.0) -> Outcome:
    """Work until told to stop."""
    deadline_s = time.monotonic() + bound_s
    while time.monotonic() < deadline_s:
        job.check()
        time.sleep(0.01)
    return Outcome("go")


def until(
    db: sandbar.Database, id: int, holds: Callable[[ProcessView], bool], timeout_s: float = 20.0
) -> ProcessView:
    """The process once this holds of it; it must come true in time."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        view = db.workflows.view(id)
        if holds(view):
            return view
        assert time.monotonic() < deadline_s, view
        time.sleep(0.01)


def ended(db: sandbar.Database, id: int, timeout_s: float = 20.0) -> ProcessView:
    """The process once it has ended."""
    return until(db, id, lambda view: view.is_complete, timeout_s)
