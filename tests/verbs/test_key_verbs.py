"""`key.*` and `workspace.*` as verbs: who may call them, what they answer, what they never say."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, Houses, mint, sign_in
from sandbar.errors import Problem, Unauthenticated
from sandbar.model import LIMIT_NAMES
from sandbar.verbs import base_catalogue, base_verbs
from tests.verbs.conftest import Call, findings, refusal

GROUPS = ("key", "workspace")
HOUSEKEEPING = [v for v in base_verbs() if v.group in GROUPS and v.name != "workspace.usage"]


class Server:
    """A database, and callers who have signed in to it with keys."""

    def __init__(self, db: sandbar.Database) -> None:
        self.db = db
        self.houses = Houses(lambda name: db.neighbours.open(name), db.workspace_name)

    def who(self, token: str) -> Caller:
        return sign_in(self.houses, token)

    def call(self, token: str, verb: str, **arguments: Any) -> Any:
        caller = self.who(token)
        given = {name.replace("_", "-"): value for name, value in arguments.items()}
        answer = self.db.in_workspace(caller.workspace).call_as(caller, verb, given)
        return msgspec.json.decode(msgspec.json.encode(answer))

    def refused(self, token: str, verb: str, **arguments: Any) -> Problem:
        with pytest.raises(Problem) as caught:
            self.call(token, verb, **arguments)
        return caught.value


@pytest.fixture
def server(zorp: sandbar.Database) -> Server:
    """A server with the pack zorp."""
    return Server(zorp)


# --- who may -------------------------------------------------------------------------------------


def test_they_are_for_admins_and_housekeeping() -> None:
    assert [verb.name for verb in HOUSEKEEPING] == [
        "key.mint", "key.list", "key.rotate", "key.revoke",
        "workspace.create", "workspace.list", "workspace.suspend", "workspace.delete",
    ]  # fmt: skip
    for verb in HOUSEKEEPING:
        assert (verb.access, verb.is_housekeeping) == ("admin", True)


@pytest.mark.parametrize("verb", HOUSEKEEPING, ids=lambda verb: verb.name)
@pytest.mark.parametrize("role", ["reader", "writer"])
def test_others_are_refused(call: Call, verb: Any, role: Any) -> None:
    problem = refusal(call, verb.name, verb.examples[0].arguments, role=role)
    assert problem.code == "verb.forbidden"


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_everybody_sees_what_their_workspace_uses_and_nobody_sets_it(call: Call, role: Any) -> None:
    told = call("workspace.usage", role=role)
    assert told["budgets"]["limit/entities"]["used"] > 40
    assert set(told["budgets"]) == {f"limit/{name}" for name in LIMIT_NAMES}
    assert (told["over-budget"], told["waiting"]) == ([], 0)
    assert call("workspace.usage", {"name": told["workspace"]}, role=role) == told
    setting = {"entity": "auth/workspace", "set": {"limit/entities": 10**9}}
    assert refusal(call, "entity.update", setting, role=role).code != ""
    assert [v.name for v in base_verbs() if "limit" in v.name] == []


def test_only_operators_see_what_others_use(server: Server) -> None:
    root = mint(server.db.workspace, "root").token
    name = f"{server.db.workspace_name}-other"
    server.call(root, "workspace.create", name=name)
    assert server.call(root, "workspace.usage", name=name)["workspace"] == name
    admin = mint(server.db.in_workspace(name).workspace, "theirs").token
    assert server.call(admin, "workspace.usage")["workspace"] == name
    problem = server.refused(admin, "workspace.usage", name=server.db.workspace_name)
    assert problem.code == "workspace.operators-only"


def test_a_narrowed_key_makes_no_keys(server: Server) -> None:
    root = mint(server.db.workspace, "root").token
    for narrowing in (
        {"verbs": ["key.*"]},
        {"classes": ["dt/Resource"]},
        {"read-only": True},
        {"role": "writer"},
    ):
        name = f"narrow-{next(iter(narrowing))}"
        token = server.call(root, "key.mint", name=name, **narrowing)["token"]
        for verb in ("key.mint", "key.rotate"):
            problem = server.refused(token, verb, name="root")
            assert type(problem).__name__ == "Forbidden"
    assert server.who(root).role == "admin"
    assert {key["state"] for key in server.call(root, "key.list")["keys"]} == {"active"}


# --- keys ----------------------------------------------------------------------------------------


def test_a_key_s_life(server: Server) -> None:
    root = mint(server.db.workspace, "root").token
    made = server.call(
        root,
        "key.mint",
        name="dash",
        verbs=["entity.*"],
        classes=["zorp/Footwear"],
        read_only=True,
        expires="30d",
    )
    token = made["token"]
    assert made["key"]["owner"] == "user/owner"
    caller = server.who(token)
    assert caller.is_operator is False
    assert server.call(token, "entity.find", entity="product/mud-lord")["entity"]
    assert server.refused(token, "entity.update", entity="product/mud-lord").code in (
        "verb.forbidden",
        "access.read-only",
    )
    listed = {key["name"]: key for key in server.call(root, "key.list")["keys"]}
    assert listed["dash"] == made["key"]
    other = server.call(root, "key.rotate", key="dash")
    assert server.refused(token, "entity.find", entity=1).code == "auth.revoked"
    assert server.who(other["token"]).key == "dash"
    ended = server.call(root, "key.revoke", name=other["token"], reason="done")
    assert ended["key"]["state"] == "revoked"
    assert server.refused(other["token"], "entity.find", entity=1).code == "auth.revoked"
    said = json.dumps([server.call(root, "key.list"), ended])
    for secret in (token, other["token"], root):
        assert secret[-58:] not in said


def test_the_list_is_paged(server: Server) -> None:
    for name in ("c", "a", "b"):
        mint(server.db.workspace, name)
    root = mint(server.db.workspace, "root").token
    first = server.call(root, "key.list", limit=2)
    assert [key["name"] for key in first["keys"]] == ["a", "b"]
    rest = server.call(root, "key.list", limit=2, cursor=first["cursor"])
    assert [key["name"] for key in rest["keys"]] == ["c", "root"]
    assert "cursor" not in rest
    assert server.refused(root, "workspace.list", cursor=first["cursor"]).code.startswith("cursor")


def test_all_that_is_wrong_is_found_at_once(call: Call) -> None:
    problem = refusal(
        call,
        "key.mint",
        {"name": "x", "user": "nobdy", "verbs": ["entity.fnid"], "classes": ["zorp/Boots"]},
    )
    assert findings(problem) == [
        ("user", "user.unknown"),
        ("verbs", "key.verb-unknown"),
        ("classes", "class.unknown"),
    ]
    assert "did you mean entity.find" in str(problem.hint)
    wrong = {"nmae": "x", "verbs": "entity.*", "read-only": "yes"}
    assert refusal(call, "key.mint", wrong).code == "arguments.invalid"


def test_a_key_can_be_narrowed_to_a_verb_of_a_pack(server: Server) -> None:
    known = {verb.name for verb in server.db.offer.catalogue}
    ours = {verb.name for verb in base_catalogue()}
    root = mint(server.db.workspace, "root").token
    assert server.refused(root, "key.mint", name="x", verbs=["echo"]).code == "key.verb-unknown"
    assert known == ours, "zorp brings no verbs; everything does"
    server.db.load_pack("everything")
    foreign = sorted({verb.name for verb in server.db.offer.catalogue} - ours)
    made = server.call(root, "key.mint", name="x", verbs=foreign[:1])
    assert made["key"]["verbs"] == foreign[:1]


def test_a_replay_does_not_show_the_secret(call: Call) -> None:
    asked = {"name": "once", "idempotency-key": "k"}
    token = call("key.mint", asked)["token"]
    problem = refusal(call, "key.mint", asked)
    assert problem.code == "key.secret-already-shown"
    assert token[-58:] not in str(problem)
    assert "key.rotate" in str(problem.hint)


def test_a_secret_is_in_no_history_and_no_audit(server: Server) -> None:
    root = mint(server.db.workspace, "root").token
    token = server.call(root, "key.mint", name="x", idempotency_key="k", reason="why")["token"]
    server.call(root, "key.revoke", name=token)
    server.refused(root, "key.revoke", name="sk-sand-" + "1" * 64)
    rows = server.db.journal.trail.rows(server.db.workspace.number, limit=100)
    assert [row.verb for row in rows][:3] == ["key.revoke", "key.revoke", "key.mint"]
    told = str(rows) + str(server.db.changes(limit=1000))
    key = server.db.query("auth/Key", {"auth/key-name": "x"}).items[0]
    told += str(server.db.history(key.entity_id))
    assert "why" in told
    for secret in (token, root, "1" * 64):
        assert secret[-58:] not in told


# --- workspaces ----------------------------------------------------------------------------------


def test_operators_see_to_workspaces_with_keys(server: Server) -> None:
    root = mint(server.db.workspace, "root").token
    name = f"shop of {server.db.workspace_name}"
    made = server.call(root, "workspace.create", name=name, owner="anna", email="a@example.com")
    assert made["workspace"]["owner"] == "user/anna"
    hers = mint(server.db.neighbours.open(name), "hers").token
    assert server.who(hers).workspace == name
    own = server.call(hers, "workspace.list")["workspaces"]
    assert [one["name"] for one in own] == [name]
    for verb, more in (
        ("workspace.create", {"name": "x"}),
        ("workspace.suspend", {"name": name}),
        ("workspace.suspend", {"name": server.db.workspace_name}),
        ("workspace.delete", {"name": name, "confirm": name}),
    ):
        assert server.refused(hers, verb, **more).code == "workspace.operators-only"
    server.call(root, "workspace.suspend", workspace=name)
    assert server.refused(hers, "key.list").code == "workspace.suspended"
    assert server.call(root, "workspace.suspend", name=name, resume=True)["workspace"]["keys"] == 1
    wrong = server.refused(root, "workspace.delete", name=name, confirm="yes")
    assert wrong.code == "workspace.unconfirmed"
    missing = server.refused(root, "workspace.delete", name=name)
    assert missing.code == "arguments.invalid"
    gone = server.call(root, "workspace.delete", name=name, confirm=name)
    assert gone["deleted"]["name"] == name
    assert isinstance(server.refused(hers, "key.list"), Unauthenticated)
    home = server.db.workspace_name
    assert server.refused(root, "workspace.delete", name=home, confirm=home).code == "workspace.own"
    assert server.refused(root, "workspace.suspend", name=home).code == "workspace.own"


def test_the_list_of_workspaces_is_paged(server: Server) -> None:
    root = mint(server.db.workspace, "root").token
    for word in ("a", "b"):
        server.call(root, "workspace.create", name=f"0 {word} {server.db.workspace_name}")
    names: list[str] = []
    cursor = None
    while True:
        page = server.call(root, "workspace.list", limit=50, cursor=cursor)
        names += [one["name"] for one in page["workspaces"]]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert server.db.workspace_name in names
