"""The metamodel describes itself, survives a dump, and is the same for everybody at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from sandbar import Conflict, Database, Problem
from tests.model.conftest import Place
from tests.model.shop import define as define_shop
from tests.model.shop import item, problem_of, slots_of


def test_class_is_an_instance_of_itself(db: Database) -> None:
    cls = db.get("dt/Class")
    assert cls.class_ == "dt/Class"
    assert db.instance_of("dt/Class", "dt/Class")
    assert db.instance_of("dt/Property", "dt/Class")
    assert db.instance_of("dt/range", "dt/Property")
    assert db.instance_of("db.type/string", "dt/Class")
    assert cls.entity_id in [entity.entity_id for entity in db.each("dt/Class")]
    assert set(db.schema.slots("dt/Class")) >= set(cls.slots) - {"dt/type"}


def test_every_class_has_ident_doc_and_label(db: Database) -> None:
    db.define(classes={"my/Alone": {}, "my/Below": {"dt/subclass-of": ["my/Alone"]}})
    for name in ("my/Alone", "my/Below", "dt/List"):
        assert {"db/ident", "db/doc", "dt/label"} <= set(db.schema.slots(name))
    db.create("my/Alone", {"db/ident": "my/one", "db/doc": "d", "dt/label": "l"})
    assert "dt/Resource" in db.schema.ancestors("my/Below")
    assert "my/Alone" in db.schema.subclasses("dt/Resource", direct=True)
    assert "my/one" in [entity.ident for entity in db.each("dt/Resource")]


def test_introspection_and_entities_say_the_same(shop: Database) -> None:
    schema = shop.schema
    assert schema.classes() == sorted(e.ident or "" for e in shop.each("dt/Class"))
    assert schema.properties() == sorted(e.ident or "" for e in shop.each("dt/Property"))
    boot = shop.get("shop/Boot")
    assert boot["dt/subclass-of"] == schema.parents("shop/Boot") == ["shop/Item"]
    assert schema.is_subclass("shop/Boot", "dt/Ref")
    assert not schema.is_subclass("shop/Item", "shop/Boot")
    assert schema.required_slots("shop/Boot") == ["item/name"]
    assert schema.range("item/maker") == "shop/Maker"
    assert schema.cardinality("item/tags") == "many"
    assert schema.domain("item/name") == ["shop/Item"]
    assert schema.direct_slots("shop/Boot") == []


def test_a_dump_loads_into_the_same_dump(place: Place) -> None:
    def dumped(name: str, metamodel: bytes | None) -> bytes:
        return place.open(f"{place.workspace}-{name}", metamodel=metamodel).schema.dump()

    core = dumped("core", None)
    assert dumped("core-again", core) == core
    shop = place.open(f"{place.workspace}-shop")
    define_shop(shop)
    shop.define(
        properties={
            "odd/default": {
                "dt/range": "db.type/json",
                "dt/default": {"a": [1, 1.5, None, "ü\u2028"]},
            },
            "odd/one-of": {"dt/range": "db.type/double", "dt/one-of": [1.5, 2], "dt/min": 0.5},
            "odd/pattern": {
                "dt/range": "db.type/string",
                "dt/pattern": '^"\\d+\\\\"$',
                "dt/max": 9,
            },
            "odd/ref": {"dt/range": "db.type/ref", "dt/domain": ["shop/Item", "shop/Boot"]},
        },
        classes={"odd/Class": {"dt/slots": ["odd/ref", "odd/default"], "dt/validator": "1 < 2"}},
    )
    with_user_classes = shop.schema.dump()
    assert dumped("shop-again", with_user_classes) == with_user_classes
    loaded = place.open(f"{place.workspace}-shop-again")
    assert loaded.schema.describe("shop/Boot") == shop.schema.describe("shop/Boot")
    hat = item(loaded, "Hat", maker=loaded.create("shop/Maker", {}).entity_id)
    assert slots_of(loaded, hat)["item/name"] == "Hat"
    assert loaded.query("shop/Item", {"item/name": "Hat"}).items[0].entity_id == hat
    loaded.define(properties={"more/text": {"dt/range": "db.type/string"}})


def test_a_dump_can_cross_from_one_store_to_the_other(pair: tuple[Place, Place]) -> None:
    here, there = pair
    for one, other in ((here, there), (there, here)):
        source = one.open()
        define_shop(source)
        dump = source.schema.dump()
        target = other.open(f"{other.workspace}-copy", metamodel=dump)
        assert target.schema.dump() == dump
        assert item(target, "Hat")


def tamper(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[bytes], bytes]:
    """A dump with something changed."""

    def changed(dump: bytes) -> bytes:
        entries = json.loads(dump)
        change(entries)
        return json.dumps(entries).encode()

    return changed


def last(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The slots of the last entry, a class."""
    slots: dict[str, Any] = entries[-1]["slots"]
    return slots


