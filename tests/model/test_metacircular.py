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


@pytest.fixture
def boots(shop: Database) -> Database:
    """The shop, with a class and a property of which everything is said that can be said."""
    shop.define(
        properties={
            "boot/size": {
                "dt/range": "db.type/long",
                "db/doc": "The size in Paris points.",
                "dt/label": "Size",
                "dt/required?": True,
                "dt/min": 0,
                "dt/max": 60,
                "dt/default": 40,
                "dt/one-of": [38, 40, 42],
                "dt/indexed?": True,
                "dt/domain": ["shop/Line"],
            },
            "boot/sole": {"dt/range": "db.type/string", "dt/pattern": "^[a-z]+$", "dt/max": 9},
            "boot/code": {"dt/range": "db.type/string", "dt/secret?": True},
        },
        classes={
            "shop/Hiking": {
                "dt/subclass-of": ["shop/Boot"],
                "dt/slots": ["boot/size", "boot/sole", "boot/code"],
                "db/doc": "Boots for hills.",
                "dt/label": "Hiking boot",
                "dt/validator": 'this["boot/size"] > 1',
            },
        },
    )
    return shop


def test_the_datatypes_are_the_classes_below_literal(db: Database) -> None:
    types = db.schema.datatypes()
    assert types == [name for name in db.schema.subclasses("dt/Literal") if name[:3] == "db."]
    for number, name in enumerate(types):
        db.define(properties={f"my/p{number}": {"dt/range": name}})
        assert db.schema.range(f"my/p{number}") == name


def test_describe_tells_all_of_a_class(boots: Database) -> None:
    told = boots.schema.describe("shop/Hiking")
    slots = {slot["property"]: slot for slot in told.pop("slots")}
    assert told == {
        "class": "shop/Hiking",
        "doc": "Boots for hills.",
        "label": "Hiking boot",
        "abstract?": False,
        "parents": ["shop/Boot"],
        "ancestors": ["dt/Ref", "dt/Resource", "shop/Boot", "shop/Item"],
        "subclasses": [],
        "validators": ['this["boot/size"] > 1'],
    }
    assert sorted(slots) == boots.schema.slots("shop/Hiking")
    assert slots["boot/size"] == boots.schema.describe_property("boot/size")
    item = boots.schema.describe("shop/Item")
    assert item["subclasses"] == ["shop/Boot", "shop/Hiking"]
    assert (item["doc"], item["validators"]) == (None, [])
    assert boots.schema.describe("dt/Ref")["abstract?"] is True


def test_describe_tells_all_of_a_property_and_nothing_that_is_not_set(boots: Database) -> None:
    describe = boots.schema.describe_property
    assert describe("boot/size") == {
        "property": "boot/size",
        "range": "db.type/long",
        "cardinality": "one",
        "doc": "The size in Paris points.",
        "label": "Size",
        "required?": True,
        "default": 40,
        "one-of": [38, 40, 42],
        "min": 0,
        "max": 60,
        "indexed?": True,
    }
    code = {"property": "boot/code", "range": "db.type/string", "cardinality": "one"}
    assert describe("boot/code") == code | {"secret?": True}
    assert describe("boot/sole")["pattern"] == "^[a-z]+$"
    assert describe("item/code")["unique"] == "identity"
    assert describe("item/fragile")["default"] is False
    assert describe("order/lines")["component?"] is True
    assert describe("maker/items")["inverse-of"] == "item/maker"


def test_the_json_schema_of_a_property_says_what_its_slot_takes(boots: Database) -> None:
    of = boots.schema.property_json_schema
    size = {"type": "integer", "minimum": 0, "maximum": 60, "enum": [38, 40, 42], "default": 40}
    assert of("boot/size") == size | {"description": "The size in Paris points."}
    assert of("boot/sole") == {"type": "string", "pattern": "^[a-z]+$", "maxLength": 9}
    assert of("boot/code")["writeOnly"] is True
    assert of("item/fragile") == {"type": "boolean", "default": False}
    assert of("item/notes")["items"]["type"] == of("item/name")["type"] == "string"
    assert of("item/like")["items"] == of("item/maker")
    assert of("item/maker")["type"] == ["string", "integer", "object"]
    whole = boots.schema.json_schema("shop/Hiking")["properties"]
    assert whole == {name: of(name) for name in boots.schema.slots("shop/Hiking")}


def test_domain_range_and_cardinality_of_every_property(boots: Database) -> None:
    schema = boots.schema
    assert schema.domain("boot/size") == ["shop/Hiking", "shop/Line"]
    assert schema.domain("db/ident") == ["dt/Resource"]
    assert schema.range("item/price") == "db.type/bigdec"
    assert schema.range("maker/items") == "shop/Item"
    for name in schema.properties():
        stored = boots.get(name)
        assert schema.range(name) == stored["dt/range"]
        assert schema.cardinality(name) == stored.get("db/cardinality", "one")
        owners = [cls for cls in schema.classes() if name in schema.direct_slots(cls)]
        assert schema.domain(name) == sorted({*owners, *stored.get("dt/domain", ())})


