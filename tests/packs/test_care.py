"""The pack `care`: what each of its tools tells whom, on both stores."""

from __future__ import annotations

import ast
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sandbar.packs.care
from sandbar.access import Caller, Guarded, local_caller
from sandbar.errors import Conflict, Forbidden, Incorrect, Problem
from sandbar.model import Create, Workspace
from sandbar.packs import code_of, load_pack
from sandbar.store.scan import Between, Scan
from sandbar.store.sqlite.reads import SqliteReads
from sandbar.verbs import Call
from tests.packs.conversations import run, services_of

TOOLS = ["ping", "get_user_profile", "list_loved_ones", "list_care_events"]
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)

# What is no loved one of the caller's family, whatever it is instead.
FOREIGN: list[Any] = [
    *(0, -1, -(2**63), 2**53, 2**63, 10**30, 1, 999_999_999),
    *("", " ", "0", "-1", "x", "1e3", "null", "no/such", ":no/such", "9" * 500, "ü", "\u0000"),
    *("family/rivera", "loved-one/adaeze", ":loved-one/adaeze", "auth/workspace", "care/LovedOne"),
    *('{"db/ident": "loved-one/rosa"}', '["loved-one/rosa"]', "loved-one/rosa ", "../1"),
]


@pytest.fixture
def care(either: Workspace) -> Workspace:
    """A workspace with the two families of the demo."""
    load_pack(either, "care")
    return either


def as_user(workspace: Workspace, name: str) -> Guarded:
    """The workspace as somebody sees it who may only read."""
    user = workspace.get({"auth/user-name": name})
    caller = Caller(name, "reader", "main", user.entity_id, via="api-key")
    return Guarded(workspace, caller)


def owner(workspace: Workspace) -> Guarded:
    """The workspace as its owner sees it with a key."""
    return as_user(workspace, workspace.get({"auth/owns": "workspace"})["auth/user-name"])


def chidi(workspace: Workspace) -> Guarded:
    """The workspace as a member of the other family sees it."""
    return as_user(workspace, "user/chidi")


def told(result: Any) -> Any:
    """A result as clients read it."""
    return msgspec.to_builtins(result)


def id_of(workspace: Workspace, ident: str) -> str:
    """An id as the tools write it."""
    return str(workspace.get(ident).entity_id)


def event_of(loved_one: str | int, when: datetime) -> Create:
    """An event of a loved one, to be recorded."""
    return Create(
        class_="care/Event",
        slots={
            "care-event/loved-one": loved_one,
            "care-event/at": when.isoformat(),
            "care-event/kind": "note",
            "care-event/summary": when.isoformat(),
        },
    )


def record(workspace: Workspace, loved_one: str | int, *at: datetime) -> None:
    """Events of a loved one, recorded in this order."""
    operations = [event_of(loved_one, when) for when in at]
    for start in range(0, len(operations), 500):
        workspace.transact(operations[start : start + 500], principal="test")


# --- what the pack is -----------------------------------------------------------------------------


def test_four_tools_under_their_own_names_that_only_read() -> None:
    verbs = code_of(["care"]).verbs
    assert [verb.name for verb in verbs] == TOOLS
    assert {(verb.access, verb.group, verb.is_exact) for verb in verbs} == {("read", "care", True)}


def test_its_endpoint_has_these_tools() -> None:
    (endpoint,) = code_of(["care"]).endpoints
    assert (endpoint.path, endpoint.name) == ("/api/mcp", "sandwich")
    assert list(endpoint.tools) == TOOLS


def test_it_is_made_of_what_any_pack_may_use() -> None:
    """No import of a door's inside: only of the packages that docs/packs.md names."""
    ours = {"sandbar.errors", "sandbar.model", "sandbar.packs", "sandbar.verbs", "heapq", "msgspec"}
    folder = Path(sandbar.packs.care.__file__).parent
    imported = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sandbar"):
                imported.add(str(node.module))
            elif isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
    assert {name for name in imported if not name.startswith("sandbar.packs.care")} <= ours


def test_loading_it_twice_changes_nothing(care: Workspace) -> None:
    t = care.last_t()
    assert load_pack(care, "care").created == 0
    assert care.query("care/Family").items[0]["family/name"]
    assert care.last_t() == t


def test_it_brings_a_role_that_may_use_these_tools_alone(care: Workspace) -> None:
    role = care.get({"auth/role-name": "caregiver"})
    (permission,) = (care.get(one) for one in role["auth/permissions"])
    assert (permission["auth/group"], permission["auth/access"]) == ("care", "read")


# --- who it is ------------------------------------------------------------------------------------


def test_ping_names_uid_tenant_and_the_way_of_signing_in(care: Workspace) -> None:
    (block,) = run(chidi(care), "ping").blocks
    assert block == {
        "type": "text",
        "text": "pong from sandwich platform — uid=user/chidi tenant=main via=api-key",
    }
    (block,) = run(Guarded(care, local_caller("main")), "ping").blocks
    assert block["text"].endswith("uid=local tenant=main via=local")