TAMPERINGS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda dump: b"",
    "no JSON": lambda dump: dump[:-5],
    "no list": lambda dump: b"{}",
    "no entries": lambda dump: b"[]",
    "not UTF-8": lambda dump: b"\xff\xfe" + dump,
    "deep": lambda dump: b"[" * 100_000,
    "core changed": tamper(lambda e: e[0]["slots"].update({"db/doc": "mine"})),
    "core missing": tamper(lambda e: e.pop(30)),
    "core twice": tamper(lambda e: e.append(e[3])),
    "id twice": tamper(lambda e: e[-1].update({"id": e[-2]["id"]})),
    "ident twice": tamper(lambda e: last(e).update({"db/ident": e[-2]["slots"]["db/ident"]})),
    "no ident": tamper(lambda e: last(e).pop("db/ident")),
    "ident is a number": tamper(lambda e: last(e).update({"db/ident": 5})),
    "ident without namespace": tamper(lambda e: last(e).update({"db/ident": "x"})),
    "huge id": tamper(lambda e: e[-1].update({"id": 2**62})),
    "id is text": tamper(lambda e: e[-1].update({"id": "x"})),
    "unknown class": tamper(lambda e: e[-1].update({"class": "no/such"})),
    "a property as class": tamper(lambda e: e[-1].update({"class": "item/name"})),
    "data": tamper(lambda e: e[-1].update({"class": "shop/Maker"})),
    "unknown slot": tamper(lambda e: last(e).update({"no/such": 1})),
    "slot of another class": tamper(lambda e: last(e).update({"dt/range": "shop/Item"})),
    "dangling slot": tamper(lambda e: last(e).update({"dt/slots": ["no/such"]})),
    "slots are no list": tamper(lambda e: last(e).update({"dt/slots": "item/name"})),
    "slots are a number": tamper(lambda e: last(e).update({"dt/slots": 7})),
    "slots are empty": tamper(lambda e: last(e).update({"dt/slots": []})),
    "slots are classes": tamper(lambda e: last(e).update({"dt/slots": ["shop/Item"]})),
    "slot twice": tamper(lambda e: last(e).update({"dt/slots": ["item/name", "item/name"]})),
    "cycle": tamper(lambda e: last(e).update({"dt/subclass-of": [last(e)["db/ident"]]})),
    "bad validator": tamper(lambda e: last(e).update({"dt/validator": "this["})),
    "wrong type": tamper(lambda e: last(e).update({"dt/abstract?": "yes"})),
    "doc is null": tamper(lambda e: last(e).update({"db/doc": None})),
    "slots missing": tamper(lambda e: e[-1].pop("slots")),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_a_tampered_dump_is_refused(place: Place, shop: Database, what: str) -> None:
    dump = shop.schema.dump()
    name = f"{place.workspace}-tampered"
    problem = problem_of(lambda: place.open(name, metamodel=TAMPERINGS[what](dump)))
    assert problem.hint or problem.data.get("findings"), problem
    assert place.open(name, metamodel=dump).schema.dump() == dump, "nothing is left behind"


def test_a_dump_is_not_loaded_over_a_metamodel(place: Place, shop: Database) -> None:
    with pytest.raises(Problem) as caught:
        place.open(metamodel=shop.schema.dump())
    assert caught.value.code == "workspace.not-empty"


