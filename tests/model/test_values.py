"""The value door: canonical forms, typed refusals, and keys that sort as values do."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbar.errors import Incorrect
from sandbar.model.values import VALUE_TYPES, door_check

quick = settings(print_blob=True, max_examples=150, deadline=None)
MIB = 1 << 20


def decode(kind: str, value: object) -> Any:
    return VALUE_TYPES[f"db.type/{kind}"].decode(value)


def key(kind: str, value: object) -> bytes:
    return VALUE_TYPES[f"db.type/{kind}"].order_key(decode(kind, value))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


ACCEPTED: list[tuple[str, object, object]] = [
    ("string", "", ""),
    ("string", "é😀\n", "é😀\n"),
    ("string", "a" * MIB, "a" * MIB),
    ("boolean", False, False),
    ("long", -(2**63), -(2**63)),
    ("long", 2**63 - 1, 2**63 - 1),
    ("double", 1.5, 1.5),
    ("double", 3, 3.0),
    ("double", 2**1000, 2.0**1000),
    ("float", 1.5, 1.5),
    ("bigint", "-007", "-7"),
    ("bigint", "-0", "0"),
    ("bigint", 10**300, str(10**300)),
    ("bigint", 3.0, "3"),
    ("bigint", Decimal("1E+5"), "100000"),
    ("bigdec", "1.50", "1.50"),
    ("bigdec", 299.99, "299.99"),
    ("bigdec", 5, "5"),
    ("bigdec", "-0.00", "0.00"),
    ("bigdec", "1e3", "1E+3"),
    ("bigdec", "1e6000", "1E+6000"),
    ("bigdec", Decimal("0.10"), "0.10"),
    ("bigdec", "9" * 400, "9" * 400),
    ("instant", "2026-11-15T12:00:00Z", "2026-11-15T12:00:00Z"),
    ("instant", "2026-11-15T12:00:00.5+02:00", "2026-11-15T10:00:00.500000Z"),
    ("instant", "2026-11-15t12:00:00.123456000z", "2026-11-15T12:00:00.123456Z"),
    ("instant", "2026-11-15", "2026-11-15T00:00:00Z"),
    ("instant", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ("instant", date(2026, 11, 15), "2026-11-15T00:00:00Z"),
    (
        "instant",
        datetime(2026, 11, 15, 12, tzinfo=timezone(timedelta(hours=-5))),
        "2026-11-15T17:00:00Z",
    ),
    ("keyword", ":status/open", "status/open"),
    ("keyword", "open", "open"),
    ("keyword", ":ह/नि", "ह/नि"),
    ("keyword", "e\u0301\u0323/x", "e\u0301\u0323/x"),
    ("symbol", "core/inc", "core/inc"),
    ("symbol", "हिन्दी", "हिन्दी"),
    ("uuid", "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    ("uuid", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ("uri", "https://example.org/a?b#c", "https://example.org/a?b#c"),
    ("uri", "mailto:a@example.org", "mailto:a@example.org"),
    ("uri", "urn:isbn:0451450523", "urn:isbn:0451450523"),
    ("bytes", "aGVsbG8=", "aGVsbG8="),
    ("bytes", b"hello", "aGVsbG8="),
    ("bytes", "", ""),
    ("tuple", ("EU", 1, 1.5, True, None), ["EU", 1, 1.5, True, None]),
    ("tuple", [], []),
    ("json", {"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
    ("json", None, None),
    ("ref", 1, 1),
    ("ref", 2**53 - 1, 2**53 - 1),
]

CYCLE: list[Any] = []
CYCLE.append(CYCLE)
LAUGHS: list[Any] = ["ha"]
for _ in range(40):
    LAUGHS = [LAUGHS, LAUGHS, LAUGHS]

REFUSED: list[tuple[str, object, str]] = [
    ("string", 1, "value.type"),
    ("string", None, "value.type"),
    ("string", b"a", "value.type"),
    ("string", "a\0b", "value.nul"),
    ("string", "é\0", "value.nul"),
    ("string", "\ud800", "value.surrogate"),
    ("string", "a" * (MIB + 1), "value.too-long"),
    ("string", "é" * (MIB // 2 + 1), "value.too-long"),
    ("boolean", 1, "value.type"),
    ("boolean", "true", "value.type"),
    ("long", True, "value.type"),
    ("long", 1.0, "value.type"),
    ("long", "1", "value.type"),
    ("long", 2**63, "value.range"),
    ("long", 10**100_000, "value.range"),
    ("double", float("nan"), "value.not-finite"),
    ("double", float("-inf"), "value.not-finite"),
    ("double", 2**53 + 1, "value.inexact"),
    ("double", 10**100_000, "value.inexact"),
    ("double", True, "value.type"),
    ("bigint", "1.5", "value.malformed"),
    ("bigint", "1e5", "value.malformed"),
    ("bigint", "٣", "value.malformed"),
    ("bigint", 1.5, "value.inexact"),
    ("bigint", 1e300, "value.inexact"),
    ("bigint", float("inf"), "value.not-finite"),
    ("bigint", "9" * 401, "value.too-long"),
    ("bigint", "9" * 10_000_000, "value.too-long"),
    ("bigint", 10**100_000, "value.too-long"),
    ("bigint", Decimal("1E+5000"), "value.too-long"),
    ("bigint", True, "value.type"),
    ("bigdec", "1e999999", "value.range"),
    ("bigdec", "1e-999999999", "value.range"),
    ("bigdec", "1e9999999999", "value.malformed"),
    ("bigdec", "1e6001", "value.range"),
    ("bigdec", Decimal("1E+999999"), "value.range"),
    ("bigdec", Decimal("NaN"), "value.not-finite"),
    ("bigdec", "NaN", "value.malformed"),
    ("bigdec", "1_000", "value.malformed"),
    ("bigdec", " 1", "value.malformed"),
    ("bigdec", float("nan"), "value.not-finite"),
    ("bigdec", "1" * 401, "value.too-long"),
    ("bigdec", False, "value.type"),
    ("instant", "2026-11-15T12:00:00", "value.naive"),
    ("instant", datetime(2026, 11, 15), "value.naive"),
    ("instant", "2026-13-15T12:00:00Z", "value.range"),
    ("instant", "2026-02-30", "value.range"),
    ("instant", "2026-11-15T12:00:60Z", "value.range"),
    ("instant", "0001-01-01T00:00:00+05:00", "value.range"),
    ("instant", "2026-11-15T12:00:00.1234567Z", "value.precision"),
    ("instant", "2026-W01-1", "value.malformed"),
    ("instant", "yesterday", "value.malformed"),
    ("instant", 1731672000, "value.type"),
    ("keyword", "a b", "keyword.malformed"),
    ("keyword", "a" * 256, "keyword.too-long"),
    ("keyword", "\u0301e/x", "keyword.malformed"),
    ("keyword", "a/\u0301x", "keyword.malformed"),
    ("keyword", "a-\u0301", "keyword.malformed"),
    ("keyword", "1\u0301", "keyword.malformed"),
    ("keyword", "a\ufe0f", "keyword.malformed"),
    ("keyword", "a\u200d", "keyword.malformed"),
    ("keyword", "1\ufe0f\u20e3", "keyword.malformed"),
    ("keyword", 1, "value.type"),
    ("keyword", "a\0", "value.nul"),
    ("symbol", ":core/inc", "value.malformed"),
    ("symbol", "a/b/c", "value.malformed"),
    ("symbol", "a" * 256, "value.too-long"),
    ("uuid", "0f8fad5bd9cb469fa16570867728950e", "value.malformed"),
    ("uuid", "{0f8fad5b-d9cb-469f-a165-70867728950e}", "value.malformed"),
    ("uuid", 5, "value.type"),
    ("uri", "example.org/a", "value.malformed"),
    ("uri", "https:", "value.malformed"),
    ("uri", "https://a b", "value.malformed"),
    ("uri", "https://a\u2028b", "value.malformed"),
    ("uri", "https://[::1", "value.malformed"),
    ("uri", "x:" + "a" * 8192, "value.too-long"),
    ("bytes", "aGVsbG8", "value.malformed"),
    ("bytes", "aGVsbG9=", "value.malformed"),
    ("bytes", "a-_=", "value.malformed"),
    ("bytes", "aGVs\nbG8=", "value.malformed"),
    ("bytes", "é", "value.malformed"),
    ("bytes", bytes(MIB + 1), "value.too-long"),
    ("tuple", [[1]], "value.type"),
    ("tuple", "abc", "value.type"),
    ("tuple", list(range(65)), "value.too-many"),
    ("tuple", [2**63], "value.range"),
    ("tuple", [b"a"], "value.type"),
    ("json", {1: 2}, "value.type"),
    ("json", {"a\0": 2}, "value.nul"),
    ("json", {"a": "\ud800"}, "value.surrogate"),
    ("json", [float("nan")], "value.not-finite"),
    ("json", [2**63], "value.range"),
    ("json", {"a": b"a"}, "value.type"),
    ("json", nested(65), "value.too-deep"),
    ("json", nested(100_000), "value.too-deep"),
    ("json", CYCLE, "value.too-deep"),
    ("json", LAUGHS, "value.too-large"),
    ("json", ["a" * MIB], "value.too-large"),
    ("json", [0] * MIB, "value.too-large"),
    ("json", ['"' * (MIB - 10)], "value.too-large"),
    ("ref", 0, "value.range"),
    ("ref", 2**53, "value.range"),
    ("ref", True, "value.type"),
    ("ref", "zorp/Boot", "value.type"),
]


def _names(rows: list[tuple[str, Any, Any]]) -> list[str]:
    return [f"{i}-{row[0]}" for i, row in enumerate(rows)]


@pytest.mark.parametrize(("kind", "value", "stored"), ACCEPTED, ids=_names(ACCEPTED))
def test_an_accepted_value_has_one_stored_form(kind: str, value: object, stored: object) -> None:
    answer = decode(kind, value)
    assert answer == stored
    assert type(answer) is type(stored)
    assert decode(kind, answer) == answer


@pytest.mark.parametrize(("kind", "value", "code"), REFUSED, ids=_names(REFUSED))
def test_a_refused_value_gets_a_code_a_short_message_and_a_hint_at_once(
    kind: str, value: object, code: str
) -> None:
    times = []
    for _ in range(3):
        started = time.thread_time()
        with pytest.raises(Incorrect) as caught:
            decode(kind, value)
        times.append(time.thread_time() - started)
    assert caught.value.code == code
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 200
    assert min(times) < 0.05, f"{min(times) * 1e3:.1f} ms"


def test_the_json_door_takes_64_levels_and_does_not_alias_what_came() -> None:
    came = nested(64)
    stored = decode("json", came)
    came.clear()
    assert stored == nested(64)


def test_the_door_refuses_what_json_cannot_hold() -> None:
    door_check({"why": ["because", 1, 1.5, True, None]})
    for bad in ("\0", ["\ud800"], {"a": float("inf")}, {2: 1}, object(), nested(5000), 2**70):
        with pytest.raises(Incorrect):
            door_check(bad)


def test_the_stack_of_python_is_not_used_by_deep_values() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(Incorrect, match="levels"):
        door_check(nested(limit * 20))


def test_a_subclass_is_stored_as_its_plain_type() -> None:
    class Name(str):
        pass

    class Count(int):
        pass

    assert type(decode("string", Name("a"))) is str
    assert type(decode("long", Count(1))) is int


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300)
DECIMALS = st.builds(
    lambda sign, digits, exponent: Decimal((sign, tuple(digits), exponent)),
    st.integers(0, 1),
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.integers(-20, 20) | st.integers(-5000, 5000),
)
ORDERED: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any]]] = {
    "string": (TEXT, lambda v: [ord(c) for c in v]),
    "boolean": (st.booleans(), bool),
    "long": (st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), int),
    "double": (st.floats(allow_nan=False, allow_infinity=False), float),
    "bigint": (st.integers() | st.integers(-(10**399), 10**399), int),
    "bigdec": (DECIMALS | st.decimals(-5, 5, places=2), lambda v: v),
    "instant": (st.datetimes(timezones=st.just(UTC)), lambda v: v),
    "uuid": (st.uuids(), lambda v: v.int),
    "bytes": (st.binary(max_size=300), lambda v: v),
    "ref": (st.integers(1, 2**53 - 1), int),
}


@pytest.mark.parametrize("kind", ORDERED)
def test_keys_sort_and_equal_as_values_do(kind: str) -> None:
    values, measure = ORDERED[kind]

    @quick
    @given(values, values)
    def check(one: Any, two: Any) -> None:
        a, b = measure(one), measure(two)
        assert (key(kind, one) < key(kind, two)) == (a < b)
        assert (key(kind, one) == key(kind, two)) == (a == b)

    check()


@pytest.mark.parametrize("kind", ORDERED)
def test_stored_values_decode_to_themselves_and_satisfy_their_schema(kind: str) -> None:
    values, _ = ORDERED[kind]
    schema = VALUE_TYPES[f"db.type/{kind}"].json_schema()

    @quick
    @given(values)
    def check(value: Any) -> None:
        stored = decode(kind, value)
        assert decode(kind, stored) == stored
        jsonschema.validate(stored, schema, jsonschema.Draft202012Validator)

    check()


@quick
@given(DECIMALS, st.integers(0, 9))
def test_the_scale_of_a_decimal_does_not_change_its_key(number: Decimal, zeros: int) -> None:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    rescaled = Decimal((sign, digits + (0,) * zeros, exponent - zeros))
    assert key("bigdec", number) == key("bigdec", rescaled)


def test_decimals_that_differ_by_digits_or_sign_sort_rightly() -> None:
    rising = "-1E+6000 -12003 -12 -1.2003 -1.20 -1 -0.12003 -0.12 -1E-6000 0.0 1E-6000 0.12 0.12003"
    rising += " 1 1.2 1.2003 9.99 10 12 12003 1E+6000"
    keys = [key("bigdec", text) for text in rising.split()]
    assert keys == sorted(set(keys))
    assert max(len(key("bigdec", "-" + "9" * 400)), *map(len, keys)) <= 255


@quick
@given(st.integers(200, 320), st.integers(200, 320), st.sampled_from("ab"), st.sampled_from("ab"))
def test_index_keys_are_short_and_distinct(m: int, n: int, x: str, y: str) -> None:
    kind = VALUE_TYPES["db.type/string"]
    one, two = "a" * m + x, "a" * n + y
    assert (kind.index_key(one) == kind.index_key(two)) == (one == two)
    for text in (one, two):
        size = len(text)
        assert len(kind.index_key(text)) == (size if size <= 255 else 256)
        assert kind.index_key(text)[:224] == kind.order_key(text)[:224]


def test_a_cut_key_never_equals_a_short_one() -> None:
    kind = VALUE_TYPES["db.type/bytes"]
    cut = kind.index_key(decode("bytes", b"a" * 1000))
    assert len(cut) == 256
    assert kind.index_key(decode("bytes", cut)) != cut


@pytest.mark.parametrize(("kind", "value", "stored"), ACCEPTED, ids=_names(ACCEPTED))
def test_every_stored_form_satisfies_its_schema(kind: str, value: object, stored: Any) -> None:
    schema = VALUE_TYPES[f"db.type/{kind}"].json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(stored, schema, jsonschema.Draft202012Validator)
    assert not schema.keys() & {"$ref", "oneOf", "anyOf", "allOf"}


SPELLINGS: list[tuple[str, Any]] = [
    *((kind, value) for kind, value, _ in ACCEPTED if type(value) in (str, int, float, bool, list)),
    ("bigdec", "1e000006000"),
    ("bigdec", "0." + "0" * 404 + "1e6400"),
    ("bigdec", "1" * 400 + "e-6399"),
    ("instant", "2026-11-15t12:00:00.5z"),
    ("instant", "2026-11-15 23:59:59.123456000+23:59"),
    ("uri", "x:\ufeff"),
]


@pytest.mark.parametrize(
    ("kind", "value"), SPELLINGS, ids=[f"{k}-{i}" for i, (k, _) in enumerate(SPELLINGS)]
)
def test_every_spelling_that_the_door_takes_satisfies_the_schema(kind: str, value: Any) -> None:
    decode(kind, value)
    schema = VALUE_TYPES[f"db.type/{kind}"].json_schema()
    jsonschema.validate(value, schema, jsonschema.Draft202012Validator)
    assert r"\s" not in schema.get("pattern", "")  # which has more members in ECMAScript


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("long", 2**63),
        ("bigdec", "1,5"),
        ("keyword", "a b"),
        ("symbol", ":a"),
        ("uuid", "x"),
        ("uri", "example.org"),
        ("bytes", "aGVsbG8"),
        ("tuple", [[1]]),
        ("ref", 0),
        ("boolean", 1),
        ("instant", "yesterday"),
        ("instant", "2026-13-15"),
        ("instant", "2026-11-15T12:00:00"),
        ("instant", "2026-11-15T12:00:60Z"),
        ("instant", "2026-11-15T12:00:00.1234567Z"),
        ("bigint", "9" * 401),
        ("bigdec", "1e9999"),
        ("bytes", "aGVsbG9="),
        ("uri", "https://a\u2028b"),
    ],
)
def test_a_schema_refuses_what_the_door_refuses(kind: str, value: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, VALUE_TYPES[f"db.type/{kind}"].json_schema())


def test_structured_values_are_not_indexable() -> None:
    assert {i for i, t in VALUE_TYPES.items() if not t.indexable} == {
        "db.type/json",
        "db.type/tuple",
    }
    with pytest.raises(AssertionError):
        VALUE_TYPES["db.type/json"].order_key([1])


def test_a_schema_is_fresh_each_time() -> None:
    kind = VALUE_TYPES["db.type/bigint"]
    kind.json_schema()["type"].append("null")
    assert kind.json_schema()["type"] == ["string", "integer"]


def test_the_string_fast_path_is_fast() -> None:
    fast = VALUE_TYPES["db.type/string"].decode
    best = min(_seconds(fast) for _ in range(5))
    assert best / 2000 < 1e-6, f"{best / 2000 * 1e9:.0f} ns"


def _seconds(run: Callable[[object], object]) -> float:
    started = time.thread_time()
    for _ in range(2000):
        run("waterproof boot")
    return time.thread_time() - started
