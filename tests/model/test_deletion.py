"""Deleting: refused while referred to, or cascading, or detaching; owned parts go along."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import pytest

from sandbar import Conflict, Database, NotFound
from tests.model.shop import item, problem_of, refused, slots_of

Mode = Literal["refuse", "cascade", "detach"]


def is_gone(db: Database, id: int) -> bool:
    """Whether the entity is not there any more."""
    try:
        db.get(id)
    except NotFound:
        return True
    return False


@pytest.mark.parametrize("mode", ["refuse", "cascade", "detach"])
def test_what_nothing_refers_to_is_simply_deleted(shop: Database, mode: Mode) -> None:
    hat = item(shop, "Hat", code="c", like=[])
    shop.update(hat, {"item/like": [hat], "db/ident": "my/hat"})
    written = shop.delete("my/hat", mode=mode)
    assert written.outcomes[0].deleted == [hat]
    for name in (hat, "my/hat", {"item/code": "c"}):
        assert isinstance(problem_of(partial(shop.get, name)), NotFound)
    assert shop.query("shop/Item").items == []
    assert slots_of(shop, "my/hat", as_of=written.t - 1)["item/like"] == ["my/hat"]


def test_deleting_twice_is_not_found(shop: Database) -> None:
    hat = item(shop, "Hat")
    shop.delete(hat)
    with refused(shop, "entity.unknown"):
        shop.delete(hat)
    with refused(shop, "entity.unknown"):
        shop.update(hat, {"item/name": "x"})


def test_refuse_names_who_refers(shop: Database) -> None:
    maker = shop.create("shop/Maker", {}).entity_id
    hats = [item(shop, f"hat {n}", maker=maker) for n in range(3)]
    with refused(shop, "entity.referenced") as problems:
        shop.delete(maker)
    assert isinstance(problems[0], Conflict)
    assert problems[0].data["count"] == 3
    assert [row["entity-id"] for row in problems[0].data["referrers"]] == hats
    assert {row["slot"] for row in problems[0].data["referrers"]} == {"item/maker"}


def test_cascade_follows_references_to_the_end(shop: Database) -> None:
    top = shop.create("shop/Maker", {}).entity_id
    below = shop.create("shop/Maker", {"maker/parent": top}).entity_id
    hat = item(shop, "Hat", maker=below)
    line = shop.create("shop/Line", {"line/item": hat}).entity_id
    order = shop.create("shop/Order", {"order/lines": [line]}).entity_id
    other = item(shop, "Other")
    written = shop.delete(top, mode="cascade")
    assert written.outcomes[0].deleted == [top, below, hat, line, order]
    assert [is_gone(shop, id) for id in (top, below, hat, line, order)] == [True] * 5
    assert not is_gone(shop, other)


def test_cascade_ends_in_cycles(shop: Database) -> None:
    one, two, three = (item(shop, name) for name in "ABC")
    for here, there in ((one, two), (two, three), (three, one)):
        shop.update(here, {"item/like": [there]})
    with refused(shop, "entity.referenced"):
        shop.delete(one)
    assert shop.delete(two, mode="cascade").outcomes[0].deleted == [one, two, three]


def test_detach_removes_the_references_and_nothing_else(shop: Database) -> None:
    maker = shop.create("shop/Maker", {}).entity_id
    other = item(shop, "Other")
    hat = item(shop, "Hat", maker=maker)
    cap = item(shop, "Cap", like=[hat, other])
    shop.delete(maker, mode="detach")
    assert "item/maker" not in slots_of(shop, hat)
    shop.delete(hat, mode="detach")
    assert slots_of(shop, cap)["item/like"] == [other]
    shop.delete(other, mode="detach")
    assert "item/like" not in slots_of(shop, cap)


def test_detach_that_would_empty_a_required_slot_is_refused(shop: Database) -> None:
    hat = item(shop, "Hat")
    shop.create("shop/Line", {"line/item": hat})
    with refused(shop, "slot.required"):
        shop.delete(hat, mode="detach")
    assert not is_gone(shop, hat)


def test_components_go_with_their_owner_in_every_mode(shop: Database) -> None:
    modes: list[Mode] = ["refuse", "cascade", "detach"]
    for mode in modes:
        hat = item(shop, "Hat")
        lines = [shop.create("shop/Line", {"line/item": hat}).entity_id for _ in range(2)]
        order = shop.create("shop/Order", {"order/lines": lines}).entity_id
        assert shop.delete(order, mode=mode).outcomes[0].deleted == [*lines, order]
        assert not is_gone(shop, hat)


def test_a_component_that_another_refers_to_is_not_deleted_silently(shop: Database) -> None:
    hat = item(shop, "Hat")
    line = shop.create("shop/Line", {"line/item": hat}).entity_id
    orders = [shop.create("shop/Order", {"order/lines": [line]}).entity_id for _ in range(2)]
    with refused(shop, "entity.referenced"):
        shop.delete(orders[0])
    shop.delete(orders[0], mode="detach")
    assert slots_of(shop, orders[1]) == {}
    assert is_gone(shop, line)


def test_a_component_cycle_is_deleted_once(db: Database) -> None:
    db.define(
        properties={"node/next": {"dt/range": "my/Node", "dt/component?": True}},
        classes={"my/Node": {"dt/slots": ["node/next"]}},
    )
    written = db.transact(
        [
            {"op": "create", "class": "my/Node", "slots": {"node/next": "b"}, "temp": "a"},
            {"op": "create", "class": "my/Node", "slots": {"node/next": "a"}, "temp": "b"},
        ]
    )
    gone = db.delete(written.temps["a"]).outcomes[0].deleted
    assert gone == sorted(written.temps.values())


def test_a_class_with_instances_goes_only_by_cascade(shop: Database) -> None:
    hat = item(shop, "Hat")
    with refused(shop, "entity.referenced"):
        shop.delete("shop/Item")
    shop.create("shop/Maker", {})
    with refused(shop, "class.has-instances"):
        shop.delete("shop/Maker", mode="detach")
    before = shop.t
    order = shop.create("shop/Order", {"order/number": 3}).entity_id
    shop.delete("shop/Order", mode="cascade")
    assert is_gone(shop, order)
    assert "shop/Order" not in shop.schema.classes()
    assert not is_gone(shop, hat)
    assert shop.get(order, as_of=before + 1)["order/number"] == 3
    assert [entry.kind for entry in shop.history(order)] == ["created", "deleted"]


def test_an_unused_class_and_property_can_be_deleted(shop: Database) -> None:
    shop.delete("shop/Boot")
    assert "shop/Boot" not in shop.schema.classes()
    with refused(shop, "entity.referenced"):
        shop.delete("item/notes")
    shop.delete("item/notes", mode="detach")
    assert "item/notes" not in shop.schema.slots("shop/Item")
    with refused(shop, "slot.unknown"):
        item(shop, "Hat", notes="x")


def test_an_id_is_never_used_again(shop: Database) -> None:
    seen: set[Any] = set()
    for _ in range(5):
        hat = item(shop, "Hat", code="same")
        assert hat not in seen
        seen.add(hat)
        shop.delete(hat)
