"""`migrate` changes all instances by the rules of every other write, and loses nothing silently."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar import Conflict, Database
from tests.model.shop import codes_of, problem_of, refused, slots_of

TEXT: dict[str, Any] = {"dt/range": "db.type/string"}
MANY: dict[str, Any] = {"db/cardinality": "many"}
PLAIN = "hunter2"


SLOTS: dict[str, dict[str, Any]] = {
    "p/name": TEXT,
    "p/other": TEXT,
    "p/third": TEXT,
    "p/many": TEXT | MANY,
    "p/more": TEXT | MANY,
    "p/json": {"dt/range": "db.type/json"},
    "p/tuple": {"dt/range": "db.type/tuple"},
    "p/number": {"dt/range": "db.type/long"},
    "p/pin": TEXT | {"dt/secret?": True},
    "p/boss": {"dt/range": "p/Person"},
    "p/staff": {"dt/range": "p/Person", "dt/inverse-of": "p/boss"} | MANY,
}


@pytest.fixture
def people(db: Database) -> Database:
    """A class with a slot of each kind that is written in a way of its own."""
    classes = {
        "p/Person": {"dt/slots": list(SLOTS)},
        "p/Child": {"dt/subclass-of": ["p/Person"]},
    }
    db.define(properties=SLOTS, classes=classes)
    return db


def person(db: Database, **slots: Any) -> int:
    """Somebody new; `name="x"` means `p/name`."""
    return db.create("p/Person", {f"p/{key}": value for key, value in slots.items()}).entity_id


def migrate(db: Database, *before: dict[str, Any], **steps: Any) -> Any:
    """Run one migration of all people, after these operations; returns its outcome."""
    return db.transact([*before, {"op": "migrate", "class": "p/Person", **steps}]).outcomes[-1]


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ({"rename": {"p/name": "p/pin"}}, "slot.secret"),
        ({"rename": {"p/pin": "p/other"}}, "slot.secret"),
        ({"fill": {"p/pin": PLAIN}}, "slot.secret"),
        ({"rename": {"p/boss": "p/staff"}}, "slot.derived"),
        ({"fill": {"p/staff": []}}, "slot.derived"),
    ],
)
def test_what_is_not_written_like_others_is_refused(
    people: Database, steps: dict[str, Any], code: str
) -> None:
    boss = person(people, name=PLAIN, pin="secret")
    one = person(people, name=PLAIN, boss=boss)
    with refused(people, code) as problems:
        migrate(people, **steps)
    assert problems[0].hint
    assert PLAIN not in str(problems[0].data) + str(problems[0])
    assert slots_of(people, boss) == {"p/name": PLAIN, "p/staff": [one]}
    assert people.secret_matches(boss, "p/pin", "secret")


def test_a_cleared_secret_is_gone(people: Database) -> None:
    one, nobody = person(people, name="a", pin="secret"), person(people, name="b")
    assert migrate(people, clear=["p/pin"]).migrated == 1
    assert not people.secret_matches(one, "p/pin", "secret")
    assert not migrate(people, clear=["p/pin"]).changed
    assert [entry.t == people.t for entry in people.history(nobody)] == [False]
    for who in (one, nobody):
        people.update(who, {"p/pin": "another"})
    people.update("p/pin", {"dt/required?": True})
    with refused(people, "slot.required"):
        migrate(people, clear=["p/pin"])
    assert people.secret_matches(one, "p/pin", "another")


def test_what_becomes_secret_can_be_cleared_or_moved_away_first(people: Database) -> None:
    one = person(people, name=PLAIN)
    secret = {"op": "update", "entity": "p/name", "set": {"dt/secret?": True}}
    given = {"op": "update", "entity": one, "set": {"p/name": "hashed"}}
    migrate(people, secret, rename={"p/name": "p/other"})
    assert slots_of(people, one) == {"p/other": PLAIN}
    migrate(people, given, clear=["p/name"])
    assert not people.secret_matches(one, "p/name", "hashed")


def test_an_ident_is_read_as_that_of_a_create(people: Database) -> None:
    one = person(people, name="OTHER", other=":some/one")
    with refused(people, "keyword.malformed") as problems:
        migrate(people, rename={"p/name": "db/ident"})
    assert problems[0].data["entities"][0]["entity-id"] == one
    migrate(people, rename={"p/other": "db/ident"})
    assert people.get("some/one").entity_id == one
    person(people, other="some/one")
    with refused(people, "slot.not-unique"):
        migrate(people, rename={"p/other": "db/ident"})


def test_values_can_be_swapped_and_passed_on(people: Database) -> None:
    one = person(people, name="A", other="B", third="C")
    migrate(people, rename={"p/name": "p/other", "p/other": "p/name"})
    assert slots_of(people, one) == {"p/name": "B", "p/other": "A", "p/third": "C"}
    migrate(people, rename={"p/name": "p/other", "p/other": "p/third", "p/third": "p/name"})
    assert slots_of(people, one) == {"p/name": "C", "p/other": "B", "p/third": "A"}
    migrate(people, rename={"p/name": "p/other", "p/other": "p/third"}, clear=["p/third"])
    assert slots_of(people, one) == {"p/other": "C", "p/third": "B"}


def test_a_value_is_not_overwritten_silently(people: Database) -> None:
    free, same = person(people, name="A"), person(people, name="A", other="A")
    taken = person(people, name="A", other="B", many=["A"], more=["A", "B"])
    for rename in (
        {"p/name": "p/other"},
        {"p/many": "p/more"},
        {"p/name": "p/third", "p/other": "p/third"},
    ):
        with refused(people, "slot.occupied") as problems:
            migrate(people, rename=rename)
        problem = problems[0]
        assert isinstance(problem, Conflict)
        assert (problem.code, problem.data["broken"]) == ("migrate.unfit", 1)
        assert [entity["entity-id"] for entity in problem.data["entities"]] == [taken]
        assert str(taken) in str(problem)
    migrate(people, rename={"p/name": "p/other"}, clear=["p/other", "p/more"])
    for one in (free, same, taken):
        assert slots_of(people, one).get("p/other") == "A"
        assert "p/name" not in slots_of(people, one)


@pytest.mark.parametrize(
    ("rename", "code"),
    [
        ({"p/many": "p/name"}, "slot.single"),
        ({"p/many": "p/json"}, "slot.single"),
        ({"p/many": "p/tuple"}, "slot.single"),
        ({"p/name": "p/number"}, "value.type"),
        ({"p/tuple": "p/many"}, "value.type"),
    ],
)
def test_what_does_not_fit_is_told_with_its_entity(
    people: Database, rename: dict[str, str], code: str
) -> None:
    person(people, third="fits")
    for _ in range(25):
        unfit = person(people, many=["a", "b"], name="c", tuple=["d", "e"])
    (old,) = rename
    migrate(people, clear=[slot for slot in ("p/name", "p/many", "p/tuple") if slot != old])
    problem = problem_of(lambda: migrate(people, rename=rename))
    assert problem.code == "migrate.unfit"
    assert code in codes_of(problem)
    assert problem.data["broken"] == 25
    assert len(problem.data["entities"]) == 20
    assert unfit not in [entity["entity-id"] for entity in problem.data["entities"]]


def test_a_refused_migration_inside_a_function_leaves_everything(people: Database) -> None:
    one = person(people, name="A", other="B", pin="secret")

    def work() -> None:
        problem_of(lambda: migrate(people, rename={"p/name": "p/other"}, clear=["p/pin"]))
        people.update(one, {"p/third": "C"})

    people.run(work)
    assert slots_of(people, one) == {"p/name": "A", "p/other": "B", "p/third": "C"}
    assert people.secret_matches(one, "p/pin", "secret")


def test_only_what_has_the_slot_counts(people: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("migrating", "impact"):
        monkeypatch.setattr(f"sandbar.model.{room}.OPERATIONS_MAX", 2)
    ids = [person(people, name=name, other="x") for name in "abc"]
    person(people, third="d")
    people.create("p/Child", {"p/third": "e"})
    for slot, turned in (("p/number", "many"), ("p/third", "many"), ("p/many", "one")):
        people.update(slot, {"db/cardinality": turned})
    assert [e["p/third"] for e in people.each("p/Person") if "p/third" in e.slots] == [["d"], ["e"]]
    outcome = migrate(people, rename={"p/number": "p/json"}, clear=["p/more"])
    assert (outcome.changed, outcome.migrated) == (False, 0)
    outcome = migrate(people, clear=["p/third"])
    assert (outcome.changed, outcome.migrated) == (True, 2)
    for call in (
        lambda: people.update("p/name", {"db/cardinality": "many"}),
        lambda: migrate(people, clear=["p/name"]),
        lambda: migrate(people, rename={"p/name": "p/number"}),
        lambda: migrate(people, fill={"p/number": [1]}),
        lambda: migrate(people, clear=["p/pin"]),  # to know who has one, each is asked
    ):
        with refused(people, "migrate.too-many") as problems:
            call()
        assert problems[0].hint
    people.update(ids[0], {"p/name": None})
    people.update("p/name", {"db/cardinality": "many"})
    assert [slots_of(people, id).get("p/name") for id in ids] == [None, ["b"], ["c"]]


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ({"rename": {"p/name": "p/many"}}, "slot.occupied"),
        ({"fill": {"p/many": "z"}}, "slot.single"),
        ({"clear": ["p/more"], "fill": {"p/many": "z"}}, "slot.single"),
    ],
)
def test_what_has_no_form_by_the_new_rules_is_not_overwritten_either(
    people: Database, steps: dict[str, Any], code: str
) -> None:
    one = person(people, name="A", many=["a", "b"], more=["c"])
    single = {"op": "update", "entity": "p/many", "set": {"db/cardinality": "one"}}
    with refused(people, code) as problems:
        migrate(people, single, **steps)
    assert problems[0].data["entities"][0]["entity-id"] == one
    migrate(people, single, rename={"p/name": "p/many", "p/many": "p/more"}, clear=["p/more"])
    assert slots_of(people, one) == {"p/many": "A", "p/more": ["a", "b"]}
