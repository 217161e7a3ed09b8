"""A small shop: the classes that most tests of the model use, and words for common checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sandbar import Database, Problem

PROPERTIES: dict[str, dict[str, Any]] = {
    "item/name": {"dt/range": "db.type/string", "dt/required?": True, "dt/indexed?": True},
    "item/code": {"dt/range": "db.type/string", "db/unique": "identity"},
    "item/serial": {"dt/range": "db.type/long", "db/unique": "value"},
    "item/price": {"dt/range": "db.type/bigdec", "dt/indexed?": True},
    "item/stock": {"dt/range": "db.type/long", "dt/default": 0},
    "item/fragile": {"dt/range": "db.type/boolean", "dt/default": False},
    "item/tags": {"dt/range": "db.type/keyword", "db/cardinality": "many", "dt/indexed?": True},
    "item/notes": {"dt/range": "db.type/string", "db/cardinality": "many"},
    "item/extra": {"dt/range": "db.type/json"},
    "item/maker": {"dt/range": "shop/Maker"},
    "item/like": {"dt/range": "shop/Item", "db/cardinality": "many"},
    "maker/name": {"dt/range": "db.type/string", "dt/indexed?": True},
    "maker/parent": {"dt/range": "shop/Maker"},
    "maker/items": {
        "dt/range": "shop/Item",
        "db/cardinality": "many",
        "dt/inverse-of": "item/maker",
    },
    "order/lines": {"dt/range": "shop/Line", "db/cardinality": "many", "dt/component?": True},
    "order/number": {"dt/range": "db.type/long", "dt/indexed?": True},
    "line/item": {"dt/range": "shop/Item", "dt/required?": True},
    "line/count": {"dt/range": "db.type/long", "dt/min": 1},
}

CLASSES: dict[str, dict[str, Any]] = {
    "shop/Maker": {"dt/slots": ["maker/name", "maker/parent", "maker/items"]},
    "shop/Item": {
        "dt/slots": [name for name in PROPERTIES if name.startswith("item/")],
        "dt/subclass-of": ["dt/Ref"],
    },
    "shop/Boot": {"dt/subclass-of": ["shop/Item"]},
    "shop/Line": {"dt/slots": ["line/item", "line/count"]},
    "shop/Order": {"dt/slots": ["order/lines", "order/number"]},
}


def define(db: Database) -> None:
    """Make the shop's classes."""
    db.define(properties=PROPERTIES, classes=CLASSES)


def item(db: Database, name: str, **slots: Any) -> int:
    """A new item; `price=3` means `item/price`."""
    given = {f"item/{key}": value for key, value in slots.items()}
    return db.create("shop/Item", {"item/name": name, **given}).entity_id


def slots_of(db: Database, entity: Any, **more: Any) -> dict[str, Any]:
    """The slots of an entity."""
    return db.get(entity, **more).slots


def problem_of(call: Callable[[], Any]) -> Problem:
    """The Problem that the call raises."""
    with pytest.raises(Problem) as caught:
        call()
    return caught.value


def codes_of(problem: Problem) -> set[str]:
    """The code of a problem and of its findings."""
    found = {finding["code"] for finding in problem.data.get("findings", ())}
    for entity in problem.data.get("entities", ()):
        found |= {finding["code"] for finding in entity["findings"]}
    return found | {problem.code}


@contextmanager
def refused(db: Database, code: str) -> Iterator[list[Problem]]:
    """The block is refused with this code (or a finding of it), and writes nothing."""
    before = db.t
    seen: list[Problem] = []
    with pytest.raises(Problem) as caught:
        yield seen
    seen.append(caught.value)
    assert code in codes_of(caught.value), (code, codes_of(caught.value), str(caught.value))
    assert db.t == before, "something was written"
