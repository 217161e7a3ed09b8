"""Processes, their history and definitions are changed by the verbs of workflows, and no other way.

A process that could be edited by hand would be no witness of what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.access import Authority, Caller, Role
from sandbar.errors import Forbidden, Problem
from sandbar.model import Workspace
from sandbar.verbs import Call, base_catalogue
from sandbar.workflow import Workflows
from tests.access.conftest import world_in_file
from tests.access.kept_world import KeptWorld
from tests.access.world import World
from tests.bare_services import BareServices

SPEC: dict[str, Any] = {
    "name": "shop/way",
    "states": [
        {"name": "way/open", "initial?": True},
        {"name": "way/done", "terminal?": True, "terminal-kind": "success"},
    ],
    "transitions": [
        {
            "name": "finish",
            "from": "way/open",
            "to": "way/done",
            "effects": [{"set": {"shop/name": "sold"}}],
        }
    ],
}


def workflows_of(world: World) -> Workflows:
    return Workflows(world.workspace, authority=Authority(world.workspace, world.name))


def world_with_process(workspace: Workspace, name: str) -> World:
    """A world in which somebody has begun a process about an item."""
    world = World(workspace, name)
    workflows = workflows_of(world)
    workflows.define(SPEC, principal="ann")
    workflows.start("shop/way", "item/one", principal="ann")
    return world


@pytest.fixture(scope="module")
def sqlite_world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, World]:
    """What each test copies here."""
    return world_in_file(tmp_path_factory.mktemp("process"), world_with_process)


@pytest.fixture(scope="module")
def kept_postgres_world(shared_postgres: str, superusers_postgres: str) -> Iterator[KeptWorld]:
    """What is put back for each test here."""
    with closing(KeptWorld(shared_postgres, superusers_postgres, world_with_process)) as kept:
        yield kept


class Scene:
    """A process about an item, and everybody who might want to edit it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.workspace = world.workspace
        self.workflows = workflows_of(world)
        (process,) = self.workspace.query("workflow/Process").items
        self.process = process.entity_id
        self.other = self.workspace.get("item/desk").entity_id
        definition = self.workspace.get("shop/way")
        (row,) = self.workspace.query("workflow/History").items
        self.ids = {
            "workflow/Process": self.process,
            "workflow/History": row.entity_id,
            "workflow/Definition": definition.entity_id,
            "workflow/State": definition["workflow/states"][0],
            "workflow/Transition": definition["workflow/transitions"][0],
        }

    def call(self, role: Role, verb: str, **arguments: Any) -> Any:
        """Call a verb as somebody of that role."""
        caller = Caller(f"test-{role}", role, self.world.name)
        db = self.world.as_role(role)
        db.caller = caller
        services = BareServices(db, base_catalogue(), self.workflows)
        return services.perform(Call(caller, verb, arguments))

    def refused(self, role: Role, verb: str, **arguments: Any) -> Problem:
        """The problem that a call ends in; nothing has changed."""
        before = self.workspace.last_t()
        with pytest.raises(Problem) as caught:
            self.call(role, verb, **arguments)
        assert self.workspace.last_t() == before
        return caught.value


@pytest.fixture
def scene(world: World) -> Scene:
    """A process in a workspace with accounts."""
    return Scene(world)


