"""A key that is narrowed in any way stays narrow: it can neither widen itself nor make another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, Key, mint
from sandbar.access.narrowing import NARROWINGS as NARROWINGS_OF_KEYS
from sandbar.access.narrowing import Narrowing
from sandbar.errors import Forbidden, Problem
from sandbar.verbs import base_catalogue
from tests.access.limited import account, key, make_role, opened, signed_in

# Each is meant for something else, and once was taken for the words `auth` and `pack`.
GLOBS = ["a*", "p*", "*", "*a*", "*h", "?ack", "????", "[a-z]*", "auth", "auth.*", "pack", "pack.*"]
NARROWINGS: list[dict[str, Any]] = [
    *({"verbs": ["entity.*", "schema.*", glob]} for glob in GLOBS if glob != "*"),
    {"verbs": ["entity.*", "schema.*", "key.*", "audit.*", "workspace.*"]},
    {"verbs": ["?*"]},
    {"classes": ["dt/Resource"]},
    {"classes": ["auth/Key", "auth/Role", "auth/User", "pack/Pack"]},
    {"read_only": True},
    {"role": "writer"},
    {"role": "clerk"},
]

# What is no narrowing.
OF_EVERY_KEY = {"name", "prefix", "owner", "state", "entity_id", "created_at", "last_used_at"}
SLOTS_OF_EVERY_KEY = {
    f"auth/{name}" for name in ("key-name", "owner", "key-prefix", "active?", "created-at")
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbar.Database]:
    with closing(opened(tmp_path_factory.mktemp("narrow") / "test.db")) as db:
        make_role(
            db,
            "clerk",
            {"group": "auth", "access": "admin"},
            {"group": "pack", "access": "admin"},
            {"group": "entity", "access": "admin"},
            {"group": "schema", "access": "admin"},
        )
        db.create("auth/User", {"db/ident": "people/bob", "auth/user-name": "user/bob"})
        mint(db.workspace, "root")
        yield db


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[sandbar.Database]:
    with closing(opened(tmp_path / "test.db")) as db:
        yield db


def refusal(db: sandbar.Database, caller: Caller, verb: str, **arguments: Any) -> Problem:
    given = {name.rstrip("_").replace("_", "-"): value for name, value in arguments.items()}
    with pytest.raises(Problem) as caught:
        db.call_as(caller, verb, given)
    return caught.value


def widenings(own: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Ways to become more: verbs with their arguments."""
    lifted = {"auth/verbs": None, "auth/classes": None, "auth/key-roles": None}
    admin = {"auth/user-name": "user/eve", "auth/roles": ["admin"]}
    permission = {"auth/group": "*", "auth/access": "admin"}
    return {
        "itself": ("entity.update", {"entity": own, "set": {**lifted, "auth/read-only?": None}}),
        "itself by name": (
            "entity.update",
            {"entity": {"auth/key-name": "narrow"}, "set": {"auth/verbs": None}},
        ),
        "in a transaction": (
            "entity.transact",
            {"operations": [{"op": "update", "entity": own, "set": {"auth/expires-at": None}}]},
        ),
        "a user": ("entity.create", {"class": "auth/User", "slots": admin}),
        "a permission": ("entity.create", {"class": "auth/Permission", "slots": permission}),
        "a role": ("entity.update", {"entity": "auth.role/reader", "set": {"db/doc": "mine"}}),
        "somebody": ("entity.update", {"entity": "people/bob", "set": {"auth/roles": ["admin"]}}),
        "a key": (
            "entity.create",
            {"class": "auth/Key", "slots": {"auth/key-name": "k", "auth/owner": "people/bob"}},
        ),
        "deleting": ("entity.delete", {"entity": own}),
        "purging": ("entity.purge", {"entity": own, "confirm": own}),
        "the past of itself": ("entity.history", {"entity": own}),
        "the workspace": (
            "entity.update",
            {"entity": "auth/workspace", "set": {"auth/suspended?": True}},
        ),
        "a pack": ("entity.update", {"entity": "pack/zorp", "set": {"pack/instructions": "Obey."}}),
        "a new pack": ("entity.create", {"class": "pack/Pack", "slots": {"db/ident": "my/pack"}}),
        "a class of keys": (
            "schema.define",
            {"classes": {"my/Key": {"dt/subclass-of": ["auth/Key"]}}},
        ),
        "a class of packs": (
            "schema.define",
            {"classes": {"my/Pack": {"dt/subclass-of": ["pack/Pack"]}}},
        ),
        "a class turned into one of packs": (
            "schema.define",
            {"classes": {"zorp/Boot": {"dt/subclass-of": ["zorp/Footwear", "pack/Pack"]}}},
        ),
        "minting": ("key.mint", {"name": "wide"}),
        "rotating": ("key.rotate", {"name": "root"}),
        "a workspace": ("workspace.create", {"name": "mine"}),
    }


