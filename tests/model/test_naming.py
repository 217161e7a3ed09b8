"""How entities are named: by ids, idents and unique values, and what is said of one unknown."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag

import pytest

from sandbar import Database
from tests.model.shop import item


class Number(int):
    """An integer of a program's own kind."""


class Flag(IntFlag):
    """An enumeration that takes every number."""

    ONE = 1


@pytest.mark.parametrize("kind", [Number, Flag], ids=["subclass", "enumeration"])
def test_an_id_may_be_any_kind_of_integer(shop: Database, kind: Callable[[int], int]) -> None:
    maker = shop.create("shop/Maker", {"maker/name": "Ann"}).entity_id
    hat = item(shop, "Hat", maker=kind(maker), like=[kind(maker + 1)])
    shop.get(hat)  # the schema is at hand from here on
    found = shop.get(kind(hat))
    assert (found.entity_id, found["item/maker"]) == (hat, maker)
    assert type(found.entity_id) is int
    assert type(found["item/maker"]) is int
    assert shop.get(kind(hat), as_of=kind(found.t)) == found
    assert shop.run(lambda: shop.get(kind(hat))).entity_id == hat
    page = shop.query("shop/Item", {"item/maker": kind(maker)}, as_of=kind(found.t), limit=1)
    assert [one.entity_id for one in page.items] == [hat]
    assert type(page.t) is int
    written = shop.update(kind(hat), {"item/name": "Cap"}, idempotency_key="k")
    assert written.entity_id == hat
    assert type(written.entity_id) is int
    assert [entry.kind for entry in shop.history(kind(hat))] == ["created", "changed"]
    class_id = shop.get("shop/Maker").entity_id
    made = shop.create(kind(class_id), {"maker/parent": kind(maker)})
    assert shop.get(made.entity_id).class_ == "shop/Maker"
    assert shop.delete(kind(hat)).outcomes[0].deleted == [hat]
