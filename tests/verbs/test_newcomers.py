"""What a newcomer types wrong: the refusal says what to type, and that works.

Each row is a call in the words of SQL, JSON Schema or other stores, what its hint must say, and the
call that whoever obeys makes next.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from sandbar.errors import Problem
from tests.verbs import crm
from tests.verbs.conftest import Call, refusal
from tests.verbs.crm import TEXT


class Row(NamedTuple):
    """A wrong call, what the hint says, and the call that obeys it."""

    verb: str
    wrong: dict[str, Any]
    hint: str
    right: dict[str, Any]
    next_verb: str | None = None  # the same, unless the hint names another


RANGES = {
    "db.type/long": "db.type/integer integer int Int INTEGER db.type/int dt/integer xsd:integer",
    "db.type/double": "number float FLOAT db.type/number",
    "db.type/bigdec": "decimal money numeric",
    "db.type/string": "text str String db.type/text varchar(255) :text",
    "db.type/boolean": "bool BOOLEAN db.type/bool",
    "db.type/instant": "date datetime timestamp db.type/date db.type/timestamp Date",
    "db.type/json": "json object dict db.type/object",
    "db.type/bytes": "blob binary",
    "db.type/uri": "url",
    "db.type/uuid": "guid",
}


def ranges() -> Iterator[Row]:
    """Value types under other names."""
    for kind, words in RANGES.items():
        for word in words.split():
            yield defined({"dt/range": word}, f'"dt/range": "{kind}"', {"dt/range": kind})
    many = {"dt/range": TEXT, "db/cardinality": "many"}
    for word in ("string[]", "list<text>", "array of string", "list", "array", "db.type/list"):
        yield defined({"dt/range": word}, '"db/cardinality": "many"', many)
    choice = {"dt/range": "db.type/keyword", "dt/one-of": ["a"]}
    for word in ("enum", "db.type/enum"):
        yield defined({"dt/range": word}, "dt/one-of", choice)
    for word in ("reference", "foreign key", "db.type/relation"):
        yield defined({"dt/range": word}, '"db.type/ref"', {"dt/range": "db.type/ref"})
    for word in ("Company", "crm/company", "crm/Compny"):
        yield defined({"dt/range": word}, "did you mean crm/Company?", {"dt/range": "crm/Company"})


OPTIONS = [
    ("dt/enum", ["a"], "dt/one-of", ["a"]),
    ("enum", ["a"], "dt/one-of", ["a"]),
    ("options", ["a"], "dt/one-of", ["a"]),
    ("choices", ["a"], "dt/one-of", ["a"]),
    ("required", True, '"dt/required?": true', True),
    ("dt/required", True, "dt/required?", True),
    ("Mandatory", True, '"dt/required?": true', True),
    ("nullable", False, '"dt/required?": true', True),
    ("unique", True, '"db/unique": "identity"', "identity"),
    ("primary_key", True, '"db/unique": "identity"', "identity"),
    ("db/unique", True, "use identity, value", "identity"),
    ("list", True, '"db/cardinality": "many"', "many"),
    ("array", True, '"db/cardinality": "many"', "many"),
    ("db/cardinality", "db.cardinality/many", "use one, many", "many"),
    ("default", "x", "dt/default", "x"),
    ("description", "x", "db/doc", "x"),
    ("regex", "^x$", "dt/pattern", "^x$"),
    ("minimum", 1, "dt/min", 1),
    ("maxLength", 9, "dt/max", 9),
    ("index", True, '"dt/indexed?": true', True),
    ("type", "string", '"dt/range": "db.type/string"', TEXT),
    ("format", "date-time", '"dt/range": "db.type/instant"', "db.type/instant"),
    ("db/valueType", "db.type/string", '"dt/range": "db.type/string"', TEXT),
    ("foreign key", "crm/Company", "dt/range", "crm/Company"),
]
_KEYS = ("dt/required?", "db/unique", "db/cardinality", "dt/indexed?")


def options() -> Iterator[Row]:
    """Keys of a property's definition under other names."""
    for wrong, given, hint, value in OPTIONS:
        key = next((one for one in (*_KEYS, "dt/range", "dt/one-of") if one in hint), hint)
        if wrong.startswith("db/") and wrong in _KEYS:
            key = wrong
        base = {} if key == "dt/range" else {"dt/range": TEXT}
        yield defined({**base, wrong: given}, hint, {**base, key: value})


