"""No query of an index-able kind ever walks a whole table."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar import Database

QUESTIONS: dict[str, tuple[str, Any, str | None]] = {
    "class listing": ("shop/Item", None, None),
    "equality": ("shop/Item", {"item/name": "n1"}, None),
    "unique": ("shop/Item", {"item/code": "c1"}, None),
    "ident": ("shop/Item", {"db/ident": "my/i1"}, None),
    "in": ("shop/Item", {"item/name": {"in": ["n1", "n2", "n3"]}}, None),
    "or of equalities": ("shop/Item", {"or": [{"item/name": "n1"}, {"item/name": "n2"}]}, None),
    "range": ("shop/Item", {"item/price": {">": 3, "<": 5}}, None),
    "open range": ("shop/Item", {"item/price": {">=": 3}}, None),
    "starts-with": ("shop/Item", {"item/name": {"starts-with": "n1"}}, None),
    "many-valued": ("shop/Item", {"item/tags": "t1"}, None),
    "ordering": ("shop/Item", None, "item/price"),
    "ordering downwards": ("shop/Item", None, "-item/price"),
    "range with ordering": ("shop/Item", {"item/price": {">": 3}}, "item/price"),
    "equality with ordering": ("shop/Item", {"item/name": "n1"}, "item/price"),
    "reference": ("shop/Item", {"item/maker": "my/m1"}, None),
    "through a reference": ("shop/Item", {"item/maker": {"maker/name": "m1"}}, None),
    "through two": ("shop/Item", {"item/maker": {"maker/parent": {"maker/name": "m1"}}}, None),
    "through a range": ("shop/Item", {"item/maker": {"maker/name": {">": "m3"}}}, None),
    "two conditions": ("shop/Item", {"item/name": "n1", "item/tags": "t1"}, None),
    "a subclass": ("shop/Boot", {"item/name": "n1"}, None),
    "everything": ("dt/Resource", None, None),
}


@pytest.fixture
def stocked(shop: Database) -> Database:
    """Enough rows that a scan would show."""
    makers = [
        {
            "op": "create",
            "class": "shop/Maker",
            "slots": {"db/ident": f"my/m{n}", "maker/name": f"m{n}"},
        }
        for n in range(5)
    ]
    items = [
        {
            "op": "create",
            "class": "shop/Boot" if n % 3 else "shop/Item",
            "slots": {
                "db/ident": f"my/i{n}",
                "item/name": f"n{n}",
                "item/code": f"c{n}",
                "item/price": n % 10,
                "item/tags": [f"t{n % 5}", "all"],
                "item/maker": f"my/m{n % 5}",
            },
        }
        for n in range(200)
    ]
    shop.transact(makers + items)
    return shop


def test_every_plan_searches_an_index(stocked: Database) -> None:
    for what, (cls, where, order) in QUESTIONS.items():
        plan = stocked.explain(cls, where, order_by=order)
        assert plan, what
        for line in plan.splitlines():
            words = line.upper()
            assert "SEQ SCAN" not in words, (what, plan)
            assert "SCAN ENTITY" not in words, (what, plan)
            assert "SCAN SLOT" not in words, (what, plan)
            assert "SCAN E " not in words + " ", (what, plan)
            assert "SCAN S " not in words + " ", (what, plan)
        assert "SEARCH" in plan or "Index" in plan, (what, plan)


def test_the_index_of_the_filter_is_the_one_that_is_used(stocked: Database) -> None:
    """A walk over all instances has an entry per instance; one by the filter's index has not."""
    numbers = {
        name: stocked.get(name).entity_id for name in ("item/name", "item/price", "item/tags")
    }
    assert len(set(numbers.values())) == 3
    everything = stocked.explain("shop/Item")
    for slot, where in (
        ("item/name", {"item/name": "n1"}),
        ("item/price", {"item/price": {">": 8}}),
        ("item/tags", {"item/tags": "t1"}),
    ):
        assert stocked.explain("shop/Item", where) != everything, slot


def test_an_index_made_later_is_used(stocked: Database) -> None:
    before = stocked.explain("shop/Item", {"item/stock": 0})
    assert before == stocked.explain("shop/Item")
    stocked.update("item/stock", {"dt/indexed?": True})
    assert stocked.explain("shop/Item", {"item/stock": 0}) != before
    assert len(list(stocked.each("shop/Item", {"item/stock": 0}))) == 200
    stocked.update("item/stock", {"dt/indexed?": False})
    assert stocked.explain("shop/Item", {"item/stock": 0}) == before