@pytest.mark.parametrize("narrowing", NARROWINGS, ids=str)
def test_no_narrowed_key_widens_itself(db: sandbar.Database, narrowing: dict[str, Any]) -> None:
    made = mint(db.workspace, "narrow", **narrowing)
    caller = signed_in(db, made.token)
    own, before = made.key.entity_id, db.workspace.last_t()
    assert caller.role != "admin"
    assert not caller.is_operator
    try:
        for verb, arguments in widenings(own).values():
            assert isinstance(refusal(db, caller, verb, **arguments), Forbidden), (verb, arguments)
        assert db.workspace.last_t() == before
        assert signed_in(db, made.token).rights == caller.rights
    finally:
        db.call("key.revoke", {"name": "narrow"})


def test_each_of_these_ways_is_one_for_an_admin(fresh: sandbar.Database) -> None:
    """The negative control: what is refused above is no nonsense."""
    mint(fresh.workspace, "root")
    fresh.create("auth/User", {"db/ident": "people/bob", "auth/user-name": "user/bob"})
    made = mint(fresh.workspace, "narrow")
    caller = signed_in(fresh, made.token)
    impossible = set()
    last = ("the workspace", "deleting", "purging")
    ways = widenings(made.key.entity_id)
    for name in sorted(ways, key=lambda name: last.index(name) if name in last else -1):
        verb, arguments = ways[name]
        try:
            fresh.call_as(caller, verb, arguments)
        except Problem as problem:
            impossible.add((name, problem.code))
    assert impossible == set()


@pytest.mark.parametrize("group", sorted({verb.group for verb in base_catalogue()}))
def test_a_pattern_means_names_not_the_groups_that_end_like_them(group: str) -> None:
    caller = Caller("x", "admin", "main")
    last = group[-1]
    ending = caller.rights.narrowed(verbs=[f"*{last}"])
    whole = caller.rights.narrowed(verbs=[group])
    for verb in base_catalogue():
        may = verb.group, verb.name, verb.access
        assert ending.may_call(*may) == verb.name.endswith(last), verb.name
        assert whole.may_call(*may) == (verb.group == group), verb.name
    assert not ending.may_call(group, group, "read"), "the door of the group"


@pytest.mark.parametrize("verb", ["key.list", "key.revoke", "audit.list", "workspace.list"])
def test_a_key_or_role_of_some_classes_has_nothing_of_the_whole(
    fresh: sandbar.Database, verb: str
) -> None:
    scoped = key(fresh, "scoped", "owner", classes=["dt/Resource"])
    make_role(fresh, "some", {"group": "*", "access": "admin", "classes": ["dt/Resource"]})
    arguments = {"name": "scoped"} if verb == "key.revoke" else {}
    for caller in (scoped, account(fresh, "s", "some")):
        assert refusal(fresh, caller, verb, **arguments).code == "verb.forbidden"
    allowed = key(fresh, "allowed", "owner", verbs=[verb])
    assert fresh.call_as(allowed, verb, arguments), "who was given the verb has it"


# --- classes -------------------------------------------------------------------------------------


def hidden_things(db: sandbar.Database) -> int:
    """Two classes that share a slot; the second is what nobody is to see."""
    db.define(
        properties={
            "pub/name": {"dt/range": "db.type/string", "db/unique": "identity"},
            "pub/boot": {"dt/range": "zorp/Boot"},
            "pub/ref": {"dt/range": "dt/Resource"},
        },
        classes={
            "pub/Thing": {"dt/slots": ["pub/name", "pub/boot", "pub/ref"]},
            "sec/Thing": {"dt/slots": ["pub/name", "pub/ref"]},
        },
    )
    id = db.create("sec/Thing", {"db/ident": "sec/one", "pub/name": "CANARY"}).entity_id
    db.create("pub/Thing", {"db/ident": "pub/one", "pub/name": "open", "pub/ref": id})
    return id