def test_a_class_made_at_run_time_is_usable_in_the_next_call_everywhere(place: Place) -> None:
    one, two = place.open(), place.open()
    for n, (here, there) in enumerate([(one, two), (two, one)] * 3):
        here.define(
            properties={f"new/code{n}": {"dt/range": "db.type/string", "db/unique": "identity"}},
            classes={f"new/Thing{n}": {"dt/slots": [f"new/code{n}"]}},
        )
        made = there.create(f"new/Thing{n}", {f"new/code{n}": "x"})
        assert here.get({f"new/code{n}": "x"}).entity_id == made.entity_id
        assert there.get({f"new/code{n}": "x"}).class_ == f"new/Thing{n}"
        assert len(here.query(f"new/Thing{n}", {f"new/code{n}": "x"}).items) == 1
        assert f"new/Thing{n}" in there.schema.classes()
        assert here.schema.dump() == there.schema.dump()


def test_a_lookup_by_a_slot_that_has_just_become_unique_works_on_the_other_side(
    place: Place,
) -> None:
    one, two = place.open(), place.open()
    define_shop(one)
    hat = item(one, "Hat")
    assert slots_of(two, hat)["item/name"] == "Hat"
    one.update("item/name", {"db/unique": "value"})
    assert two.get({"item/name": "Hat"}).entity_id == hat
    one.define(properties={"item/isbn": {"dt/range": "db.type/string", "db/unique": "value"}})
    one.update("shop/Item", add={"dt/slots": ["item/isbn"]})
    one.update(hat, {"item/isbn": "i"})
    assert two.get({"item/isbn": "i"}).entity_id == hat
    one.update("item/isbn", {"db/unique": None})
    assert problem_of(lambda: two.get({"item/isbn": "i"})).code == "reference.not-unique"


def test_a_rule_made_on_one_side_binds_the_other(place: Place) -> None:
    one, two = place.open(), place.open()
    define_shop(one)
    assert item(two, "Hat", price="1")
    one.update("item/price", {"dt/required?": True})
    assert problem_of(lambda: item(two, "Cap")).code == "entity.invalid"
    two.update("shop/Item", {"dt/validator": 'this["item/price"] > 0.5'})
    assert problem_of(lambda: item(one, "Cap", price="0.25")).code == "entity.invalid"
    one.update("item/price", {"db/ident": "item/cost"})
    assert two.query("shop/Item").items[0]["item/cost"] == "1"


CHILD = """
import sys, sandbar
db = sandbar.open(sys.argv[1], sys.argv[2], principal="child")
print(db.get({"new/code": "parent"})["new/code"], flush=True)
db.create("new/Thing", {"new/code": "child"})
db.define(properties={"new/extra": {"dt/range": "db.type/long"}})
db.update("new/Thing", add={"dt/slots": ["new/extra"]})
print("made", flush=True)
sys.stdin.readline()
print(db.get({"new/code": "late"})["new/extra"], flush=True)
db.close()
"""


def test_another_process_sees_classes_and_data_and_is_seen(place: Place) -> None:
    db = place.open()
    db.define(
        properties={"new/code": {"dt/range": "db.type/string", "db/unique": "identity"}},
        classes={"new/Thing": {"dt/slots": ["new/code"]}},
    )
    db.create("new/Thing", {"new/code": "parent"})
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, place.address, place.workspace],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "parent\n"
        assert child.stdout.readline() == "made\n"
        assert db.get({"new/code": "child"}).class_ == "new/Thing"
        db.create("new/Thing", {"new/code": "late", "new/extra": 7})
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.stdout.readline() == "7\n"
        assert child.wait(20) == 0
    assert {change.principal for change in db.changes(limit=1000)} >= {"local", "child"}


def test_workspaces_know_nothing_of_each_other(place: Place) -> None:
    one, two = place.open(), place.open(f"{place.workspace}-2")
    define_shop(one)
    hat = item(one, "Hat")
    assert problem_of(lambda: two.get(hat)).code == "entity.unknown"
    assert problem_of(lambda: two.query("shop/Item")).code == "class.unknown"
    two.define(classes={"shop/Item": {}})
    assert two.query("shop/Item").items == []
    assert not isinstance(problem_of(lambda: two.delete(hat)), Conflict)
