"""Random filters over random data: the indexes and a naive reading always agree."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sandbar import Database
from tests.model.naive import Naive

NAMES = ["a", "ab", "b", "", "long " * 60, "long " * 60 + "er"]
TAGS = ["t1", "t2", "t3"]


def populate(shop: Database, dice: random.Random) -> None:
    """Makers, items and boots that refer to each other, changed a few times."""
    makers = [
        shop.create(
            "shop/Maker",
            {"maker/name": dice.choice(NAMES)} | ({"db/ident": f"my/m{n}"} if n % 2 else {}),
        ).entity_id
        for n in range(5)
    ]
    for maker in makers[1:]:
        shop.update(maker, {"maker/parent": dice.choice(makers)})
    items: list[int] = []
    for n in range(30):
        slots: dict[str, Any] = {"item/name": dice.choice(NAMES), "item/stock": dice.randrange(4)}
        if dice.random() < 0.7:
            slots["item/price"] = f"{dice.randrange(-3, 4)}.{dice.randrange(3)}"
        if dice.random() < 0.7:
            slots["item/tags"] = dice.sample(TAGS, dice.randrange(1, 4))
        if dice.random() < 0.7:
            slots["item/maker"] = dice.choice(makers)
        if dice.random() < 0.4:
            slots["item/code"] = f"c{n}"
        if items and dice.random() < 0.4:
            slots["item/like"] = dice.sample(items, min(len(items), 2))
        cls = dice.choice(["shop/Item", "shop/Boot"])
        items.append(shop.create(cls, slots).entity_id)
    for id in dice.sample(items, 8):
        shop.update(id, {"item/price": None, "item/tags": dice.sample(TAGS, dice.randrange(3))})


def comparison(dice: random.Random, operands: list[Any], texts: bool) -> Any:
    """A random comparison with one of these operands."""
    value = dice.choice(operands)
    ops = ["=", "!=", "<", "<=", ">", ">=", "in", "exists"] + ["contains", "starts-with"] * texts
    op = dice.choice(ops)
    if op == "in":
        return {"in": dice.sample(operands, dice.randrange(len(operands)))}
    if op == "exists":
        return {"exists": dice.random() < 0.5}
    if dice.random() < 0.2:
        return value
    if dice.random() < 0.2:
        return {op: value, dice.choice(["<", ">", "<=", ">="]): dice.choice(operands)}
    return {op: value}


def random_filter(dice: random.Random, shape: str, depth: int = 0) -> dict[str, Any]:
    """A random filter about items or makers."""
    if depth < 3 and dice.random() < 0.3:
        key = dice.choice(["and", "or", "not"])
        if key == "not":
            return {"not": random_filter(dice, shape, depth + 1)}
        count = dice.randrange(4)
        return {key: [random_filter(dice, shape, depth + 1) for _ in range(count)]}
    parts: dict[str, Any] = {}
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        slot = dice.choice(list(SLOTS[shape]))
        target = REFERENCES.get(slot)
        if target is not None:
            if depth >= 3:
                parts[slot] = {"exists": dice.random() < 0.5}
            else:
                parts[slot] = random_filter(dice, target, depth + 1)
        else:
            operands, texts = SLOTS[shape][slot]
            parts[slot] = comparison(dice, operands, texts)
    return parts


REFERENCES = {
    "item/maker": "maker",
    "item/like": "item",
    "maker/parent": "maker",
    "maker/items": "item",
}
SLOTS: dict[str, dict[str, tuple[list[Any], bool]]] = {
    "item": {
        "item/name": (NAMES, True),
        "item/stock": ([0, 1, 2, 3, 9], False),
        "item/price": (["-3.0", "-1.1", "0", "0.00", "1.2", 2], False),
        "item/tags": ([*TAGS, "t9"], True),
        "item/fragile": ([False, True], False),
        "item/code": (["c1", "c2", "c10", "zz"], True),
        "item/maker": ([], False),
        "item/like": ([], False),
    },
    "maker": {
        "maker/name": (NAMES, True),
        "db/ident": (["my/m1", "my/m3"], True),
        "maker/parent": ([], False),
        "maker/items": ([], False),
    },
}
ORDERS = {
    "item": ["item/name", "-item/name", "item/price", "-item/price", "item/code"],
    "maker": ["-maker/name"],
}
CLASSES = {"item": ["shop/Item", "shop/Boot"], "maker": ["shop/Maker"]}


def compare(shop: Database, dice: random.Random, rounds: int, as_of: int | None) -> None:
    """Ask random questions both ways."""
    naive = {cls: Naive(shop, cls, as_of) for names in CLASSES.values() for cls in names}
    for _ in range(rounds):
        shape = dice.choice(["item", "item", "maker"])
        cls = dice.choice(CLASSES[shape])
        where = random_filter(dice, shape)
        order = dice.choice([None, *ORDERS[shape]])
        size = dice.choice([1, 3, 1000])
        answer = [
            entity.entity_id
            for entity in shop.each(cls, where, order_by=order, as_of=as_of, page_size=size)
        ]
        expected = naive[cls].answer(where, order)
        asked = (cls, where, order, as_of, size)
        assert sorted(answer) == sorted(expected), asked
        if order is not None:
            ranks = naive[cls].ranks(order)
            assert [ranks[id] for id in answer] == [ranks[id] for id in expected], asked


@pytest.mark.parametrize("seed", range(3))
def test_random_filters_agree_with_a_naive_reading(shop: Database, seed: int) -> None:
    dice = random.Random(seed)
    populate(shop, dice)
    then = shop.t - dice.randrange(1, 15)
    compare(shop, dice, 30, None)
    compare(shop, dice, 12, then)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_very_many_random_filters_agree_with_a_naive_reading(shop: Database, seed: int) -> None:
    dice = random.Random(seed)
    populate(shop, dice)
    then = shop.t - dice.randrange(1, 15)
    compare(shop, dice, 500, None)
    compare(shop, dice, 200, then)