@pytest.mark.parametrize("group", ["schema", "*"])
def test_a_scope_is_not_widened_by_moving_a_class_into_it(
    fresh: sandbar.Database, group: str
) -> None:
    hidden_things(fresh)
    everything = {"group": "schema", "access": "admin"}
    scoped = {"group": "entity", "access": "read", "classes": ["pub/Thing"]}
    make_role(fresh, "modeller", everything, scoped)
    make_role(fresh, "reader-and-modeller", everything, {"group": group, "access": "admin"})
    narrow = account(fresh, "mo", "modeller")
    move = {"sec/Thing": {"dt/subclass-of": ["pub/Thing"]}}
    for _ in range(2):
        assert refusal(fresh, narrow, "schema.define", classes=move).code == "schema.admin-only"
        asked = refusal(fresh, narrow, "entity.query", class_="sec/Thing")
        assert asked.code == "access.out-of-scope"
    free = account(fresh, "flo", "reader-and-modeller")
    assert fresh.call_as(free, "schema.define", {"classes": move})


def test_a_scope_that_adds_nothing_takes_nothing_away(fresh: sandbar.Database) -> None:
    hidden_things(fresh)
    everything = {"group": "schema", "access": "admin"}
    some = {"group": "entity", "access": "read", "classes": ["pub/Thing"]}
    make_role(fresh, "both", everything, some, inherits=["writer"])
    move = {"sec/Thing": {"dt/subclass-of": ["pub/Thing"]}}
    assert fresh.call_as(account(fresh, "b", "both"), "schema.define", {"classes": move})


def test_nobody_learns_who_outside_has_a_value(fresh: sandbar.Database) -> None:
    """What is looked up by a value is not there, whether it is outside or nowhere."""
    hidden = hidden_things(fresh)
    caller = key(fresh, "scoped", "owner", classes=["pub/Thing"])

    def ways(name: str) -> list[tuple[str, dict[str, Any]]]:
        lookup = {"pub/name": name}
        return [
            ("entity.find", {"entity": lookup}),
            ("entity.update", {"entity": "pub/one", "set": {"pub/ref": lookup}}),
            ("entity.update", {"entity": lookup, "set": {"pub/ref": "pub/one"}}),
            ("entity.delete", {"entity": lookup}),
            ("entity.create", {"class": "pub/Thing", "slots": {"pub/ref": lookup}}),
            ("entity.query", {"class": "pub/Thing", "where": {"pub/ref": {"=": lookup}}}),
            ("entity.query", {"class": "pub/Thing", "where": {"pub/ref": {"in": [lookup]}}}),
        ]

    for there, nowhere in zip(ways("CANARY"), ways("canary"), strict=True):
        told = []
        for verb, arguments in (there, nowhere):
            problem = refusal(fresh, caller, verb, **arguments)
            told.append(f"{type(problem)} {problem} {problem.data}".replace("CANARY", "canary"))
        assert told[0] == told[1]
        assert str(hidden) not in told[0]
    admin = key(fresh, "all", "owner")
    for verb, arguments in ways("CANARY")[5:]:
        assert fresh.call_as(admin, verb, arguments).entities, "the filter is none of nonsense"


def test_what_stands_in_the_way_outside_is_not_named(fresh: sandbar.Database) -> None:
    hidden = hidden_things(fresh)
    caller, admin = key(fresh, "scoped", "owner", classes=["pub/Thing"]), key(fresh, "all", "owner")
    pub = fresh.get("pub/one").entity_id
    referrer = fresh.create("sec/Thing", {"pub/ref": pub}).entity_id
    ways: list[tuple[str, dict[str, Any], int | str]] = [
        ("entity.create", {"class": "pub/Thing", "slots": {"pub/name": "CANARY"}}, hidden),
        ("entity.delete", {"entity": pub}, referrer),
        ("entity.update", {"entity": pub, "set": {"pub/boot": hidden}}, "sec/Thing"),
    ]
    for verb, arguments, secret in ways:
        for who, is_told in ((caller, False), (admin, True)):
            problem = refusal(fresh, who, verb, **arguments)
            assert (str(secret) in f"{problem} {problem.data}") == is_told, (verb, str(problem))


# --- processes that are about nothing -------------------------------------------------------------


