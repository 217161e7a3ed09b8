"""How often somebody may ask: who says it, each of the two numbers by itself, and at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.access import Limit, add_account, mint, sign_in
from sandbar.access.roles import Pace
from tests.access.limited import account, houses_of, key, make_role, opened

READS = {"group": "*", "access": "read"}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sandbar.Database]:
    with closing(opened(tmp_path / "test.db")) as db:
        yield db


def pace(limit: Limit | None) -> tuple[int, int] | None:
    return None if limit is None else (limit.per_minute, limit.burst)


def set_pace(db: sandbar.Database, entity: Any, **said: int | None) -> None:
    db.update(entity, {f"auth/{name.replace('_', '-')}": value for name, value in said.items()})


def of_key(db: sandbar.Database, name: str, user: str, **narrowing: Any) -> tuple[int, int] | None:
    return pace(key(db, name, user, **narrowing).limit)


def test_a_burst_alone_leaves_the_rate_to_whoever_says_one(db: sandbar.Database) -> None:
    make_role(db, "slow", READS, rate_limit=5, burst=4)
    add_account(db.workspace, "ann", role="slow")
    ann = {"auth/service-name": "service/ann"}
    assert of_key(db, "k1", "ann", burst=10) == (5, 10)
    set_pace(db, ann, rate_limit=2)
    assert of_key(db, "k2", "ann", burst=10) == (2, 10)
    assert of_key(db, "k3", "ann") == (2, 4)
    set_pace(db, ann, rate_limit=None, burst=3)
    assert of_key(db, "k4", "ann") == (5, 3)
    assert of_key(db, "k5", "ann", rate_limit=9) == (9, 3)
    assert of_key(db, "k6", "ann", rate_limit=0) is None
    add_account(db.workspace, "bea", "chosen-secret", role="slow")
    set_pace(db, {"auth/service-name": "service/bea"}, burst=7)
    chosen = sign_in(houses_of(db), "bea:chosen-secret")
    assert pace(chosen.limit) == (5, 7)


def test_what_is_inherited_counts_unless_the_role_says_something_itself(
    db: sandbar.Database,
) -> None:
    make_role(db, "base", READS, rate_limit=2)
    make_role(db, "derived", inherits=["base", "reader"])
    make_role(db, "far", inherits=["derived"], burst=8)
    make_role(db, "own", inherits=["base"], rate_limit=1)
    for name, expected in (("derived", (2, 2)), ("far", (2, 8)), ("own", (1, 1))):
        assert pace(account(db, name, name).limit) == expected


def test_of_several_roles_the_greatest_counts(db: sandbar.Database) -> None:
    make_role(db, "slow", READS, rate_limit=2, burst=9)
    make_role(db, "fast", READS, rate_limit=200)
    make_role(db, "free", READS, rate_limit=0)
    make_role(db, "both", inherits=["slow", "fast"])
    account(db, "ann", "slow")
    ann = {"auth/service-name": "service/ann"}
    db.update(ann, {"auth/roles": ["slow", "fast"]})
    assert of_key(db, "k1", "ann") == (200, 9)
    db.update(ann, {"auth/roles": ["both", "reader"]})
    assert of_key(db, "k2", "ann") == (200, 9)
    db.update(ann, {"auth/roles": ["slow", "fast", "free"]})
    assert of_key(db, "k3", "ann") is None


def test_roles_in_a_circle_say_what_they_say(db: sandbar.Database) -> None:
    first = make_role(db, "first", READS)
    make_role(db, "second", inherits=["first"], rate_limit=7)
    db.update(first, {"auth/inherits": [{"auth/role-name": "second"}]})
    assert pace(account(db, "ann", "first").limit) == (7, 7)
    set_pace(db, {"auth/role-name": "second"}, rate_limit=None)
    assert pace(account(db, "bea", "first").limit) == (60, 60)


def test_a_role_that_narrows_a_key_narrows_how_often_too(db: sandbar.Database) -> None:
    make_role(db, "slow", READS, rate_limit=3)
    make_role(db, "fast", READS, rate_limit=300, burst=2)
    assert of_key(db, "k1", "owner", role="slow") == (3, 3)
    assert of_key(db, "k2", "owner", role="fast") == (300, 2), "nobody else says anything"
    owner = {"auth/owns": "workspace"}
    set_pace(db, owner, rate_limit=30, burst=30)
    assert of_key(db, "k3", "owner", role="slow") == (3, 30)
    assert of_key(db, "k4", "owner", role="fast") == (30, 2), "no more than the owner has"
    assert of_key(db, "k5", "owner", role="slow", rate_limit=40) == (40, 30)
    set_pace(db, owner, rate_limit=0)
    assert of_key(db, "k6", "owner", role="slow") == (3, 30)


@pytest.mark.parametrize("where", ["key", "owner", "role", "inherited", "role of the key"])
def test_what_is_said_anew_counts_on_the_next_request(db: sandbar.Database, where: str) -> None:
    base = make_role(db, "base", READS)
    held = make_role(db, "held", inherits=["base"])
    narrow = make_role(db, "narrow", READS)
    add_account(db.workspace, "ann", role="held")
    made = mint(db.workspace, "k", user="ann", role="narrow")
    houses, token = houses_of(db), made.token
    before = sign_in(houses, token)
    entity: Any = {
        "key": made.key.entity_id,
        "owner": {"auth/service-name": "service/ann"},
        "role": held,
        "inherited": base,
        "role of the key": narrow,
    }[where]
    assert db.get(entity).entity_id in dict(before.rests_on)
    assert pace(before.limit) == (60, 60)
    assert sign_in(houses, token) is before, "nothing has changed: it is remembered"
    for said, expected in (({"rate_limit": 4}, (4, 4)), ({"burst": 2}, (4, 2))):
        set_pace(db, entity, **said)
        assert pace(sign_in(houses, token).limit) == expected
    set_pace(db, entity, rate_limit=None, burst=None)
    assert pace(sign_in(houses, token).limit) == (60, 60)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Pace(), Pace(), Pace()),
        (Pace(5), Pace(None, 3), Pace(5, 3)),
        (Pace(0, 8), Pace(5, 9), Pace(5, 8)),
        (Pace(0), Pace(0), Pace(0)),
        (Pace(7, 2), Pace(), Pace(7, 2)),
    ],
)
def test_the_lesser_of_two(one: Pace, other: Pace, expected: Pace) -> None:
    assert one.and_at_most(other) == other.and_at_most(one) == expected