def test_the_profile_of_a_member_names_the_family(care: Workspace) -> None:
    assert told(run(chidi(care), "get_user_profile")) == {
        "uid": "user/chidi",
        "email": "chidi@example.com",
        "tenantType": "family",
        "workspaceName": "The Okafor family",
        "familyMemberCount": 1,
    }


def test_the_profile_of_somebody_without_a_family_names_none(care: Workspace) -> None:
    lone = {"auth/user-name": "user/lone", "auth/email": "lone@example.com"}
    care.transact([Create(class_="auth/User", slots=lone)], principal="test")
    assert told(run(as_user(care, "user/lone"), "get_user_profile")) == {
        "uid": "user/lone",
        "email": "lone@example.com",
        "tenantType": "workspace",
    }
    local = told(run(Guarded(care, local_caller("main")), "get_user_profile"))
    assert local == {"uid": "local", "email": None, "tenantType": "workspace"}


def test_the_owner_of_the_workspace_is_in_the_demo_family(care: Workspace) -> None:
    profile = told(run(owner(care), "get_user_profile"))
    assert (profile["workspaceName"], profile["familyMemberCount"]) == ("The Rivera family", 1)


# --- what it tells --------------------------------------------------------------------------------


def test_loved_ones_are_those_of_the_own_family(care: Workspace) -> None:
    assert told(run(chidi(care), "list_loved_ones")) == {
        "lovedOnes": [{"id": id_of(care, "loved-one/adaeze"), "name": "Adaeze Okafor"}]
    }
    ours = told(run(owner(care), "list_loved_ones"))["lovedOnes"]
    assert [one["name"] for one in ours] == ["Rosa Rivera", "Ernesto Rivera"]


@pytest.mark.parametrize("tool", ["list_loved_ones", "list_care_events"])
def test_whoever_has_no_family_is_refused(care: Workspace, tool: str) -> None:
    """An administrator as well: what counts is who belongs to the family."""
    account = {"auth/service-name": "service/boss", "auth/roles": ["admin"]}
    care.transact([Create(class_="auth/ServiceAccount", slots=account)], principal="test")
    id = care.get({"auth/service-name": "service/boss"}).entity_id
    for caller in (Caller("service/boss", "admin", "main", id), local_caller("main")):
        with pytest.raises(Forbidden, match="not authorized") as caught:
            run(Guarded(care, caller), tool)
        assert caught.value.code == "care.family-only"


def test_events_of_one_newest_first(care: Workspace) -> None:
    rosa = id_of(care, "loved-one/rosa")
    events = told(run(owner(care), "list_care_events", lovedOneId=rosa))["events"]
    assert [event["kind"] for event in events] == ["mood", "appointment", "visit", "medication"]
    assert {event["lovedOneId"] for event in events} == {rosa}
    assert events[0] == {
        "id": id_of(care, "care-event/rosa-4"),
        "lovedOneId": rosa,
        "lovedOneName": "Rosa Rivera",
        "at": "2026-11-13T21:40:00Z",
        "kind": "mood",
        "summary": care.get("care-event/rosa-4")["care-event/summary"],
    }


@pytest.mark.parametrize("given", [str, int, lambda id: f"{id}", lambda id: "loved-one/rosa"])
def test_a_loved_one_is_named_by_id_or_ident(care: Workspace, given: Callable[[str], Any]) -> None:
    rosa = id_of(care, "loved-one/rosa")
    found = run(owner(care), "list_care_events", lovedOneId=given(rosa), limit=1).events
    assert [event.loved_one_id for event in found] == [rosa]


def test_events_of_all_have_the_limit_for_each_of_them(care: Workspace) -> None:
    found = run(owner(care), "list_care_events", limit=2).events
    whose = [event.loved_one_name.split()[0] for event in found]
    assert whose == ["Ernesto", "Rosa", "Ernesto", "Rosa"]
    assert [event.at for event in found] == sorted((event.at for event in found), reverse=True)
    assert {event.loved_one_name for event in run(chidi(care), "list_care_events").events} == {
        "Adaeze Okafor"
    }


def test_the_limit_is_from_1_to_50_and_10_if_nothing_is_said(care: Workspace) -> None:
    record(care, "loved-one/rosa", *(NOON + timedelta(hours=n) for n in range(60)))
    rosa, db = id_of(care, "loved-one/rosa"), owner(care)
    assert len(run(db, "list_care_events", lovedOneId=rosa).events) == 10
    assert len(run(db, "list_care_events", lovedOneId=rosa, limit=50).events) == 50
    assert len(run(db, "list_care_events", limit=50).events) == 53
    for wrong in (0, -1, 51, 1.5, "ten", True):
        with pytest.raises(Incorrect) as caught:
            run(db, "list_care_events", limit=wrong)
        assert caught.value.code == "arguments.invalid"


def test_what_was_recorded_late_is_told_in_its_place(care: Workspace) -> None:
    """Also of more events than are read at once, and with fractions of a second."""
    moments = [NOON + timedelta(minutes=n, milliseconds=n % 3 * 250) for n in range(1203)]
    record(care, "loved-one/rosa", *reversed(moments))
    rosa = id_of(care, "loved-one/rosa")
    found = run(owner(care), "list_care_events", lovedOneId=rosa, limit=5).events
    assert [event.summary for event in found] == [when.isoformat() for when in moments[:-6:-1]]


