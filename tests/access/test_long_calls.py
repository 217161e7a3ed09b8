"""A long call is seen by who made it and by admins: its arguments and its answer are theirs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.access import Caller, Role
from sandbar.errors import Forbidden, NotFound, Problem
from sandbar.verbs import Started

SECRET = "auth/ServiceAccount"


def _caller(role: Role, name: str) -> Caller:
    return Caller(name, role, "main", None)


ADMIN, WRITER, READER = (
    _caller("admin", "service/ann"),
    _caller("writer", "service/bob"),
    _caller("reader", "service/rita"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the pack, which each test copies."""
    path = tmp_path_factory.mktemp("calls") / "made.db"
    with sandbar.open(path) as db:
        db.load_pack("zorp")
    return path


@pytest.fixture
def db(tmp_path: Path, made: Path) -> Iterator[sandbar.Database]:
    with sandbar.open(shutil.copy(made, tmp_path / "calls.db")) as db:
        yield db


@pytest.fixture
def call(db: sandbar.Database) -> Started:
    """A call of an admin, about what nobody else may see."""
    return db.call_later(ADMIN, "class.validate-all-instances", {"class": "zorp/Boot"})


@pytest.mark.parametrize("caller", [WRITER, READER], ids=["writer", "reader"])
@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("workflow.process-state", "process"),
        ("workflow.process-history", "process"),
        ("entity.find", "entity"),
        ("entity.history", "entity"),
    ],
)
def test_others_do_not_see_a_long_call(
    db: sandbar.Database, call: Started, caller: Caller, verb: str, name: str
) -> None:
    with pytest.raises((NotFound, Forbidden)):
        db.call_as(caller, verb, {name: call.process_id})
    assert db.call_as(ADMIN, verb, {name: call.process_id})


@pytest.mark.parametrize("caller", [WRITER, READER], ids=["writer", "reader"])
def test_nor_in_any_list(db: sandbar.Database, call: Started, caller: Caller) -> None:
    assert call.process_id in _ids(db, ADMIN)
    assert call.process_id not in _ids(db, caller)
    found = db.call_as(caller, "search.text", {"query": "validate", "limit": 100})
    assert all(hit.entity_id != call.process_id for hit in found.hits)


def _ids(db: sandbar.Database, caller: Caller) -> set[int]:
    active = db.call_as(caller, "workflow.active-processes", {}).processes
    queried = db.call_as(caller, "entity.query", {"class": "workflow/Process"})
    return {view.process_id for view in active} | {one.entity_id for one in queried.entities}


@pytest.mark.parametrize("transition", ["complete", "fail", "cancel"])
def test_nobody_moves_a_long_call_on_by_hand(
    db: sandbar.Database, call: Started, transition: str
) -> None:
    arguments: dict[str, Any] = {"process": call.process_id, "transition": transition}
    for caller in (WRITER, ADMIN):
        with pytest.raises(Problem) as refused:
            db.call_as(caller, "workflow.transition", arguments)
        assert refused.value.code in ("workflow.internal", "process.unknown")
    assert db.call_as(ADMIN, "task.get", {"task-id": call.task_id}).kind is None


def test_its_caller_sees_it_and_may_give_it_up(db: sandbar.Database) -> None:
    mine = db.call_later(WRITER, "class.validate-all-instances", {"class": "zorp/Boot"})
    assert db.call_as(WRITER, "workflow.process-state", {"process": mine.process_id}).data
    tasks = db.call_as(WRITER, "task.list", {}).tasks
    assert [task.task_id for task in tasks] == [mine.task_id]
    assert db.call_as(WRITER, "task.cancel", {"task-id": mine.task_id}).kind == "cancel"


def test_what_was_purged_can_be_asked_for_by_anybody(db: sandbar.Database) -> None:
    id = db.get("product/mud-lord").entity_id
    db.call_as(ADMIN, "entity.purge", {"entity": id, "confirm": id})
    with pytest.raises(NotFound):
        db.call_as(ADMIN, "entity.purge", {"entity": id, "confirm": id})
    (entry,) = db.call_as(READER, "entity.history", {"entity": id}).history
    assert entry.kind == "purged"


def test_definitions_are_not_purged(db: sandbar.Database) -> None:
    with pytest.raises(Forbidden) as refused:
        db.purge("order/fulfillment", mode="detach")
    assert refused.value.code == "entity.protected"


@pytest.mark.parametrize("name", ["auth/x", "workflow/x", "task/x", "validation/x", "db.type/x"])
def test_names_of_the_house_are_not_for_writers(db: sandbar.Database, name: str) -> None:
    spec = {"name": name, "states": [{"name": "a", "initial?": True}], "transitions": []}
    with pytest.raises(Forbidden) as refused:
        db.call_as(WRITER, "workflow.define", {"spec": spec})
    assert refused.value.code == "schema.admin-only"


def test_nobody_defines_a_workflow_that_calls_verbs(db: sandbar.Database) -> None:
    spec = {
        "name": "team/approval",
        "states": [
            {"name": "a/new", "initial?": True, "activity": "task/call"},
            {"name": "a/done", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [{"name": "complete", "from": "a/new", "to": "a/done"}],
    }
    for caller in (WRITER, ADMIN):
        with pytest.raises(Forbidden) as refused:
            db.call_as(caller, "workflow.define", {"spec": spec})
        assert refused.value.code == "workflow.internal"


def test_only_long_verbs_are_called_in_the_background(db: sandbar.Database) -> None:
    with pytest.raises(Problem) as refused:
        db.call_later(
            ADMIN, "entity.purge", {"entity": "product/mud-lord", "confirm": "product/mud-lord"}
        )
    assert refused.value.code == "verb.not-long"


def test_a_caller_has_only_so_many_calls_under_way(db: sandbar.Database) -> None:
    begun = [
        db.call_later(READER, "class.validate-all-instances", {"class": "zorp/Boot"})
        for _ in range(12)
    ]
    with pytest.raises(Problem) as refused:
        db.call_later(READER, "class.validate-all-instances", {"class": "zorp/Boot"})
    assert refused.value.code == "task.too-many"
    db.call_later(WRITER, "class.validate-all-instances", {"class": "zorp/Boot"})
    db.workflows.cancel(begun[0].process_id, principal=READER.principal)
    db.call_later(READER, "class.validate-all-instances", {"class": "zorp/Boot"})
