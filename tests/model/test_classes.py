"""Inheritance, abstract classes and validators."""

from __future__ import annotations

import pytest

from sandbar import Database
from tests.model.shop import codes_of, problem_of, refused, slots_of

TEXT = {"dt/range": "db.type/string"}


@pytest.fixture
def diamond(db: Database) -> Database:
    """One above, two beside each other, one below both."""
    db.define(
        properties={
            "d/top": {**TEXT, "dt/required?": True},
            "d/left": TEXT,
            "d/right": {**TEXT, "dt/default": "r"},
            "d/bottom": TEXT,
        },
        classes={
            "d/Top": {"dt/slots": ["d/top"], "dt/abstract?": True},
            "d/Left": {"dt/slots": ["d/left"], "dt/subclass-of": ["d/Top"]},
            "d/Right": {"dt/slots": ["d/right"], "dt/subclass-of": ["d/Top"]},
            "d/Bottom": {"dt/slots": ["d/bottom"], "dt/subclass-of": ["d/Left", "d/Right"]},
        },
    )
    return db


def test_a_diamond_inherits_every_slot_once(diamond: Database) -> None:
    own = {"d/top", "d/left", "d/right", "d/bottom"}
    assert set(diamond.schema.slots("d/Bottom")) & own == own
    assert diamond.schema.ancestors("d/Bottom") == ["d/Left", "d/Right", "d/Top", "dt/Resource"]
    assert diamond.schema.subclasses("d/Top") == ["d/Bottom", "d/Left", "d/Right"]
    id = diamond.create("d/Bottom", {"d/top": "t", "d/bottom": "b"}).entity_id
    assert slots_of(diamond, id) == {"d/top": "t", "d/bottom": "b", "d/right": "r"}
    for cls in ("d/Top", "d/Left", "d/Right", "d/Bottom"):
        found = [entity.entity_id for entity in diamond.each(cls)]
        assert found == [id]
        assert diamond.instance_of(id, cls)
    with refused(diamond, "slot.required"):
        diamond.create("d/Bottom", {})


def test_an_abstract_class_has_no_instances_of_its_own(diamond: Database) -> None:
    with refused(diamond, "class.abstract") as problems:
        diamond.create("d/Top", {"d/top": "t"})
    assert "d/Top" in str(problems[0].hint)
    diamond.update("d/Top", {"dt/abstract?": False})
    assert diamond.create("d/Top", {"d/top": "t"}).created


def test_a_class_cannot_be_its_own_ancestor(diamond: Database) -> None:
    for name, parents in (
        ("d/Top", ["d/Bottom"]),
        ("d/Top", ["d/Top"]),
        ("d/Left", ["d/Bottom", "d/Top"]),
    ):
        with refused(diamond, "class.cycle"):
            diamond.update(name, {"dt/subclass-of": parents})
    with refused(diamond, "class.cycle"):
        diamond.define(
            classes={"x/A": {"dt/subclass-of": ["x/B"]}, "x/B": {"dt/subclass-of": ["x/A"]}}
        )
    assert "x/A" not in diamond.schema.classes()


def test_a_slot_added_above_is_usable_below_at_once(diamond: Database) -> None:
    id = diamond.create("d/Bottom", {"d/top": "t"}).entity_id
    diamond.define(properties={"d/new": {**TEXT, "dt/indexed?": True}})
    diamond.update("d/Top", add={"dt/slots": ["d/new"]})
    diamond.update(id, {"d/new": "n"})
    assert [entity.entity_id for entity in diamond.each("d/Left", {"d/new": "n"})] == [id]


def test_validators_hold_on_create_and_update_and_below(diamond: Database) -> None:
    diamond.update("d/Top", {"dt/validator": 'this["d/top"] != "bad"'})
    diamond.update("d/Right", {"dt/validator": 'this["d/right"] != "wrong"'})
    for cls in ("d/Left", "d/Right", "d/Bottom"):
        with refused(diamond, "class.validator") as problems:
            diamond.create(cls, {"d/top": "bad"})
        assert 'this["d/top"] != "bad"' in str(problems[0].hint)
        id = diamond.create(cls, {"d/top": "good"}).entity_id
        with refused(diamond, "class.validator"):
            diamond.update(id, {"d/top": "bad"})
    problem = problem_of(lambda: diamond.create("d/Bottom", {"d/top": "bad", "d/right": "wrong"}))
    assert len(problem.data["findings"]) == 2
    assert diamond.create("d/Left", {"d/top": "x"}).created


def test_a_validator_sees_all_kinds_of_values(db: Database) -> None:
    names = {
        "v/long": {"dt/range": "db.type/long"},
        "v/dec": {"dt/range": "db.type/bigdec"},
        "v/when": {"dt/range": "db.type/instant"},
        "v/tags": {**TEXT, "db/cardinality": "many"},
        "v/yes": {"dt/range": "db.type/boolean"},
    }
    db.define(
        properties=names,
        classes={
            "v/Class": {
                "dt/slots": list(names),
                "dt/validator": '(!("v/long" in this) || this["v/long"] > 2)'
                ' && (!("v/dec" in this) || this["v/dec"] < 1.5)'
                ' && (!("v/when" in this) || this["v/when"].getFullYear() > 2000)'
                ' && (!("v/tags" in this) || this["v/tags"].all(t, t != "no"))'
                ' && (!("v/yes" in this) || this["v/yes"])',
            }
        },
    )
    id = db.create(
        "v/Class",
        {"v/long": 3, "v/dec": "1.25", "v/when": "2026-01-01", "v/tags": ["a"], "v/yes": True},
    ).entity_id
    for wrong in (
        {"v/long": 2},
        {"v/dec": "1.5"},
        {"v/when": "1999-12-31T23:59:59Z"},
        {"v/tags": ["a", "no"]},
        {"v/yes": False},
    ):
        with refused(db, "class.validator"):
            db.update(id, wrong)
    db.update(id, dict.fromkeys(names))
    assert slots_of(db, id) == {}


def test_a_validator_that_fails_refuses_rather_than_passes(diamond: Database) -> None:
    diamond.update("d/Left", {"dt/validator": 'this["d/left"] != "x"'})
    problem = problem_of(lambda: diamond.create("d/Left", {"d/top": "t"}))  # the slot is absent
    assert problem.hint
    assert codes_of(problem) - {"entity.invalid", "class.validator"}
    assert diamond.create("d/Left", {"d/top": "t", "d/left": "y"}).created


def test_a_class_may_gain_and_lose_parents(diamond: Database) -> None:
    id = diamond.create("d/Bottom", {"d/top": "t"}).entity_id
    diamond.update(id, {"d/right": None})
    diamond.update("d/Bottom", remove={"dt/subclass-of": ["d/Right"]})
    assert [entity.entity_id for entity in diamond.each("d/Right")] == []
    with refused(diamond, "slot.unknown"):
        diamond.update(id, {"d/right": "x"})
    diamond.update("d/Bottom", add={"dt/subclass-of": ["d/Right"]})
    assert [entity.entity_id for entity in diamond.each("d/Right")] == [id]
    assert [entity.entity_id for entity in diamond.each("d/Right", as_of=diamond.t - 1)] == []