# --- whose it is ----------------------------------------------------------------------------------


def answers_to_foreign_ids(workspace: Workspace, db: Guarded) -> set[bytes]:
    """All that is answered to ids that are not the caller's, as bytes."""
    others = [
        "loved-one/adaeze",
        "family/rivera",
        "family/okafor",
        "care-event/rosa-1",
        "pack/care",
    ]
    numbers = [workspace.get(ident).entity_id for ident in others]
    given = [*FOREIGN, *numbers, *map(str, numbers), db.caller.account_id]
    answers = set()
    for id in given:
        try:
            told(run(db, "list_care_events", lovedOneId=id))
            answers.add(b"an answer to %r" % id)
        except Problem as problem:
            said = [type(problem).__name__, problem.code, problem.message]
            answers.add(msgspec.json.encode([*said, problem.hint, problem.data]))
    return answers


def test_foreign_and_unknown_ids_get_the_same_bytes(care: Workspace) -> None:
    answers = answers_to_foreign_ids(care, owner(care))
    assert len(answers) == 1, answers
    assert b'"not authorized"' in answers.pop()


def test_a_tool_that_looks_for_the_id_would_be_caught(
    care: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: such a tool tells what exists from what does not."""
    from_all = "sandbar.packs.care.code.loved_one"
    monkeypatch.setattr(from_all, lambda context, family, id: care.get(id))
    assert len(answers_to_foreign_ids(care, owner(care))) > 1


def test_the_family_is_derived_anew_on_every_call(care: Workspace) -> None:
    db = chidi(care)
    assert run(db, "list_loved_ones").loved_ones
    member = db.caller.account_id
    leave = {"op": "update", "entity": "family/okafor", "remove": {"family/members": [member]}}
    care.transact([leave], principal="test")
    with pytest.raises(Forbidden):
        run(db, "list_loved_ones")
    join = {"op": "update", "entity": "family/rivera", "add": {"family/members": [member]}}
    care.transact([join], principal="test")
    assert run(db, "list_loved_ones").loved_ones[0].name == "Rosa Rivera"
    assert run(db, "get_user_profile").family_member_count == 2


def test_nobody_is_in_two_families(care: Workspace) -> None:
    both = {
        "family/name": "Both",
        "family/members": [{"auth/owns": "workspace"}, {"auth/user-name": "user/chidi"}],
    }
    with pytest.raises((Incorrect, Conflict), match="family/members"):
        care.transact([Create(class_="care/Family", slots=both)], principal="test")


def test_only_the_own_part_of_the_index_is_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No walk over a class, nor along a slot without two ends."""
    load_pack(workspace, "care")
    db, made = owner(workspace), []
    services = services_of(db)
    read = SqliteReads.scan

    def watched(self: Any, scan: Scan) -> Any:
        made.append(scan.drive)
        return read(self, scan)

    monkeypatch.setattr(SqliteReads, "scan", watched)
    for tool in TOOLS:
        services.perform(Call(db.caller, tool))
    for id in FOREIGN:
        with pytest.raises(Forbidden):
            services.perform(Call(db.caller, "list_care_events", {"lovedOneId": id}))
    names = {workspace.get(drive.property).ident for drive in made}
    assert names == {"family/members", "loved-one/family", "care-event/loved-one"}
    ends = [drive for drive in made if isinstance(drive, Between)]
    assert len(ends) == 2
    assert all(drive.low is not None and drive.high is not None for drive in ends)


def enlarge(care: Workspace, by: int) -> None:
    """Let Chidi's family care for more people."""
    more = [
        Create(
            class_="care/LovedOne",
            slots={"loved-one/name": f"No {n}", "loved-one/family": "family/okafor"},
        )
        for n in range(by)
    ]
    care.transact(more, principal="test")


@pytest.mark.parametrize("at_once", [1000, 50])
def test_everybody_in_a_large_family_can_be_asked_for(
    care: Workspace, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Also those who are not listed, be it in one page or in several."""
    monkeypatch.setattr("sandbar.packs.care.families._AT_ONCE", at_once)
    enlarge(care, 121)
    everybody = care.query("care/LovedOne", {"loved-one/family": "family/okafor"}, limit=1000).items
    assert len(everybody) == 122
    care.transact([event_of(one.entity_id, NOON) for one in everybody], principal="test")
    own, foreign = chidi(care), owner(care)
    for number, one in enumerate(everybody):
        (event, *_) = run(own, "list_care_events", lovedOneId=one.entity_id).events
        assert event.loved_one_id == str(one.entity_id)
        if number % 7 in (0, 2):  # the first and the last among them
            with pytest.raises(Forbidden):
                run(foreign, "list_care_events", lovedOneId=one.entity_id)
    assert len(answers_to_foreign_ids(care, owner(care))) == 1


def test_a_family_that_is_very_large_is_told_in_part(care: Workspace) -> None:
    enlarge(care, 100)
    found = told(run(chidi(care), "list_loved_ones"))
    assert (len(found["lovedOnes"]), found["more"]) == (100, True)
