"""A change of the metamodel never leaves an entity behind that the new rules would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar import Conflict, Database
from tests.model.shop import item, problem_of, refused, slots_of

TEXT = {"dt/range": "db.type/string"}


@pytest.fixture
def house(db: Database) -> Database:
    """A class with slots of several kinds, and nothing that constrains them."""
    db.define(
        properties={
            "a/text": TEXT,
            "a/number": {"dt/range": "db.type/long"},
            "a/many": {**TEXT, "db/cardinality": "many"},
            "a/ref": {"dt/range": "db.type/ref"},
            "a/base": {"dt/range": "my/Base"},
            "a/inherited": TEXT,
        },
        classes={
            "my/Base": {"dt/slots": ["a/inherited"]},
            "my/Other": {},
            "my/Thing": {
                "dt/slots": ["a/text", "a/number", "a/many", "a/ref", "a/base"],
                "dt/subclass-of": ["my/Base"],
            },
            "my/Special": {"dt/subclass-of": ["my/Thing"]},
        },
    )
    return db


# What is changed, to what, and slots that the change forbids and allows; {other} is an instance
# of my/Other, {thing} one of my/Thing.
TIGHTENINGS: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "required": ("a/text", {"dt/required?": True}, {}, {"a/text": ""}),
    "range": ("a/text", {"dt/range": "db.type/keyword"}, {"a/text": "a b"}, {"a/text": "ab"}),
    "value type": ("a/number", {"dt/range": "db.type/string"}, {"a/number": 3}, {}),
    "class of reference": (
        "a/ref", {"dt/range": "my/Thing"}, {"a/ref": "{other}"}, {"a/ref": "{thing}"},
    ),
    "number to any reference": ("a/number", {"dt/range": "db.type/ref"}, {"a/number": 10**9}, {}),
    "number to a reference": ("a/number", {"dt/range": "my/Thing"}, {"a/number": "{other}"}, {}),
    "cardinality": ("a/many", {"db/cardinality": "one"}, {"a/many": ["x", "y"]}, {}),
    "one-of": ("a/text", {"dt/one-of": ["x", "y"]}, {"a/text": "z"}, {"a/text": "y"}),
    "one-of in many": ("a/many", {"dt/one-of": ["x"]}, {"a/many": ["x", "z"]}, {"a/many": ["x"]}),
    "pattern": ("a/text", {"dt/pattern": "^[a-z]+$"}, {"a/text": "A"}, {"a/text": "a"}),
    "min": ("a/number", {"dt/min": 10}, {"a/number": 9}, {"a/number": 10}),
    "max": ("a/number", {"dt/max": 10}, {"a/number": 11}, {"a/number": 10}),
    "length": ("a/text", {"dt/max": 3}, {"a/text": "four"}, {"a/text": "öøå"}),
    "secret": ("a/text", {"dt/secret?": True}, {"a/text": "x"}, {}),
    "abstract": ("my/Thing", {"dt/abstract?": True}, {}, {"class": "my/Special"}),
    "validator": (
        "my/Base",
        {"dt/validator": '"a/number" in this && this["a/number"] > 0'},
        {"a/number": 0},
        {"a/number": 1},
    ),
    "slot removed": ("my/Thing", {"dt/slots": ["a/number"]}, {"a/text": "x"}, {"a/number": 1}),
    "parent removed": ("my/Thing", {"dt/subclass-of": []}, {"a/inherited": "x"}, {"a/text": "x"}),
    "parent of a referred class removed": (
        "my/Thing", {"dt/subclass-of": []}, {"a/base": "{thing}"}, {"a/text": "x"},
    ),
}  # fmt: skip


def prepare(db: Database, slots: dict[str, Any]) -> int:
    """An entity with these slots, and what they refer to."""
    others = {
        "{other}": lambda: db.create("my/Other", {}).entity_id,
        "{thing}": lambda: db.create("my/Special", {"a/number": 5, "a/text": "a"}).entity_id,
    }
    given = {
        key: others[value]() if isinstance(value, str) and value in others else value
        for key, value in slots.items()
    }
    return db.create(given.pop("class", "my/Thing"), given).entity_id


@pytest.mark.parametrize("kind", TIGHTENINGS)
def test_a_stricter_rule_is_refused_while_an_entity_breaks_it(house: Database, kind: str) -> None:
    name, change, wrong, _ = TIGHTENINGS[kind]
    bad = prepare(house, wrong)
    generation, before = house.schema.generation, house.schema.dump()
    with refused(house, "schema.would-break") as problems:
        house.update(name, change)
    problem = problems[0]
    assert isinstance(problem, Conflict)
    assert problem.hint
    assert bad in [entity["entity-id"] for entity in problem.data["entities"]]
    assert all(entity["findings"] for entity in problem.data["entities"])
    assert (house.schema.generation, house.schema.dump()) == (generation, before)


@pytest.mark.parametrize("kind", TIGHTENINGS)
def test_a_stricter_rule_is_accepted_when_all_entities_satisfy_it(
    house: Database, kind: str
) -> None:
    name, change, wrong, right = TIGHTENINGS[kind]
    prepare(house, right)
    generation = house.schema.generation
    house.update(name, change)
    assert house.schema.generation == generation + 1
    if kind == "secret":
        assert slots_of(house, prepare(house, wrong)) == {}
    else:
        problem_of(lambda: prepare(house, wrong))  # from now on it binds


@pytest.mark.parametrize(
    ("kind", "migration"),
    [
        ("required", {"fill": {"a/text": "filled"}}),
        ("one-of", {"clear": ["a/text"]}),
        ("one-of", {"rename": {"a/text": "a/inherited"}}),
        ("pattern", {"clear": ["a/text"]}),
        ("min", {"clear": ["a/number"]}),
        ("slot removed", {"clear": ["a/text"]}),
        ("slot removed", {"rename": {"a/text": "a/inherited"}}),
        ("parent removed", {"clear": ["a/inherited"]}),
        ("parent removed", {"rename": {"a/inherited": "a/text"}}),
        ("validator", {"clear": ["a/number"], "fill": {"a/number": 1}}),
        ("cardinality", {"clear": ["a/many"]}),
    ],
)
def test_a_migration_in_the_same_transaction_makes_it_fit(
    house: Database, kind: str, migration: dict[str, Any]
) -> None:
    name, change, wrong, _ = TIGHTENINGS[kind]
    bad = prepare(house, wrong)
    before = slots_of(house, bad)
    written = house.transact(
        [
            {"op": "update", "entity": name, "set": change},
            {"op": "migrate", "class": "my/Thing", **migration},
        ],
        reason="stricter",
    )
    after = slots_of(house, bad)
    for slot, value in migration.get("fill", {}).items():
        assert after[slot] == value
    for old, new in migration.get("rename", {}).items():
        assert after[new] == before[old]
        assert old not in after
    assert slots_of(house, bad, as_of=written.t - 1) == before
    assert house.history(bad)[-1].reason == "stricter"


def test_a_migration_reaches_subclasses_and_only_what_needs_it(house: Database) -> None:
    special = house.create("my/Special", {"a/text": "kept"}).entity_id
    thing = house.create("my/Thing", {"a/number": 4}).entity_id
    house.transact(
        [
            {"op": "update", "entity": "a/text", "set": {"dt/required?": True}},
            {"op": "migrate", "class": "my/Thing", "fill": {"a/text": "new"}},
        ]
    )
    assert slots_of(house, special) == {"a/text": "kept"}
    assert slots_of(house, thing) == {"a/text": "new", "a/number": 4}


def test_one_value_becomes_many_and_one_again(house: Database) -> None:
    thing = house.create("my/Special", {"a/text": "x", "a/many": ["y"]}).entity_id
    house.update("a/text", {"dt/indexed?": True})
    for text, many, shown in (
        ("many", "one", {"a/text": ["x"], "a/many": "y"}),
        ("one", "many", {"a/text": "x", "a/many": ["y"]}),
    ):
        for slot, cardinality in (("a/text", text), ("a/many", many)):
            house.update(slot, {"db/cardinality": cardinality})
        assert slots_of(house, thing) == shown
        assert [e.entity_id for e in house.each("my/Thing", {"a/text": "x"})] == [thing]
    house.update(thing, add={"a/many": "z"})
    with refused(house, "schema.would-break"):
        house.update("a/many", {"db/cardinality": "one"})


def test_a_migration_that_does_not_suffice_changes_nothing(house: Database) -> None:
    bad = house.create("my/Thing", {"a/text": "Z", "a/number": 1}).entity_id
    with refused(house, "schema.would-break"):
        house.transact(
            [
                {"op": "update", "entity": "a/text", "set": {"dt/one-of": ["x"]}},
                {"op": "migrate", "class": "my/Thing", "clear": ["a/number"]},
            ]
        )
    assert slots_of(house, bad) == {"a/text": "Z", "a/number": 1}


def test_repairs_by_plain_updates_in_the_same_transaction_count(house: Database) -> None:
    bad = house.create("my/Thing", {"a/text": "Z"}).entity_id
    house.transact(
        [
            {"op": "update", "entity": "a/text", "set": {"dt/one-of": ["x"]}},
            {"op": "update", "entity": bad, "set": {"a/text": "x"}},
        ]
    )
    assert slots_of(house, bad) == {"a/text": "x"}


@pytest.mark.parametrize("unique", ["identity", "value"])
def test_uniqueness_is_refused_while_values_are_shared(house: Database, unique: str) -> None:
    one = house.create("my/Thing", {"a/text": "same"}).entity_id
    two = house.create("my/Special", {"a/text": "same"}).entity_id
    with refused(house, "schema.would-break") as problems:
        house.update("a/text", {"db/unique": unique})
    assert {entity["entity-id"] for entity in problems[0].data["entities"]} <= {one, two}
    assert "slot.not-unique" in str(problems[0].data)
    house.update(two, {"a/text": "other"})
    house.update("a/text", {"db/unique": unique})
    assert house.get({"a/text": "other"}).entity_id == two
    with refused(house, "slot.not-unique"):
        house.create("my/Thing", {"a/text": "other"})
    house.update("a/text", {"db/unique": None})
    house.create("my/Thing", {"a/text": "other"})
    assert problem_of(lambda: house.get({"a/text": "other"})).code == "reference.not-unique"


def test_the_report_counts_all_and_shows_some(house: Database) -> None:
    house.transact(
        [{"op": "create", "class": "my/Thing", "slots": {"a/number": n}} for n in range(50)]
    )
    problem = problem_of(lambda: house.update("a/number", {"dt/min": 10, "dt/max": 45}))
    assert problem.data["broken"] == 14
    assert len(problem.data["entities"]) == 14
    problem = problem_of(lambda: house.update("a/number", {"dt/min": 1000}))
    assert problem.data["broken"] == 50
    assert len(problem.data["entities"]) == 20


def test_a_slot_can_be_indexed_later_and_unindexed_again(shop: Database) -> None:
    def by_stock(as_of: int | None = None) -> list[str]:
        found = shop.query("shop/Item", {"item/stock": {">=": 2}}, as_of=as_of).items
        return sorted(entity["item/name"] for entity in found)

    for n in range(5):
        item(shop, str(n), stock=n)
    before = shop.t
    assert by_stock() == ["2", "3", "4"]
    assert problem_of(lambda: shop.query("shop/Item", order_by="item/stock")).hint
    shop.update("item/stock", {"dt/indexed?": True})
    indexed = shop.t
    shop.update(shop.query("shop/Item").items[4].entity_id, {"item/stock": 0})
    assert by_stock() == ["2", "3"]
    assert by_stock(before) == by_stock(indexed) == ["2", "3", "4"]
    ordered = shop.query("shop/Item", order_by="-item/stock").items
    assert [entity["item/name"] for entity in ordered[:2]] == ["3", "2"]
    ordered = shop.query("shop/Item", order_by="-item/stock", as_of=indexed).items
    assert [entity["item/name"] for entity in ordered] == ["4", "3", "2", "1", "0"]
    shop.update("item/stock", {"dt/indexed?": False})
    assert by_stock() == ["2", "3"]
    assert by_stock(before) == by_stock(indexed) == ["2", "3", "4"]
    item(shop, "5", stock=5)
    assert by_stock() == ["2", "3", "5"]
    shop.update("item/stock", {"dt/indexed?": True})
    assert by_stock() == ["2", "3", "5"]
    assert shop.query("shop/Item", order_by="-item/stock").items[0]["item/stock"] == 5


@pytest.mark.parametrize("values", [["x", "y"], ["x"]])
def test_a_slot_can_become_single_and_indexed_at_once(house: Database, values: list[str]) -> None:
    id = house.create("my/Thing", {"a/many": values}).entity_id
    change = {"db/cardinality": "one", "dt/indexed?": True}
    if len(values) > 1:
        problem = problem_of(lambda: house.update("a/many", change))
        assert problem.code == "schema.would-break"
        assert problem.data["entities"][0]["findings"][0]["code"] == "slot.single"
        return
    house.update("a/many", change)
    assert house.query("my/Thing", {"a/many": "x"}, order_by="a/many").items[0].entity_id == id
    house.update("a/many", {"db/cardinality": "many"})
    assert house.query("my/Thing", {"a/many": "x"}).items[0]["a/many"] == ["x"]


def test_an_instance_follows_rules_that_come_with_it(house: Database) -> None:
    """Whatever the order: the metamodel comes first."""
    written = house.transact(
        [
            {"op": "create", "class": "my/Thing", "slots": {"a/number": 5, "a/many": "x"}},
            {
                "op": "update",
                "entity": "a/number",
                "set": {"dt/range": "db.type/bigdec", "dt/indexed?": True},
            },
            {"op": "update", "entity": "a/many", "set": {"db/cardinality": "one"}},
        ]
    )
    assert slots_of(house, written.entity_id) == {"a/number": "5", "a/many": "x"}
    assert len(house.query("my/Thing", {"a/number": "5.0"}).items) == 1


def test_a_new_slot_may_refer_to_a_class_that_others_leave(house: Database) -> None:
    house.create("my/Thing", {"a/text": "x"})
    house.transact(
        [
            {
                "op": "create",
                "class": "dt/Property",
                "slots": {"db/ident": "a/new", "dt/range": "my/Base"},
            },
            {
                "op": "update",
                "entity": "my/Thing",
                "set": {"dt/subclass-of": ["dt/Resource"]},
                "add": {"dt/slots": ["a/new"]},
            },
        ]
    )
    base = house.create("my/Base", {}).entity_id
    assert house.create("my/Thing", {"a/new": base}).created


def test_an_indexed_slot_can_change_its_kind(shop: Database) -> None:
    item(shop, "b"), item(shop, "a")
    shop.update("item/name", {"dt/range": "db.type/keyword"})
    found = shop.query("shop/Item", {"item/name": {">=": "a"}}, order_by="item/name").items
    assert [entity["item/name"] for entity in found] == ["a", "b"]
    shop.update("item/price", {"dt/range": "db.type/bigint"})
    assert shop.query("shop/Item", {"item/price": {">": 1}}).items == []


def test_renaming_keeps_all_data(shop: Database) -> None:
    hat = item(shop, "Hat", tags=["a"])
    before = shop.t
    shop.update("item/name", {"db/ident": "item/title"})
    shop.update("shop/Item", {"db/ident": "shop/Ware"})
    assert shop.get(hat).class_ == "shop/Ware"
    assert slots_of(shop, hat)["item/title"] == "Hat"
    assert shop.query("shop/Ware", {"item/title": "Hat"}).items[0].entity_id == hat
    old = shop.get(hat, as_of=before)
    assert (old.class_, old["item/name"]) == ("shop/Item", "Hat")
    found = shop.query("shop/Item", {"item/name": "Hat"}, as_of=before).items
    assert [entity["item/name"] for entity in found] == ["Hat"]
    with refused(shop, "class.unknown"):
        item(shop, "Cap")
    assert shop.history(hat)[0].changes[0].slot in ("item/name", "db/ident", "item/tags")


def test_the_past_is_read_with_the_schema_of_its_time(house: Database) -> None:
    thing = house.create("my/Thing", {"a/number": 3}).entity_id
    first = house.t
    house.transact(
        [
            {"op": "migrate", "class": "my/Thing", "clear": ["a/number"]},
            {"op": "update", "entity": "a/number", "set": {"dt/range": "db.type/string"}},
        ]
    )
    house.update(thing, {"a/number": "three"})
    assert slots_of(house, thing)["a/number"] == "three"
    assert slots_of(house, thing, as_of=first)["a/number"] == 3
    assert house.schema_as_of(first).range("a/number") == "db.type/long"
    assert house.schema.range("a/number") == "db.type/string"
    found = house.query("my/Thing", {"a/number": {"<": 5}}, as_of=first).items
    assert [entity.entity_id for entity in found] == [thing]


def test_loosening_is_always_accepted(shop: Database) -> None:
    hat = item(shop, "Hat", price="3.5")
    shop.update("item/name", {"dt/required?": False})
    shop.update("item/name", {"dt/indexed?": None})
    shop.update("item/price", {"dt/min": "0"})
    shop.update("item/price", {"dt/min": None})
    shop.update("item/maker", {"dt/range": "db.type/ref"})
    shop.update(hat, {"item/name": None, "item/maker": hat})
    assert slots_of(shop, hat)["item/price"] == "3.5"


@pytest.mark.parametrize("values", [[["EU", 42]], [["EU", 42], []]], ids=["one", "several"])
@pytest.mark.parametrize("kind", ["db.type/tuple", "db.type/json"])
def test_one_value_that_is_a_list_counts_as_one(
    house: Database, kind: str, values: list[Any]
) -> None:
    house.update("a/text", {"dt/range": kind})
    house.update("a/many", {"dt/range": kind})
    thing = house.create("my/Thing", {"a/text": values[0], "a/many": values}).entity_id
    house.update("a/text", {"dt/required?": True})
    house.update("a/text", {"dt/one-of": [["EU", 42]]})
    with refused(house, "value.not-allowed"):
        house.update("a/text", {"dt/one-of": [["US", 1]]})
    if len(values) > 1:
        with refused(house, "slot.single") as problems:
            house.update("a/many", {"db/cardinality": "one"})
        assert problems[0].data["entities"][0]["entity-id"] == thing
        return
    house.update("a/many", {"db/cardinality": "one"})
    assert slots_of(house, thing)["a/many"] == ["EU", 42]
    house.update("a/many", {"db/cardinality": "many"})
    assert slots_of(house, thing)["a/many"] == values


@pytest.mark.parametrize("kind", ["db.type/tuple", "db.type/json"])
def test_several_values_do_not_become_one_list(house: Database, kind: str) -> None:
    thing = house.create("my/Thing", {"a/many": ["x", "y"]}).entity_id
    with refused(house, "slot.single") as problems:
        house.update("a/many", {"db/cardinality": "one", "dt/range": kind})
    assert problems[0].code == "schema.would-break"
    assert problems[0].data["broken"] == 1
    house.update(thing, {"a/many": ["x"]})
    if kind == "db.type/json":
        house.update("a/many", {"db/cardinality": "one", "dt/range": kind})
        assert slots_of(house, thing) == {"a/many": "x"}


@pytest.mark.parametrize("was_unique", [True, False])
@pytest.mark.parametrize("kind", ["db.type/long", "my/Other", "db.type/instant", "db.type/bytes"])
def test_values_that_do_not_fit_a_unique_slot_are_reported(
    house: Database, kind: str, was_unique: bool
) -> None:
    if was_unique:
        house.update("a/text", {"db/unique": "value"})
    wrong = [house.create("my/Thing", {"a/text": text}).entity_id for text in ("?", "a?")]
    house.create("my/Thing", {"a/number": 1})
    with refused(house, "schema.would-break") as problems:
        house.update("a/text", {"dt/range": kind, "db/unique": "value"})
    assert problems[0].data["broken"] == 2
    assert [entity["entity-id"] for entity in problems[0].data["entities"]] == wrong


def test_a_new_unique_slot_may_refer_to_a_class_that_others_leave(house: Database) -> None:
    unique = {"db/ident": "a/new", "dt/range": "my/Base", "db/unique": "value"}
    house.transact(
        [
            {"op": "create", "class": "dt/Property", "slots": unique},
            {
                "op": "update",
                "entity": "my/Thing",
                "set": {"dt/subclass-of": ["dt/Resource"]},
                "add": {"dt/slots": ["a/new"]},
            },
        ]
    )
    assert house.schema.describe_property("a/new")["unique"] == "value"
