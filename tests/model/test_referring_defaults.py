"""What a default refers to stays there, and in the range, or the default is cleared."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from sandbar import Database, Problem
from tests.model.conftest import Place
from tests.model.recording import recorded
from tests.model.shop import codes_of, item, refused, slots_of


@pytest.fixture
def maker(shop: Database) -> int:
    """The maker that items have unless they say otherwise."""
    maker = shop.create("shop/Maker", {"maker/name": "m"}).entity_id
    shop.update("item/maker", {"dt/default": maker})
    return maker


def default_of(db: Database, slot: str) -> Any:
    """The default of a property as it is stored."""
    return db.get(slot).get("dt/default", None)


def test_what_a_default_refers_to_is_not_deleted(shop: Database, maker: int) -> None:
    with refused(shop, "entity.referenced") as problems:
        shop.delete(maker)
    slot = shop.get("item/maker").entity_id
    assert problems[0].data["referrers"] == [{"entity-id": slot, "slot": "dt/default"}]
    assert problems[0].data["count"] == 1
    with pytest.raises(Problem) as caught:
        shop.purge(maker)
    assert caught.value.code == "entity.referenced"
    assert slots_of(shop, item(shop, "Hat"))["item/maker"] == maker
    shop.update("item/maker", {"dt/default": None})
    shop.update(shop.query("shop/Item").items[0].entity_id, {"item/maker": None})
    shop.delete(maker)


@pytest.mark.parametrize("mode", ["detach", "cascade"])
def test_detaching_and_cascading_clear_the_default(
    shop: Database, maker: int, place: Place, mode: Literal["detach", "cascade"]
) -> None:
    generation = shop.schema.generation
    assert shop.delete(maker, mode=mode).outcomes[0].deleted == [maker]
    assert shop.schema.generation == generation + 1
    for db in (shop, place.another()):
        assert default_of(db, "item/maker") is None
        assert "item/maker" not in slots_of(db, item(db, "Hat"))
    shop.update("item/maker", {"db/doc": "Who made it."})


def test_purging_clears_it_too(shop: Database, maker: int) -> None:
    assert shop.purge(maker, mode="detach").entity_ids == [maker]
    assert default_of(shop, "item/maker") is None
    assert "item/maker" not in slots_of(shop, item(shop, "Hat"))


def test_of_several_only_those_go_that_are_deleted(shop: Database) -> None:
    one, two = item(shop, "one"), item(shop, "two")
    shop.update("item/like", {"dt/default": [one, two]})
    with refused(shop, "entity.referenced"):
        shop.delete(one)
    shop.delete(one, mode="cascade")
    assert default_of(shop, "item/like") == [two]
    assert slots_of(shop, item(shop, "Hat", like=None)).get("item/like") is None
    assert slots_of(shop, item(shop, "Hat"))["item/like"] == [two]


def test_a_class_that_goes_with_its_instances_leaves_no_default(shop: Database) -> None:
    shop.define(properties={"x/any": {"dt/range": "db.type/ref"}})
    order = shop.create("shop/Order", {}).entity_id
    shop.update("x/any", {"dt/default": order})
    shop.delete("shop/Order", mode="cascade")
    assert default_of(shop, "x/any") is None


def test_one_transaction_may_clear_the_default_and_delete(shop: Database, maker: int) -> None:
    clear = {"op": "update", "entity": "item/maker", "set": {"dt/default": None}}
    shop.transact([{"op": "delete", "entity": maker}, clear])
    other = shop.create("shop/Maker", {}).entity_id
    name = {"op": "update", "entity": "item/maker", "set": {"dt/default": other}}
    with refused(shop, "entity.referenced"):
        shop.transact([name, {"op": "delete", "entity": other}])
    with refused(shop, "reference.dangling"):
        shop.run(lambda: (shop.delete(other), shop.transact([name])))


def test_definitions_that_a_default_refers_to_count_as_well(shop: Database) -> None:
    shop.define(properties={"x/kind": {"dt/range": "dt/Class"}}, classes={"x/Kind": {}})
    kind = shop.get("x/Kind").entity_id
    shop.update("x/kind", {"dt/default": kind})
    with refused(shop, "entity.referenced"):
        shop.delete("x/Kind")
    clear = {"op": "update", "entity": "x/kind", "set": {"dt/default": None}}
    shop.transact([clear, {"op": "delete", "entity": "x/Kind"}])
    shop.define(classes={"x/Other": {}})
    shop.update("x/kind", {"dt/default": shop.get("x/Other").entity_id})
    both = [{"op": "delete", "entity": name, "mode": "cascade"} for name in ("x/kind", "x/Other")]
    shop.transact(both)
    assert "x/kind" not in shop.schema.properties()


def test_it_does_not_leave_the_range(shop: Database) -> None:
    boot = shop.create("shop/Boot", {"item/name": "Boot"}).entity_id
    shop.update("item/like", {"dt/default": [boot]})
    change = {"op": "update", "entity": "shop/Boot", "set": {"dt/subclass-of": []}}
    own = shop.schema.direct_slots("shop/Item")  # which a boot inherits until then
    slots = {"op": "update", "entity": "shop/Boot", "add": {"dt/slots": own}}
    with refused(shop, "schema.would-break") as problems:
        shop.transact([change, slots])
    assert codes_of(problems[0]) == {"schema.would-break", "reference.range"}
    (broken,) = problems[0].data["entities"]
    assert broken["entity-id"] == shop.get("item/like").entity_id
    assert [found["slot"] for found in broken["findings"]] == ["dt/default"]
    clear = {"op": "update", "entity": "item/like", "set": {"dt/default": None}}
    shop.transact([change, slots, clear])
    assert "item/like" not in slots_of(shop, item(shop, "Hat"))


def test_a_class_deleted_from_above_it_counts(shop: Database) -> None:
    shop.define(
        properties={"x/p": {"dt/range": "x/Top"}},
        classes={
            "x/Top": {},
            "x/Middle": {"dt/subclass-of": ["x/Top"]},
            "x/Low": {"dt/subclass-of": ["x/Middle"]},
        },
    )
    low = shop.create("x/Low", {}).entity_id
    shop.update("x/p", {"dt/default": low})
    with refused(shop, "reference.range"):
        shop.delete("x/Middle", mode="detach")


def test_defaults_that_are_not_concerned_are_not_read(shop: Database) -> None:
    maker = shop.create("shop/Maker", {}).entity_id

    def calls() -> int:
        hat = item(shop, "Hat")
        shop.define(classes={"x/Top": {}, "x/Low": {"dt/subclass-of": ["x/Top"]}})
        with recorded() as asked:
            shop.delete(hat)
            shop.update("x/Low", {"dt/subclass-of": []})
        return asked.calls.total()

    before = calls()
    names = [f"x/p{n}" for n in range(50)]
    shop.define(
        properties={name: {"dt/range": "shop/Maker", "dt/default": maker} for name in names}
    )
    assert calls() <= before
