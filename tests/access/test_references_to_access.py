"""Nothing but what is made for it refers to an account, a key or a role.

A reference keeps what it names from being deleted: who can store one anywhere can keep an admin
from ending a key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sandbar.access import Authority, Guarded, Role
from sandbar.errors import Forbidden, Problem
from sandbar.workflow import Workflows
from tests.access.world import World

ROLES: tuple[Role, ...] = ("writer", "admin")


def made(class_: str, slots: dict[str, Any]) -> dict[str, Any]:
    return {"op": "create", "class": class_, "slots": slots}


def default_of(range: str) -> Callable[[Guarded, World], Any]:
    def attempt(db: Guarded, world: World) -> Any:
        return db.define({"shop/new": {"dt/range": range, "dt/default": world.root}}, {})

    return attempt


# Each would keep the account from being deleted.
WAYS: dict[str, Callable[[Guarded, World], Any]] = {
    "create": lambda db, w: db.transact([made("shop/Item", {"shop/friend": w.root})]),
    "create by digits": lambda db, w: db.transact(
        [made("shop/Item", {"shop/friend": str(w.root)})]
    ),
    "create by the ident of an heir": lambda db, w: db.transact(
        [made("shop/Item", {"shop/friend": "robot/one"})]
    ),
    "as a part": lambda db, w: db.transact([made("shop/Item", {"shop/part": w.root})]),
    "update": lambda db, w: db.transact(
        [{"op": "update", "entity": w.item, "set": {"shop/friend": w.root}}]
    ),
    "migrate": lambda db, w: db.transact(
        [{"op": "migrate", "class": "shop/Item", "fill": {"shop/friend": w.root}}]
    ),
    "beside others": lambda db, w: db.transact(
        [made("shop/Item", {"shop/name": "x"}), made("shop/Item", {"shop/friend": w.root})]
    ),
    "a new default": default_of("dt/Resource"),
    "a new default of any reference": default_of("db.type/ref"),
}


def refusal(work: Callable[[], Any]) -> Problem:
    with pytest.raises(Problem) as caught:
        work()
    return caught.value


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ROLES)
def test_a_slot_for_anything_refers_to_no_account(world: World, role: Role, way: str) -> None:
    t = world.workspace.last_t()
    problem = refusal(lambda: WAYS[way](world.as_role(role), world))
    assert isinstance(problem, Forbidden)
    assert problem.code == "entity.protected"
    assert world.workspace.last_t() == t


LOOKED_UP: dict[str, Callable[[Guarded, Any], Any]] = {
    "create": lambda db, given: db.transact([made("shop/Item", {"shop/friend": given})]),
    "update": lambda db, given: db.transact(
        [{"op": "update", "entity": given, "set": {"db/doc": "x"}}]
    ),
    "delete": lambda db, given: db.transact([{"op": "delete", "entity": given}]),
    "restore": lambda db, given: db.transact([{"op": "restore", "entity": given}]),
}


@pytest.mark.parametrize("way", LOOKED_UP)
def test_no_slot_of_access_looks_anything_up_be_it_there_or_not(world: World, way: str) -> None:
    db = world.as_role("writer")
    for slot in ("auth/key-name", "auth/email", "auth/roles", "auth/nonslot", ":auth/nonslot"):
        problem = refusal(partial(LOOKED_UP[way], db, {slot: "a"}))
        assert problem.code == "entity.protected", (slot, problem)


def test_nor_where_it_is_only_asked_whether_it_is_valid(world: World) -> None:
    roles: tuple[Role, ...] = ("reader", "writer")
    for role in roles:
        db = world.as_role(role)
        for slot in ("auth/key-name", "auth/email", "auth/nonslot"):
            operation = made("shop/Item", {"shop/friend": {slot: "a"}})
            assert [one["code"] for one in db.validate([operation])] == ["entity.protected"], slot


def test_an_effect_refers_to_no_account(world: World) -> None:
    workflows = Workflows(world.workspace, authority=Authority(world.workspace, world.name))
    spec = {
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
                "effects": [{"set": {"shop/friend": world.root}}],
            }
        ],
    }
    workflows.define(spec, principal="ann")
    process = workflows.start("shop/way", "item/one", principal="ann").process_id
    problem = refusal(lambda: workflows.transition(process, "finish", principal="ann"))
    assert problem.code == "entity.protected"
    assert "cannot refer to an account" in problem.message
    assert "shop/friend" not in world.workspace.get("item/one").slots


def test_a_slot_that_is_made_for_accounts_refers_to_one(world: World) -> None:
    """As `family/members` of the pack care does."""
    for role in ROLES:
        db = world.as_role(role)
        made_by = db.transact([made("shop/Item", {"shop/clerk": world.robot})])
        assert db.get(made_by.entity_id)["shop/clerk"] == "robot/one"


@pytest.mark.parametrize("range", ["auth/Principal", "auth/Key", "staff/Robot"])
def test_only_an_admin_makes_such_a_slot(world: World, range: str) -> None:
    slot = {"mine/of": {"dt/range": range}}
    problem = refusal(lambda: world.as_role("writer").define(slot, {}))
    assert problem.code == "schema.admin-only"
    world.as_role("admin").define(slot, {})


def test_what_refers_to_an_account_since_before_stays_and_can_be_changed(world: World) -> None:
    """A database of an earlier version may have such references."""
    world.workspace.transact(
        [{"op": "update", "entity": world.item, "set": {"shop/friend": world.root}}],
        principal="an earlier version",
    )
    db = world.as_role("writer")
    db.transact([{"op": "update", "entity": world.item, "set": {"shop/name": "two"}}])
    db.transact([{"op": "update", "entity": world.item, "set": {"shop/friend": None}}])
    problem = refusal(
        lambda: db.transact(
            [{"op": "update", "entity": world.item, "set": {"shop/friend": world.root}}]
        )
    )
    assert problem.code == "entity.protected"


def test_who_refers_to_something_is_not_told_of_an_account(world: World) -> None:
    delete = [{"op": "delete", "entity": world.desk}]
    told = refusal(lambda: world.as_role("writer").transact(delete))
    assert told.code == "entity.referenced"
    assert told.data["referrers"] == []
    shown = refusal(lambda: world.as_role("admin").transact(delete)).data["referrers"]
    assert shown == [{"entity-id": world.robot, "slot": "staff/desk"}]
