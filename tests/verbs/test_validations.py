"""The verbs `validation.*`, as callers of each role meet them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, Role, add_account
from sandbar.errors import Interrupted, Problem
from sandbar.patience import Patience, limited
from sandbar.store.postgres.install import install
from sandbar.workflow import validating
from tests.workflow.parts import PART, allow_up_to, ended, is_idle, make_parts, until


class Ask(Protocol):
    """Calls a verb and answers in plain JSON."""

    def __call__(self, name: str, *, role: Role = "writer", **arguments: Any) -> Any: ...


@pytest.fixture(params=["sqlite", "postgres"])
def parts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sandbar.Database]:
    """A workspace with 300 parts, 7 of them heavy, in a database that nobody else works in."""
    if request.param == "sqlite":
        address = str(tmp_path / "validations.db")
    else:
        address = install(request.getfixturevalue("fresh_postgres"))
    with sandbar.open(address, f"test-{uuid4()}") as db:
        make_parts(db, 300, heavy=7)
        yield db


@pytest.fixture
def ask(parts: sandbar.Database) -> Ask:
    """Calls verbs there; the argument `class` is given as `class_`."""

    def ask(name: str, *, role: Role = "writer", **arguments: Any) -> Any:
        caller = Caller(f"test-{role}", role, parts.workspace_name)
        given = {key.rstrip("_").replace("_", "-"): value for key, value in arguments.items()}
        answer = parts.call_as(caller, name, given)
        return msgspec.json.decode(msgspec.json.encode(answer))

    return ask


def refusal(ask: Ask, name: str, **arguments: Any) -> Problem:
    """The problem that a call ends in."""
    with pytest.raises(Problem) as caught:
        ask(name, **arguments)
    return caught.value


def test_start_answers_at_once_and_results_follow(parts: sandbar.Database, ask: Ask) -> None:
    started = ask("validation.start", class_=f":{PART}", reason="spring cleaning")
    assert (started["state"], started["status"]) == ("validation/pending", "pending")
    assert started["data"]["class"] == PART
    nothing_yet = ask("validation.results", taskId=started["task-id"])
    assert (nothing_yet["partial"], nothing_yet["errors"]) == (True, [])
    assert "checked" not in nothing_yet
    parts.start_worker()
    ended(parts, started["process-id"])
    for named in ({"process": started["process-id"]}, {"task_id": started["task-id"]}):
        found = ask("validation.results", **named)
        assert (found["state"], found["kind"]) == ("validation/passed", "success")
        counts = [found[name] for name in ("total", "checked", "valid", "invalid")]
        assert counts == [300, 300, 300, 0]
        assert (found["partial"], found["errors"]) == (False, [])
    assert ask("task.get", task_id=started["task-id"])["result"]["valid"] == 300


def test_a_repeated_start_begins_nothing_new(parts: sandbar.Database, ask: Ask) -> None:
    first = ask("validation.start", class_=PART, idempotency_key="k")
    assert ask("validation.start", class_=PART, idempotency_key="k")["task-id"] == first["task-id"]
    assert ask("validation.start", class_=PART)["task-id"] != first["task-id"]


def test_run_waits_for_the_results_and_leaves_a_history(parts: sandbar.Database, ask: Ask) -> None:
    allow_up_to(parts, 100)
    found = ask("validation.run", class_=PART)
    assert (found["state"], found["kind"]) == ("validation/failed", "failure")
    assert [found[name] for name in ("total", "valid", "invalid")] == [300, 293, 7]
    assert len(found["errors"]) == 7
    assert found["errors"][0]["errors"][0]["code"] == "class.validator"
    assert found["started-by"] == "test-writer"
    steps = ask("workflow.process-history", process=found["process-id"])["history"]
    assert [step["to"] for step in steps] == [
        "validation/pending",
        "validation/in-progress",
        "validation/failed",
    ]
    # It agrees with the short way.
    short = ask("class.validate-all-instances", class_=PART)["report"]
    assert (short["checked"], short["invalid"]) == (300, 7)
    assert short["entities"] == found["errors"]


def test_retry_is_a_run_of_its_own(parts: sandbar.Database, ask: Ask) -> None:
    allow_up_to(parts, 100)
    first = ask("validation.start", class_=PART)
    parts.start_worker()
    ended(parts, first["process-id"])
    allow_up_to(parts, 10_000)
    again = ask("validation.retry", process=first["process-id"], reason="repaired")
    assert again["task-id"] != first["task-id"]
    assert "completed-at" not in again
    ended(parts, first["process-id"])
    new, old = (ask("validation.results", task_id=one["task-id"]) for one in (again, first))
    assert (new["state"], new["run"], new["invalid"]) == ("validation/passed", 2, 0)
    assert (old["state"], old["run"], old["invalid"]) == ("validation/failed", 1, 7)
    assert len(old["errors"]) == 7
    assert refusal(ask, "validation.retry", process=first["process-id"]).code == (
        "workflow.no-transition"
    )


def test_cancel_keeps_what_was_found(
    parts: sandbar.Database, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_PAGE_FIRST": 1, "_PAGE_MAX": 1, "_SAVE_EVERY_S": 0.0}.items():
        monkeypatch.setattr(validating, name, value)
    allow_up_to(parts, 100)
    started = ask("validation.start", class_=PART)
    parts.start_worker()
    id = started["process-id"]
    until(lambda: ask("validation.results", process=id).get("checked", 0) >= 10)
    running = ask("validation.results", process=id)
    assert (running["state"], running["partial"]) == ("validation/in-progress", True)
    found = ask("validation.cancel", taskId=started["task-id"], reason="enough")
    assert (found["state"], found["kind"]) == ("validation/cancelled", "cancel")
    assert (found["partial"], found["total"]) == (True, 300)
    assert 10 <= running["checked"] <= found["checked"] < 300
    assert 4 <= found["invalid"] == len(found["errors"]) <= 7  # screws come last
    until(lambda: is_idle(parts))
    assert ask("validation.results", process=id) == found
    twice = refusal(ask, "validation.cancel", process=id)
    assert (twice.code, twice.data["reason"]) == ("workflow.already-completed", "already-completed")


def test_history_is_newest_first_and_paged(ask: Ask) -> None:
    assert ask("validation.history", role="reader") == {"validations": []}
    ids = [ask("validation.run", class_=PART)["process-id"] for _ in range(3)]
    other = ask("validation.run", class_="load/Screw")["process-id"]
    page = ask("validation.history", class_=PART, limit=2, role="reader")
    assert [one["process-id"] for one in page["validations"]] == ids[:0:-1]
    assert [one["valid"] for one in page["validations"]] == [300, 300]
    rest = ask("validation.history", class_=PART, limit=2, cursor=page["cursor"])
    assert [one["process-id"] for one in rest["validations"]] == ids[:1]
    assert "cursor" not in rest
    everything = ask("validation.history")["validations"]
    assert [one["process-id"] for one in everything] == [other, *reversed(ids)]


def test_what_takes_longer_than_a_call_may_goes_on(
    parts: sandbar.Database, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Patience(3600.0)
    take = validating.Tally.take

    def taken(tally: validating.Tally, page: Any) -> None:
        take(tally, page)
        waiting._deadline_s = 0.0  # which the next page will notice

    monkeypatch.setattr(validating, "_PAGE_MAX", 50)
    monkeypatch.setattr(validating.Tally, "take", taken)
    with limited(waiting):
        problem = refusal(ask, "validation.run", class_=PART)
    assert (type(problem), problem.code) == (Interrupted, "validation.goes-on")
    assert ask("task.get", task_id=problem.data["task-id"])["status"] == "running"
    parts.start_worker()
    ended(parts, problem.data["process-id"])
    found = ask("validation.results", process=problem.data["process-id"])
    assert (found["state"], found["checked"]) == ("validation/passed", 300)


def test_refusals(parts: sandbar.Database, ask: Ask) -> None:
    add_account(parts.workspace, "spy")
    for verb in ("validation.start", "validation.run"):
        assert refusal(ask, verb, class_="load/Prat").code == "class.unknown"
        assert refusal(ask, verb, class_=PART, role="reader").code == "verb.forbidden"
        for role in ("writer", "admin"):
            protected = refusal(ask, verb, class_="auth/ServiceAccount", role=role)
            assert protected.code == "validation.protected"
    assert refusal(ask, "validation.results", process=999_999).code == "process.unknown"
    assert refusal(ask, "validation.results", process="1-abc").code == "task.unknown"
    assert refusal(ask, "validation.history", class_="load/Prat").code == "class.unknown"
    done = ask("validation.run", class_=PART)
    cancelled = ask("validation.start", class_=PART)
    ask("validation.cancel", process=cancelled["process-id"])
    for over in (done, cancelled):
        problem = refusal(ask, "validation.retry", process=over["process-id"])
        assert problem.code == "workflow.no-transition"
        assert problem.hint == "validation.start begins another"
    running = ask("validation.start", class_=PART)
    problem = refusal(ask, "validation.retry", process=running["process-id"])
    assert (problem.code, "still runs" in str(problem.hint)) == ("workflow.no-transition", True)
    part = next(iter(parts.each(PART))).entity_id
    assert refusal(ask, "validation.results", process=part).code == "process.unknown"


def test_only_admins_have_accounts_checked(parts: sandbar.Database, ask: Ask) -> None:
    add_account(parts.workspace, "spy")
    verb, accounts = "class.validate-all-instances", "auth/ServiceAccount"
    assert ask(verb, class_=accounts, role="admin")["report"]["checked"] == 1
    assert refusal(ask, verb, class_=accounts).code == "entity.protected"
    seen = {
        role: ask(verb, class_="dt/Resource", role=role)["report"]["checked"]
        for role in ("reader", "writer", "admin")
    }
    assert seen["reader"] == seen["writer"] < seen["admin"]
