"""Schemas of data and answers: the same verdict as a complete implementation, within a bound."""

from __future__ import annotations

import time
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbar.findings import Findings
from sandbar.workflow import data_schemas
from sandbar.workflow.data_schemas import FINDINGS_MAX, schema_of
from sandbar.workflow.forms import check_form
from sandbar.workflow.schema_checks import check_schema
from tests.workflow.definitions import FORM

SOON_S = 1.5


def problems(schema: Any) -> list[tuple[str, str]]:
    """What is wrong with a schema."""
    findings = Findings()
    check_schema(schema, "s", findings)
    return [(str(one.at), one.code) for one in findings.told]


def errors(schema: Any, value: Any) -> list[dict[str, Any]]:
    """What a schema finds wrong with a value."""
    assert problems(schema) == []
    return schema_of(msgspec.json.encode(schema)).check(value, "data")


def test_a_value_of_the_wrong_type_is_shown_the_right_one() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}
    found = {one["at"]: one["hint"] for one in errors(schema, {"n": "2", "s": 2})}
    assert found == {"data.n": "for example 3", "data.s": 'for example "words"'}
    (one,) = errors({"type": ["array", "null"]}, 1)
    assert one["hint"] == "for example […] or null"


# --- the same verdict as jsonschema --------------------------------------------------------------

_NAMES = st.sampled_from(["a", "b", "ab", "c"])
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, 1.5, -2.0]),
    st.sampled_from(["", "a", "ab", "abc", "ü"]),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)
_TYPES = st.sampled_from(["null", "boolean", "string", "number", "integer", "array", "object"])
_COUNTS = st.integers(0, 4)
_NUMBERS = st.integers(-2, 3)
_PATTERNS = st.sampled_from(["^a", "b$", "^a*$", "."])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(_NAMES, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(_VALUES, min_size=1, max_size=4),
            "const": _VALUES,
            "minimum": _NUMBERS,
            "maximum": _NUMBERS,
            "exclusiveMinimum": _NUMBERS,
            "exclusiveMaximum": _NUMBERS,
            "multipleOf": st.integers(1, 3),
            "minLength": _COUNTS,
            "maxLength": _COUNTS,
            "pattern": _PATTERNS,
            "minItems": _COUNTS,
            "maxItems": _COUNTS,
            "uniqueItems": st.booleans(),
            "items": inner,
            "prefixItems": several,
            "contains": inner,
            "minContains": _COUNTS,
            "maxContains": _COUNTS,
            "minProperties": _COUNTS,
            "maxProperties": _COUNTS,
            "properties": by_name,
            "patternProperties": st.dictionaries(_PATTERNS, inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "required": st.lists(_NAMES, max_size=3, unique=True),
            "dependentRequired": st.dictionaries(
                _NAMES, st.lists(_NAMES, max_size=2, unique=True), max_size=2
            ),
            "dependentSchemas": by_name,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        },
    )


_SCHEMAS = st.recursive(st.booleans() | _schemas(st.booleans()), _schemas, max_leaves=6)


@given(_SCHEMAS, _VALUES)
@settings(max_examples=30, deadline=None, print_blob=True)
def test_the_verdict_is_that_of_a_complete_implementation(schema: Any, value: Any) -> None:
    assert_same_verdict(schema, value)


@pytest.mark.long
@given(_SCHEMAS, _VALUES)
@settings(max_examples=3000, deadline=None, print_blob=True)
def test_the_verdict_is_that_of_a_complete_implementation_in_a_long_run(
    schema: Any, value: Any
) -> None:
    assert_same_verdict(schema, value)


