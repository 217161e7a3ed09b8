"""Rights as values: what grants add up to, what narrows them, and that nobody gives more away."""

from __future__ import annotations

import random
from itertools import product

import pytest

from sandbar.access import Caller, Grant, Rights, Role, local_caller
from sandbar.access.rights import STRENGTH, Access, rights_of_role
from sandbar.verbs import base_catalogue

ADMIN, WRITER, READER = (rights_of_role(role) for role in ("admin", "writer", "reader"))
ITEMS, PEOPLE = frozenset({"shop/Item"}), frozenset({"shop/Person"})


def rights(*grants: Grant) -> Rights:
    return Rights((frozenset(grants),))


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_a_caller_without_rights_of_its_own_has_those_of_its_role(role: Role) -> None:
    caller = Caller("x", role, "main")
    assert caller.rights == rights_of_role(role)
    assert caller.rights.role == role
    assert hash(caller) == hash(Caller("x", role, "main"))
    for access in STRENGTH:
        assert caller.may(access) == caller.rights.may(access)


def test_the_local_caller_may_everything() -> None:
    caller = local_caller("main")
    assert caller.is_operator
    assert all(
        caller.rights.may_call(verb.group, verb.name, verb.access) for verb in base_catalogue()
    )


def test_no_layers_grant_nothing() -> None:
    nothing = Rights()
    assert nothing.role is None
    assert not nothing.may_call("entity", "entity.find", "read")
    assert nothing.scopes("entity", "read") == (frozenset(),)


def test_admin_includes_write_and_write_includes_read() -> None:
    for granted, wanted in product(STRENGTH, STRENGTH):
        one = rights(Grant("entity", granted))
        assert one.may_call("entity", "entity.x", wanted) == (STRENGTH[granted] >= STRENGTH[wanted])
        assert not one.may_call("search", "search.text", wanted)


@pytest.mark.parametrize(
    ("given", "role"),
    [
        (rights(Grant("*", "admin")), "admin"),
        (rights(Grant("*", "admin", ITEMS)), "writer"),  # kept from something: no admin
        (rights(Grant("entity", "admin"), Grant("key", "admin")), "writer"),
        (rights(Grant("care", "read")), "reader"),
        (ADMIN.narrowed(is_read_only=True), "reader"),
        (ADMIN.narrowed(verbs=["entity.*"]), "writer"),
        (ADMIN.narrowed(verbs=["?"]), "writer"),
        (ADMIN.narrowed(verbs=["*"]), "admin"),
        (ADMIN.narrowed(classes=["dt/Resource"]), "writer"),
        (ADMIN.narrowed(to=READER), "reader"),
        (READER.narrowed(to=ADMIN), "reader"),
        (ADMIN.narrowed(to=Rights()), None),
    ],
)
def test_what_rights_amount_to(given: Rights, role: Role | None) -> None:
    assert given.role == role


@pytest.mark.parametrize(
    ("pattern", "group", "name", "is_meant"),
    [
        ("entity.*", "entity", "entity.find", True),
        ("entity.*", "entity", "entity", True),  # the door itself
        ("entity", "entity", "entity.find", True),
        ("entity.find", "entity", "entity.find", True),
        ("entity.find", "entity", "entity", False),
        ("entity.f*", "entity", "entity.find", True),
        ("entity.f*", "entity", "entity.query", False),
        ("*.text", "search", "search.text", True),
        ("care", "care", "ping", True),
        ("care.*", "care", "ping", True),
        ("ping", "care", "ping", True),
        ("ping", "care", "get_user_profile", False),
        ("*y", "entity", "entity.query", True),
        ("*y", "entity", "entity.find", False),  # not whatever a group has that ends so
        ("*y", "entity", "entity", False),
        ("ent*", "entity", "entity", True),
        ("c*", "care", "ping", True),
        ("Entity.*", "entity", "entity.find", False),
        ("ent", "entity", "entity.find", False),
        ("", "entity", "entity.find", False),
    ],
)
def test_patterns_of_verbs(pattern: str, group: str, name: str, is_meant: bool) -> None:
    assert ADMIN.narrowed(verbs=[pattern]).may_call(group, name, "read") == is_meant


def test_scopes_add_up_in_a_layer_and_narrow_between_layers() -> None:
    both = rights(Grant("entity", "write", ITEMS), Grant("entity", "read", PEOPLE))
    assert both.scope("entity", "read") == ITEMS | PEOPLE
    assert both.scope("entity", "write") == ITEMS
    assert both.scope("search", "read") == frozenset()
    assert (
        rights(Grant("entity", "read"), Grant("*", "write", ITEMS)).scope("entity", "read") is None
    )
    narrowed = both.narrowed(classes=["shop/Person"])
    assert narrowed.scopes("entity", "read") == (PEOPLE, ITEMS | PEOPLE)
    assert narrowed.scope("entity", "read") == PEOPLE
    assert narrowed.scope("entity", "write") == frozenset()


