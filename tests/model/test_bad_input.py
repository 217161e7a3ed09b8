"""Whatever is wrong with a call, it is a Problem with a hint, at once, and nothing is written."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sandbar import Database, Problem
from tests.model.shop import item

LIMIT_S = 0.05
ATTEMPTS = 8
SURROGATE = "\ud800"
HUGE = 2**70


class Strange:
    """An object that is nothing to a database."""


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def deep_filter(depth: int) -> dict[str, Any]:
    """not not not …"""
    value: dict[str, Any] = {"item/name": "x"}
    for _ in range(depth):
        value = {"not": value}
    return value


WRONG_VALUES: dict[str, list[Any]] = {
    "item/name": [
        1, True, None, [], ["a"], {}, 1.5, b"x", "nul\0", SURROGATE, Strange(), "x" * (2**20 + 1),
    ],
    "item/stock": [
        "1", 1.5, True, HUGE, -HUGE, [], {}, "", float("nan"),
    ],
    "item/fragile": [
        0, 1, "true", [], "", {},
    ],
    "item/price": [
        "1,5", "", "NaN", "Infinity", float("nan"), float("inf"), True, [], {}, "1" * 500,
        "1e99999",
    ],
    "item/tags": [
        "a b", "", [None], [["a"]], [1], {}, "/", "a/", [SURROGATE], "x" * 300,
    ],
    "item/extra": [
        float("nan"), [float("inf")], {1: 2}, Strange(), [Strange()], nested(100), "\0",
        {SURROGATE: 1}, [HUGE], {"a": {2, 3}},
    ],
    "item/maker": [
        "", "x", "no/such", HUGE, -1, 0, True, 1.5, [], {}, {"item/code": "none"},
        {"item/name": "x"}, {"a": 1, "b": 2}, {1: 2}, {"item/nope": 1}, SURROGATE, None.__class__,
        999_999, {"maker/items": 3},
    ],
    "item/like": [
        ["no/such"], [None], [[]], [HUGE], {"item/code": ["x"]}, {"item/code": None},
    ],
    "db/ident": [
        "x", "", "a b/c", "/", "a/", 5, [], {}, "a/" + "x" * 300, "1/a", SURROGATE, "a/b/c",
    ],
    "item/code": [
        5, [], {}, None.__class__, "\0",
    ],
}  # fmt: skip

WRONG_SLOTS: list[Any] = [
    {"item/nope": 1}, {"nope": 1}, {"": 1}, {SURROGATE: 1}, {"item/nam": "x"}, {1: 2}, {None: 1},
    {"x" * 10_000: 1}, {"line/count": 1}, {"shop/Item": 1}, {"dt/type": "shop/Boot"}, None, [],
    "x", 5,
]  # fmt: skip

WRONG_CLASSES: list[Any] = [
    "shop/Itme", "", "x", None, 5, HUGE, [], {}, "dt/Ref", "dt/Resource", "db.type/string",
    "item/name", SURROGATE, True, 1.5, {"db/ident": "shop/Item"}, "x" * 10_000, Strange(),
]  # fmt: skip

WRONG_REFERENCES: list[Any] = [
    0, -1, HUGE, -HUGE, True, None, 1.5, "", "x", "a/b", "99999999", [], {}, {"item/name": "x"},
    {"item/code": "none"}, {"item/code": 5}, {"item/code": None}, {"nope/x": 1}, {1: 1}, SURROGATE,
    {"item/maker": 5}, {"item/code": "a", "item/serial": 1}, Strange(), "x" * 100_000, b"x",
    {"item/code": SURROGATE}, {"item/code": {}}, {"item/serial": HUGE},
]  # fmt: skip

WRONG_FILTERS: list[Any] = [
    [], "x", 5, True, {"item/nope": 1}, {"item/name": 5}, {"item/name": {"~": 1}},
    {"item/name": {"=": 1}}, {"item/name": {"in": "x"}}, {"item/name": {"in": [1]}},
    {"item/name": {"in": ["x"] * 1001}}, {"item/stock": {"<": "x"}}, {"item/stock": {"<": None}},
    {"item/stock": HUGE}, {"item/stock": {"=": []}}, {"item/stock": {"starts-with": "1"}},
    {"item/name": {"starts-with": 1}}, {"item/name": {"contains": 1}},
    {"item/name": {"contains": SURROGATE}}, {"item/name": {"starts-with": "\0"}},
    {"item/name": SURROGATE}, {"item/name": {"exists": 1}}, {"item/name": {"exists": "true"}},
    {"item/extra": 1}, {"item/extra": {"<": 1}}, {"and": {}}, {"or": "x"}, {"not": []},
    {"and": [5]}, {"or": [{"item/nope": 1}]}, {"not": {"item/nope": 1}},
    {"item/maker": {"maker/nope": 1}}, {"item/maker": {"item/name": "x"}},
    {"item/name": {"item/name": "x"}}, {"item/maker": "no/such"}, {"item/maker": HUGE},
    {"item/maker": [1]}, {"item/name": {1: 2}}, {1: 2}, {"item/name": {"=": Strange()}},
    {SURROGATE: 1}, {"line/count": 1}, deep_filter(20), deep_filter(5000),
    {"or": [{"item/name": "x"}] * 5000}, {"item/price": {"<": "1,0"}}, {"item/tags": {"=": "a b"}},
    {None: 1}, {"item/name": {None: 1}}, {"item/name": {"": 1}}, {"item/fragile": 0},
    {"x" * 100_000: 1},
]  # fmt: skip

WRONG_OPERATIONS: list[Any] = [
    None, 5, "x", {}, [], [None], [5], ["create"], [[]], [{}], [{"op": "make"}],
    [{"op": "create"}], [{"op": "create", "class": "shop/Item", "slots": []}],
    [{"op": "create", "class": "shop/Item", "slots": {1: 2}}],
    [{"op": "create", "class": "shop/Item", "slot": {}}],
    [{"op": "create", "class": "shop/Item", "temp": 5}], [{"op": "update"}],
    [{"op": "update", "entity": 1000, "set": 5}],
    [{"op": "update", "entity": 1000, "expect": "x"}],
    [{"op": "update", "entity": 1000, "put": {}}], [{"op": "delete"}],
    [{"op": "delete", "entity": 1000, "mode": "x"}], [{"op": "delete", "entity": HUGE}],
    [{"op": "migrate"}], [{"op": "migrate", "class": "shop/Nope"}],
    [{"op": "migrate", "class": "shop/Item", "fill": {"item/nope": 1}}],
    [{"op": "migrate", "class": "shop/Item", "clear": "x"}],
    [{"op": "migrate", "class": "shop/Item", "clear": ["item/nope"]}], [{"op": 5}], [Strange()],
    [{"op": "create", "class": "shop/Item", "slots": {"item/name": "x"}}] * 10_001,
    [{"op": "create", "class": "shop/Item", "slots": {"item/extra": nested(50_000)}}] * 2,
    [{"op": "create", "class": "shop/Item", "slots": {"item/name": SURROGATE}}] * 2,
]  # fmt: skip

TEXT = {"dt/range": "db.type/string"}
WRONG_PROPERTIES: list[Any] = [
    {}, {"dt/range": "no/such"}, {"dt/range": "item/name"}, {"dt/range": 5},
    {"dt/range": "dt/Literal"}, {**TEXT, "db/cardinality": "two"}, {**TEXT, "db/unique": "yes"},
    {**TEXT, "dt/required?": "yes"}, {**TEXT, "dt/pattern": "("}, {**TEXT, "dt/pattern": "(?=x)"},
    {**TEXT, "dt/pattern": "x" * 2000}, {**TEXT, "dt/pattern": "((a{0,1000}){0,1000}){0,1000}"},
    {**TEXT, "dt/pattern": 5}, {**TEXT, "dt/min": "a"}, {**TEXT, "dt/max": -1},
    {**TEXT, "dt/min": True}, {**TEXT, "dt/default": 5},
    {**TEXT, "dt/default": "long", "dt/max": 3},
    {**TEXT, "dt/default": "c", "dt/one-of": ["a", "b"]}, {**TEXT, "dt/one-of": [5]},
    {**TEXT, "dt/component?": True}, {**TEXT, "dt/inverse-of": "item/maker"},
    {"dt/range": "db.type/long", "dt/min": "x"}, {"dt/range": "db.type/long", "dt/pattern": "x"},
    {"dt/range": "db.type/instant", "dt/max": "tomorrow"},
    {"dt/range": "db.type/json", "dt/indexed?": True},
    {"dt/range": "db.type/json", "db/unique": "value"}, {"dt/range": "db.type/json", "dt/min": 1},
    {"dt/range": "db.type/tuple", "dt/indexed?": True}, {"dt/range": "shop/Item", "dt/min": 1},
    {"dt/range": "shop/Item", "dt/one-of": [1]},
    {"dt/range": "shop/Item", "dt/inverse-of": "item/name"},
    {"dt/range": "shop/Item", "dt/inverse-of": "maker/items"},
    {"dt/range": "shop/Item", "dt/default": "no/such"},
    {"dt/range": "shop/Item", "dt/inverse-of": "item/maker", "dt/required?": True},
    {**TEXT, "dt/secret?": True, "db/unique": "value"},
    {**TEXT, "dt/secret?": True, "dt/default": "x"},
    {**TEXT, "dt/secret?": True, "db/cardinality": "many"},
    {"dt/range": "db.type/long", "dt/secret?": True},
]  # fmt: skip
WRONG_CLASS_DEFINITIONS: list[Any] = [
    {"dt/slots": "no/such"}, {"dt/slots": ["shop/Item"]}, {"dt/slots": [HUGE]}, {"dt/slots": 1.5},
    {"dt/subclass-of": "no/such"}, {"dt/subclass-of": "item/name"},
    {"dt/subclass-of": "new/Class"}, {"dt/abstract?": 1}, {"dt/validator": "this["},
    {"dt/validator": "nope > 1"}, {"dt/validator": 5}, {"dt/validator": "x" * 100_000},
    {"dt/validator": "(" * 10_000}, {"dt/native-codec": "a b"},
]  # fmt: skip


def check(db: Database, call: Callable[[], Any], what: object) -> None:
    """The call raises a Problem with a hint, soon, and writes nothing."""
    before = db.t
    shown = reprlib.repr(what)
    for _ in range(ATTEMPTS):
        start = time.perf_counter()
        problem = refusal(call)
        took = time.perf_counter() - start
        if took < LIMIT_S:
            break
    assert problem is not None, f"accepted: {shown}"
    assert problem.code
    assert problem.message
    assert len(str(problem)) < 2_000, shown
    assert problem.hint, (shown, problem.code, problem.message)
    assert took < LIMIT_S, (shown, took)
    assert str(problem).encode()  # it can be shown to anybody
    assert db.t == before, shown


def refusal(call: Callable[[], Any]) -> Problem | None:
    """The Problem that the call raises; nothing else may be raised."""
    try:
        call()
    except Problem as problem:
        return problem
    return None


@pytest.mark.parametrize("slot", WRONG_VALUES)
def test_wrong_values(shop: Database, slot: str) -> None:
    hat = item(shop, "Hat")
    for value in WRONG_VALUES[slot]:
        slots = {"item/name": "x", slot: value}
        check(shop, partial(shop.create, "shop/Item", slots), (slot, value))
        if value is not None:
            check(shop, partial(shop.update, hat, {slot: value}), (slot, value))
            check(shop, partial(shop.update, hat, add={slot: value}), (slot, value))
        key = {"idempotency_key": "k"}
        check(shop, partial(shop.create, "shop/Item", slots, **key), (slot, value))


def test_wrong_slots(shop: Database) -> None:
    hat = item(shop, "Hat")
    for slots in WRONG_SLOTS:
        check(shop, partial(shop.create, "shop/Item", slots), slots)
        if slots:
            check(shop, partial(shop.update, hat, slots), slots)
            check(shop, partial(shop.update, hat, add=slots), slots)
            check(shop, partial(shop.update, hat, remove=slots), slots)


def test_wrong_classes(shop: Database) -> None:
    for cls in WRONG_CLASSES:
        check(shop, partial(shop.create, cls, {"item/name": "x"}), cls)
        if cls not in ("dt/Ref", "dt/Resource", "db.type/string", 5):
            check(shop, partial(shop.query, cls), cls)
            check(shop, partial(shop.schema.describe, cls), cls)
            check(shop, partial(shop.explain, cls), cls)


def test_wrong_references(shop: Database) -> None:
    for name in WRONG_REFERENCES:
        check(shop, partial(shop.get, name), name)
        check(shop, partial(shop.get, name, as_of=shop.t - 1), name)
        check(shop, partial(shop.update, name, {"item/name": "x"}), name)
        check(shop, partial(shop.delete, name, mode="cascade"), name)
        check(shop, partial(shop.history, name), name)
        check(shop, partial(shop.secret_matches, name, "item/name", "x"), name)
        if name != 0:
            check(shop, partial(shop.diff, name, 1), name)


def test_wrong_filters(shop: Database) -> None:
    item(shop, "x")
    cursor = "W10"
    for where in WRONG_FILTERS:
        check(shop, partial(shop.query, "shop/Item", where), where)
        check(shop, partial(shop.query, "shop/Item", where, cursor=cursor), where)
        check(shop, partial(shop.query, "shop/Item", where, as_of=shop.t - 1), where)
        check(shop, partial(shop.explain, "shop/Item", where), where)


def test_wrong_questions(shop: Database) -> None:
    item(shop, "x")
    questions: list[dict[str, Any]] = [
        {"order_by": 5}, {"order_by": ""}, {"order_by": "--item/name"}, {"order_by": "item/nope"},
        {"order_by": []}, {"order_by": SURROGATE}, {"fields": 5}, {"fields": "item/name"},
        {"fields": [5]}, {"fields": ["item/nope"]}, {"fields": [None]}, {"fields": [[]]},
        {"limit": 0}, {"limit": "x"}, {"limit": HUGE}, {"cursor": 5}, {"cursor": ""},
        {"cursor": "x"},
        {"cursor": b"x"}, {"cursor": SURROGATE}, {"cursor": "A" * 100_000}, {"as_of": -1},
        {"as_of": 10**9}, {"as_of": HUGE}, {"as_of": "yesterday"}, {"as_of": True}, {"as_of": 1.5},
        {"as_of": ""}, {"as_of": []}, {"as_of": "2026-01-01T00:00:00"},
    ]  # fmt: skip
    for words in questions:
        check(shop, partial(shop.query, "shop/Item", **words), words)
        if "as_of" in words:
            check(shop, partial(shop.get, "shop/Item", **words), words)
            check(shop, partial(shop.diff, "shop/Item", words["as_of"]), words)
            check(shop, partial(shop.schema_as_of, words["as_of"]), words)
    limits: list[Any] = [0, "x", HUGE, None]
    for words in [{"limit": limit} for limit in limits]:
        check(shop, partial(shop.history, "shop/Item", **words), words)
        check(shop, partial(shop.changes, **words), words)
    starts: list[Any] = [-1, "x", HUGE, None, 1.5]
    for value in starts:
        check(shop, partial(shop.history, "shop/Item", after=value), value)
        check(shop, partial(shop.changes, since=value), value)


def test_wrong_operations(shop: Database) -> None:
    for operations in WRONG_OPERATIONS:
        check(shop, partial(shop.transact, operations), operations)


def test_wrong_definitions(shop: Database) -> None:
    for slots in WRONG_PROPERTIES:
        check(shop, partial(shop.define, properties={"new/property": slots}), slots)
        check(shop, partial(shop.create, "dt/Property", {"db/ident": "new/p", **slots}), slots)
    for slots in WRONG_CLASS_DEFINITIONS:
        check(shop, partial(shop.define, classes={"new/Class": slots}), slots)
    wrong: list[Any] = [
        {"x": TEXT},
        {5: TEXT},
        {"new/p": None},
        {"new/p": []},
        5,
        ["new/p"],
        {"new/p": {1: 2}},
    ]
    for properties in wrong:
        check(shop, partial(shop.define, properties=properties), properties)
        check(shop, partial(shop.define, classes=properties), properties)
    check(shop, lambda: shop.define(), "nothing")


def test_wrong_words_about_a_write(shop: Database) -> None:
    questions: list[dict[str, Any]] = [
        {"reason": 5}, {"reason": "x" * 3000}, {"reason": "\0"}, {"reason": SURROGATE},
        {"idempotency_key": 5}, {"idempotency_key": "x" * 300}, {"idempotency_key": "\0"},
        {"idempotency_key": SURROGATE}, {"expect": "x"}, {"expect": 1.5}, {"expect": True},
        {"expect": HUGE},
    ]  # fmt: skip
    for words in questions:
        check(shop, partial(shop.update, "shop/Item", {"db/doc": "x"}, **words), words)
    hat = item(shop, "Hat")
    modes: list[Any] = ["", None, 5, "REFUSE", "all"]
    for mode in modes:
        check(shop, partial(shop.delete, hat, mode=mode), mode)


def test_values_at_the_edge_are_accepted(shop: Database) -> None:
    hat = item(
        shop, "x" * 2**20, stock=2**63 - 1, price="1" * 400, extra=nested(60), tags="x" * 255
    )
    shop.update(hat, {"item/stock": -(2**63), "db/ident": "a/" + "x" * 253, "db/doc": ""})
    assert shop.get(hat).ident == "a/" + "x" * 253