NAMED = {
    "workflow/Process": "workflow.transition",
    "workflow/History": "workflow.process-history",
    "workflow/Definition": "workflow.define",
    "workflow/State": "workflow.define",
    "workflow/Transition": "workflow.define",
}
LETTING_GO = ("delete", "delete and detach", "among others")
REFERRED = ("entity.referenced", "entity.invalid")
Edit = Callable[[Scene, int], dict[str, Any]]
EDITS: dict[str, tuple[str, Edit]] = {
    "update": ("entity.update", lambda s, id: {"entity": id, "set": {"db/doc": "mine"}}),
    "delete": ("entity.delete", lambda s, id: {"entity": id}),
    "delete and detach": ("entity.delete", lambda s, id: {"entity": id, "mode": "detach"}),
    "delete and cascade": ("entity.delete", lambda s, id: {"entity": id, "mode": "cascade"}),
    "transact": (
        "entity.transact",
        lambda s, id: {"operations": [{"op": "update", "entity": id, "set": {"db/doc": "mine"}}]},
    ),
    "among others": (
        "entity.transact",
        lambda s, id: {
            "operations": [
                {"op": "update", "entity": "item/desk", "set": {"shop/name": "x"}},
                {"op": "delete", "entity": id, "mode": "detach"},
            ]
        },
    ),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("role", ["writer", "admin"])
def test_generic_verbs_change_nothing_of_workflows(scene: Scene, edit: str, role: Role) -> None:
    verb, arguments = EDITS[edit]
    for kind, id in scene.ids.items():
        problem = scene.refused(role, verb, **arguments(scene, id))
        if problem.code in REFERRED and edit in LETTING_GO:
            continue  # refused before, because others refer to it and must
        assert (type(problem), problem.code) == (Forbidden, "entity.protected"), (kind, problem)
        assert "workflow" in problem.message
        assert NAMED[kind] in str(problem.hint) or edit == "delete and cascade"
    assert scene.workflows.view(scene.process).state == "way/open"


@pytest.mark.parametrize("role", ["writer", "admin"])
def test_nobody_makes_them_by_hand(scene: Scene, role: Role) -> None:
    state = scene.ids["workflow/State"]
    slots: dict[str, dict[str, Any]] = {
        "workflow/Process": {
            "workflow/definition": "shop/way",
            "workflow/current-state": state,
            "workflow/started-at": "2026-01-01T00:00:00Z",
            "workflow/started-by": "nobody",
        },
        "workflow/History": {"workflow/process": scene.process},
        "workflow/Definition": {"workflow/name": "shop/other"},
        "workflow/State": {"workflow/name": "way/other"},
        "workflow/Transition": {"workflow/name": "other"},
    }
    for kind, given in slots.items():
        problem = scene.refused(role, "entity.create", **{"class": kind, "slots": given})
        assert (problem.code, kind in problem.message) == ("entity.protected", True)
        operations = [{"op": "create", "class": kind, "slots": given}]
        assert scene.refused(role, "entity.transact", operations=operations).code == problem.code
        tool = f"create_{kind.replace('/', '-')}"
        found = scene.refused(role, tool, **given).code
        assert found in ("entity.protected", "verb.unknown")


@pytest.mark.parametrize("role", ["writer", "admin"])
def test_the_subject_of_a_process_is_not_changed_by_hand(scene: Scene, role: Role) -> None:
    for value in (scene.other, scene.world.root, "item/desk", None):
        problem = scene.refused(
            role, "entity.update", entity=scene.process, set={"workflow/subject": value}
        )
        assert problem.code == "entity.protected"
    assert scene.workflows.view(scene.process).subject == "item/one"


@pytest.mark.parametrize("role", ["writer", "admin"])
def test_a_past_process_is_not_restored(scene: Scene, role: Role) -> None:
    then = scene.workspace.last_t()
    scene.workflows.transition(scene.process, "finish", principal="ann")
    problem = scene.refused(role, "entity.restore", entity=scene.process, to=then)
    assert problem.code == "entity.protected"
    assert scene.workflows.view(scene.process).state == "way/done"


def test_heirs_of_these_classes_are_protected_as_well(scene: Scene) -> None:
    heir = {"my/Process": {"dt/subclass-of": ["workflow/Process"]}}
    scene.workspace.define({}, heir, principal="admin")
    given = {
        "workflow/definition": "shop/way",
        "workflow/current-state": scene.ids["workflow/State"],
        "workflow/started-at": "2026-01-01T00:00:00Z",
        "workflow/started-by": "nobody",
    }
    problem = scene.refused("admin", "entity.create", **{"class": "my/Process", "slots": given})
    assert problem.code == "entity.protected"


def test_names_of_workflows_are_reserved(scene: Scene) -> None:
    slots = {"db/ident": "workflow/mine", "shop/name": "x"}
    problem = scene.refused("writer", "entity.create", **{"class": "shop/Item", "slots": slots})
    assert problem.code == "schema.admin-only"


def test_what_is_not_of_workflows_is_changed_as_ever(scene: Scene) -> None:
    """The control: the same verbs, by the same callers, on other things."""
    for edit, (verb, arguments) in EDITS.items():
        item = scene.workspace.transact(
            [{"op": "create", "class": "shop/Item", "slots": {"shop/name": edit}}], principal="ann"
        ).entity_id
        before = scene.workspace.last_t()
        scene.call("writer", verb, **arguments(scene, item))
        assert scene.workspace.last_t() > before


# --- what a process is about -----------------------------------------------------------------


def test_the_subject_of_a_process_is_not_deleted_unasked(scene: Scene) -> None:
    problem = scene.refused("writer", "entity.delete", entity="item/one")
    assert problem.code == "entity.referenced"


def test_a_subject_may_be_deleted_and_the_process_goes_on(scene: Scene) -> None:
    scene.call("writer", "entity.delete", entity="item/one", mode="detach")
    assert scene.workflows.view(scene.process).subject is None
    assert len(scene.workflows.history(scene.process)) == 1
    with pytest.raises(Problem) as caught:
        scene.workflows.transition(scene.process, "finish", principal="ann")
    assert caught.value.code == "workflow.no-subject"


def test_a_subject_does_not_take_its_process_with_it(scene: Scene) -> None:
    problem = scene.refused("admin", "entity.delete", entity="item/one", mode="cascade")
    assert problem.code == "entity.protected"
    assert "detach" in str(problem.hint)


def test_a_subject_that_is_purged_is_gone_for_the_process(scene: Scene) -> None:
    scene.call(
        "admin", "entity.purge", entity="item/one", confirm="item/one", mode="detach", reason="law"
    )
    assert scene.workflows.view(scene.process).subject is None


def test_a_process_is_not_purged_unasked_from_under_its_history(scene: Scene) -> None:
    purge = {"entity": scene.process, "confirm": scene.process, "reason": "law"}
    assert scene.refused("admin", "entity.purge", **purge).code == "entity.referenced"


def test_the_library_keeps_its_hands_off_as_well(tmp_path: Path) -> None:
    with sandbar.open(tmp_path / "shop.db") as db:
        plain = {**SPEC, "transitions": [{"name": "finish", "from": "way/open", "to": "way/done"}]}
        db.workflows.define(plain, principal="ann")
        id = db.workflows.start("shop/way", principal="ann").process_id
        changes: list[Callable[[], Any]] = [
            lambda: db.update(id, {"workflow/step": 7}),
            lambda: db.delete(id, mode="cascade"),
            lambda: db.transact([{"op": "update", "entity": id, "set": {"workflow/run": 3}}]),
        ]
        for change in changes:
            with pytest.raises(Forbidden) as refused:
                change()
            assert refused.value.code == "entity.protected"
        assert db.workflows.view(id).step == 0