def test_a_key_may_never_more_than_its_owner() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    groups, names = ["entity", "search", "key", "*"], ["entity.find", "entity.purge", "key.mint"]

    def some_rights() -> Rights:
        grants = [
            Grant(
                chance.choice(groups), chance.choice(list(STRENGTH)), chance.choice([None, ITEMS])
            )
            for _ in range(chance.randrange(4))
        ]
        return rights(*grants)

    for _ in range(2000):
        owner, role = some_rights(), some_rights()
        key = owner.narrowed(
            to=chance.choice([None, role]),
            verbs=chance.sample(["entity.*", "key", "*.find"], chance.randrange(3)),
            classes=chance.sample(["shop/Item", "shop/Person"], chance.randrange(2)),
            is_read_only=chance.random() < 0.3,
        )
        for name, access in product(names, STRENGTH):
            group = name.partition(".")[0]
            is_allowed = key.may_call(group, name, access)
            assert not is_allowed or owner.may_call(group, name, access), seed
            scopes = set(owner.scopes(group, access))
            assert not is_allowed or scopes <= set(key.scopes(group, access)), seed
        assert STRENGTH_OF_ROLE[key.role] <= STRENGTH_OF_ROLE[owner.role], seed
        assert owner.covers(key), seed


STRENGTH_OF_ROLE: dict[Role | None, int] = {None: 0, "reader": 1, "writer": 2, "admin": 3}


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (WRITER, ADMIN),
        (READER, WRITER),
        (rights(Grant("key", "admin")), ADMIN),
        (rights(Grant("key", "admin")), rights(Grant("auth", "admin"))),
        (rights(Grant("entity", "write", ITEMS)), rights(Grant("entity", "write"))),
        (ADMIN.narrowed(verbs=["key.*"]), ADMIN),
        (ADMIN.narrowed(classes=["shop/Item"]), ADMIN),
        (ADMIN.narrowed(is_read_only=True), ADMIN),
        (ADMIN.narrowed(to=READER), WRITER),
    ],
)
def test_nobody_covers_more_than_they_have(mine: Rights, other: Rights) -> None:
    assert not mine.covers(other)
    assert ADMIN.covers(other)
    assert mine.covers(mine)


@pytest.mark.parametrize("group", ["auth", "key", "pack", "schema"])
def test_a_group_is_governed_by_its_admins_and_nobody_else(group: str) -> None:
    assert ADMIN.governs(group)
    assert rights(Grant(group, "admin")).governs(group)
    access: list[Access] = ["read", "write"]
    assert not any(rights(Grant(group, one)).governs(group) for one in access)
    assert not rights(Grant("entity", "admin")).governs(group)
    assert not rights(Grant(group, "admin", ITEMS)).governs(group)
    assert not ADMIN.narrowed(verbs=["entity.*", f"{group}.list"]).governs(group)
    assert not ADMIN.narrowed(is_read_only=True).governs(group)
    assert not ADMIN.narrowed(classes=["dt/Resource", f"{group}/Thing"]).governs(group)
    # Accounts and packs are governed by who is not narrowed at all: the others could end it.
    is_sovereign = group in ("auth", "pack")
    for verbs in ([group], [f"{group}.*"]):
        assert ADMIN.narrowed(verbs=verbs).governs(group) is not is_sovereign
    for verbs in ([f"{group[0]}*"], ["?*"], ["*.*"], [f"*{group[-1]}"], [f"[{group[0]}]*"]):
        assert not ADMIN.narrowed(verbs=verbs).governs(group)
        assert not ADMIN.narrowed(verbs=verbs).governs("*")
    clerk = rights(Grant(group, "admin"), Grant("entity", "write"))
    assert clerk.governs(group)
    assert ADMIN.narrowed(to=clerk).governs(group) is not is_sovereign
    assert ADMIN.narrowed(to=ADMIN).governs(group)


@pytest.mark.parametrize(
    ("given", "obstacle"),
    [
        (ADMIN, None),
        (READER, "owner"),
        (READER.narrowed(is_read_only=True, verbs=["search"]), "owner"),
        (ADMIN.narrowed(is_read_only=True), "read-only"),
        (ADMIN.narrowed(verbs=["entity.f*"]), "verbs"),
        (ADMIN.narrowed(to=READER), "role"),
        (ADMIN.narrowed(classes=["shop/Item"]), None),
        (Rights(), "owner"),
    ],
)
def test_what_keeps_somebody_from_a_verb(given: Rights, obstacle: str | None) -> None:
    assert given.obstacle("entity", "entity.create", "write") == obstacle
    assert given.may_call("entity", "entity.create", "write") == (obstacle is None)


def test_what_belongs_to_the_whole_is_not_for_some_classes() -> None:
    for one in (ADMIN.narrowed(classes=["shop/Item"]), rights(Grant("*", "admin", ITEMS))):
        for group in ("key", "audit", "workspace"):
            assert one.obstacle(group, f"{group}.list", "admin") == "classes"
        assert one.obstacle("entity", "entity.purge", "admin") is None


@pytest.mark.parametrize(
    ("given", "is_scoped"),
    [
        (ADMIN, False),
        (rights(Grant("schema", "admin"), Grant("entity", "read", ITEMS)), True),
        (rights(Grant("entity", "read"), Grant("entity", "write", ITEMS)), True),
        (rights(Grant("*", "write"), Grant("entity", "write", ITEMS)), False),
        (ADMIN.narrowed(classes=["shop/Item"]), True),
        (ADMIN.narrowed(to=rights(Grant("*", "admin", ITEMS))), True),
    ],
)
def test_whether_anything_is_for_some_classes_only(given: Rights, is_scoped: bool) -> None:
    assert given.is_scoped == is_scoped