def assert_same_verdict(schema: Any, value: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    valid = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (errors(schema, value) == []) == valid


@given(_SCHEMAS, _VALUES)
@settings(max_examples=15, deadline=None, print_blob=True)
def test_references_are_followed_as_they_should_be(schema: Any, value: Any) -> None:
    assert_references_followed(schema, value)


@pytest.mark.long
@given(_SCHEMAS, _VALUES)
@settings(max_examples=1000, deadline=None, print_blob=True)
def test_references_are_followed_as_they_should_be_in_a_long_run(schema: Any, value: Any) -> None:
    assert_references_followed(schema, value)


def assert_references_followed(schema: Any, value: Any) -> None:
    whole = {
        "$defs": {"one": schema, "a/b": {"items": {"$ref": "#/$defs/one"}}},
        "anyOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/a~1b", "minItems": 1}],
        "properties": {"c": {"$ref": "#"}},
    }
    valid = jsonschema.Draft202012Validator(whole).is_valid(value)
    assert (errors(whole, value) == []) == valid


# By keyword: a schema, a value that fits, and one that does not.
KEYWORDS: dict[str, tuple[Any, Any, Any]] = {
    "type": ({"type": ["integer", "null"]}, 1.0, True),
    "enum": ({"enum": [1, [True]]}, [True], [1]),
    "const": ({"const": {"a": 1}}, {"a": 1.0}, {"a": True}),
    "allOf": ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 2, 3),
    "anyOf": ({"anyOf": [{"minimum": 5}, {"maximum": 2}]}, 2, 3),
    "oneOf": ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, 3, 2),
    "not": ({"not": {"type": "null"}}, 0, None),
    "if": ({"if": {"minimum": 5}, "then": {"multipleOf": 5}, "else": {"const": 1}}, 10, 6),
    "minimum": ({"minimum": 1}, 1, 0),
    "maximum": ({"maximum": 1}, 1, 2),
    "exclusiveMinimum": ({"exclusiveMinimum": 1}, 2, 1),
    "exclusiveMaximum": ({"exclusiveMaximum": 1}, 0, 1),
    "multipleOf": ({"multipleOf": 2}, 4.0, 5),
    "minLength": ({"minLength": 2}, "üü", "ü"),
    "maxLength": ({"maxLength": 1}, "ü", "üü"),
    "minItems": ({"minItems": 1}, [1], []),
    "maxItems": ({"maxItems": 1}, [1], [1, 2]),
    "minProperties": ({"minProperties": 1}, {"a": 1}, {}),
    "maxProperties": ({"maxProperties": 0}, {}, {"a": 1}),
    "pattern": ({"pattern": "b$"}, "ab", "ba"),
    "items": ({"prefixItems": [True], "items": {"type": "null"}}, [1, None], [None, 1]),
    "prefixItems": ({"prefixItems": [{"const": 1}]}, [1, 2], [2]),
    "contains": ({"contains": {"const": 1}, "maxContains": 1}, [1, 2], [1, 1]),
    "uniqueItems": ({"uniqueItems": True}, [1, True, [1]], [[1], [1.0]]),
    "properties": ({"properties": {"a": {"const": 1}}}, {"b": 2}, {"a": 2}),
    "patternProperties": ({"patternProperties": {"^a": {"const": 1}}}, {"b": 2}, {"ab": 2}),
    "additionalProperties": (
        {
            "properties": {"a": True},
            "patternProperties": {"^b": True},
            "additionalProperties": False,
        },
        {"a": 1, "bb": 2},
        {"c": 1},
    ),
    "propertyNames": ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}),
    "required": ({"required": ["a"]}, {"a": None}, {"b": 1}),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
    "dependentSchemas": ({"dependentSchemas": {"a": {"minProperties": 2}}}, {"b": 1}, {"a": 1}),
}


def test_every_keyword_is_enforced() -> None:
    assert KEYWORDS.keys() == data_schemas._CHECKS.keys()
    for keyword, (schema, good, bad) in KEYWORDS.items():
        complete = jsonschema.Draft202012Validator(schema)
        assert (complete.is_valid(good), complete.is_valid(bad)) == (True, False), keyword
        assert errors(schema, good) == [], keyword
        assert errors(schema, bad) != [], keyword


# --- what is wrong with a schema -----------------------------------------------------------------