def defined(wrong: dict[str, Any], hint: str, right: dict[str, Any]) -> Row:
    """A property that is defined wrong."""
    return Row(
        "schema.define", {"properties": {"x/y": wrong}}, hint, {"properties": {"x/y": right}}
    )


def classes() -> Iterator[Row]:
    """Classes in the words of others."""
    for wrong, hint, right in [
        ({"properties": ["person/name"]}, "dt/slots", {"dt/slots": ["person/name"]}),
        ({"fields": ["person/name"]}, "dt/slots", {"dt/slots": ["person/name"]}),
        ({"extends": ["crm/Person"]}, "dt/subclass-of", {"dt/subclass-of": ["crm/Person"]}),
        ({"dt/subclass-of": ["Person"]}, "crm/Person?", {"dt/subclass-of": ["crm/Person"]}),
        ({"dt/slots": ["nick"]}, "did you mean person/nick?", {"dt/slots": ["person/nick"]}),
        ({"abstract": True}, '"dt/abstract?": true', {"dt/abstract?": True}),
        ({"required": ["name"]}, "dt/required?", {}),
    ]:
        given, right = {"classes": {"x/Z": wrong}}, {"classes": {"x/Z": right}}
        yield Row("schema.define", given, hint, right)
    yield Row(
        "schema.define",
        {"properties": {"age": {"dt/range": TEXT}}},
        '"my/age"',
        {"properties": {"my/age": {"dt/range": TEXT}}},
    )


def creations(ids: dict[str, int]) -> Iterator[Row]:
    """Slots, references and values that are given wrong."""
    acme, red = ids["Acme"], ids["Red"]
    slots: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
        ({"name": "B"}, "did you mean person/name?", {"person/name": "B"}),
        ({"person_name": "B"}, "did you mean person/name?", {"person/name": "B"}),
        ({"Person.name": "B"}, "did you mean person/name?", {"person/name": "B"}),
        ({"personName": "B"}, "did you mean person/name?", {"person/name": "B"}),
        ({"age": 5}, "did you mean person/age?", {"person/age": 5}),
        ({"given_name": "B"}, "did you mean person/given-name?", {"person/given-name": "B"}),
        ({"person/active": True}, "did you mean 'person/active?'?", {"person/active?": True}),
        ({"id": 7}, "ids are given by the database: leave it out", {}),
        ({"person/company": "Acme"}, f"did you mean {acme} or", {"person/company": acme}),
        (
            {"person/company": "acme"},
            '{"company/name": "Acme"}',
            {"person/company": {"company/name": "Acme"}},
        ),
        ({"person/company": {"id": acme}}, f"use {acme}", {"person/company": acme}),
        ({"person/company": [acme]}, "takes one value, not a list", {"person/company": acme}),
        ({"person/team": "Red"}, f"did you mean {red} (", {"person/team": red}),
        ({"person/state": "Lead"}, "use lead, won", {"person/state": "lead"}),
        ({"person/state": 5}, "use lead, won", {"person/state": "lead"}),
        ({"person/born": "15.11.2026"}, "2026-11-15T12:00:00Z", {"person/born": "2026-11-15"}),
        ({"person/age": "42"}, "for example 42", {"person/age": 42}),
    ]
    for wrong, hint, right in slots:
        given, obeyed = {"person/name": "B", **wrong}, {"person/name": "B", **right}
        yield Row("entity.create", created(given), hint, created(obeyed))
    by_title = created({"person/name": "B", "person/team": {"team/title": "Red"}})
    found = {"class": "crm/Team", "where": {"team/title": "Red"}}
    yield Row("entity.create", by_title, f"entity.query {json.dumps(found)}", found, "entity.query")
    nobody = created({"person/name": "B", "person/company": "Nobody Ltd"})
    found = {"class": "crm/Company", "where": {"company/name": "Nobody Ltd"}}
    yield Row("entity.create", nobody, f"entity.query {json.dumps(found)}", found, "entity.query")
    strange = created({"person/name": "B", "person/company": ids["Ann"]})
    listed = {"class": "crm/Company"}
    yield Row(
        "entity.create", strange, f"entity.query {json.dumps(listed)}", listed, "entity.query"
    )
    flat = {"class": "crm/Person", "person/name": "B"}
    yield Row("entity.create", flat, '"attributes": {"person/name"', created({"person/name": "B"}))
    for cls in ("Person", "person", "crm/person", "crm/Persn"):
        wrong_class = {"class": cls, "attributes": {"person/name": "B"}}
        yield Row("entity.create", wrong_class, "crm/Person?", created({"person/name": "B"}))
    update = {"entity": "person/ann", "attributes": {"age": 5}}
    right = {"entity": "person/ann", "attributes": {"person/age": 5}}
    yield Row("entity.update", update, "did you mean person/age?", right)
    yield Row(
        "entity.update", {"entity": "person/ann", "add": {"person/age": 5}}, "attributes", right
    )
    for verb in ("entity.find", "entity.delete", "entity.history"):
        asked = {"query": "Acme"}
        yield Row(
            verb, {"entity": "Acme"}, f"search.text {json.dumps(asked)}", asked, "search.text"
        )
    named = {"entity": {"person/name": "Ann"}}
    found = {"class": "crm/Person", "where": {"person/name": "Ann"}}
    yield Row("entity.find", named, f"entity.query {json.dumps(found)}", found, "entity.query")
    insert = {"operations": [{"op": "insert", **created({"person/name": "B"})}]}
    create = {"operations": [{"op": "create", **created({"person/name": "B"})}]}
    yield Row("entity.transact", insert, 'use "op": "create"', create)
    yield Row("class.describe", {"class": "Person"}, "crm/Person?", {"class": "crm/Person"})


