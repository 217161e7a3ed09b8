"""The JSON Schemas of classes: whatever a slot may hold, its schema accepts."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbar import Database, Incorrect
from sandbar.model.patterns import compile_pattern
from sandbar.model.portable_patterns import portable_pattern
from tests.model.shop import refused, slots_of

PORTABLE: list[tuple[str, str]] = [
    ("^[a-z]+$", "^[a-z]+$"),
    (r"\*|[a-z0-9][a-z0-9_-]*", r"\*|[a-z0-9][a-z0-9_\-]*"),
    ("^[A-Z]{2}-[0-9]+$", "^[A-Z]{2}-[0-9]+$"),
    (r"^\d+\.\d{2,}?$", r"^[0-9]+\.[0-9]{2,}?$"),
    (r"\w\W\s\S\D", r"[0-9A-Za-z_][^0-9A-Za-z_][\t\n\f\r ][^\t\n\f\r ][^0-9]"),
    (r"\A.\z", r"^[^\n]$"),
    ("^[[:alpha:]]+$", "^[A-Za-z]+$"),
    (r"[]a\w&^-]", r"[\]a0-9A-Za-z_\x26\^\-]"),
    (r"[^\]\-x-z]", r"[^\]\-x-z]"),
    (r"a{,2}\-\@{1}]", r"a\{,2\}-@{1}\]"),
    (r"(?:é|ü)(x)?\t\x41", r"(?:é|ü)(x)?\t\x41"),
]
IN_WORDS = [
    r"^\pL+\z", r"\p{Greek}", r"\PN", "[[:^alpha:]]", "[[:graph:]]", "(?i)a", "(?s:.)", "(?P<n>a)",
    "(?<n>a)", r"\Qa.b\E", r"\C", r"\bword\b", r"\x{1F600}", r"\07", r"\a", r"[\D]", r"[\pL]",
    "^*", r"(?:a{2}){3}|\z+",
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "portable"), PORTABLE, ids=[p for p, _ in PORTABLE])
def test_a_pattern_is_written_for_all_engines(pattern: str, portable: str) -> None:
    compile_pattern(pattern)
    assert portable_pattern(pattern) == portable


@pytest.mark.parametrize("pattern", IN_WORDS)
def test_a_pattern_that_others_read_otherwise_is_not_written(pattern: str) -> None:
    compile_pattern(pattern)
    assert portable_pattern(pattern) is None


PIECES = st.sampled_from(
    ["a", "b", "Z", "0", "_", "-", "é", "\n", " ", ".", "^", "$", "|", "(", ")", "(?:", "[", "]",
     "[^", "*", "+", "?", "{2}", "{1,}", "{,2}", "{", "}", "&&", "~", r"\d", r"\W", r"\s", r"\S",
     r"\.", r"\]", r"\-", r"\n", r"\x41", r"\A", r"\z", "[:alpha:]", "[:space:]", "a-z", ",", "/"]
)  # fmt: skip
TEXTS = st.text(st.sampled_from("abzZ09_- .&~/,{}]\n\r\t\v\x85\u2028é٣😀"), max_size=6)


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES, max_size=9).map("".join), st.lists(TEXTS, min_size=4, max_size=12))
def test_what_a_pattern_accepts_is_accepted_by_its_portable_form(
    pattern: str, texts: list[str]
) -> None:
    try:
        program = compile_pattern(pattern)
    except Incorrect:
        return
    portable = portable_pattern(pattern)
    for text in texts if portable is not None else ():
        assert re.search(portable or "", text) or not program.matches(text), (pattern, text)


def define(db: Database, kind: str, **said: Any) -> dict[str, Any]:
    """A class with one slot; the schema of that slot."""
    facts = {f"dt/{name.replace('_', '-')}": value for name, value in said.items()}
    db.define(
        properties={"j/slot": {"dt/range": f"db.type/{kind}", **facts}},
        classes={"j/Class": {"dt/slots": ["j/slot"]}},
    )
    schema: dict[str, Any] = db.schema.json_schema("j/Class")["properties"]["j/slot"]
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def accepts(schema: dict[str, Any], value: Any) -> bool:
    """Whether a validator without format checks lets the value pass."""
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def test_a_pattern_is_in_the_schema_or_told_in_words(db: Database) -> None:
    assert define(db, "string", pattern=r"^\d+$")["pattern"] == "^[0-9]+$"
    schema = define(db, "string", pattern=r"^\pL+\z")
    assert "pattern" not in schema
    assert schema["description"] == r"Must match the RE2 pattern ^\pL+\z"
    made = db.create("j/Class", {"j/slot": "été"}).entity_id
    assert accepts(schema, slots_of(db, made)["j/slot"])


@pytest.mark.parametrize(
    ("kind", "pattern", "value", "wrong"),
    [
        ("uuid", "^0f", "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f"),
        ("keyword", "^state/", ":state/open", "state/ open"),
        ("bigdec", "E", "1e99", "an E"),
        ("bigint", "^[1-9]", "0012", "1x"),
    ],
)
def test_a_pattern_leaves_the_type_its_own(
    db: Database, kind: str, pattern: str, value: str, wrong: str
) -> None:
    schema = define(db, kind, pattern=pattern)
    assert schema["description"].endswith(f"Must match the RE2 pattern {pattern}")
    stored = slots_of(db, db.create("j/Class", {"j/slot": value}).entity_id)["j/slot"]
    assert accepts(schema, value)
    assert accepts(schema, stored)
    assert not accepts(schema, wrong)


def test_a_decimal_of_another_scale_is_one_of_the_values(db: Database) -> None:
    schema = define(db, "bigdec", one_of=[1.5, "2"])
    assert schema["description"].endswith("One of 1.5, 2.")
    stored = slots_of(db, db.create("j/Class", {"j/slot": "1.50"}).entity_id)["j/slot"]
    assert stored == "1.50"
    assert accepts(schema, stored)


BOUNDS: list[tuple[str, Any, Any, list[Any], list[Any]]] = [  # range, min, max, right, wrong
    ("long", 1, 9, [1, 9], [0, 10]),
    ("double", 0.5, 2, [0.5, 2.0, 1], [0.4, 2.1]),
    ("bigint", 0, 2**53, ["7", 0, 2**53, "007"], [-1, 2**53 + 1]),
    ("bigint", 0, str(10**30), ["7", 10**30, 2**53 + 1], [-1]),
    ("bigdec", "0.1", "9999.99", ["0.10", 0.1, 9999.99, "1e2"], [0.09, 10000]),
    ("instant", "2026-01-01", None, ["2026-01-01", "2026-01-01T00:00:00+00:00"], []),
    ("string", 2, 3, ["ab", "é😀ü"], ["a", "abcd"]),
    ("string", None, 2**30, ["ab"], []),
    ("keyword", 2, 4, ["open", ":open", "ab"], ["a", "closed"]),
]


@pytest.mark.parametrize(("kind", "low", "high", "right", "wrong"), BOUNDS)
def test_bounds_are_in_the_schema_as_far_as_it_can_say_them(
    db: Database, kind: str, low: Any, high: Any, right: list[Any], wrong: list[Any]
) -> None:
    said = {name: bound for name, bound in (("min", low), ("max", high)) if bound is not None}
    schema = define(db, kind, **said)
    for value in right:
        stored = slots_of(db, db.create("j/Class", {"j/slot": value}).entity_id)["j/slot"]
        assert accepts(schema, value)
        assert accepts(schema, stored)
    for value in wrong:
        with refused(db, "value.out-of-bounds"):
            db.create("j/Class", {"j/slot": value})
        assert not accepts(schema, value)


def test_bounds_that_no_keyword_says_are_told_in_words(db: Database) -> None:
    said = define(db, "instant", min="2026-01-01", max="2027-01-01")["description"]
    assert said.endswith("At least 2026-01-01T00:00:00Z. At most 2027-01-01T00:00:00Z.")
    assert define(db, "bigint", min=0, max=None)["description"].endswith("At least 0.")
    assert define(db, "string", min=None, max=2**30)["maxLength"] == 2**20