def test_keys_with_a_role_see_processes_as_accounts_with_it_do(fresh: sandbar.Database) -> None:
    spec = {
        "name": "my/way",
        "states": [
            {"name": "a", "initial?": True},
            {"name": "b", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [{"name": "go", "from": "a", "to": "b"}],
    }
    fresh.call("workflow.define", {"spec": spec})
    accounts = account(fresh, "ann", "writer"), account(fresh, "bob", "writer")
    keys = key(fresh, "k1", "owner", role="writer"), key(fresh, "k2", "owner", role="writer")
    for starter, other in (accounts, keys, keys[::-1], (accounts[0], keys[0])):
        begun = fresh.call_as(starter, "workflow.start-process", {"workflow": "my/way"})
        given = {"process": begun.process_id}
        for reader in (other, key(fresh, f"eyes-{begun.process_id}", "owner", read_only=True)):
            assert fresh.call_as(reader, "workflow.process-state", given).state == "a"
            seen = fresh.call_as(reader, "workflow.active-processes", {}).processes
            assert begun.process_id in [one.process_id for one in seen]
        for limits in ({"classes": ["zorp/Boot"]}, {"verbs": ["workflow.*"]}):
            narrow = key(fresh, f"{min(limits)}-{begun.process_id}", "owner", **limits)
            problem = refusal(fresh, narrow, "workflow.process-state", **given)
            assert problem.code == "access.out-of-scope"
        given["transition"] = "go"
        assert fresh.call_as(other, "workflow.transition", given).kind == "success"


@pytest.mark.parametrize("narrowing", [{"role": "writer"}, {"read_only": True}], ids=str)
def test_what_an_owner_calls_with_more_rights_is_kept_from_a_lesser_key(
    fresh: sandbar.Database, narrowing: dict[str, Any]
) -> None:
    wide = key(fresh, "wide", "owner")
    call = fresh.call_later(wide, "class.validate-all-instances", {"class": "auth/Key"})
    narrow = key(fresh, "narrow", "owner", **narrowing)
    assert refusal(fresh, narrow, "task.get", task_id=call.task_id).code == "task.unknown"
    with pytest.raises(Problem):
        fresh.tasks(narrow).find(call.task_id)


# --- what a narrowed key is told ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("narrowing", "verb", "reason"),
    [
        ({"verbs": ["entity.*"]}, "search.text", "this key may call only entity.*"),
        ({"verbs": ["search.*", "entity.find"]}, "entity.query", "only entity.find, search.*"),
        ({"read_only": True}, "entity.create", "this key only reads"),
        ({"read_only": True}, "sandbar.class.zorp.Boot", "this key only reads"),
        ({"classes": ["zorp/Boot"]}, "key.list", "this key sees only zorp/Boot"),
        ({"role": "reader"}, "entity.create", "this key is narrowed to a role that may not"),
    ],
)
def test_the_reason_is_the_key_and_not_the_role_of_its_owner(
    db: sandbar.Database, narrowing: dict[str, Any], verb: str, reason: str
) -> None:
    caller = signed_in(db, mint(db.workspace, "told", **narrowing).token)
    try:
        problem = refusal(db, caller, verb)
        assert problem.code == "verb.forbidden"
        assert reason in problem.message
        assert verb in problem.message
        assert "another key" in str(problem.hint)
        assert problem.data["verb"] == verb
    finally:
        db.call("key.revoke", {"name": "told"})


def test_what_the_owner_may_not_is_said_of_the_owner(fresh: sandbar.Database) -> None:
    account(fresh, "rita", "reader")
    caller = key(fresh, "rita-2", "rita", verbs=["entity.*"], classes=["zorp/Boot"])
    problem = refusal(fresh, caller, "entity.create")
    assert problem.message == "a reader may not call entity.create"
    assert "another role" in str(problem.hint)


def undeclared(ways: Any) -> set[str]:
    """What a key may be asked to be narrowed to, be shown to be, or hold, and no way declares."""
    asked = {field.name for field in msgspec.structs.fields(Narrowing)}
    shown = {field.name for field in msgspec.structs.fields(Key)} - OF_EVERY_KEY
    definitions = json.loads(resources.files("sandbar.access").joinpath("auth.json").read_bytes())
    slots = set(definitions["classes"]["auth/Key"]["dt/slots"]) - SLOTS_OF_EVERY_KEY
    return (
        (asked ^ {way.asked for way in ways})
        | (shown ^ {way.shown for way in ways})
        | (slots ^ {way.slot for way in ways})
    )


def test_every_narrowing_is_asked_for_kept_and_shown_by_its_declaration() -> None:
    assert undeclared(NARROWINGS_OF_KEYS) == set()
    assert undeclared(NARROWINGS_OF_KEYS[1:]) == {"role", "roles", "auth/key-roles"}
