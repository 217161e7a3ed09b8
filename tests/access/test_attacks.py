"""A writer cannot become an admin, nor touch what is an admin's, by any operation."""

from __future__ import annotations

import pytest

from sandbar.errors import Problem
from tests.access.attacks import ATTACKS
from tests.access.world import World

REFUSALS = {"entity.protected", "schema.admin-only", "access.admin-only"}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_is_refused_and_changes_nothing(name: str, world: World) -> None:
    before = world.treasure()
    with pytest.raises(Problem) as refusal:
        ATTACKS[name](world.as_role("writer"), world)
    findings = refusal.value.data.get("findings", [])
    assert {refusal.value.code, *(finding["code"] for finding in findings)} & REFUSALS
    assert world.treasure() == before
    assert before["mallory"] == "writer"
    assert before["root"] == "admin"


@pytest.mark.parametrize("name", ATTACKS)
def test_without_the_guard_the_attack_succeeds(name: str, world: World) -> None:
    before = world.treasure()
    ATTACKS[name](world.as_admin(), world)
    assert world.treasure() != before


def test_a_reader_changes_nothing_at_all(world: World) -> None:
    before, t = world.treasure(), world.workspace.last_t()
    for attack in ATTACKS.values():
        with pytest.raises(Problem):
            attack(world.as_role("reader"), world)
    assert world.treasure() == before
    assert world.workspace.last_t() == t


def test_there_are_many_attacks() -> None:
    assert len(ATTACKS) >= 25


def test_a_writer_does_its_own_work(world: World) -> None:
    db = world.as_role("writer")
    db.define(
        {"mine/name": {"dt/range": "db.type/string"}, "mine/of": {"dt/range": "shop/Item"}},
        {"mine/Thing": {"dt/subclass-of": ["shop/Item"], "dt/slots": ["mine/name", "mine/of"]}},
    )
    made = db.transact(
        [
            {
                "op": "create",
                "class": "mine/Thing",
                "slots": {"mine/name": "x", "mine/of": world.desk},
            }
        ]
    )
    db.transact([{"op": "update", "entity": made.entity_id, "set": {"mine/name": "y"}}])
    assert db.get(made.entity_id)["mine/name"] == "y"
    assert len(db.history(made.entity_id)) == 2
    db.transact([{"op": "delete", "entity": made.entity_id}])
    db.transact([{"op": "restore", "entity": made.entity_id}])
    # Saying again what is there already changes nothing, so nobody minds.
    db.define({"mine/name": {"dt/range": "db.type/string"}}, {})
    with pytest.raises(Problem) as refusal:
        db.define({"mine/name": {"dt/pattern": "x"}}, {})
    assert refusal.value.code == "schema.admin-only"