WRONG: dict[str, Any] = {
    "an unknown keyword": {"requierd": ["a"]},
    "an unsupported keyword": {"unevaluatedProperties": False},
    "a title that is none": {"title": 5},
    "examples that are none": {"examples": {}},
    "a reference that is none": {"$ref": 5},
    "no type": {"type": "text"},
    "no types": {"type": []},
    "a negative count": {"minLength": -1},
    "half a count": {"maxItems": 1.5},
    "a bound in words": {"minimum": "1"},
    "a true bound": {"minimum": True},
    "a divisor of zero": {"multipleOf": 0},
    "an empty enum": {"enum": []},
    "an empty anyOf": {"anyOf": []},
    "items of old": {"items": [{"type": "string"}]},
    "names that repeat": {"required": ["a", "a"]},
    "names that are none": {"required": [["a"]]},
    "a flag that is none": {"uniqueItems": 1},
    "a pattern of another engine": {"pattern": "(?=a)"},
    "a wrong pattern of properties": {"patternProperties": {"(": True}},
    "a schema that is a number": {"properties": {"a": 5}},
    "properties that are a list": {"properties": []},
    "another dialect": {"$schema": "http://json-schema.org/draft-04/schema#"},
    "a reference to elsewhere": {"$ref": "https://example.org/schema"},
    "a reference to a file": {"$ref": "other.json#/a"},
    "a reference to nothing": {"$ref": "#/$defs/a"},
    "a reference to what is no schema": {"enum": [{}], "properties": {"a": {"$ref": "#/enum/0"}}},
    "a reference to itself": {"$ref": "#"},
    "a loop": {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#"}}},
               "if": {"$ref": "#/$defs/a"}},
    "a loop through what depends": {"dependentSchemas": {"a": {"$ref": "#"}}},
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_schema_is_refused_where_it_is_wrong(case: str) -> None:
    assert problems({"properties": {"ok": {"type": "string"}}}) == []
    found = problems(WRONG[case])
    assert len(found) == 1, found
    assert found[0][1] in ("workflow.schema", "pattern.malformed")


def test_a_schema_has_bounds() -> None:
    parts: dict[str, Any] = {f"p{n}": {} for n in range(2_000)}
    assert problems({"properties": parts}) == [("s", "workflow.schema")]
    del parts["p0"]
    assert problems({"properties": parts}) == []
    patterns = [{"pattern": f"{n}{'a' * 990}"} for n in range(9)]
    assert problems({"anyOf": patterns}) == [("s.anyOf[8].pattern", "workflow.schema")]
    assert problems({"anyOf": patterns[:8]}) == []


def test_what_is_wrong_inside_is_found_inside() -> None:
    inner = {"anyOf": [{"type": "string"}, {"items": {"minLength": "one"}}]}
    (found,) = problems({"properties": {"a": {"additionalProperties": inner}}})
    assert found[0] == "s.properties.a.additionalProperties.anyOf[1].items.minLength"


def test_a_tree_may_refer_to_itself() -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
    assert errors(tree, {"kids": [{"kids": []}, {}]}) == []
    assert [e["at"] for e in errors(tree, {"kids": [{"kids": [5]}]})] == ["data.kids[0].kids[0]"]


def test_a_finding_says_where_and_what_and_what_to_do() -> None:
    schema = {
        "properties": {"size": {"enum": ["s", "m"]}, "price": {"type": "number"}},
        "required": ["size"],
        "additionalProperties": False,
    }
    missing, unknown = errors(schema, {"pricee": 5})
    assert (missing["at"], missing["code"]) == ("data", "workflow.data")
    assert "size" in missing["message"]
    assert "pricee" in unknown["message"]
    assert unknown["hint"] == "did you mean price?"
    (wrong,) = errors(schema, {"size": "xl"})
    assert wrong["at"] == "data.size"
    assert "'s', 'm'" in wrong["hint"]


def test_findings_are_few_and_exact_numbers_are_exact() -> None:
    assert len(errors({"items": {"type": "string"}}, list(range(1000)))) == FINDINGS_MAX
    assert errors({"multipleOf": 0.1}, 0.3) == []
    assert len(errors({"multipleOf": 0.1}, 0.35)) == 1
    assert len(errors({"multipleOf": 2}, float("inf"))) == 1
    assert len(errors({"type": "string"}, 10**5000)) == 1


# --- whatever takes long is given up -------------------------------------------------------------


def _doubling(levels: int) -> dict[str, Any]:
    """A schema whose evaluation takes two to the power of its levels."""
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for n in range(1, levels + 1):
        defs[f"d{n}"] = {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2}
    return {"$defs": defs, "$ref": f"#/$defs/d{levels}"}


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


COSTLY: dict[str, tuple[Any, Any]] = {
    "doubling": (_doubling(40), "a"),
    "large": ({"items": {"anyOf": [{"type": "string"}] * 20 + [True]}}, [5] * 100_000),
    "patterns": ({"items": {"pattern": "^(a|b)*c{0,300}$"}}, ["ab" * 500] * 2000),
    "deep": ({"items": {"$ref": "#"}}, _deep(5000)),
    "deep and unique": ({"uniqueItems": True}, _deep(5000)),
    "a long list of choices": ({"items": {"enum": list(range(5000))}}, [4999] * 5000),
}


@pytest.mark.parametrize("case", COSTLY)
def test_what_would_take_long_is_refused_soon(case: str) -> None:
    schema, value = COSTLY[case]
    began = time.thread_time()
    found = errors(schema, value)
    assert time.thread_time() - began < SOON_S
    assert [one["code"] for one in found] == ["workflow.data-too-costly"]


def test_a_small_value_is_checked_with_the_same_schemas() -> None:
    assert errors(_doubling(10), "a") == []
    assert errors(COSTLY["deep"][0], _deep(20)) == []
    assert errors(COSTLY["patterns"][0], ["abba"]) == []


# --- forms ---------------------------------------------------------------------------------------


def form_problems(schema: Any) -> list[str]:
    findings = Findings()
    check_form(schema, "f", findings)
    return [one.code for one in findings.told]


def _field(field: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": field}}


BAD_FORMS: dict[str, Any] = {
    "a form that is a list": {"type": "array", "properties": {}},
    "a form without fields": {"type": "object"},
    "more than a form": {**_field({"type": "string"}), "additionalProperties": False},
    "a nested field": _field({"type": "object", "properties": {}}),
    "a field without type": _field({"enum": ["a"]}),
    "a field that is true": _field(True),
    "a field of two types": _field({"type": ["string", "null"]}),
    "a field with a pattern": _field({"type": "string", "pattern": "^a"}),
    "a field with an unknown format": _field({"type": "string", "format": "color"}),
    "a choice of numbers": _field({"type": "string", "enum": [1]}),
    "choices without titles": _field({"type": "string", "oneOf": [{"const": "a"}]}),
    "an array of numbers": _field({"type": "array", "items": {"type": "number"}}),
    "an array of anything": _field({"type": "array"}),
    "a number with a length": _field({"type": "number", "minLength": 1}),
    "a wrong default": _field({"type": "integer", "default": "five"}),
    "a default that is no choice": _field({"type": "string", "enum": ["a"], "default": "b"}),
    "a required field that is missing": {**_field({"type": "string"}), "required": ["y"]},
    "a nameless field": {"type": "object", "properties": {"": {"type": "string"}}},
    "too many fields": {
        "type": "object",
        "properties": {f"f{n}": {"type": "string"} for n in range(51)},
    },
}


@pytest.mark.parametrize("case", BAD_FORMS)
def test_what_is_no_form_is_refused(case: str) -> None:
    assert form_problems(FORM) == []
    assert form_problems(BAD_FORMS[case]) == ["workflow.input-schema"]


def test_a_form_with_a_wrong_bound_is_refused_by_the_schema_check() -> None:
    assert form_problems(_field({"type": "string", "minLength": -1})) == ["workflow.schema"]
