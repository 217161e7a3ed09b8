"""A name that something had before leads to it: the refusal says what it is called now."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

import sandbar
from sandbar.access import add_account
from sandbar.errors import Incorrect, NotFound, Problem
from sandbar.packs import get_prompt
from sandbar.verbs import Call as VerbCall
from sandbar.verbs import Context
from tests.verbs import crm
from tests.verbs.conftest import Call, caller_of, refusal


@pytest.fixture
def ids(call: Call) -> dict[str, int]:
    """The customer file; a slot, a class and a person of it have other names by now."""
    ids = crm.define(call)
    call("entity.create", {"class": "crm/Team", "attributes": {"db/ident": "team/red"}})
    for before, now in [
        ("person/nick", "person/short-name"),
        ("person/short-name", "person/alias"),
        ("crm/Person", "crm/Contact"),
        ("person/ann", "person/anna"),
        ("person/anna", "contact/ann"),
    ]:
        rename(call, before, now)
    return ids


def rename(call: Call, before: str, now: str | None) -> None:
    """Give an entity another name."""
    call("entity.update", {"entity": before, "attributes": {"db/ident": now}})


def led(problem: Problem) -> dict[str, str]:
    """The names that the hint of a refusal replaces, and by what."""
    return dict(re.findall(r"(\S+) is called (\S+) now: use \2", str(problem.hint)))


NICK, CLASS, ANN = {"person/nick": "person/alias"}, {"crm/Person": "crm/Contact"}, "contact/ann"
CALLS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("entity.find", {"entity": "person/nick"}, NICK),
    ("entity.find", {"entity": "person/short-name"}, {"person/short-name": "person/alias"}),
    ("entity.find", {"entity": "crm/Person"}, CLASS),
    ("entity.find", {"entity": "person/ann"}, {"person/ann": ANN}),
    ("entity.find", {"entity": ":person/anna"}, {"person/anna": ANN}),
    ("entity.find", {"entity": {"person/nick": "x"}}, NICK),
    ("entity.update", {"entity": "person/ann"}, {"person/ann": ANN}),
    ("entity.delete", {"entity": "person/ann"}, {"person/ann": ANN}),
    ("entity.update", {"entity": ANN, "attributes": {"person/nick": "x"}}, NICK),
    ("entity.create", {"class": "crm/Person"}, CLASS),
    (
        "entity.create",
        {"class": "crm/Contact", "attributes": {"person/name": "B", "person/nick": "x"}},
        NICK,
    ),
    ("entity.validate", {"class": "crm/Person"}, CLASS),
    ("entity.query", {"class": "crm/Person"}, CLASS),
    ("entity.query", {"class": "crm/Contact", "where": {"person/nick": "x"}}, NICK),
    ("entity.query", {"class": "crm/Contact", "order-by": "-person/nick"}, NICK),
    ("entity.query", {"class": "crm/Contact", "fields": ["person/nick"]}, NICK),
    ("entity.query", {"class": "dt/Class", "where": {"dt/slots": "person/nick"}}, NICK),
    ("class.describe", {"class": "crm/Person"}, CLASS),
    ("class.slots", {"class": "crm/Person"}, CLASS),
    ("search.text", {"query": "x", "class": "crm/Person"}, CLASS),
    ("schema.entities", {"classes": ["crm/Person"]}, CLASS),
    ("types.subclass-of", {"parent": "crm/Person", "child": "crm/Team"}, CLASS),
    ("schema.define", {"properties": {"x/y": {"dt/range": "crm/Person"}}}, CLASS),
    ("schema.define", {"classes": {"x/Z": {"dt/slots": ["person/nick"]}}}, NICK),
    ("schema.define", {"classes": {"x/Z": {"dt/subclass-of": ["crm/Person"]}}}, CLASS),
    (
        "entity.transact",
        {
            "operations": [
                {"op": "delete", "entity": "person/ann"},
                {"op": "create", "class": "crm/Person"},
                {"op": "update", "entity": "team/red", "set": {"person/nick": 1}},
                {"op": "migrate", "class": "crm/Contact", "fill": {"person/nick": "x"}},
            ]
        },
        {"person/ann": ANN} | CLASS | NICK,
    ),
    (
        "sandbar.class.crm.Person",
        {"person/name": "B"},
        {"sandbar.class.crm.Person": "sandbar.class.crm.Contact"},
    ),
    (
        "sandbar_class_crm_Person",
        {"person/name": "B"},
        {"sandbar_class_crm_Person": "sandbar_class_crm_Contact"},
    ),
]


def test_every_call_says_what_a_thing_is_called_now(call: Call, ids: dict[str, int]) -> None:
    wrong = []
    for verb, arguments, names in CALLS:
        problem = refusal(call, verb, arguments)
        if led(problem) != names or "deleted" in str(problem):
            wrong.append((verb, arguments, str(problem)))
    assert wrong == []
    valid = {"class": "crm/Contact", "attributes": {"person/name": "B", "person/nick": "x"}}
    (found,) = call("entity.validate", valid)["errors"]
    assert found["hint"] == "person/nick is called person/alias now: use person/alias"


def test_what_the_hint_says_works(call: Call, ids: dict[str, int]) -> None:
    for verb, arguments, names in CALLS[:6]:
        (now,) = led(refusal(call, verb, arguments)).values()
        assert now in names.values()
        assert call("entity.find", {"entity": now})["entity"]["ident"] == now
    call("entity.query", {"class": "crm/Contact", "where": {"person/alias": "Annie"}})
    call("sandbar.class.crm.Contact", {"person/name": "B"})


def test_the_library_says_it_too(zorp: sandbar.Database, call: Call, ids: dict[str, int]) -> None:
    calls: list[tuple[Callable[[], object], dict[str, str]]] = [
        (lambda: zorp.get("person/ann"), {"person/ann": ANN}),
        (lambda: zorp.update("person/ann", {}), {"person/ann": ANN}),
        (lambda: zorp.create("crm/Person", {}), CLASS),
        (lambda: zorp.query("crm/Contact", {"person/nick": "x"}), NICK),
    ]
    for wrong, names in calls:
        with pytest.raises(Problem) as caught:
            wrong()
        assert led(caught.value) == names


def test_a_name_that_another_has_taken_means_that_one(call: Call, ids: dict[str, int]) -> None:
    made = call("entity.create", {"class": "crm/Team", "attributes": {"db/ident": "person/ann"}})
    assert call("entity.find", {"entity": "person/ann"})["entity"]["entity-id"] == made["entity-id"]
    call("entity.delete", {"entity": "person/ann"})
    hint = str(refusal(call, "entity.find", {"entity": "person/ann"}).hint)
    assert f'entity.restore {{"entity": {made["entity-id"]}}}' in hint  # the last that had it
    call("entity.restore", {"entity": made["entity-id"]})


def test_what_was_deleted_after_a_rename_can_be_restored(call: Call, ids: dict[str, int]) -> None:
    call("entity.delete", {"entity": ANN})
    for name in ("person/ann", "person/anna", ANN):
        problem = refusal(call, "entity.find", {"entity": name})
        assert problem.message.endswith("it was deleted")
        assert f'entity.restore {{"entity": {ids["Ann"]}}}' in str(problem.hint)
        assert ("it was called contact/ann by then" in str(problem.hint)) == (name != ANN)
        update = refusal(call, "entity.update", {"entity": name})
        assert f'entity.restore {{"entity": {ids["Ann"]}}}' in str(update.hint)
    call("entity.restore", {"entity": ids["Ann"]})
    assert call("entity.find", {"entity": ANN})["entity"]["entity-id"] == ids["Ann"]


def test_nothing_is_to_be_restored_if_its_last_name_is_taken(
    call: Call, ids: dict[str, int]
) -> None:
    call("entity.delete", {"entity": ANN})
    call("entity.create", {"class": "crm/Team", "attributes": {"db/ident": ANN}})
    hint = str(refusal(call, "entity.find", {"entity": "person/ann"}).hint)
    assert "entity.restore" not in hint
    told = re.search(r'entity\.history \{"entity": (\d+)\}', hint)
    assert told is not None
    assert call("entity.history", {"entity": int(told[1])})["history"]


def test_who_has_no_name_any_more_is_known_by_the_id(call: Call, ids: dict[str, int]) -> None:
    rename(call, ANN, None)
    hint = str(refusal(call, "entity.find", {"entity": "person/ann"}).hint)
    assert hint == f"person/ann is called {ids['Ann']} now: use {ids['Ann']}"


def test_a_value_that_was_changed_leads_to_who_had_it(call: Call, ids: dict[str, int]) -> None:
    call("entity.update", {"entity": ids["Acme"], "attributes": {"company/name": "Acme Inc"}})
    for verb in ("entity.find", "entity.update"):
        problem = refusal(call, verb, {"entity": {"company/name": "Acme"}})
        assert f"use {ids['Acme']}" in str(problem.hint)
        assert "deleted" not in str(problem)


def test_a_name_of_today_is_told_the_name_of_then(call: Call, ids: dict[str, int]) -> None:
    t = call("entity.history", {"entity": ids["Ann"]})["history"][0]["t"]
    problem = refusal(call, "entity.find", {"entity": ANN, "as-of": t})
    assert f"it was called person/ann then: use {ids['Ann']}" in str(problem.hint)
    then = call("entity.find", {"entity": ids["Ann"], "as-of": t})["entity"]
    assert then["ident"] == "person/ann"


def test_what_is_purged_stays_unknown(call: Call, ids: dict[str, int]) -> None:
    call("entity.purge", {"entity": ids["Ann"], "confirm": ids["Ann"]})
    for name in ("person/ann", ANN):
        hint = str(refusal(call, "entity.find", {"entity": name}).hint)
        assert "restore" not in hint
        assert led(refusal(call, "entity.find", {"entity": name})) == {}


def test_who_is_living_cannot_be_restored_and_is_named(call: Call, ids: dict[str, int]) -> None:
    problem = refusal(call, "entity.restore", {"entity": "person/ann"})
    assert isinstance(problem, Incorrect)
    assert problem.message == f"entity {ids['Ann']} is there, and is called contact/ann"


def test_nobody_learns_of_accounts_by_their_former_names(
    zorp: sandbar.Database, call: Call
) -> None:
    made = add_account(zorp.workspace, "robot", role="reader").account
    for name in ("account/one", "account/two"):
        zorp.update(made.entity_id, {"db/ident": name})
    assert led(refusal(call, "entity.find", {"entity": "account/one"})) == {
        "account/one": "account/two"
    }
    for role in ("reader", "writer"):
        for verb, key in [("entity.find", "entity"), ("entity.history", "entity")]:
            seen = refusal(call, verb, {key: "account/one"}, role=role)
            never = refusal(call, verb, {key: "account/none"}, role=role)
            if verb == "entity.find":
                assert (seen.code, seen.hint) == (never.code, never.hint)
            assert "account/two" not in str(seen)
    for operations in (
        [{"op": "update", "entity": "account/one", "set": {}}],
        [{"op": "delete", "entity": "account/one"}, {"op": "delete", "entity": "no/body"}],
    ):
        seen = refusal(call, "entity.transact", {"operations": operations}, role="writer")
        assert "account/two" not in f"{seen}{seen.data}"
        assert str(made.entity_id) not in f"{seen}{seen.data}"
    where = {"class": "dt/Resource", "where": {"not": {"dt/slots": "account/one"}}}
    asked = refusal(call, "entity.query", {**where, "class": "dt/Class"}, role="reader")
    assert "account/two" not in f"{asked}{asked.data}"


def test_a_candidate_is_told_to_whom_it_is_shown_only(zorp: sandbar.Database, call: Call) -> None:
    """By a text that an account says nobody learns of the account."""
    zorp.define(
        properties={"note/by": {"dt/range": "db.type/ref"}},
        classes={"note/Note": {"dt/slots": ["note/by"]}},
    )
    add_account(zorp.workspace, "zanzibar", role="reader")
    zorp.update({"auth/service-name": "service/zanzibar"}, {"dt/label": "Zanzibar Robot"})
    wrong = {"class": "note/Note", "attributes": {"note/by": "Zanzibar Robot"}}
    assert "did you mean" in str(refusal(call, "entity.create", wrong).hint)
    hidden = refusal(call, "entity.create", wrong, role="writer")
    assert "did you mean" not in str(hidden.hint)
    never = {"class": "note/Note", "attributes": {"note/by": "Timbuktu Robot"}}
    unknown = refusal(call, "entity.create", never, role="writer")
    assert str(hidden.hint) == str(unknown.hint).replace("Timbuktu", "Zanzibar")


def test_a_renamed_role_is_told(zorp: sandbar.Database) -> None:
    add_account(zorp.workspace, "robot", role="reader")
    zorp.create("auth/Role", {"auth/role-name": "clerk"})
    zorp.update({"auth/role-name": "clerk"}, {"auth/role-name": "agent"})
    with pytest.raises(NotFound) as caught:
        add_account(zorp.workspace, "desk", role="clerk")
    assert caught.value.hint == "clerk is called agent now: use agent"
    add_account(zorp.workspace, "desk", role="agent")


def test_a_renamed_prompt_is_told(zorp: sandbar.Database, call: Call) -> None:
    rename(call, "zorp/plan-launch", "zorp/launch-plan")
    caller = caller_of(zorp, "reader")
    context = Context(VerbCall(caller, "prompts/get"), zorp.guarded(caller), zorp)
    given = {"product": "X", "date": "Y"}
    for before, now in [("plan-launch", "launch-plan"), ("zorp/plan-launch", "launch-plan")]:
        with pytest.raises(NotFound) as caught:
            get_prompt(context, zorp.offer.code, before, given)
        assert caught.value.hint == f"{before} is called {now} now: use {now}"
    with pytest.raises(Problem, match=r"launch-plan does not take|launch-plan needs"):
        get_prompt(context, zorp.offer.code, "launch-plan", {"strange": "x"})


def test_a_slot_that_was_renamed_in_the_same_transaction_is_told(call: Call) -> None:
    crm.define(call)
    operations = [
        {"op": "update", "entity": "person/nick", "set": {"db/ident": "person/alias"}},
        {"op": "update", "entity": "person/ann", "set": {"person/nick": "A"}},
    ]
    problem = refusal(call, "entity.transact", {"operations": operations})
    assert "use person/alias" in str(problem.hint)
    operations[1]["set"] = {"person/alias": "A"}
    call("entity.transact", {"operations": operations})


def test_clearing_a_slot_that_goes_is_a_migrate(call: Call) -> None:
    """It said `did you mean person/given-name`."""
    ids = crm.define(call)
    remove = {"op": "update", "entity": "crm/Person", "remove": {"dt/slots": ["person/nick"]}}
    clear = {"op": "update", "entity": ids["Ann"], "set": {"person/nick": None}}
    migrate = '{"op": "migrate", "class": "crm/Person", "clear": ["person/nick"]}'
    others = {"op": "update", "entity": ids["Ann"], "set": {"person/age": 5}}
    for operations in ([clear, remove], [remove, clear], [remove], [others, remove]):
        problem = refusal(call, "entity.transact", {"operations": operations})
        assert migrate in str(problem.hint)
        assert "did you mean" not in str(problem)
    kept = [slot for slot in crm.CLASSES["crm/Person"]["dt/slots"] if slot != "person/nick"]
    defined = refusal(call, "schema.define", {"classes": {"crm/Person": {"dt/slots": kept}}})
    assert migrate in str(defined.hint)
    found = re.search(r"\{.*?\]\}", str(defined.hint))
    assert found is not None
    call("entity.transact", {"operations": [remove, json.loads(found[0])]})


def test_a_slot_that_becomes_required_is_filled_by_a_migrate(call: Call) -> None:
    crm.define(call)
    require = {"op": "update", "entity": "person/given-name", "set": {"dt/required?": True}}
    problem = refusal(call, "entity.transact", {"operations": [require]})
    found = re.search(r'\{"op": "migrate".*?\}\}', str(problem.hint))
    assert found is not None
    call("entity.transact", {"operations": [require, json.loads(found[0])]})
    ann = call("entity.find", {"entity": "person/ann"})["entity"]
    assert ann["slots"]["person/given-name"] == "unknown"


def test_a_caught_refusal_looks_nothing_up_and_one_that_is_told_does_before_the_end(
    zorp: sandbar.Database, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename(call, "zorp/plan-launch", "zorp/launch-plan")
    names, asked = zorp.workspace.former_names, list[Any]()
    holder = names.holder

    def noted(given: Any) -> Any:
        asked.append(given)
        return holder(given)

    monkeypatch.setattr(names, "holder", noted)
    with pytest.raises(NotFound) as caught:
        zorp.get("zorp/plan-launch")
    assert not asked
    assert led(caught.value) == {"zorp/plan-launch": "zorp/launch-plan"}
    assert caught.value.data == {"entity": "zorp/plan-launch"}
    assert asked == ["zorp/plan-launch"]
    with pytest.raises(NotFound) as uncaught, zorp:
        zorp.get("zorp/plan-launch")
    assert led(uncaught.value) == {"zorp/plan-launch": "zorp/launch-plan"}
