"""Every verb × everybody × every protected class: each cell is tried, and none comes out wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import pytest

import sandbar
from sandbar.access import Caller, sight
from sandbar.verbs import Verb
from tests.access.limited import CUSTOM, account, callers_of
from tests.access.limited import opened as opened_shop
from tests.access.matrix import (
    ABOUT_TARGETS,
    ERRAND,
    IN,
    MAY_CALL,
    Cells,
    expected,
    outcome,
    targets_of,
)

# What is let in and yet does not end well, since the cell has nothing better to offer.
ELSE_WRONG = {"validation.retry", "validation.cancel", "project.import"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbar.Database]:
    with opened_shop(tmp_path_factory.mktemp("matrix") / "shop.db") as db:
        db.load_pack("care")
        yield db


@pytest.fixture(scope="module")
def callers(shop: sandbar.Database) -> dict[str, Caller]:
    return callers_of(shop)


@pytest.fixture(scope="module")
def cells(shop: sandbar.Database, callers: dict[str, Caller]) -> Cells:
    shop.call_as(callers["admin"], "workflow.define", {"spec": ERRAND})
    return Cells(shop, callers["admin"])


def verbs_of(db: sandbar.Database) -> list[Verb]:
    return list(db.offer.catalogue)


@pytest.mark.timeout(300)
def test_every_cell_is_as_the_design_says(
    shop: sandbar.Database,
    callers: dict[str, Caller],
    cells: Cells,
    record_property: Callable[[str, object], None],
) -> None:
    assert callers.keys() == MAY_CALL.keys()
    verbs = verbs_of(shop)
    tried: Counter[str] = Counter()
    wrong: list[str] = []
    cells_of_one = [(verb, target) for verb in verbs for target in targets_of(verb)]
    for who, (verb, target) in product(callers, cells_of_one):
        arguments = cells.arguments(verb, target)
        came = outcome(shop, callers[who], verb, arguments)
        if not came.startswith(IN):
            cells.spare(verb, target, arguments)
        wanted = expected(who, verb, target)
        is_right = came == wanted or (
            wanted == IN and came.startswith(IN) and verb.name in ELSE_WRONG
        )
        if not is_right:
            wrong.append(f"{who}: {verb.name} on {target}: {came}, not {wanted}")
        tried[wanted] += 1
    record_property("figure", f"{tried.total()} cells of {len(verbs)} verbs, {dict(tried)}")
    assert tried.total() == len(callers) * len(cells_of_one)
    assert {verb.name for verb in verbs} >= ABOUT_TARGETS, "these are no verbs any more"
    assert not wrong, f"{len(wrong)} cells:\n" + "\n".join(wrong[:60])


def test_a_grant_too_many_is_caught(shop: sandbar.Database, cells: Cells) -> None:
    """The table must object if somebody has more than it says."""
    role = shop.get({"auth/role-name": CUSTOM}).entity_id
    grant = shop.create("auth/Permission", {"auth/group": "schema", "auth/access": "write"})
    shop.update(role, add={"auth/permissions": [grant.entity_id]})
    wide = account(shop, "wide", CUSTOM)
    define = next(verb for verb in verbs_of(shop) if verb.name == "schema.define")
    came = outcome(shop, wide, define, cells.arguments(define, "dt/Class"))
    assert came == IN != expected("custom role", define, "dt/Class")
    shop.update(role, remove={"auth/permissions": [grant.entity_id]})


def test_a_missing_protection_is_caught(
    shop: sandbar.Database,
    callers: dict[str, Caller],
    cells: Cells,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = next(verb for verb in verbs_of(shop) if verb.name == "entity.find")
    monkeypatch.setattr(sight, "protected_classes", lambda schema: frozenset())
    came = outcome(shop, callers["writer"], find, cells.arguments(find, "auth/Key"))
    assert came == IN != expected("writer", find, "auth/Key")
