"""One answer tells everything that is wrong, and each thing where it is."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.access import add_account
from sandbar.errors import NotFound
from tests.verbs.conftest import Call, findings, refusal

BOOT = "zorp/Boot"


def codes(problem: Any) -> dict[str | None, str]:
    """Which slot has which finding."""
    return {one.get("slot"): one["code"] for one in problem.data["findings"]}


def test_a_malformed_ident_hides_nothing(call: Call) -> None:
    slots = {"db/ident": "no-namespace", "boot/vacuum-rated?": 3, "footwear/nmae": "x"}
    problem = refusal(call, "entity.create", {"class": BOOT, "slots": slots})
    assert codes(problem) == {
        "db/ident": "keyword.malformed",
        "boot/vacuum-rated?": "value.type",
        "footwear/nmae": "slot.unknown",
        "footwear/name": "slot.required",
    }
    alone = {"db/ident": "x" * 300, "footwear/name": "Fine"}
    problem = refusal(call, "entity.create", {"class": BOOT, "slots": alone})
    assert problem.code == "keyword.too-long"
    assert codes(problem) == {"db/ident": "keyword.too-long"}


WRONG_QUERY = {
    "class": BOOT,
    "where": {"footwear/nmae": 1, "boot/vacuum-rated?": "x"},
    "order-by": "footwear/colr",
    "fields": ["no/such", "footwear/name", "nor/this"],
}
FOUND = [
    ("where", "slot.unknown"),
    ("where", "value.type"),
    ("order-by", "property.unknown"),
    ("fields", "property.unknown"),
    ("fields", "property.unknown"),
]


def test_a_query_is_told_all_of_its_faults(call: Call) -> None:
    problem = refusal(call, "entity.query", WRONG_QUERY)
    assert problem.code == "query.invalid"
    assert findings(problem) == FOUND
    assert "(and 4 more)" in problem.message
    assert "did you mean footwear/color" in str(problem.hint)


@pytest.mark.parametrize(("as_of", "code"), [(9999, "as-of.unknown"), ("soon", "value.malformed")])
def test_a_wrong_moment_hides_nothing(call: Call, as_of: Any, code: str) -> None:
    problem = refusal(call, "entity.query", WRONG_QUERY | {"as-of": as_of})
    assert findings(problem) == [("as-of", code), *FOUND]
    problem = refusal(call, "entity.query", {"class": "zorp/Bot", "as-of": as_of})
    assert findings(problem) == [("as-of", code), ("class", "class.unknown")]
    alone = refusal(call, "entity.query", {"class": BOOT, "as-of": as_of})
    assert alone.code == code
    assert "as-of" in alone.message


def test_one_fault_of_a_query_keeps_its_code(call: Call) -> None:
    for argument, code in [
        ("where", "filter.invalid"),
        ("order-by", "property.unknown"),
        ("fields", "property.unknown"),
    ]:
        given = {"class": BOOT, argument: WRONG_QUERY[argument]}
        if argument == "fields":
            given["fields"] = ["no/such"]
        assert refusal(call, "entity.query", given).code == code
        assert refusal(call, "entity.query", given | {"as-of": 2}).code == code


def test_every_unknown_name_is_told(call: Call) -> None:
    unknown = {"classes": ["zorp/Bot", "zorp/Sandal", "qqq/Www"]}
    problem = refusal(call, "schema.entities", unknown)
    assert findings(problem) == [("classes[0]", "class.unknown"), ("classes[2]", "class.unknown")]
    both = {"parent": "zorp/Bot", "child": "zorp/Sandl"}
    problem = refusal(call, "types.subclass-of", both)
    assert findings(problem) == [("parent", "class.unknown"), ("child", "class.unknown")]
    problem = refusal(call, "types.instance-of", {"class": "zorp/Bot", "entity": "no/body"})
    assert findings(problem) == [("class", "class.unknown"), ("entity", "entity.unknown")]
    for verb, given in [
        ("schema.entities", {"classes": ["zorp/Bot"]}),
        ("types.subclass-of", both | {"parent": BOOT}),
        ("types.instance-of", {"class": "zorp/Bot", "entity": "product/mud-lord"}),
    ]:
        alone = refusal(call, verb, given)
        assert (type(alone), alone.code) == (NotFound, "class.unknown")


def transacted(call: Call, *operations: Any) -> tuple[Any, list[tuple[int, str]]]:
    """The refusal of a transaction, and which operation has which finding."""
    problem = refusal(call, "entity.transact", {"operations": list(operations)})
    found = [(one["at"], one["code"]) for one in problem.data["findings"]]
    assert "$" not in f"{problem}{problem.data}"
    assert "`" not in f"{problem}{problem.data}"
    return problem, found


def test_a_bad_operation_is_named_and_the_others_are_looked_at(call: Call) -> None:
    problem, found = transacted(
        call,
        {"op": "create", "class": BOOT, "slots": {}},
        {"op": "update", "entity": "product/mud-lord", "set": {"footwear/name": "Fine"}},
        {"op": "upsert", "entity": "product/mud-lord"},
        {"op": "update", "entity": "product/mud-lord", "set": {"boot/vacuum-rated?": 5}},
    )
    assert problem.code == "operations.malformed"
    assert "operations[2]: there is no op 'upsert' (and 2 more)" in problem.message
    assert "op is one of create, update, delete, restore, migrate" in str(problem.hint)
    assert found == [(2, "operation.malformed"), (0, "slot.required"), (3, "value.type")]
    assert call("entity.find", {"entity": "product/mud-lord"})["entity"]["t"] == 2


@pytest.mark.parametrize(
    ("operation", "message", "hint"),
    [
        ({}, "op is missing", "create, update, delete, restore, migrate"),
        ({"op": 5}, "there is no op 5", "create, update"),
        ({"op": "delete"}, "delete needs entity", "delete takes entity, mode, expect"),
        ({"op": "delete", "entity": 1, "mode": "force"}, "'force'", "mode is one of cascade"),
        ({"op": "update", "entity": 1, "sett": {}}, "update takes no sett", "did you mean set"),
        ({"op": "update", "entity": 1, "set": 5}, "set: expected an object", "update takes"),
        ({"op": "create", "class": BOOT, "temp": 5}, "temp: expected text, got", "create takes"),
    ],
)
def test_what_is_wrong_with_an_operation_is_said_plainly(
    call: Call, operation: dict[str, Any], message: str, hint: str
) -> None:
    problem, found = transacted(call, operation)
    assert found == [(0, "operation.malformed")]
    assert problem.message.startswith("operations[0]: ")
    assert message in problem.message
    assert hint in str(problem.hint)


def test_what_only_an_unread_operation_would_make_is_not_missed(
    zorp: sandbar.Database, call: Call
) -> None:
    zorp.define(
        properties={"pair/other": {"dt/range": BOOT}},
        classes={"pair/Boot": {"dt/subclass-of": [BOOT], "dt/slots": ["pair/other"]}},
    )
    left = {"op": "create", "class": BOOT, "slots": {"db/ident": "pair/left"}, "temp": "l", "x": 1}
    slots = {"footwear/name": "Right", "pair/other": "l"}
    right = {"op": "create", "class": "pair/Boot", "slots": slots}
    by_name = {"op": "create", "class": "pair/Boot", "slots": slots | {"pair/other": "pair/left"}}
    lost = {"op": "create", "class": "pair/Boot", "slots": slots | {"pair/other": "pair/lost"}}
    assert transacted(call, left, right)[1] == [(0, "operation.malformed")]
    assert transacted(call, left, by_name)[1] == [(0, "operation.malformed")]
    assert transacted(call, lost, left)[1] == [(1, "operation.malformed"), (0, "entity.unknown")]


def test_a_deleted_entity_can_be_restored_and_the_refusal_says_so(call: Call) -> None:
    entity = {"entity": "product/mud-lord"}
    id = call("entity.delete", entity)["entity-id"]
    for name in (entity, {"entity": id}):
        problem = refusal(call, "entity.find", name)
        assert (type(problem), problem.code) == (NotFound, "entity.unknown")
        assert "entity.restore" in str(problem.hint)
    assert "entity.restore" not in str(refusal(call, "entity.find", {"entity": "no/body"}).hint)
    call("entity.purge", {"entity": id, "confirm": id})
    assert "entity.restore" not in str(refusal(call, "entity.find", {"entity": id}).hint)


def test_nobody_learns_of_deleted_accounts(zorp: sandbar.Database, call: Call) -> None:
    made = add_account(zorp._workspace, "gone", role="reader").account
    zorp.update(made.entity_id, {"db/ident": "account/gone"})
    zorp.delete(made.entity_id, mode="cascade")
    for gone, never in (("account/gone", "account/none"), (made.entity_id, 999_999)):
        seen = refusal(call, "entity.find", {"entity": gone}, role="reader")
        unseen = refusal(call, "entity.find", {"entity": never}, role="reader")
        assert (seen.code, seen.hint) == (unseen.code, unseen.hint)
        assert "entity.restore" in str(refusal(call, "entity.find", {"entity": gone}).hint)


def test_an_unknown_range_is_one_finding_that_names_its_property(call: Call) -> None:
    """It said `at: 11`, and besides that its slots contradict each other."""
    properties: dict[str, Any] = {f"q/p{n}": {"dt/range": "db.type/string"} for n in range(11)}
    properties["q/count"] = {"dt/range": "db.type/integer", "dt/min": 1, "dt/max": 9}
    problem = refusal(call, "schema.define", {"properties": properties})
    (found,) = problem.data["findings"]
    assert (found["entity"], found["slot"], found["at"]) == ("q/count", "dt/range", 11)
    assert problem.message.startswith("q/count: dt/range: ")
    properties["q/count"]["dt/range"] = "db.type/long"
    call("schema.define", {"properties": properties})


@pytest.mark.parametrize(
    "wrong",
    [
        {"dt/range": "integer", "dt/one-of": [1, 2]},
        {"dt/range": "text", "dt/pattern": "^x$"},
        {"range": "db.type/string", "dt/pattern": "^x$"},
        {"dt/one-of": [1]},
        {"dt/range": "db.type/strin", "db/unique": "identity", "dt/default": "x"},
    ],
)
def test_what_only_follows_from_a_finding_is_none(call: Call, wrong: dict[str, Any]) -> None:
    problem = refusal(call, "schema.define", {"properties": {"q/x": wrong, "q/y": wrong}})
    told = problem.data["findings"]
    assert {one["entity"] for one in told} == {"q/x", "q/y"}
    assert {one["slot"] for one in told} <= {"dt/range", "range"}


def test_a_contradiction_names_its_property(call: Call) -> None:
    fine = {"dt/range": "db.type/string"}
    wrong = {"dt/range": "db.type/long", "dt/pattern": "x"}
    problem = refusal(call, "schema.define", {"properties": {"q/a": fine, "q/b": wrong}})
    (found,) = problem.data["findings"]
    assert (found["entity"], found["at"], found["code"]) == ("q/b", 1, "property.contradiction")
    assert problem.message.startswith("q/b: its slots")


def test_a_validator_is_not_asked_about_a_value_that_is_wrong(call: Call) -> None:
    classes = {"q/Q": {"dt/slots": ["q/n"], "dt/validator": 'this["q/n"] > 0'}}
    call("schema.define", {"properties": {"q/n": {"dt/range": "db.type/long"}}, "classes": classes})
    create = {"op": "create", "class": "q/Q"}
    wrong = [{**create, "slots": {"q/n": "five"}}, {**create, "slots": {"q/n": -1}, "temp": "low"}]
    problem, found = transacted(call, *wrong)
    assert found == [(0, "value.type"), (1, "class.validator")]
    assert [one.get("entity") for one in problem.data["findings"]] == [None, "low"]


def test_findings_of_a_transaction_say_whom_they_are_about(call: Call) -> None:
    boot = {"op": "create", "class": BOOT}
    mud_lord = call("entity.find", {"entity": "product/mud-lord"})["entity"]["entity-id"]
    wrong = {"footwear/nmae": "x"}
    problem, _ = transacted(
        call,
        {**boot, "slots": {"db/ident": "my/boot", "footwear/name": "Fine", **wrong}},
        {"op": "update", "entity": ":product/mud-lord", "set": wrong},
        {"op": "update", "entity": mud_lord, "set": wrong},
        {"op": "migrate", "class": BOOT, "fill": wrong},
    )
    about = [one["entity"] for one in problem.data["findings"]]
    assert about == ["my/boot", "product/mud-lord", mud_lord, BOOT]
    assert "my/boot: footwear/nmae: " in problem.message
