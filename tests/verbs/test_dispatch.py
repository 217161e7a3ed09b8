"""The turnstile: spellings, permissions, unknown verbs, and defects that do not leak."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

import sandbar
from sandbar.access import Role
from sandbar.errors import Fault, Forbidden, NotFound
from sandbar.verbs import Arguments, Catalogue, Context, Verb, base_catalogue, base_verbs
from sandbar.verbs import Call as VerbCall
from tests.verbs.conftest import Call, caller_of, refusal

CANARY = "tell-nobody-0815"
ROLES: list[Role] = ["reader", "writer", "admin"]


@pytest.mark.parametrize("name", ["entity.find", "sandbar.entity.find", "sandbar_entity_find"])
def test_a_verb_answers_to_each_of_its_names(call: Call, name: str) -> None:
    found = call(name, {"entity": ":product/mud-lord"})["entity"]
    assert (found["ident"], found["class"]) == ("product/mud-lord", "zorp/Boot")


@pytest.mark.parametrize(
    ("name", "hint", "listed"),
    [
        ("entity.crate", "entity.create", "entity.create"),
        ("sandbar.entity.crate", "sandbar.entity.create", "sandbar.entity.create"),
        ("sandbar_entity_crate", "sandbar_entity_create", "sandbar_entity_create"),
        ("sandbar.class.zorp.Bot", "sandbar.class.zorp.Boot", "sandbar.entity.create"),
        ("sandbar_class_zorp_Bot", "sandbar_class_zorp_Boot", "sandbar_entity_create"),
        ("class.zorp.Bot", "class.zorp.Boot", "entity.create"),
    ],
)
def test_an_unknown_verb_is_refused_with_a_suggestion(
    call: Call, name: str, hint: str, listed: str
) -> None:
    problem = refusal(call, name)
    assert (type(problem), problem.code) == (NotFound, "verb.unknown")
    assert f"did you mean {hint}" in str(problem.hint)
    assert listed in problem.data["available"]
    assert len(problem.data["available"]) == len(base_verbs())


@pytest.mark.parametrize(
    "name",
    ["", "x", "sandbar", "sandbar.", "class.", "sandbar.class.", "sandbar_class_", "a" * 999],
)
def test_a_name_that_resembles_nothing_is_refused_too(call: Call, name: str) -> None:
    problem = refusal(call, name)
    assert problem.code == "verb.unknown"
    assert problem.hint
    assert len(problem.message) < 200


# --- permissions -------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", base_verbs(), ids=lambda verb: verb.name)
def test_roles_may_call_what_they_are_granted_and_see_no_more(call: Call, verb: Verb) -> None:
    granted: dict[str, list[Role]] = {
        "read": ROLES,
        "write": ["writer", "admin"],
        "admin": ["admin"],
    }
    may = granted[verb.access]
    for role in ROLES:
        if role in may:
            # The permission is asked first, so whoever has it gets as far as the arguments.
            problem = refusal(call, verb.name, {"no-such-argument": 1}, role=role)
            assert problem.code == "arguments.invalid"
        else:
            problem = refusal(call, verb.name, {"no-such-argument": 1}, role=role)
            assert (type(problem), problem.code) == (Forbidden, "verb.forbidden")
            assert problem.data == {"verb": verb.name, "needs": verb.access}


def test_a_refusal_lists_only_what_the_caller_may_call(call: Call) -> None:
    available = refusal(call, "nonsense", role="reader").data["available"]
    assert "entity.find" in available
    assert not {"entity.create", "entity.purge", "schema.define"} & set(available)


def test_a_reader_cannot_create_by_a_class_tool(call: Call) -> None:
    given = {"footwear/name": "Sneaky"}
    problem = refusal(call, "sandbar.class.zorp.Boot", given, role="reader")
    assert problem.code == "verb.forbidden"
    assert call("entity.query", {"class": "zorp/Boot", "where": given})["entities"] == []
    assert call("sandbar.class.zorp.Boot", given, role="writer")["created"] is True


# --- defects -----------------------------------------------------------------------------------


class Nothing(Arguments, frozen=True, kw_only=True):
    """No arguments."""


def failing(context: Context, arguments: Any) -> Any:
    """A verb with a defect, and a secret in hand."""
    raise KeyError(CANARY)


BROKEN = Verb(
    name="broken.verb",
    title="Broken",
    description="Fails.",
    access="read",
    arguments=Nothing,
    result=Nothing,
    run=failing,
)


def test_a_defect_is_logged_and_shown_as_a_number_only(
    zorp: sandbar.Database, caplog: pytest.LogCaptureFixture
) -> None:
    call = VerbCall(caller_of(zorp), "sandbar.broken.verb", verb=BROKEN)
    with caplog.at_level(logging.ERROR, "sandbar"), pytest.raises(Fault) as caught:
        zorp.perform(call)
    problem = caught.value
    assert problem.code == "verb.failed"
    fault_id = problem.data["id"]
    assert fault_id in problem.message
    assert CANARY not in f"{problem}{problem.data}"
    assert fault_id in caplog.text
    assert "KeyError" in caplog.text
    assert CANARY not in caplog.text


def test_a_problem_passes_as_it_is(call: Call) -> None:
    problem = refusal(call, "entity.find", {"entity": "product/nobody"})
    assert (type(problem), problem.code) == (NotFound, "entity.unknown")


def test_the_catalogue_is_asked_once_and_not_if_the_verb_is_at_hand(
    zorp: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    spelled = zorp.catalogue.at_hand

    def find(name: str) -> Verb | None:
        asked.append(name)
        return spelled(name)

    monkeypatch.setattr(zorp.catalogue, "at_hand", find)
    monkeypatch.setattr(Catalogue, "find", lambda self, name: pytest.fail(f"asked for {name}"))
    caller, given = caller_of(zorp), {"entity": "zorp/Boot"}
    zorp.perform(VerbCall(caller, "sandbar.entity.find", given))
    assert asked == ["sandbar.entity.find"]
    found = zorp.catalogue.find("entity.find")
    asked.clear()
    zorp.perform(VerbCall(caller, "entity.find", given, found))
    assert asked == []


def test_two_verbs_cannot_share_a_name() -> None:
    with pytest.raises(AssertionError, match="two verbs"):
        Catalogue([BROKEN, BROKEN])


# --- hints -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "arguments", "code", "next_call"),
    [
        ("class.describe", {"class": "zorp/Bot"}, "class.unknown", "schema.classes"),
        ("class.describe", {"class": "qqq/Www"}, "class.unknown", "schema.classes"),
        ("property.range", {"property": "footwear/nam"}, "property.unknown", "schema.properties"),
        ("entity.find", {"entity": "product/nobody"}, "entity.unknown", "entity.query"),
        ("entity.find", {"entity": 999_999}, "entity.unknown", "entity.query"),
        ("entity.update", {"entity": 999_999, "set": {}}, "entity.unknown", "entity.query"),
        (
            "entity.create",
            {"class": "zorp/Boot", "slots": {"footwear/name": "x", "footwear/nmae": 1}},
            "slot.unknown",
            "class.slots zorp/Boot",
        ),
        (
            "entity.query",
            {"class": "zorp/Boot", "where": {"footwear/nmae": 1}},
            "filter.invalid",
            "class.slots zorp/Boot",
        ),
        ("entity.create", {"class": "zorp/Footwear"}, "class.abstract", "class.subclasses"),
        (
            "entity.create",
            {"class": "zorp/Boot", "slots": {"footwear/name": 5}},
            "value.type",
            "class.describe zorp/Boot gives its schema",
        ),
        (
            "entity.create",
            {"class": "zorp/Boot", "slots": {}},
            "slot.required",
            "class.describe zorp/Boot gives its schema",
        ),
        (
            "entity.update",
            {"entity": "product/mud-lord", "set": {"footwear/name": None}},
            "slot.required",
            "class.describe zorp/Boot gives its schema",
        ),
        ("entity.restore", {"entity": 999_999}, "entity.unknown", "entity.query"),
        ("entity.purge", {"entity": 999_999, "confirm": 999_999}, "entity.unknown", "entity.query"),
        ("entity.delete", {"entity": "dt/Class"}, "core.immutable", "schema.define"),
        (
            "entity.update",
            {"entity": "product/mud-lord", "set": {}, "expect": 1},
            "entity.moved",
            "entity.find",
        ),
        (
            "entity.query",
            {"class": "zorp/Boot", "order-by": "footwear/sentient?"},
            "query.order",
            "schema.define makes footwear/sentient? one (dt/indexed?), which takes an admin",
        ),
        (
            "schema.define",
            {"properties": {"a/b": {"dt/range": "db.type/strin"}}},
            "entity.unknown",
            "schema.datatypes lists the value types, schema.classes the classes",
        ),
        (
            "schema.define",
            {"classes": {"a/B": {"dt/slots": ["a/nope"]}}},
            "entity.unknown",
            "schema.define; schema.properties",
        ),
        (
            "schema.define",
            {"classes": {"a/B": {"dt/subclass-of": ["zorp/Bot"]}}},
            "entity.unknown",
            "schema.classes",
        ),
        (
            "schema.define",
            {"properties": {"a/b": {"dt/range": 999_999}}},
            "reference.dangling",
            "entity.create",
        ),
        (
            "entity.create",
            {"class": "zorp/Boot", "source": "# x", "format": "docx"},
            "codec.unknown",
            "codec.list",
        ),
    ],
)
def test_hints_name_the_next_call(
    call: Call, verb: str, arguments: dict[str, Any], code: str, next_call: str
) -> None:
    problem = refusal(call, verb, arguments)
    codes = [problem.code, *(one["code"] for one in problem.data.get("findings", []))]
    assert code in codes
    assert next_call in str(problem.hint)
    assert base_catalogue().find(next_call.partition(" ")[0].rstrip(";")) is not None


def test_hints_name_only_verbs_that_there_are(call: Call) -> None:
    """Whatever in a hint looks like a verb is one."""
    for verb, arguments in [
        ("entity.restore", {"entity": 999_999}),
        ("entity.delete", {"entity": 1}),
        ("schema.define", {"classes": {"a/B": {"dt/slots": ["a/b"], "dt/subclass-of": ["a/C"]}}}),
        ("entity.create", {"class": "zorp/Boot", "slots": {"footwear/name": 5, "a/b": 1}}),
    ]:
        groups = "entity|schema|class|types|property|search|codec"
        named = re.findall(rf"\b(?:{groups})\.[a-z-]+", str(refusal(call, verb, arguments).hint))
        assert named
        assert [name for name in named if base_catalogue().find(name) is None] == []


def test_of_thousands_of_class_tools_the_near_one_is_named(
    zorp: sandbar.Database, call: Call
) -> None:
    parent = {"dt/subclass-of": ["dt/Ref"]}
    for start in range(0, 3_000, 1_000):
        numbers = range(start, start + 1_000)
        zorp.define(classes={f"many/Class{n}": parent for n in numbers})
    for name, near in [
        ("sandbar.class.zorp.Boo", "sandbar.class.zorp.Boot"),
        ("sandbar_class_zorp_Boo", "sandbar_class_zorp_Boot"),
        ("class.zorp.Boo", "class.zorp.Boot"),
        ("sandbar.class.many.Clas2718", "sandbar.class.many.Class2718"),
        ("class.describ", "class.describe"),
    ]:
        hint = str(refusal(call, name, {}).hint)
        assert hint.startswith(f"did you mean {near}"), hint
    problem = refusal(call, "class.describe", {"class": "many/Clas2718"})
    assert "did you mean many/Class2718" in str(problem.hint)
