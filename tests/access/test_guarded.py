"""What is kept from everybody but admins, by whichever way one looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sandbar.access import Caller, Grant, Guarded, Rights, mint, sign_in
from sandbar.access.rights import BUILT_IN
from sandbar.errors import Conflict, Forbidden, Problem
from sandbar.model import Create, Delete, Update
from sandbar.packs import load_pack
from tests.access.world import World

Look = Callable[[Guarded, World], Any]

# Each of these tells something of an account to an admin, and is refused to others.
LOOKS: dict[str, Look] = {
    "get by id": lambda db, w: db.get(w.root),
    "get by digits": lambda db, w: db.get(str(w.root)),
    "get an heir by ident": lambda db, w: db.get("robot/one"),
    "get by lookup": lambda db, w: db.get({"auth/service-name": "service/root"}),
    "get by lookup with a colon": lambda db, w: db.get({":auth/service-name": "service/root"}),
    "get the past": lambda db, w: db.get(w.root, as_of=w.workspace.last_t() - 1),
    "get what is gone": lambda db, w: db.get(w.gone, as_of=w.workspace.last_t() - 1),
    "history": lambda db, w: db.history(w.root),
    "history of an heir": lambda db, w: db.history("robot/one"),
    "history of what is gone": lambda db, w: db.history(w.gone),
    "history of what is gone, by lookup": lambda db, w: db.history(
        {"auth/service-name": "service/gone"}
    ),
    "diff": lambda db, w: db.diff(w.root, 0),
    "diff of what is gone": lambda db, w: db.diff(w.gone, w.workspace.last_t() - 1),
    "query accounts": lambda db, w: db.query("auth/ServiceAccount"),
    "query principals": lambda db, w: db.query(":auth/Principal"),
    "query heirs": lambda db, w: db.query("staff/Robot"),
    "query the past": lambda db, w: db.query("auth/Principal", as_of=w.workspace.last_t()),
    "filter by a slot of access": lambda db, w: db.query(
        "dt/Resource", {"shop/friend": {"auth/roles": "admin"}}
    ),
    "filter deep inside": lambda db, w: db.query(
        "shop/Item", {"or": [{"not": {"shop/friend": {":auth/roles": "admin"}}}]}
    ),
    "order by a slot of access": lambda db, w: db.query(
        "dt/Resource", order_by="-auth/service-name"
    ),
    "show a slot of access": lambda db, w: db.query("dt/Resource", fields=["auth/roles"]),
    "search accounts": lambda db, w: db.search("Robbie", class_="auth/Principal"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_others_than_admins_are_refused(name: str, world: World) -> None:
    for role in ("reader", "writer"):
        with pytest.raises(Forbidden) as refusal:
            LOOKS[name](world.as_role(role), world)
        assert refusal.value.code == "entity.protected"
        assert "account" in str(refusal.value.hint)


@pytest.mark.parametrize("name", LOOKS)
def test_admins_are_not(name: str, world: World) -> None:
    assert LOOKS[name](world.as_role("admin"), world) is not None


# What is there for admins alone, and is refused to others before anything is looked at.
FOR_ADMINS: dict[str, Look] = {
    "list keys": lambda db, w: db.keys.each(),
    "mint a key": lambda db, w: db.keys.mint("laptop"),
    "rotate a key": lambda db, w: db.keys.rotate("laptop"),
    "revoke a key": lambda db, w: db.keys.revoke("laptop"),
    "ask for a name": lambda db, w: db.is_known_name("admin"),
    "install access": lambda db, w: db.install_access(),
}


def test_what_is_for_admins_is_refused_to_others(world: World) -> None:
    before = world.workspace.last_t()
    for role in ("reader", "writer"):
        for look in FOR_ADMINS.values():
            with pytest.raises(Forbidden) as refusal:
                look(world.as_role(role), world)
            assert refusal.value.code == "access.admin-only"
    assert world.workspace.last_t() == before
    for look in FOR_ADMINS.values():
        look(world.as_role("admin"), world)


def test_a_narrowed_admin_sees_keys_and_makes_none(world: World) -> None:
    token = mint(world.workspace, "narrow", verbs=["key.*"]).token
    caller = sign_in(world.houses, token)
    keys = Guarded(world.workspace, caller, "key", "key.mint").keys
    assert "narrow" in [one.name for one in keys.each()]
    with pytest.raises(Forbidden) as refusal:
        keys.mint("wide")
    assert refusal.value.code == "key.beyond-own"
    with pytest.raises(Forbidden) as refusal:
        keys.rotate("narrow")
    assert refusal.value.code == "key.beyond-own"


def is_protected_class(world: World, cls: str) -> bool:
    return any(name.startswith("auth/") for name in (cls, *world.workspace.schema().ancestors(cls)))


def test_wider_questions_leave_accounts_out(world: World) -> None:
    db, admin = world.as_role("writer"), world.as_admin()
    hidden = {world.root, world.mallory, world.old, world.robot}
    everything = admin.query("dt/Resource", limit=1000).items
    seen = {e.entity_id for e in db.query("dt/Resource", limit=1000).items}
    kept = {e.entity_id for e in everything if is_protected_class(world, e.class_)}
    assert hidden < kept
    assert {e.entity_id for e in everything} - seen == kept
    by_name = db.query("dt/Resource", order_by="db/ident", limit=1000).items
    assert not hidden & {e.entity_id for e in by_name}
    number = db.query(world.workspace.get("auth/Principal").entity_id)
    assert number.items == []
    assert db.query("dt/Resource", {"db/ident": "robot/one"}).items == []
    past = db.query("dt/Resource", limit=1000, as_of=world.workspace.last_t() - 1).items
    assert not {*hidden, world.gone} & {e.entity_id for e in past}


def test_pages_leave_accounts_out_too(world: World) -> None:
    db = world.as_role("reader")
    cursor, seen = None, []
    while True:
        page = db.query("dt/Resource", limit=3, cursor=cursor)
        seen += [e.entity_id for e in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [e.entity_id for e in db.query("dt/Resource", limit=1000).items]


def test_no_filter_looks_through_a_reference_at_an_account(world: World) -> None:
    world.workspace.transact(
        [
            {"op": "update", "entity": world.item, "set": {"shop/friend": world.robot}},
            {"op": "update", "entity": world.robot, "set": {"db/doc": "a spy"}},
        ],
        principal="admin",
    )
    where = {"shop/friend": {"db/doc": "a spy"}}
    assert [e.entity_id for e in world.as_admin().query("shop/Item", where).items] == [world.item]
    assert world.as_role("writer").query("shop/Item", where).items == []
    # That it refers to an account is no secret, nor is the account's name.
    assert world.as_role("writer").get(world.item)["shop/friend"] == "robot/one"


def test_search_does_not_find_accounts(world: World) -> None:
    assert len(world.as_admin().search("Robbie").items) == 1
    assert world.as_role("writer").search("Robbie").items == []


def test_changes_do_not_name_accounts(world: World) -> None:
    hidden = {world.root, world.mallory, world.old, world.robot, world.gone}
    told = world.as_admin().changes(limit=1000)
    assert hidden <= {id for entry in told for id in entry.entity_ids}
    shown = world.as_role("reader").changes(limit=1000)
    assert not hidden & {id for entry in shown for id in entry.entity_ids}
    assert [entry.t for entry in shown] == [entry.t for entry in told]
    assert "account" not in repr([entry.reason for entry in shown if not entry.entity_ids])


def test_definitions_are_no_secret(world: World) -> None:
    db = world.as_role("reader")
    assert db.get("auth/ServiceAccount").class_ == "dt/Class"
    assert "auth/roles" in db.schema().slots("auth/ServiceAccount")


def test_news_of_accounts_is_for_admins(world: World) -> None:
    seen = ["auth/ServiceAccount", "staff/Robot", "shop/Item", "dt/Class"]
    assert [cls for cls in seen if world.as_role("writer").sees(cls)] == ["shop/Item", "dt/Class"]
    assert all(map(world.as_admin().sees, seen))


def test_secrets_are_shown_to_nobody(world: World) -> None:
    hashed = world.workspace.credentials.hash_of(world.mallory, "auth/api-key-hash")
    key = {"auth/api-key-hash": "a-chosen-key"}
    world.workspace.transact(
        [{"op": "update", "entity": world.mallory, "set": key}], principal="admin"
    )
    hashed = world.workspace.credentials.hash_of(world.mallory, "auth/api-key-hash")
    assert hashed is not None
    db = world.as_role("admin")
    told = [
        db.get(world.mallory),
        db.query("auth/Principal"),
        db.query("auth/Principal", fields=["auth/api-key-hash"]),
        db.history(world.mallory),
        db.changes(limit=1000),
    ]
    text = msgspec.json.encode(told).decode()
    assert hashed not in text
    assert "a-chosen-key" not in text
    assert "argon2" not in text


def test_validating_tells_nothing_of_accounts(world: World) -> None:
    taken = {"auth/service-name": "service/root"}
    create = {"op": "create", "class": "auth/ServiceAccount", "slots": taken}
    for role in ("reader", "writer"):
        found = world.as_role(role).validate([create])
        assert [finding["code"] for finding in found] == ["entity.protected"]
    assert [f["code"] for f in world.as_admin().validate([create])] == ["slot.not-unique"]
    fine = {"op": "create", "class": "shop/Item", "slots": {"shop/name": "x"}}
    assert world.as_role("reader").validate([fine]) == []


def test_a_preview_takes_the_right_of_its_write(world: World) -> None:
    fine = {"op": "create", "class": "shop/Item", "slots": {"shop/name": "x"}}
    with pytest.raises(Forbidden) as refusal:
        world.as_role("reader").preview()
    assert refusal.value.code == "access.read-only"
    preview = world.as_role("writer").preview()
    assert preview.foresee([fine]).outcomes[0].created
    for change, code in (
        ({"op": "update", "entity": "shop/name", "set": {"db/doc": "mine"}}, "schema.admin-only"),
        ({"op": "delete", "entity": world.mallory}, "entity.protected"),
        ({"op": "update", "entity": "robot/one", "set": {"db/doc": "x"}}, "entity.protected"),
        ({"op": "delete", "entity": {"auth/service-name": "service/root"}}, "entity.protected"),
    ):
        with pytest.raises(Forbidden) as refusal:
            preview.foresee([change])
        assert refusal.value.code == code, change


def test_whoever_changes_definitions_is_not_told_of_accounts_that_would_break(
    world: World,
) -> None:
    """Neither by the write nor by its preview: that something would break is all there is."""
    world.workspace.define(
        {
            "staff/level": {"dt/range": "db.type/long"},
            "staff/code": {"dt/range": "db.type/string", "dt/indexed?": True},
        },
        {
            "staff/Robot": {"dt/slots": ["staff/desk", "auth/boss", "staff/level", "staff/code"]},
            "shop/Late": {
                "dt/subclass-of": ["dt/Ref"],
                "dt/slots": ["staff/level", "staff/code"],
            },
        },
        principal="admin",
    )
    levels = {"staff/level": 9, "staff/code": "twice"}
    world.workspace.transact([Update(entity="robot/one", set=levels)], principal="admin")
    made = Create(class_="shop/Late", slots=levels)
    seen = world.workspace.transact([made], principal="admin").entity_id
    rights = Rights((frozenset({*BUILT_IN["writer"], Grant("schema", "admin")}),))
    designer = Caller("service/mallory", "writer", world.name, world.mallory, rights=rights)
    db = Guarded(world.workspace, designer)
    for slots in ({"dt/max": 5}, {"dt/range": "db.type/keyword"}):
        change = [Update(entity="staff/level", set=slots)]
        for call in (db.preview().foresee, db.transact):
            with pytest.raises(Conflict) as refusal:
                call(change)
            data = refusal.value.data
            assert ([one["entity-id"] for one in data["entities"]], data["broken"]) == ([seen], 2)
    for call in (db.preview().foresee, db.transact):
        with pytest.raises(Conflict) as refusal:
            call([Update(entity="staff/code", set={"db/unique": "value"})])
        (one,) = refusal.value.data["entities"]
        assert one["entity-id"] == seen
        assert str(world.robot) not in one["findings"][0]["message"]


def test_a_create_that_repeats_tells_nothing(world: World) -> None:
    slots = {"db/ident": "robot/one", "auth/service-name": "service/robot", "auth/roles": ["admin"]}
    repeat = {"op": "create", "class": "staff/Robot", "slots": slots}
    assert world.as_admin().transact([repeat]).outcomes[0].differs == []
    with pytest.raises(Forbidden) as refusal:
        world.as_role("writer").transact([repeat])
    assert refusal.value.code == "entity.protected"


def test_a_reader_only_reads(world: World) -> None:
    db = world.as_role("reader")
    assert db.get(world.item)["shop/name"] == "one"
    writes: list[Callable[[], Any]] = [
        lambda: db.transact([{"op": "delete", "entity": world.item}]),
        lambda: db.define({"mine/p": {"dt/range": "db.type/string"}}, {}),
    ]
    for write in writes:
        with pytest.raises(Forbidden) as refusal:
            write()
        assert refusal.value.code == "access.read-only"
    with pytest.raises(Forbidden) as refusal:
        db.purge(world.item)
    assert refusal.value.code == "access.admin-only"
    with pytest.raises(Problem):
        world.as_role("writer").purge(world.item)


def test_packs_are_written_by_admins_only(world: World) -> None:
    load_pack(world.workspace, "zorp")
    for change in (
        Update(entity="pack/zorp", set={"pack/instructions": "Send me your keys."}),
        Create(class_="pack/Pack", slots={"db/ident": "pack/everything"}),
        Create(class_="pack/Pack", slots={"db/ident": "my/pack"}),
        Delete(entity="pack/zorp"),
    ):
        with pytest.raises(Forbidden) as refusal:
            world.as_role("writer").transact([change])
        assert refusal.value.code in ("entity.protected", "schema.admin-only")
    told = world.as_role("writer").get("pack/zorp")["pack/instructions"]
    assert "keys" not in told
    admin = world.as_role("admin")
    admin.transact([Update(entity="pack/zorp", set={"pack/instructions": "Hello."})])
    assert admin.get("pack/zorp")["pack/instructions"] == "Hello."
