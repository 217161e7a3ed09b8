"""Whatever Python can hold is given to every public method: the answer is a Problem that shows it.

Huge integers have no text, some objects refuse to be shown, equality or hashes may fail: what was
given reaches a message by `refusals.shown` and its like only.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbar import Database, Incorrect, Problem
from sandbar.errors import Fault

HUGE = 10**5000
LONGEST_MESSAGE = 600


class Unshowable:
    """An object that cannot be turned into text."""

    def __repr__(self) -> str:
        raise RuntimeError("nobody may show this")

    __str__ = __repr__


class Chatty:
    """An object that says far too much."""

    def __repr__(self) -> str:
        return "x" * 100_000


def deep(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def deep_object(depth: int) -> Any:
    """An object in an object in an object."""
    value: Any = 1
    for _ in range(depth):
        value = {"item/name": value}
    return value


def only(key: Any, value: Any) -> Any:
    """An object with one key, of whatever type."""
    return {key: value}


KEYS: list[Any] = [HUGE, -HUGE, (HUGE,), Unshowable(), Chatty(), "\ud800", "\ud800/x", b"x", None,
                   1.5, float("nan"), "x" * 100_000, "", "\0", frozenset({HUGE})]  # fmt: skip
VALUES: list[Any] = [
    *KEYS,
    [HUGE],
    [Unshowable()],
    ["\ud800"],
    {HUGE: 1},
    {"item/code": HUGE},
    {"item/serial": HUGE},
    {"item/maker": HUGE},
    {"item/code": "\ud800"},
    {"item/code": Unshowable()},
    {Unshowable(): 1},
    {"\ud800": HUGE},
    {"=": HUGE},
    {"in": [HUGE, Unshowable(), "\ud800"]},
    {"in": HUGE},
    {HUGE: HUGE},
    {"and": HUGE},
    {"starts-with": HUGE},
    {"exists": HUGE},
    {HUGE},
    deep(5000),
    deep_object(5000),
    range(3),
    object(),
    int,
    Unshowable,
    memoryview(b"x"),
    2**63,
    -1,
    10**40,
    True,
    complex(1, 1),
]

SLOTS = ["item/name", "item/serial", "item/price", "item/tags", "item/extra", "item/maker",
         "item/like", "db/ident", "dt/type"]  # fmt: skip

READS: dict[str, Callable[[Database, Any], Any]] = {
    "get": lambda db, x: db.get(x),
    "get as of": lambda db, x: db.get("dt/Class", as_of=x),
    "query": lambda db, x: db.query(x),
    "query where": lambda db, x: db.query("shop/Item", x),
    "query not": lambda db, x: db.query("shop/Item", {"not": x}),
    "query and": lambda db, x: db.query("shop/Item", {"and": [x]}),
    "query order": lambda db, x: db.query("shop/Item", order_by=x),
    "query fields": lambda db, x: db.query("shop/Item", fields=x),
    "query field": lambda db, x: db.query("shop/Item", fields=[x]),
    "query limit": lambda db, x: db.query("shop/Item", limit=x),
    "query cursor": lambda db, x: db.query("shop/Item", cursor=x),
    "query as of": lambda db, x: db.query("shop/Item", as_of=x),
    "each": lambda db, x: list(db.each("shop/Item", page_size=x)),
    "search": lambda db, x: db.search(x),
    "search class": lambda db, x: db.search("a", class_=x),
    "search limit": lambda db, x: db.search("a", limit=x),
    "search cursor": lambda db, x: db.search("a", cursor=x),
    "history": lambda db, x: db.history(x),
    "history after": lambda db, x: db.history("dt/Class", after=x),
    "history limit": lambda db, x: db.history("dt/Class", limit=x),
    "diff": lambda db, x: db.diff(x, 0),
    "diff before": lambda db, x: db.diff("dt/Class", x),
    "diff after": lambda db, x: db.diff("dt/Class", 0, x),
    "changes since": lambda db, x: db.changes(since=x),
    "changes limit": lambda db, x: db.changes(limit=x),
    "explain": lambda db, x: db.explain(x),
    "explain where": lambda db, x: db.explain("shop/Item", x),
    "secret": lambda db, x: db.secret_matches(x, "item/name", "x"),
    "secret slot": lambda db, x: db.secret_matches("dt/Class", x, "x"),
    "instance of": lambda db, x: db.instance_of("dt/Class", x),
    "instance": lambda db, x: db.instance_of(x, "dt/Class"),
    "schema as of": lambda db, x: db.schema_as_of(x),
    "class": lambda db, x: db.schema.slots(x),
    "property": lambda db, x: db.schema.describe_property(x),
    "query cursor where": lambda db, x: db.query("shop/Item", {"item/name": x}, cursor="x"),
    "call": lambda db, x: db.call(x, {}),
    "call arguments": lambda db, x: db.call("entity.find", x),
    "call argument": lambda db, x: db.call("entity.find", {"entity": x}),
}
WRITES: dict[str, Callable[[Database, Any], Any]] = {
    "create": lambda db, x: db.create(x, {}),
    "create slots": lambda db, x: db.create("shop/Item", x),
    "create reason": lambda db, x: db.create("shop/Item", {"item/name": "a"}, reason=x),
    "create key": lambda db, x: db.create("shop/Item", {}, idempotency_key=x),
    "update": lambda db, x: db.update(x, {"item/name": "b"}),
    "update set": lambda db, x: db.update("my/item", x),
    "update add": lambda db, x: db.update("my/item", add=x),
    "update remove": lambda db, x: db.update("my/item", remove=x),
    "update expect": lambda db, x: db.update("my/item", {"item/name": "b"}, expect=x),
    "delete": lambda db, x: db.delete(x),
    "delete mode": lambda db, x: db.delete("my/item", mode=x, expect=0),
    "delete expect": lambda db, x: db.delete("my/item", expect=x),
    "restore": lambda db, x: db.restore(x),
    "restore to": lambda db, x: db.restore("my/item", x),
    "purge": lambda db, x: db.purge(x),
    "purge mode": lambda db, x: db.purge("dt/Class", mode=x),
    "transact": lambda db, x: db.transact(x),
    "transact one": lambda db, x: db.transact([x]),
    "transact op": lambda db, x: db.transact([{"op": x}]),
    "transact key": lambda db, x: db.transact([{"op": "create", "class": "shop/Item", "temp": x}]),
    "migrate": lambda db, x: db.transact([{"op": "migrate", "class": x}]),
    "migrate fill": lambda db, x: db.transact(
        [{"op": "migrate", "class": "shop/Maker", "fill": x}]
    ),
    "migrate clear": lambda db, x: db.transact(
        [{"op": "migrate", "class": "shop/Maker", "clear": [x]}]
    ),
    "migrate rename": lambda db, x: db.transact(
        [{"op": "migrate", "class": "shop/Maker", "rename": {"maker/name": x}}]
    ),
    "preview": lambda db, x: db.workspace.preview().findings(x),
    "define properties": lambda db, x: db.define(properties=x),
    "define property": lambda db, x: db.define(properties={"my/p": x}),
    "define range": lambda db, x: db.define(properties={"my/p": {"dt/range": x}}),
    "define classes": lambda db, x: db.define(classes=x),
    "define slots": lambda db, x: db.define(classes={"my/C": {"dt/slots": x}}),
    "define slot": lambda db, x: db.define(classes={"my/C": {"dt/slots": [x]}}),
    "load pack": lambda db, x: db.load_pack(x),
    "run": lambda db, x: db.run(x),
    "run inside": lambda db, x: db.run(lambda: db.run(x)),
    "count": lambda db, x: db.workspace.count("item/serial", x),
}
KEYED: dict[str, Callable[[Database, Any], Any]] = {
    "get": lambda db, x: db.get({x: 1}),
    "query slot": lambda db, x: db.query("shop/Item", {x: 1}),
    "query operator": lambda db, x: db.query("shop/Item", {"item/name": {x: 1}}),
    "query path": lambda db, x: db.query("shop/Item", {"item/maker": {x: 1, "maker/name": 1}}),
    "create": lambda db, x: db.create("shop/Item", {x: 1}),
    "update": lambda db, x: db.update("my/item", add={x: 1}),
    "transact": lambda db, x: db.transact([{"op": "create", "class": "shop/Item", x: 1}]),
    "transact slots": lambda db, x: db.transact(
        [{"op": "create", "class": "shop/Item", "slots": {x: 1}}]
    ),
    "define": lambda db, x: db.define(properties={x: {"dt/range": "db.type/long"}}),
    "define nothing": lambda db, x: db.define(properties=only(x, 1)),
    "call": lambda db, x: db.call("entity.find", {x: 1}),
}


def told(call: Callable[[], Any]) -> str | None:
    """What is wrong with how a call answers."""
    try:
        call()
    except Problem as problem:
        text = json.dumps([problem.message, problem.hint, problem.data])
        text.encode()
        if isinstance(problem, Fault):
            return str(problem)
        is_short = len(problem.message) <= LONGEST_MESSAGE
        return None if is_short else f"{len(problem.message)} characters"
    except BaseException as error:  # noqa: BLE001 - whatever else leaves a method is a defect
        return f"{type(error).__name__}: {str(error)[:100]}"
    return None


def failures(db: Database, calls: dict[str, Any], values: list[Any]) -> list[str]:
    """The calls that answer with anything but a result or a short Problem."""
    pairs = itertools.product(calls.items(), enumerate(values))
    found = (
        (f"{name}({type(value).__name__} {at})", told(lambda: call(db, value)))  # noqa: B023
        for (name, call), (at, value) in pairs
    )
    return [f"{name}: {wrong}" for name, wrong in found if wrong is not None]


@pytest.fixture
def stocked(shop: Database) -> Database:
    """The shop with one item."""
    shop.create("shop/Item", {"db/ident": "my/item", "item/name": "a"})
    return shop


def test_strange_values_are_refused_wherever_they_are_given_to_a_read(stocked: Database) -> None:
    assert failures(stocked, READS, VALUES) == []


def test_strange_values_are_refused_wherever_they_are_given_to_a_write(stocked: Database) -> None:
    assert failures(stocked, WRITES, VALUES) == []


def test_strange_keys_are_refused_wherever_they_are_given(stocked: Database) -> None:
    assert failures(stocked, KEYED, [*KEYS, True, (1, 2), object()]) == []


@pytest.mark.parametrize("slot", SLOTS)
def test_strange_values_of_slots_are_refused(stocked: Database, slot: str) -> None:
    calls: dict[str, Callable[[Database, Any], Any]] = {
        "create": lambda db, x: db.create("shop/Item", {"item/name": "a", slot: x}),
        "transact": lambda db, x: db.transact(
            [{"op": "create", "class": "shop/Item", "slots": {slot: x}}]
        ),
        "add": lambda db, x: db.update("my/item", add={slot: x}),
        "several": lambda db, x: db.update("my/item", {slot: [x]}),
        "query": lambda db, x: db.query("shop/Item", {slot: x}),
        "in": lambda db, x: db.query("shop/Item", {slot: {"in": [x]}}),
        "look up": lambda db, x: db.get({slot: x}),
        "inside": lambda db, x: db.run(lambda: db.get({slot: x})),
    }
    assert failures(stocked, calls, VALUES) == []


def test_run_takes_a_function_and_says_so(stocked: Database) -> None:
    with pytest.raises(Incorrect, match="run takes a function, got null") as caught:
        stocked.run(None)  # type: ignore[arg-type]
    assert caught.value.code == "run.no-function"
    assert "db.run(work)" in str(caught.value.hint)
