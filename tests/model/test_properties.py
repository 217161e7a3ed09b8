"""What a property can demand of its values, and that every value comes back as it went in."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from sandbar import Database, NotFound
from tests.model.shop import item, problem_of, refused, slots_of

ROUND_TRIPS: dict[str, list[Any]] = {
    "string": [
        "", " ", "plain", "'; DROP TABLE entity; --", "\\", '"', "\u2028\u2029\x01\x7f\x85",
        "😀" * 50, "e\u0301 é", "\r\n\t", "%s {} $1 ?", "x" * 2**20, "null", "\ufeff",
        "\uffff\U0010ffff",
    ],
    "boolean": [
        True, False,
    ],
    "long": [
        0, -1, 2**63 - 1, -(2**63), 2**53 + 1,
    ],
    "double": [
        0.0, 1.5, -1e-308, 5e-324, 1.7976931348623157e308, 0.1, 1e22,
    ],
    "float": [
        1.5, -2.0,
    ],
    "bigint": [
        "0", "-1", "9" * 400, "-" + "9" * 400,
    ],
    "bigdec": [
        "0.00", "1.50", "-1E-21", "1E+6000", "1E-6000", "9" * 400,
    ],
    "instant": [
        "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z",
    ],
    "keyword": [
        "a", "a/b", "ns.deep/name!?*", "ключ/имя", "ह/नि", "e\u0301/x", "தமிழ்", "ภาษา/ที่",
    ],
    "symbol": [
        "a", "core/inc",
    ],
    "uuid": [
        "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ],
    "uri": [
        "urn:a", "https://example.org/ü?q=%00&x='\"#frag", "mailto:a@b",
    ],
    "bytes": [
        "", "AA==", "/////w==",
    ],
    "tuple": [
        [], [1], ["a", None, True, 1.5, 2**62], [""] * 64,
    ],
    "json": [
        False, 0, "", [], {}, [None], {"": {"": []}}, {"a/b": 1, "dt/type": 2, "1000": 3}, 1.0,
        [[[[]]]], {"\u0001": "\u2028", "k" * 5000: "😀"},
    ],
}  # fmt: skip
NATURAL: list[tuple[str, Any, Any]] = [
    ("instant", datetime(2026, 11, 15, 12, tzinfo=UTC), "2026-11-15T12:00:00Z"),
    ("instant", "2026-11-15T12:00:00.5+02:00", "2026-11-15T10:00:00.500000Z"),
    ("bigdec", Decimal("1.50"), "1.50"),
    ("bigdec", 3, "3"),
    ("bigdec", 0.1, "0.1"),
    ("bigint", 10**30, "1" + "0" * 30),
    ("uuid", UUID(int=5), str(UUID(int=5))),
    ("uuid", str(UUID(int=2**128 - 1)).upper(), str(UUID(int=2**128 - 1))),
    ("bytes", b"\x00\xff", "AP8="),
    ("double", 3, 3.0),
    ("double", -0.0, 0.0),
    ("keyword", ":a/b", "a/b"),
    ("tuple", (1, 2), [1, 2]),
]


def with_slot(db: Database, name: str, **slots: Any) -> None:
    """A class with one slot `p/slot` of a type."""
    given = {key.replace("__", "?").replace("_", "-"): value for key, value in slots.items()}
    definition = {
        f"{'db' if k in ('unique', 'cardinality') else 'dt'}/{k}": v for k, v in given.items()
    }
    db.define(
        properties={
            "p/slot": {"dt/range": name if "/" in name else f"db.type/{name}", **definition}
        },
        classes={"p/Class": {"dt/slots": ["p/slot"]}},
    )


def made(db: Database, value: Any) -> int:
    """An entity with this value."""
    return db.create("p/Class", {"p/slot": value}).entity_id


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_every_value_comes_back_as_it_went_in(db: Database, name: str) -> None:
    with_slot(db, name)
    db.define(
        properties={"p/many": {"dt/range": f"db.type/{name}", "db/cardinality": "many"}},
        classes={"p/Class": {"dt/slots": ["p/slot", "p/many"]}},
    )
    for value in ROUND_TRIPS[name]:
        id = made(db, value)
        stored = slots_of(db, id)["p/slot"]
        assert (stored, repr(stored)) == (value, repr(value))
        assert slots_of(db, id, as_of=db.t) == slots_of(db, id)
    every = db.create("p/Class", {"p/many": ROUND_TRIPS[name]}).entity_id
    assert repr(slots_of(db, every)["p/many"]) == repr(ROUND_TRIPS[name])


def test_natural_python_values_are_accepted(db: Database) -> None:
    names = {f"p/{name}": {"dt/range": f"db.type/{name}"} for name, _, _ in NATURAL}
    db.define(properties=names, classes={"p/Class": {"dt/slots": list(names)}})
    for name, given, expected in NATURAL:
        stored = slots_of(db, db.create("p/Class", {f"p/{name}": given}).entity_id)[f"p/{name}"]
        assert repr(stored) == repr(expected)


def test_equal_values_are_one_value_of_a_many_valued_slot(db: Database) -> None:
    with_slot(db, "bigdec", cardinality="many", indexed__=True)
    id = made(db, ["1.5", "1.50", "15E-1", "2"])
    assert slots_of(db, id)["p/slot"] == ["1.5", "2"]
    db.update(id, add={"p/slot": "2.0"}, remove={"p/slot": "1.500"})
    assert slots_of(db, id)["p/slot"] == ["2"]
    assert db.query("p/Class", {"p/slot": "2.000"}).items[0].entity_id == id


@pytest.mark.parametrize("unique", ["identity", "value"])
def test_unique(db: Database, unique: str) -> None:
    with_slot(db, "string", unique=unique)
    long = "x" * 1000
    id = made(db, long)
    other = made(db, long + "y")
    assert db.get({"p/slot": long}).entity_id == id
    with refused(db, "slot.not-unique") as problems:
        made(db, long)
    assert str(id) in str(problems[0].hint)
    db.create("p/Class", {})
    db.create("p/Class", {})
    db.update(other, {"p/slot": None})
    assert isinstance(problem_of(lambda: db.get({"p/slot": long + "y"})), NotFound)
    assert made(db, long + "y")


def test_unique_decimals_are_compared_as_numbers(db: Database) -> None:
    with_slot(db, "bigdec", unique="value")
    made(db, "1.5")
    with refused(db, "slot.not-unique"):
        made(db, "1.50")


def test_unique_values_of_a_many_valued_slot(db: Database) -> None:
    with_slot(db, "keyword", unique="value", cardinality="many")
    id = made(db, ["a", "b"])
    with refused(db, "slot.not-unique"):
        made(db, ["c", "b"])
    assert db.get({"p/slot": "b"}).entity_id == id


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("db/unique", "value"),
        ("dt/component?", True),
        ("dt/indexed?", True),
        ("dt/required?", True),
        ("dt/default", 1),
    ],
)
def test_a_derived_slot_takes_no_options_that_need_stored_values(
    shop: Database, option: str, value: Any
) -> None:
    with refused(shop, "property.contradiction") as problems:
        shop.update("maker/items", {option: value, "db/doc": "What it makes."})
    assert f"drop {option}" in str(problems[0].hint)
    shop.define(properties={"x/p": {"dt/range": "shop/Item"}})
    if option != "dt/default":
        shop.update("x/p", {option: value})
        with refused(shop, "property.contradiction"):
            shop.update("x/p", {"dt/inverse-of": "item/like"})
        shop.update("x/p", {"dt/inverse-of": "item/like", option: None})
    if value is True:
        shop.update("maker/items", {option: False})  # says what holds anyway


@pytest.mark.parametrize("default", [0, 7])
def test_default(db: Database, default: int) -> None:
    with_slot(db, "long", default=default)
    assert slots_of(db, db.create("p/Class", {}).entity_id)["p/slot"] == default
    assert slots_of(db, made(db, 3))["p/slot"] == 3
    for name in ("p/slot", ":p/slot"):
        assert slots_of(db, db.create("p/Class", {name: None}).entity_id) == {}
    id = made(db, 3)
    db.update(id, {"p/slot": None})
    assert slots_of(db, id) == {}


@pytest.mark.parametrize(
    ("name", "default", "shown"),
    [
        ("boolean", False, False),
        ("string", "", ""),
        ("json", {"a": []}, {"a": []}),
        ("json", False, False),
    ],
)
def test_a_default_may_be_false_or_empty(db: Database, name: str, default: Any, shown: Any) -> None:
    with_slot(db, name, default=default)
    assert slots_of(db, db.create("p/Class", {}).entity_id)["p/slot"] == shown


def test_a_default_of_a_many_valued_slot(db: Database) -> None:
    with_slot(db, "string", cardinality="many", default="one")
    assert slots_of(db, db.create("p/Class", {}).entity_id)["p/slot"] == ["one"]
    db.update("p/slot", {"dt/default": ["one", "two"]})
    assert slots_of(db, db.create("p/Class", {}).entity_id)["p/slot"] == ["one", "two"]


def test_a_required_slot_with_a_default_need_not_be_given(db: Database) -> None:
    with_slot(db, "string", required__=True, default="d")
    id = db.create("p/Class", {}).entity_id
    with refused(db, "slot.required"):
        db.update(id, {"p/slot": None})
    with refused(db, "slot.required"):
        db.create("p/Class", {"p/slot": None})


CONSTRAINTS: list[tuple[str, dict[str, Any], list[Any], list[Any], str]] = [
    ("string", {"one_of": ["a", ""]}, ["a", ""], ["b", "A"], "value.not-allowed"),
    ("long", {"one_of": [1, 2]}, [1, 2], [3], "value.not-allowed"),
    ("bigdec", {"one_of": ["1.5"]}, ["1.50"], ["1.51"], "value.not-allowed"),
    (
        "json",
        {"one_of": [{"a": 1}, 1]},
        [{"a": 1}, 1],
        [{"a": True}, True, 1.0, {}],
        "value.not-allowed",
    ),
    ("tuple", {"one_of": [[1, 2]]}, [[1, 2]], [[2, 1]], "value.not-allowed"),
    ("string", {"pattern": "^[a-z]+$"}, ["abc"], ["", "A", "a1"], "value.pattern"),
    ("uri", {"pattern": "^https:"}, ["https://x.y/"], ["http://x.y/"], "value.pattern"),
    (
        "string",
        {"min": 2, "max": 3},
        ["ab", "äöü", "😀😀"],
        ["", "a", "abcd"],
        "value.out-of-bounds",
    ),
    ("keyword", {"max": 3}, ["abc"], ["abcd"], "value.out-of-bounds"),
    ("long", {"min": -1, "max": 5}, [-1, 5], [-2, 6], "value.out-of-bounds"),
    ("double", {"min": 0, "max": 0.5}, [0, 0.5], [-1e-300, 0.5000001], "value.out-of-bounds"),
    ("bigint", {"max": "9" * 30}, ["9" * 30], ["1" + "0" * 30], "value.out-of-bounds"),
    (
        "bigdec",
        {"min": "0.10", "max": "10"},
        ["0.1", "10.0"],
        ["0.09", "10.01"],
        "value.out-of-bounds",
    ),
    (
        "instant",
        {"min": "2026-01-01T00:00:00Z"},
        ["2026-01-01T01:00:00+01:00"],
        ["2025-12-31T23:59:59.9Z"],
        "value.out-of-bounds",
    ),
]


@pytest.mark.parametrize("number", range(len(CONSTRAINTS)))
def test_constraints_bind_single_and_many_valued_slots(db: Database, number: int) -> None:
    name, rules, good, bad, code = CONSTRAINTS[number]
    with_slot(db, name, **rules)
    ids = [made(db, value) for value in good]
    for value in bad:
        with refused(db, code) as problems:
            made(db, value)
        assert problems[0].hint
        with refused(db, code):
            db.update(ids[0], {"p/slot": value})
    db.define(properties={"q/slot": {**{f"dt/{k.replace('_', '-')}": v for k, v in rules.items()},
                                     "dt/range": f"db.type/{name}", "db/cardinality": "many"}},
              classes={"q/Class": {"dt/slots": ["q/slot"]}})  # fmt: skip
    every = db.create("q/Class", {"q/slot": good}).entity_id
    for value in bad:
        with refused(db, code):
            db.update(every, add={"q/slot": [value]})


def test_a_tuple_of_a_many_valued_slot_is_given_in_a_list(db: Database) -> None:
    with_slot(db, "tuple", cardinality="many")
    assert slots_of(db, made(db, [[1, 2], [3]]))["p/slot"] == [[1, 2], [3]]


def test_json_schema_describes_what_create_takes(shop: Database) -> None:
    schema = shop.schema.json_schema("shop/Item")
    assert schema["required"] == ["item/name"]
    assert "maker/items" not in shop.schema.json_schema("shop/Maker")["properties"]
    assert schema["properties"]["item/stock"]["default"] == 0
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    "rules",
    [
        {"dt/range": "db.type/long", "dt/min": 10, "dt/max": 5},
        {"dt/range": "db.type/string", "dt/min": 10, "dt/max": 5},
        {"dt/range": "db.type/bigdec", "dt/min": "10", "dt/max": "9.5"},
        {"dt/range": "db.type/string", "dt/one-of": ["a", "b"], "dt/pattern": "^x"},
        {"dt/range": "db.type/long", "dt/one-of": [1, 2], "dt/min": 3},
        {
            "dt/range": "db.type/string",
            "db/cardinality": "many",
            "dt/one-of": ["abc"],
            "dt/max": 2,
        },
    ],
)
def test_rules_that_no_value_satisfies_are_refused(db: Database, rules: dict[str, Any]) -> None:
    with refused(db, "property.contradiction") as seen:
        db.define(properties={"x/p": rules})
    assert seen[0].hint


@pytest.mark.parametrize(
    "rules",
    [
        {"dt/range": "db.type/long", "dt/min": 5, "dt/max": 5},
        {"dt/range": "db.type/bigdec", "dt/min": "9.5", "dt/max": "10"},
        {"dt/range": "db.type/string", "dt/one-of": ["a", "xb"], "dt/pattern": "^x"},
    ],
)
def test_rules_that_some_value_satisfies_are_accepted(db: Database, rules: dict[str, Any]) -> None:
    db.define(properties={"x/p": rules})


def test_a_default_refers_to_what_there_is(shop: Database) -> None:
    maker = shop.create("shop/Maker", {}).entity_id
    hat = item(shop, "Hat")

    def with_default(default: Any, **more: Any) -> None:
        shop.define(properties={"x/r": {"dt/range": "shop/Maker", "dt/default": default, **more}})

    with refused(shop, "reference.dangling"):
        with_default(10**9)
    with refused(shop, "reference.range"):
        with_default(hat)
    with_default(maker)
    shop.update("shop/Item", add={"dt/slots": "x/r"})
    assert slots_of(shop, item(shop, "Cap"))["x/r"] == maker
