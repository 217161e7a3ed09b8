"""Task handles: whose they are, and what they stand for after a retry."""

from __future__ import annotations

import re
from typing import Any

import pytest

import sandbar
from sandbar.access import Role
from sandbar.errors import NotFound
from tests.model.conftest import Place
from tests.workflow.orders import PLAIN, as_role, one_step, refusal


def call(
    db: sandbar.Database, verb: str, name: str = "ann", role: Role = "writer", **given: Any
) -> Any:
    """Call a verb as somebody."""
    return db.call_as(as_role(db, role, name), verb, given)


def start(db: sandbar.Database, name: str = "ann") -> str:
    db.workflows.define(PLAIN, principal="ann")
    handle: str = call(db, "workflow.start-process", name, workflow="order/plain").task_id
    return handle


def unknown(db: sandbar.Database, handle: str, name: str, role: Role = "writer") -> None:
    for verb in ("task.get", "task.cancel"):
        problem = refusal(
            lambda verb=verb: call(db, verb, name, role, task_id=handle)  # type: ignore[misc]
        )
        assert (type(problem), problem.code) == (NotFound, "task.unknown")
        assert problem.data["received-task-id"] == handle[:100]
    problem = refusal(lambda: call(db, "workflow.process-state", name, role, process=handle))
    is_handle = db.workflows.handles.parsed(handle) is not None
    assert problem.code == ("task.unknown" if is_handle else "process.malformed")


def test_a_handle_opens_for_whom_it_was_made(db: sandbar.Database) -> None:
    handle = start(db)
    assert re.fullmatch(r"[1-9][0-9]*-[0-9a-f]{32}", handle)
    task = call(db, "task.get", task_id=handle)
    assert (task.task_id, task.state, task.status) == (handle, "order/pending", "pending")
    assert call(db, "workflow.process-state", process=handle).process_id == task.process_id
    unknown(db, handle, "bob")
    assert call(db, "task.get", "root", "admin", task_id=handle).task_id == handle
    # What an admin started is not a writer's.
    unknown(db, start(db, "root"), "ann")


def test_a_handle_is_the_same_on_every_server(place: Place, db: sandbar.Database) -> None:
    handle = start(db)
    assert call(place.open(), "task.get", task_id=handle).task_id == handle


def test_a_handle_is_of_one_workspace(place: Place, db: sandbar.Database) -> None:
    handle = start(db)
    neighbour = place.open(f"{place.workspace}-2")
    neighbour.define(classes={"order/Order": {"dt/subclass-of": ["dt/Resource"]}})
    theirs = start(neighbour)
    # Both have a process, perhaps even of the same number: still a handle opens only its own.
    for role in ("writer", "admin"):
        unknown(neighbour, handle, "ann", role)
        unknown(db, theirs, "ann", role)


def forged(handle: str) -> list[str]:
    number, _, digest = handle.partition("-")
    turned = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    return [
        f"{number}-{turned}",
        f"{int(number) + 1}-{digest}",
        f"{number}.2-{digest}",
        f"{number}-{'0' * 32}",
        f"{number}-{digest}0",
        f"{number}-{digest[:-1]}",
        f"{number}-{digest.upper()}" if digest.upper() != digest else f"x{handle}",
        f" {handle}",
        f"{handle}\n",
        f"0{handle}",
        f"-{handle}",
        digest,
        "",
        "9" * 400 + "-" + digest,
        "no such thing",
        "\u0661-" + digest,
    ]


@pytest.mark.parametrize("n", range(16))
@pytest.mark.parametrize("role", ["writer", "admin"])
def test_what_is_forged_opens_nothing(lite: sandbar.Database, n: int, role: Role) -> None:
    handle = start(lite)
    unknown(lite, forged(handle)[n], "ann", role)
    assert call(lite, "task.get", task_id=handle).task_id == handle


def test_numbers_name_processes_not_tasks(lite: sandbar.Database) -> None:
    handle = start(lite)
    number = handle.partition("-")[0]
    assert refusal(lambda: call(lite, "task.get", task_id=number)).code == "task.unknown"
    for given in (number, int(number)):
        state = call(lite, "workflow.process-state", "bob", process=given)
        assert state.process_id == int(number)
    for given in ("9" * 18, 10**15):
        problem = refusal(lambda given=given: call(lite, "workflow.process-state", process=given))  # type: ignore[misc]
        assert problem.code in ("process.unknown", "value.range")
    for given in ("9" * 5000, "order/plain", "task 1"):
        problem = refusal(lambda given=given: call(lite, "workflow.process-state", process=given))  # type: ignore[misc]
        assert problem.code == "process.malformed"
        assert "process-id or the task-id" in str(problem.hint)


def test_after_a_retry_the_old_handle_shows_the_old_end(db: sandbar.Database) -> None:
    old = start(db)
    number = int(old.partition("-")[0])

    def transition(name: str) -> Any:
        return call(db, "workflow.transition", process=number, transition=name, reason="why")

    transition("confirm")
    transition("lose")
    (task,) = call(db, "task.list", all=True).tasks
    assert task.task_id == old
    transition("retry")
    (task,) = call(db, "task.list", all=True).tasks
    assert re.fullmatch(rf"{number}\.2-[0-9a-f]{{32}}", task.task_id)
    shown = call(db, "task.get", task_id=old)
    assert (shown.state, shown.kind, shown.status) == ("end/failed", "failure", "complete")
    assert shown.task_id == old
    # For whoever holds it the task has ended: it does not cancel the new run.
    problem = refusal(lambda: call(db, "task.cancel", task_id=old))
    assert (problem.code, problem.data["reason"]) == (
        "workflow.already-completed",
        "already-completed",
    )
    transition("confirm")
    transition("lose")
    transition("retry")
    for handle, kind in ((old, "failure"), (task.task_id, "failure")):
        assert call(db, "task.get", task_id=handle).kind == kind
    (third,) = call(db, "task.list").tasks
    assert call(db, "task.cancel", task_id=third.task_id).kind == "cancel"
    assert call(db, "task.get", task_id=task.task_id).state == "end/failed"


def test_an_old_handle_stays_right_after_new_versions(lite: sandbar.Database) -> None:
    old = start(lite)
    number = int(old.partition("-")[0])
    for name in ("confirm", "lose", "retry"):
        call(lite, "workflow.transition", process=number, transition=name, reason="why")
    lite.workflows.define(one_step("order/plain"), principal="ann")
    lite.workflows.define(PLAIN, principal="ann")  # what the first said, but other states
    assert call(lite, "task.get", task_id=old).state == "end/failed"
    (task,) = call(lite, "task.list").tasks
    assert task.state == "order/pending"
