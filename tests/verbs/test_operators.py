"""Verbs of whoever has opened the database itself: for all others they do not exist."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.access import local_caller
from sandbar.errors import NotFound
from sandbar.verbs.base.operators import operators_catalogue
from tests.verbs.conftest import caller_of

GIVEN: dict[str, dict[str, Any]] = {
    "account.add": {"name": "robot"},
    "account.list": {},
    "account.revoke": {"name": "robot"},
    "pack.add": {"pack": "zorp"},
    "workspace.limit": {"name": "main", "limits": ["entities=10"]},
}
SPELLINGS = ("{}", "sandbar.{}", "sandbar_{}")


def test_there_is_a_case_for_each() -> None:
    assert [verb.name for verb in operators_catalogue()] == list(GIVEN)


@pytest.mark.parametrize("name", GIVEN)
def test_who_has_opened_the_database_may_call_them(zorp: sandbar.Database, name: str) -> None:
    given = GIVEN[name] | ({"name": zorp.workspace_name} if name == "workspace.limit" else {})
    if name == "account.revoke":
        zorp.call("account.add", name="robot")
    zorp.call(name, given)
    row = zorp.call("audit.list", limit=1).entries[0]
    assert (row.verb, row.surface, row.success) == (name, "library", True)


@pytest.mark.parametrize("name", GIVEN)
def test_for_all_others_there_is_no_such_verb(zorp: sandbar.Database, name: str) -> None:
    """Not for the operator who signs in with a key, nor for an agent over standard input."""
    before = zorp.t
    operator = local_caller(zorp.workspace_name)
    for caller in (operator, caller_of(zorp, "writer"), caller_of(zorp, "reader")):
        for spelling in SPELLINGS:
            spelled = spelling.format(name)
            with pytest.raises(NotFound) as caught:
                zorp.call_as(caller, spelled, GIVEN[name])
            with pytest.raises(NotFound) as unheard:
                zorp.call_as(caller, spelled + "x", {})
            assert caught.value.code == "verb.unknown"
            assert caught.value.data == unheard.value.data
            assert spelled not in str(caught.value.hint)
    assert zorp.t == before


def test_they_are_in_no_list(zorp: sandbar.Database) -> None:
    at_machine = caller_of(zorp)
    assert at_machine.is_at_machine
    listed = {verb.name for verb in zorp.catalogue.visible_to(at_machine)}
    assert listed.isdisjoint(GIVEN)
    assert {verb.name for verb in zorp.catalogue}.isdisjoint(GIVEN)
    with pytest.raises(NotFound) as caught:
        zorp.call("account.ad")
    assert set(caught.value.data["available"]).isdisjoint(GIVEN)
