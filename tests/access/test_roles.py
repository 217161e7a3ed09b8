"""Roles as entities: inherited, in circles, changed while somebody is signed in, and built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.access import (
    Caller,
    Houses,
    Limit,
    Rights,
    add_account,
    install_access,
    mint,
    sign_in,
)
from sandbar.access.keys import key_digest, mint_key
from sandbar.errors import Forbidden, Problem, Unauthenticated
from sandbar.model import Workspace
from tests.access.conftest import Place
from tests.access.limited import account, houses_of, key, make_role, opened, signed_in

OLD = Path(__file__).with_name(
    "auth-before.json"
)  # the metamodel of access before there were roles


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sandbar.Database]:
    with opened(tmp_path / "roles.db") as db:
        yield db


def can(caller: Caller, name: str, access: Any = "read") -> bool:
    return caller.rights.may_call(name.partition(".")[0], name, access)


def refusal(db: sandbar.Database, token: str) -> Problem:
    with pytest.raises(Problem) as caught:
        signed_in(db, token)
    return caught.value


# --- inheriting ----------------------------------------------------------------------------------


def test_permissions_are_inherited(db: sandbar.Database) -> None:
    make_role(db, "a", {"group": "search", "access": "read"})
    make_role(db, "b", {"group": "entity", "access": "write"}, inherits=["a"])
    make_role(db, "c", inherits=["b"])
    caller = account(db, "x", "c")
    assert can(caller, "search.text")
    assert can(caller, "entity.create", "write")
    assert not can(caller, "entity.purge", "admin")
    assert not can(caller, "schema.classes")
    assert caller.role == "writer"


def test_a_caller_acts_in_the_roles_of_its_account_and_key(db: sandbar.Database) -> None:
    make_role(db, "approver", {"group": "workflow", "access": "write"}, inherits=["reader"])
    make_role(db, "chief", inherits=["approver"])
    chief = account(db, "x", "chief")
    assert chief.roles == {"chief", "approver", "reader", "writer"}
    assert key(db, "k1", "x", role="approver").roles == {"approver", "reader", "writer"}
    assert key(db, "k2", "x", role="reader").roles == {"reader"}
    admin = account(db, "y", "admin")
    assert admin.roles == {"admin", "writer", "reader"}
    assert "approver" not in key(db, "k3", "y", role="approver").roles
    assert "admin" not in key(db, "k4", "y", verbs=["workflow.*"]).roles


def test_roles_in_a_circle_are_no_endless_loop(db: sandbar.Database) -> None:
    make_role(db, "a", {"group": "search", "access": "read"})
    make_role(db, "b", {"group": "entity", "access": "read"}, inherits=["a"])
    db.update({"auth/role-name": "a"}, {"auth/inherits": [{"auth/role-name": "b"}]})
    db.update({"auth/role-name": "b"}, add={"auth/inherits": [{"auth/role-name": "b"}]})
    for name in ("a", "b"):
        caller = account(db, f"x-{name}", name)
        assert can(caller, "search.text")
        assert can(caller, "entity.find")
        assert not can(caller, "entity.create", "write")


def test_whoever_inherits_from_admin_is_one(db: sandbar.Database) -> None:
    make_role(db, "chief", inherits=["admin"])
    assert account(db, "x", "chief").role == "admin"


def test_a_class_limit_of_a_permission_is_the_scope(db: sandbar.Database) -> None:
    make_role(
        db,
        "cobbler",
        {"group": "entity", "access": "write", "classes": ["zorp/Boot"]},
        {"group": "entity", "access": "read", "classes": ["zorp/Footwear"]},
    )
    caller = account(db, "x", "cobbler")
    assert db.call_as(caller, "entity.find", {"entity": "product/comet-low"})
    with pytest.raises(Forbidden) as caught:
        db.call_as(caller, "entity.update", {"entity": "product/comet-low", "attributes": {}})
    assert caught.value.code == "access.out-of-scope"
    changed = {"entity": "product/mud-lord", "attributes": {"footwear/price": "1"}}
    assert db.call_as(caller, "entity.update", changed).changed


# --- what is written counts from the next request on ---------------------------------------------


def test_every_change_counts_on_the_next_request(db: sandbar.Database) -> None:
    role = make_role(db, "keeper", {"group": "entity", "access": "read"})
    made = add_account(db.workspace, "x", role="keeper")
    houses = houses_of(db)
    token = made.token
    assert not can(sign_in(houses, token), "search.text")

    grant = db.create("auth/Permission", {"auth/group": "search", "auth/access": "read"}).entity_id
    db.update(role, add={"auth/permissions": [grant]})
    assert can(sign_in(houses, token), "search.text")
    db.update(grant, {"auth/group": "schema"})
    assert not can(sign_in(houses, token), "search.text")
    db.update(grant, {"auth/group": "search", "auth/classes": ["zorp/Boot"]})
    assert sign_in(houses, token).rights.scope("search", "read") == frozenset({"zorp/Boot"})
    db.update(role, add={"auth/inherits": [{"auth/role-name": "writer"}]})
    assert sign_in(houses, token).role == "writer"
    db.delete(role, mode="detach")
    with pytest.raises(Unauthenticated, match="invalid token"):
        sign_in(houses, token)
    make_role(db, "keeper", {"group": "entity", "access": "read"})
    assert can(sign_in(houses, token), "entity.find")


def test_a_key_narrowed_ended_or_given_away_counts_at_once(db: sandbar.Database) -> None:
    add_account(db.workspace, "ada", role="admin")
    add_account(db.workspace, "rita", role="reader")
    token = mint(db.workspace, "laptop", user="ada").token
    houses = houses_of(db)
    assert sign_in(houses, token).role == "admin"
    laptop = {"auth/key-name": sign_in(houses, token).key}
    db.update(laptop, {"auth/verbs": ["entity.find"]})
    assert [can(sign_in(houses, token), f"entity.{verb}") for verb in ("find", "query")] == [1, 0]
    db.update(laptop, {"auth/verbs": None, "auth/owner": {"auth/service-name": "service/rita"}})
    assert sign_in(houses, token).principal == "service/rita"
    db.update(laptop, {"auth/expires-at": "2020-01-01T00:00:00Z"})
    assert refusal(db, str(token)).code == "auth.expired"
    db.update(laptop, {"auth/expires-at": None, "auth/active?": False})
    assert refusal(db, str(token)).code == "auth.revoked"
    assert isinstance(refusal(db, str(token)), Forbidden)
    db.update(laptop, {"auth/active?": True})
    db.update({"auth/service-name": "service/rita"}, {"auth/active?": False})
    assert refusal(db, str(token)).code == "auth.inactive"


def test_a_suspended_workspace_lets_nobody_in_until_it_is_resumed(db: sandbar.Database) -> None:
    token = add_account(db.workspace, "ada", role="admin").token
    chosen = add_account(db.workspace, "claude", "super-secret-key").token
    houses = houses_of(db)
    for is_suspended in (False, True, False):
        db.update("auth/workspace", {"auth/suspended?": is_suspended})
        for one in (token, chosen):
            if is_suspended:
                with pytest.raises(Forbidden) as caught:
                    sign_in(houses, one)
                assert caught.value.code == "workspace.suspended"
            else:
                assert sign_in(houses, one).via in ("api-key", "service-key")
    db.update("auth/workspace", {"auth/suspended?": True})
    assert db.call("entity.find", {"entity": "product/mud-lord"})  # whoever has the file


def _noted(asked: list[str], name: str, whole: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*arguments: Any) -> Any:
        asked.append(name)
        return whole(*arguments)

    return noted


def test_standing_still_is_one_statement_and_moving_one_look(
    db: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = add_account(db.workspace, "ada", role="admin").token
    houses = houses_of(db)
    sign_in(houses, token)
    asked: list[str] = []
    store = db.workspace._store
    for name in ("head", "point", "point_by_key", "token", "secret", "snapshot"):
        monkeypatch.setattr(store, name, _noted(asked, name, getattr(store, name)))
    sign_in(houses, token)
    assert asked == ["head"]
    db.workspace.transact([{"op": "create", "class": "zorp/Boot", "slots": BOOT}], principal="x")
    asked.clear()
    sign_in(houses, token)
    assert asked == ["head", "token", "snapshot"]


BOOT = {"footwear/name": "new", "footwear/price": "10"}


# --- the built-in ones ---------------------------------------------------------------------------


def test_what_is_written_rules_but_admin_keeps_everything(db: sandbar.Database) -> None:
    for name in ("reader", "writer", "admin"):
        db.update({"auth/role-name": name}, {"auth/permissions": None, "auth/inherits": None})
    assert account(db, "a", "admin").role == "admin"
    assert refusal(db, add_account(db.workspace, "r", role="reader").token).code == "auth.inactive"
    install_access(db.workspace)  # what admins have made of them stays
    assert refusal(db, add_account(db.workspace, "w", role="writer").token).code == "auth.inactive"
    db.delete({"auth/role-name": "admin"}, mode="detach")
    assert account(db, "b", "admin").role == "admin"


def test_a_role_of_that_name_that_somebody_has_made_stays(tmp_path: Path) -> None:
    with sandbar.open(tmp_path / "named.db") as db:
        install_access(db.workspace)
        db.delete({"auth/role-name": "reader"}, mode="detach")
        make_role(db, "reader", {"group": "search", "access": "read"})
        install_access(db.workspace)
        caller = account(db, "x", "reader")
        assert can(caller, "search.text")
        assert not can(caller, "entity.find")


def test_what_only_looks_like_a_role_is_none(db: sandbar.Database) -> None:
    slots = ["auth/role-name", "auth/inherits", "auth/permissions"]
    db.define(classes={"x/Role": {"dt/subclass-of": ["dt/Ref"], "dt/slots": slots}})
    everything = [db.get("auth.permission/admin-all").entity_id]
    db.create("x/Role", {"auth/role-name": "fake", "auth/permissions": everything})
    given = {"auth/service-name": "service/x", "auth/api-key-hash": "some-key-1"}
    db.create("auth/ServiceAccount", {**given, "auth/roles": ["fake"]})
    assert refusal(db, "x:some-key-1").code == "auth.inactive"


def test_nobody_but_admins_touches_roles(db: sandbar.Database) -> None:
    make_role(
        db, "boss", {"group": "entity", "access": "admin"}, {"group": "key", "access": "admin"}
    )
    wide = {"auth/group": "*", "auth/access": "admin"}
    callers = [account(db, "w", "writer"), account(db, "e", "boss")]
    callers.append(key(db, "narrow", "owner", verbs=["entity.*", "schema.*"]))
    for caller in callers:
        mine = db.get({"auth/role-name": "boss"}).entity_id
        attempts: list[tuple[str, dict[str, Any]]] = [
            ("entity.create", {"class": "auth/Permission", "attributes": wide}),
            (
                "entity.update",
                {"entity": mine, "attributes": {"auth/inherits": ["auth.role/admin"]}},
            ),
            (
                "entity.update",
                {"entity": caller.account_id, "attributes": {"auth/roles": ["admin"]}},
            ),
            ("entity.update", {"entity": caller.key_id, "attributes": {"auth/verbs": None}}),
            ("entity.delete", {"entity": "auth.role/reader", "mode": "cascade"}),
            ("entity.transact", {"operations": [{"op": "delete", "entity": "auth/workspace"}]}),
            ("entity.find", {"entity": {"auth/role-name": "boss"}}),
        ]
        for verb, arguments in attempts:
            with pytest.raises(Forbidden) as caught:
                db.call_as(caller, verb, arguments)
            assert caught.value.code == "entity.protected", (caller.principal, verb)
        for mint_more in ({"name": "more"}, {"name": "more", "user": "owner", "role": "admin"}):
            with pytest.raises(Forbidden):
                db.call_as(caller, "key.mint", mint_more)
    assert db.get({"auth/role-name": "boss"}).get("auth/inherits") is None


def test_whoever_governs_access_by_a_role_of_its_own_may(db: sandbar.Database) -> None:
    make_role(
        db, "clerk", {"group": "auth", "access": "admin"}, {"group": "entity", "access": "write"}
    )
    clerk = account(db, "c", "clerk")
    made = db.call_as(
        clerk, "entity.create", {"class": "auth/User", "attributes": {"auth/user-name": "user/bo"}}
    )
    assert db.call_as(clerk, "entity.find", {"entity": made.entity_id})
    change = {"entity": "auth/email", "attributes": {"db/doc": "x"}}
    with pytest.raises(Forbidden):  # the metamodel is another matter
        db.call_as(clerk, "entity.update", change)


def test_everybody_knows_their_own_account(db: sandbar.Database) -> None:
    caller = key(db, "mine", "owner", classes=["zorp/Boot"])
    own = db.guarded(caller).own_account()
    assert own is not None
    assert own["auth/user-name"] == "user/owner"
    assert db.guarded(Caller("local", "reader", "main")).own_account() is None


# --- limits --------------------------------------------------------------------------------------


def test_how_often_is_said_by_the_key_else_the_owner_else_the_role(db: sandbar.Database) -> None:
    make_role(db, "slow", {"group": "*", "access": "read"}, rate_limit=5)
    plain = add_account(db.workspace, "plain", "some-secret-1", role="reader")
    assert signed_in(db, plain.token).limit is None
    slow = add_account(db.workspace, "slow", "some-secret-2", role="slow")
    caller = signed_in(db, slow.token)
    assert caller.limit == Limit(5, 5, caller.account_id or 0)

    first = key(db, "first", "slow")
    assert first.limit == Limit(5, 5, first.key_id or 0)
    db.update({"auth/service-name": "service/slow"}, {"auth/rate-limit": 7, "auth/burst": 3})
    second = key(db, "second", "slow")
    assert second.limit == Limit(7, 3, second.key_id or 0)
    third = key(db, "third", "slow", rate_limit=0)
    assert third.limit is None
    usual = key(db, "usual", "plain")
    assert usual.limit == Limit(60, 60, usual.key_id or 0)
    bursts = key(db, "bursts", "plain", burst=5)
    assert bursts.limit == Limit(60, 5, bursts.key_id or 0)


# --- workspaces of earlier versions --------------------------------------------------------------


def old_workspace(place: Place) -> tuple[Workspace, str, str]:
    """A workspace as the version before this one made it, with an account of each kind."""
    definitions = msgspec.json.decode(OLD.read_bytes())
    workspace = place.workspace_of_tests()
    workspace.define(definitions["properties"], definitions["classes"], principal="sandbar")
    token = mint_key()

    def work() -> None:
        minted = {"auth/service-name": "service/bot", "auth/roles": ["admin"]}
        chosen = {"auth/service-name": "service/claude", "auth/api-key-hash": "super-secret"}
        create: list[Any] = [
            {"op": "create", "class": "auth/ServiceAccount", "slots": slots}
            for slots in (minted, chosen)
        ]
        made = workspace.transact(create, principal="sandbar")
        workspace.credentials.keep_token(made.outcomes[0].entity_id, key_digest(token))

    workspace.run(work, principal="sandbar")
    return workspace, token, "claude:super-secret"


def test_an_old_workspace_works_before_and_after_it_is_brought_up_to_date(place: Place) -> None:
    workspace, minted, chosen = old_workspace(place)
    houses = Houses(lambda _: workspace, place.name)
    before = [sign_in(houses, token) for token in (minted, chosen)]
    assert [(one.role, one.via) for one in before] == [
        ("admin", "api-key"),
        ("writer", "service-key"),
    ]
    assert before[0].key_id is None
    t = workspace.last_t()
    install_access(workspace)
    assert workspace.last_t() == t + 1, "one transaction brings it up to date"
    install_access(workspace)
    assert workspace.last_t() == t + 1
    after = [sign_in(houses, token) for token in (minted, chosen)]
    assert [(one.role, one.account_id) for one in after] == [
        (one.role, one.account_id) for one in before
    ]
    assert all(one.rights.role == one.role for one in after)
    change = {"op": "update", "entity": after[1].account_id, "set": {"auth/roles": ["shop/mine"]}}
    workspace.transact([change], principal="admin")  # any name, by now
    with pytest.raises(Unauthenticated):
        sign_in(houses, chosen)


def test_slots_that_admins_gave_to_classes_of_access_stay(place: Place) -> None:
    workspace, _, _ = old_workspace(place)
    slots = [*workspace.get("auth/Principal")["dt/slots"], "x/desk"]
    workspace.define(
        {"x/desk": {"dt/range": "db.type/string"}},
        {"auth/Principal": {"dt/slots": slots}},
        principal="admin",
    )
    install_access(workspace)
    assert {"x/desk", "auth/rate-limit"} <= set(workspace.schema().slots("auth/User"))


def test_rights_that_nobody_has_named_are_nothing() -> None:
    assert Caller("x", "reader", "main", rights=Rights()).rights.role is None