def test_is_kind_includes_the_class_itself_and_is_subclass_does_not(boots: Database) -> None:
    schema = boots.schema
    for name in schema.classes():
        above = schema.ancestors(name)
        assert above == [one for one in schema.classes() if schema.is_subclass(name, one)]
        kinds = [one for one in schema.classes() if schema.is_kind(name, one)]
        assert kinds == sorted([*above, name])
        assert name not in above
    hat = item(boots, "Hat")
    boot = boots.create("shop/Hiking", {"item/name": "Boot"}).entity_id
    kinds = ["shop/Item", "shop/Boot", "shop/Hiking", "dt/Resource", "shop/Maker", "dt/Class"]
    assert [boots.instance_of(boot, kind) for kind in kinds] == [True] * 4 + [False] * 2
    assert [boots.instance_of(hat, kind) for kind in kinds[:4]] == [True, False, False, True]


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: db.schema.describe("no/such"),
        lambda db: db.schema.is_subclass("shop/Item", "no/such"),
        lambda db: db.schema.is_kind("no/such", "shop/Item"),
        lambda db: db.schema.domain("no/such"),
        lambda db: db.schema.property_json_schema("no/such"),
        lambda db: db.schema.range("shop/Item"),
        lambda db: db.instance_of("shop/Item", "no/such"),
        lambda db: db.instance_of("no/such", "shop/Item"),
    ],
)
def test_asking_about_what_is_not_there_is_refused(
    shop: Database, ask: Callable[[Database], Any]
) -> None:
    code = problem_of(lambda: ask(shop)).code
    assert code in ("class.unknown", "property.unknown", "entity.unknown")


def test_a_dump_loads_into_the_same_dump(place: Place) -> None:
    def dumped(name: str, metamodel: bytes | None) -> bytes:
        return place.another(f"{place.workspace}-{name}", metamodel=metamodel).schema.dump()

    core = dumped("core", None)
    assert dumped("core-again", core) == core
    shop = place.another(f"{place.workspace}-shop")
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
    loaded = place.another(f"{place.workspace}-shop-again")
    assert loaded.schema.describe("shop/Boot") == shop.schema.describe("shop/Boot")
    hat = item(loaded, "Hat", maker=loaded.create("shop/Maker", {}).entity_id)
    assert slots_of(loaded, hat)["item/name"] == "Hat"
    assert loaded.query("shop/Item", {"item/name": "Hat"}).items[0].entity_id == hat
    loaded.define(properties={"more/text": {"dt/range": "db.type/string"}})


def test_a_dump_can_cross_from_one_store_to_the_other(pair: tuple[Place, Place]) -> None:
    here, there = pair
    for one, other in ((here, there), (there, here)):
        source = one.another()
        define_shop(source)
        dump = source.schema.dump()
        target = other.another(f"{other.workspace}-copy", metamodel=dump)
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


def named(entries: list[dict[str, Any]], ident: str) -> dict[str, Any]:
    """The slots of the entry of that name."""
    found = (entry["slots"] for entry in entries if entry["slots"]["db/ident"] == ident)
    slots: dict[str, Any] = next(found)
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
    "validator is a number": tamper(lambda e: last(e).update({"dt/validator": 1})),
    "values are a number": tamper(lambda e: named(e, "item/code").update({"dt/one-of": 1})),
    "pattern is a number": tamper(lambda e: named(e, "item/code").update({"dt/pattern": 1})),
    "bound is a list": tamper(lambda e: named(e, "item/stock").update({"dt/min": [1]})),
    "doc is null": tamper(lambda e: last(e).update({"db/doc": None})),
    "slots missing": tamper(lambda e: e[-1].pop("slots")),
}


@pytest.fixture(scope="module")
def dumps() -> dict[str, bytes]:
    """Those of the shop, by the kind of store that made them."""
    return {}


@pytest.fixture
def dump(place: Place, dumps: dict[str, bytes]) -> bytes:
    """The shop's, made once."""
    if place.dialect not in dumps:
        shop = place.another()
        define_shop(shop)
        dumps[place.dialect] = shop.schema.dump()
    return dumps[place.dialect]


@pytest.mark.parametrize("what", TAMPERINGS)
def test_a_tampered_dump_is_refused(place: Place, dump: bytes, what: str) -> None:
    name = f"{place.workspace}-tampered"
    problem = problem_of(lambda: place.another(name, metamodel=TAMPERINGS[what](dump)))
    assert problem.hint or problem.data.get("findings"), problem
    assert place.another(name, metamodel=dump).schema.dump() == dump, "nothing is left behind"


def test_a_dump_is_not_loaded_over_a_metamodel(place: Place, shop: Database) -> None:
    with pytest.raises(Problem) as caught:
        place.another(metamodel=shop.schema.dump())
    assert caught.value.code == "workspace.not-empty"


def test_a_class_made_at_run_time_is_usable_in_the_next_call_everywhere(place: Place) -> None:
    one, two = place.another(), place.another()
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
    one, two = place.another(), place.another()
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
    one, two = place.another(), place.another()
    define_shop(one)
    assert item(two, "Hat", price="1")
    one.update("item/price", {"dt/required?": True})
    assert problem_of(lambda: item(two, "Cap")).code == "entity.invalid"
    two.update("shop/Item", {"dt/validator": 'this["item/price"] > 0.5'})
    assert problem_of(lambda: item(one, "Cap", price="0.25")).code == "entity.invalid"
    rename = {"op": "update", "entity": "item/price", "set": {"db/ident": "item/cost"}}
    follow = {"dt/validator": 'this["item/cost"] > 0.5'}
    one.transact([rename, {"op": "update", "entity": "shop/Item", "set": follow}])
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
    one, two = place.another(), place.another(f"{place.workspace}-2")
    define_shop(one)
    hat = item(one, "Hat")
    assert problem_of(lambda: two.get(hat)).code == "entity.unknown"
    assert problem_of(lambda: two.query("shop/Item")).code == "class.unknown"
    two.define(classes={"shop/Item": {}})
    assert two.query("shop/Item").items == []
    assert not isinstance(problem_of(lambda: two.delete(hat)), Conflict)
