"""Arguments: every finding at once, every spelling accepted, nothing dropped."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from sandbar.errors import Incorrect
from sandbar.verbs import base_catalogue
from sandbar.verbs.arguments import Reader
from tests.verbs.conftest import Call, findings, refusal


def read(verb: str, arguments: Any) -> Any:
    """The arguments of a verb as it gets them."""
    found = base_catalogue().find(verb)
    assert found is not None
    return found.read(arguments)


def wrong(verb: str, arguments: Any) -> Incorrect:
    """The refusal of wrong arguments."""
    with pytest.raises(Incorrect) as caught:
        read(verb, arguments)
    assert caught.value.code == "arguments.invalid"
    return caught.value


def test_every_finding_is_collected() -> None:
    given = {
        "clas": "zorp/Boot",
        "where": 5,
        "order-by": ["x"],
        "limit": 0,
        "fields": "{}",
        "cursor": None,
    }
    problem = wrong("entity.query", given)
    assert sorted(findings(problem)) == [
        ("clas", "argument.unknown"),
        ("class", "argument.missing"),
        ("fields", "argument.type"),
        ("limit", "argument.type"),
        ("order-by", "argument.type"),
        ("where", "argument.type"),
    ]
    assert "(and 5 more)" in problem.message
    hints = {one["argument"]: one["hint"] for one in problem.data["findings"]}
    assert hints["clas"] == "did you mean class?"
    assert "zorp/Boot" in hints["class"]


def test_one_finding_says_what_was_expected() -> None:
    problem = wrong("entity.query", {"class": "zorp/Boot", "limit": "ten"})
    assert problem.data["findings"] == [
        {
            "place": "arguments.limit",
            "argument": "limit",
            "code": "argument.type",
            "message": "limit: expected a whole number, got text",
            "hint": "limit is a whole number from 1 to 1000",
        }
    ]


@pytest.mark.parametrize(
    ("verb", "given", "message", "hint"),
    [
        ("entity.query", {"limit": 0}, "limit: expected a whole number >= 1", "from 1 to 1000"),
        ("entity.query", {"limit": 5000}, "a whole number <= 1000", "from 1 to 1000"),
        ("entity.query", {"limit": 5.5}, "a whole number, got a fraction", "from 1 to 1000"),
        ("search.text", {"query": "x", "limit": 101}, "<= 100", "a whole number from 1 to 100"),
        ("entity.query", {"class": 5}, "class: expected text, got a whole number", "zorp/Boot"),
        ("entity.query", {"fields": ["a", 5]}, "fields[1]: expected text", "only these slots"),
        (
            "entity.query",
            {"where": [1]},
            "where: expected an object, got an array",
            "{slot: value}",
        ),
        ("entity.query", {"where": "{"}, "where: this text is no JSON", "{slot: value}"),
        ("entity.find", {"entity": True}, "or text or an object, got true or false", "ident"),
        ("entity.find", {"entity": '{"a/b"'}, "entity: this text is no JSON", "unique slot"),
        ("entity.delete", {"mode": "force"}, "mode: 'force' is none of its values", "refuse"),
        (
            "entity.purge",
            {"confirm": 1, "mode": "cascade"},
            "'cascade' is none",
            "mode is one of detach",
        ),
        ("class.instances", {"projection": "all"}, "'all' is none", "one of full, metadata-only"),
        ("schema.define", {"classes": {"a/B": 5}}, "classes: expected an object", "{ns/Name:"),
    ],
)
def test_findings_are_in_plain_words(
    verb: str, given: dict[str, Any], message: str, hint: str
) -> None:
    whole = {"class": "zorp/Boot", "entity": 1} | given
    takes = msgspec.structs.fields(base_catalogue().find(verb).arguments)  # type: ignore[union-attr]
    names = {field.encode_name for field in takes}
    problem = wrong(verb, {name: value for name, value in whole.items() if name in names})
    (found,) = problem.data["findings"]
    assert message in found["message"]
    assert hint in found["hint"]
    assert not re.search(r"`|\$|\b(int|str|bool|dict|Expected|Invalid)\b", str(problem))


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """JSON Schema takes 5.0 for an integer, and so do we."""
    assert read("entity.query", {"class": "a/B", "limit": 5.0}).limit == 5
    assert type(read("entity.query", {"class": "a/B", "limit": 5.0}).limit) is int
    assert read("entity.find", {"entity": 7.0, "as-of": 3.0}).as_of == 3
    for fraction in (5.5, float("nan"), float("inf")):
        assert findings(wrong("entity.query", {"class": "a/B", "limit": fraction})) == [
            ("limit", "argument.type")
        ]


def test_an_unknown_argument_without_a_neighbour_is_told_all_arguments() -> None:
    problem = wrong("class.describe", {"class": "x/Y", "zzz": 1})
    assert problem.hint == "the arguments are class, as-of"
    assert wrong("codec.list", {"zzz": 1}).hint == "this verb takes no arguments"


@pytest.mark.parametrize("given", [None, [], "text", 5])
def test_arguments_are_an_object(given: Any) -> None:
    assert findings(wrong("entity.find", given)) == [("", "argument.type")]


def test_strange_keys_are_findings() -> None:
    assert findings(wrong("entity.find", {"entity": 1, 5: 6})) == [("5", "argument.unknown")]
    long = "x" * 500
    assert findings(wrong("entity.find", {"entity": 1, long: 6})) == [
        (long[:80], "argument.unknown")
    ]


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
NESTED: Any = {"a": 1}
for _ in range(100_000):
    NESTED = {"a": NESTED}


@pytest.mark.parametrize("deep", [DEEP, NESTED], ids=["as text", "as an object"])
@pytest.mark.parametrize(
    ("verb", "argument"),
    [
        ("entity.query", "where"),
        ("entity.create", "attributes"),
        ("schema.define", "classes"),
    ],
)
def test_depth_is_refused_and_no_crash(call: Call, verb: str, argument: str, deep: Any) -> None:
    given = {argument: deep} if verb == "schema.define" else {"class": "zorp/Boot", argument: deep}
    assert isinstance(refusal(call, verb, given), Incorrect)


@pytest.mark.parametrize("name", ["entity", "id", "ident", "entity-id", ":entity", "entity_id"])
def test_an_entity_may_be_given_under_every_spelling(name: str) -> None:
    assert read("entity.find", {name: 5}).entity == 5


@pytest.mark.parametrize("verb", ["entity.create", "entity.validate"])
@pytest.mark.parametrize("name", ["attributes", "slots", ":slots"])
def test_attributes_and_slots_are_the_same(verb: str, name: str) -> None:
    assert read(verb, {"class": "a/B", name: {"a/b": 1}}).attributes == {"a/b": 1}


@pytest.mark.parametrize("name", ["attributes", "slots", "set"])
def test_an_update_may_set_under_every_spelling(name: str) -> None:
    assert read("entity.update", {"id": 5, name: {"a/b": 1}}).attributes == {"a/b": 1}


def test_two_spellings_of_one_argument_are_refused() -> None:
    problem = wrong("entity.create", {"class": "a/B", "slots": {}, "attributes": {}})
    assert findings(problem) == [("attributes", "argument.twice")]


def test_underscores_are_accepted_for_hyphens() -> None:
    assert read("entity.query", {"class": "a/B", "order_by": "a/b"}).order_by == "a/b"
    assert read("entity.find", {"entity": 1, "as_of": 3}).as_of == 3


def test_null_is_the_same_as_absent_where_an_argument_is_optional() -> None:
    assert read("entity.delete", {"entity": 1, "mode": None}).mode == "refuse"
    assert read("entity.update", {"entity": 1, "attributes": None}).attributes == {}
    assert findings(wrong("entity.find", {"entity": None})) == [("entity", "argument.type")]


def test_json_in_a_string_is_read_for_objects_and_arrays_only() -> None:
    where = {"footwear/name": "X"}
    arguments = {"class": "zorp/Boot", "where": json.dumps(where), "fields": '["db/ident"]'}
    assert read("entity.query", arguments).where == where
    assert read("entity.query", arguments).fields == ["db/ident"]
    operations = [{"op": "delete", "entity": 1}]
    given = read("entity.transact", {"operations": json.dumps(operations)})
    assert given.operations == operations
    # An entity may be a name or an object; no name begins with a brace.
    assert read("entity.find", {"entity": '{"a/b": 1}'}).entity == {"a/b": 1}
    assert read("entity.find", {"entity": "a/b"}).entity == "a/b"
    assert read("entity.create", {"class": "a/B", "source": '{"a/b": 1}'}).source == '{"a/b": 1}'
    # A number in text is no number.
    assert findings(wrong("entity.query", {"class": "a/B", "limit": "5"})) == [
        ("limit", "argument.type")
    ]
    assert findings(wrong("entity.create", {"class": "a/B", "slots": "[1]"})) == [
        ("attributes", "argument.type")
    ]


def test_the_fast_way_and_the_careful_way_agree() -> None:
    reader = Reader(base_catalogue().find("entity.query").arguments, {})  # type: ignore[union-attr]
    given = {"class": "a/B", "where": {"a/b": [1, "x", None]}, "limit": 3, "fields": ["a/b"]}
    assert reader(given) == reader._read_carefully(given)


def test_findings_come_out_of_a_call(call: Call) -> None:
    problem = refusal(call, "sandbar.entity.find", {})
    assert (type(problem), problem.code) == (Incorrect, "arguments.invalid")
    assert findings(problem) == [("entity", "argument.missing")]
