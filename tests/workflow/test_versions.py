"""Versions of workflows: a process keeps the one that it began with; the name passes on."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sandbar
from sandbar.errors import Conflict, NotFound
from tests.model.conftest import Place
from tests.workflow.orders import PLAIN, begin, move, one_step, refusal


def shortened() -> dict[str, Any]:
    """Another version: from the order straight to the door."""
    spec = copy.deepcopy(PLAIN)
    spec["transitions"].insert(
        0, {"name": "deliver", "from": "order/pending", "to": "end/done", "label": "At once"}
    )
    return spec


def test_a_running_process_keeps_its_version(place: Place, db: sandbar.Database) -> None:
    old = begin(db, PLAIN)
    defined = db.workflows.define(shortened(), principal="ann")
    assert (defined.version, defined.created) == (2, True)
    new = db.workflows.start("order/plain", principal="ann")
    assert new.version == 2
    for server in (db, place.open()):  # one that has seen it all, and one that has not
        assert server.workflows.view(old).version == 1
        assert server.workflows.state(old, principal="ann").transitions == ["confirm", "cancel"]
        assert refusal(lambda: move(server, old, "deliver")).code == "workflow.no-transition"  # noqa: B023
    assert move(db, new.process_id, "deliver").kind == "success"
    move(db, old, "confirm")
    assert move(db, old, "deliver").kind == "success"


def test_the_name_belongs_to_the_newest_version(db: sandbar.Database) -> None:
    first = db.workflows.define(PLAIN, principal="ann")
    second = db.workflows.define(shortened(), principal="ann")
    assert db.get("order/plain").entity_id == second.definition_id
    assert db.get(first.definition_id).ident is None
    names = [entity.ident for entity in db.workflows.definitions()]
    assert names == sorted(names)  # type: ignore[type-var]
    assert names.count("order/plain") == 1
    assert db.workflows.find("order/plain").version == 2
    assert db.workflows.find(":order/plain", 1).version == 1
    assert db.workflows.spec("order/plain", 1)["version"] == 1
    problem = refusal(lambda: db.workflows.find("order/plain", 9))
    assert (type(problem), problem.code) == (NotFound, "workflow.unknown")
    assert "2" in str(problem.hint)


def test_the_same_again_changes_nothing(db: sandbar.Database) -> None:
    first = db.workflows.define(PLAIN, principal="ann")
    before = db.t
    again = db.workflows.define(copy.deepcopy(PLAIN), principal="bob")
    assert (again.definition_id, again.version, again.created) == (first.definition_id, 1, False)
    assert not db.workflows.define({**PLAIN, "version": 1}, principal="bob").created
    assert not db.workflows.define(db.workflows.spec("order/plain"), principal="bob").created
    assert db.t == before


@pytest.mark.parametrize(("version", "is_changed"), [(1, True), (1, False), (2, True)])
def test_a_version_that_is_taken_is_refused(
    lite: sandbar.Database, version: int, is_changed: bool
) -> None:
    lite.workflows.define({**PLAIN, "version": 2}, principal="ann")
    spec = {**(shortened() if is_changed else PLAIN), "version": version}
    problem = refusal(lambda: lite.workflows.define(spec, principal="ann"))
    assert (type(problem), problem.code) == (Conflict, "workflow.version-exists")
    assert problem.data == {"current": 2}
    assert "3" in str(problem.hint)
    assert lite.workflows.find("order/plain").version == 2


def test_versions_may_be_left_out(lite: sandbar.Database) -> None:
    assert lite.workflows.define({**PLAIN, "version": 7}, principal="ann").version == 7
    assert lite.workflows.define({**shortened(), "version": 9}, principal="ann").version == 9
    assert lite.workflows.define(PLAIN, principal="ann").version == 10


def test_a_version_may_go_back_to_what_an_older_one_said(
    place: Place, db: sandbar.Database
) -> None:
    """The first and the third say the same, and are two definitions with states of their own."""
    first = begin(db, PLAIN)
    db.workflows.view(first)  # the definition is at hand now, under its name
    ended = db.workflows.view(first).t
    move(db, first, "confirm")
    second = begin(db, shortened())
    third = begin(db, PLAIN)
    for server in (db, place.open()):
        views = [server.workflows.view(id) for id in (first, second, third)]
        assert [view.version for view in views] == [1, 2, 3]
        # The past, when the first version still bore the name.
        assert server.workflows.view(first, as_of=ended).state == "order/pending"
    for id in (first, second, third):
        if db.workflows.view(id).state == "order/pending":
            move(db, id, "confirm")
        assert move(db, id, "deliver").kind == "success"


def test_many_who_define_at_once_make_one_version_each(place: Place, db: sandbar.Database) -> None:
    servers = [db, place.open()]
    db.workflows.define(PLAIN, principal="ann")

    def define(n: int) -> int:
        spec = one_step("order/plain", {"label": f"Label {n % 3}"})
        return servers[n % 2].workflows.define(spec, principal="ann").version

    with ThreadPoolExecutor(6) as pool:
        versions = list(pool.map(define, range(12)))
    known = sorted({*versions})
    assert known == list(range(2, 2 + len(known)))
    current = db.workflows.find("order/plain")
    assert current.version == known[-1]
    page = db.query("workflow/Definition", {"workflow/name": "order/plain"}, limit=100).items
    assert sorted(entity["workflow/version"] for entity in page) == [1, *known]


def test_other_servers_start_what_was_defined_here(place: Place, db: sandbar.Database) -> None:
    other = place.open()
    begin(db, PLAIN)
    assert other.workflows.start("order/plain", principal="ann").version == 1
    db.workflows.define(shortened(), principal="ann")
    assert other.workflows.start("order/plain", principal="ann").version == 2
    assert other.workflows.find("order/plain").version == 2