def other_ways() -> Iterator[Row]:
    """The same slots by the tool of the class, in a transaction, and validated only."""
    tool = "sandbar.class.crm.Person"
    yield Row(tool, {"name": "B"}, "did you mean person/name?", {"person/name": "B"})
    for op, key in (
        ({"op": "create", "class": "crm/Person"}, "slots"),
        ({"op": "update", "entity": "person/ann"}, "set"),
    ):
        before = {"operations": [{**op, key: {"name": "B"}}]}
        after = {"operations": [{**op, key: {"person/name": "B"}}]}
        yield Row("entity.transact", before, "did you mean person/name?", after)


def created(slots: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a create."""
    return {"class": "crm/Person", "attributes": slots}


def queries(ids: dict[str, int]) -> Iterator[Row]:
    """Filters and orders of other languages."""
    for wrong, hint, right in [
        ({"name": "Ann"}, "did you mean person/name?", {"person/name": "Ann"}),
        ({"person/name": {"LIKE": "%n%"}}, '{"contains": "n"}', {"person/name": {"contains": "n"}}),
        (
            {"person/name": {"like": "A%"}},
            '{"starts-with": "A"}',
            {"person/name": {"starts-with": "A"}},
        ),
        ({"person/age": {"$gt": 5}}, '{">": 5}', {"person/age": {">": 5}}),
        ({"person/age": {"gte": 5}}, '{">=": 5}', {"person/age": {">=": 5}}),
        (
            {"person/age": {"between": [1, 5]}},
            '{">=": 1, "<=": 5}',
            {"person/age": {">=": 1, "<=": 5}},
        ),
        ({"person/age": {"<>": 5}}, '{"!=": 5}', {"person/age": {"!=": 5}}),
        ({"person/age": {"IS NULL": True}}, '{"exists": false}', {"person/age": {"exists": False}}),
        ({"person/age": {"$in": [5]}}, '{"in": [5]}', {"person/age": {"in": [5]}}),
        ({"person/age": {"$nin": [5]}}, '"not": {slot', {"not": {"person/age": {"in": [5]}}}),
        ({"$or": [{"person/age": 5}]}, 'use "or"', {"or": [{"person/age": 5}]}),
        ({"AND": [{"person/age": 5}]}, 'use "and"', {"and": [{"person/age": 5}]}),
        ({"person/name": ["Ann", "Bo"]}, '{"in": [', {"person/name": {"in": ["Ann", "Bo"]}}),
        (
            {"person/company": "Acme"},
            f"did you mean {ids['Acme']}",
            {"person/company": ids["Acme"]},
        ),
        (
            {"person/team": "Blue"},
            '{"person/team": {"team/title": "Blue"}}',
            {"person/team": {"team/title": "Blue"}},
        ),
        (
            {"person/company": {"name": "Acme"}},
            "did you mean company/name?",
            {"person/company": {"company/name": "Acme"}},
        ),
        (
            {"company/name": "Acme"},
            '{"person/company": {"company/name": …}}',
            {"person/company": {"company/name": "Acme"}},
        ),
    ]:
        people = {"class": "crm/Person"}
        yield Row("entity.query", people | {"where": wrong}, hint, people | {"where": right})
    arguments: list[tuple[str, Any, str, dict[str, Any]]] = [
        ("order-by", "age", "did you mean person/age?", {"order-by": "person/age"}),
        ("order-by", "person/age desc", '"-person/age"', {"order-by": "-person/age"}),
        ("sort", "person/age", "use order-by", {"order-by": "person/age"}),
        ("filter", {"person/age": 5}, "use where", {"where": {"person/age": 5}}),
        ("select", ["person/age"], "use fields", {"fields": ["person/age"]}),
        ("fields", "person/age", "fields is a list", {"fields": ["person/age"]}),
        ("fields", ["age"], "did you mean person/age?", {"fields": ["person/age"]}),
        ("top", 5, "use limit", {"limit": 5}),
    ]
    for argument, given, hint, obeyed in arguments:
        people = {"class": "crm/Person"}
        yield Row("entity.query", {**people, argument: given}, hint, {**people, **obeyed})


def workflows() -> Iterator[Row]:
    """Definitions of workflows, and verbs under other names."""
    states = [
        {"name": "a", "initial?": True},
        {"name": "b", "terminal?": True, "terminal-kind": "success"},
    ]
    moves = [{"name": "go", "from": "a", "to": "b"}]
    right = {"name": "crm/flow", "states": states, "transitions": moves}
    for key, wrong, hint in [
        ("states", ["a", "b"], "states: [{name, initial?, terminal?, terminal-kind"),
        ("states", {"a": {}}, "states is a list"),
        ("transitions", [{**moves[0], "to": "c"}], "the states are a, b"),
    ]:
        yield Row("workflow.define", {**right, key: wrong}, hint, right)
    yield Row(
        "workflow.start", {"workflow": "crm/flow"}, "workflow.start-process",
        {"workflow": "crm/flow"}, "workflow.start-process",
    )  # fmt: skip


@pytest.fixture
def ids(call: Call) -> dict[str, int]:
    """The customer file, and who is in it."""
    return crm.define(call)


def failures(call: Call, rows: Iterator[Row]) -> list[str]:
    """The rows whose hint does not say what it must, or does not work."""
    wrong = []
    for row in rows:
        hint = str(refusal(call, row.verb, row.wrong).hint)
        if row.hint not in hint:
            wrong.append(f"{row.verb} {row.wrong}: {hint}")
            continue
        try:
            call(row.next_verb or row.verb, row.right)
        except Problem as problem:
            wrong.append(f"{row.verb} {row.wrong}: obeyed, and got {problem}")
        if row.verb == "schema.define":
            forget(call)
    return wrong


def forget(call: Call) -> None:
    """Delete what a row has defined, so that the next begins anew."""
    for name in ("x/y", "x/Z", "my/age"):
        try:
            call("entity.delete", {"entity": name})
        except Problem:
            continue


def test_a_definition_in_other_words_is_answered_with_ours(call: Call, ids: dict[str, int]) -> None:
    assert failures(call, ranges()) == []
    assert failures(call, options()) == []
    assert failures(call, classes()) == []


def test_wrong_slots_and_references_lead_to_the_right_ones(call: Call, ids: dict[str, int]) -> None:
    assert failures(call, creations(ids)) == []
    assert failures(call, other_ways()) == []


def test_a_question_in_another_language_is_answered_with_ours(
    call: Call, ids: dict[str, int]
) -> None:
    assert failures(call, queries(ids)) == []


def test_a_workflow_of_a_wrong_shape_is_told_the_right_one(call: Call, ids: dict[str, int]) -> None:
    assert failures(call, workflows()) == []
