"""The world that many tests share is as new for each of them, whatever was done to it before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from sandbar.errors import Problem
from sandbar.model import Workspace
from tests.access.attacks import ATTACKS
from tests.access.kept_world import KeptWorld
from tests.access.world import World
from tests.kept_postgres import kept_store
from tests.kept_rows import tables_of_workspaces

Superuser = psycopg.Connection[Any]

_ROWS = sql.SQL("SELECT (to_jsonb(x) - 'epoch')::text FROM sandbar.{table} x WHERE ws = {ws}")
_DELETE = sql.SQL("DELETE FROM sandbar.{table} WHERE ws = {ws}")
_INSERT = sql.SQL("INSERT INTO sandbar.{table} VALUES ({values})")
_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = ('sandbar.' || %s)::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


@pytest.fixture
def superuser(superusers_postgres: str) -> Iterator[Superuser]:
    with psycopg.connect(superusers_postgres, autocommit=True) as connection:
        yield connection


def rows_of(superuser: Superuser, ws: int) -> dict[str, list[str]]:
    """All that the database has of a workspace, but for its epoch."""
    return {
        table: sorted(row for (row,) in superuser.execute(_about(_ROWS, table, ws)))
        for table in tables_of_workspaces(superuser)
    }


def _about(form: sql.SQL, table: str, ws: int) -> sql.Composed:
    return form.format(table=sql.Identifier(table), ws=sql.Literal(ws))


def commit_every_attack(superuser: Superuser, world: World) -> None:
    """One after the other, as far as there is something left to attack."""
    for attack in ATTACKS.values():
        try:
            attack(world.as_admin(), world)
        except Problem:
            pass


def delete_every_row(superuser: Superuser, world: World) -> None:
    for table in tables_of_workspaces(superuser):
        superuser.execute(_about(_DELETE, table, world.workspace.number))


def insert_into_every_table(superuser: Superuser, world: World) -> None:
    """A number of whatever type; only of the workspace itself there is one row and no more."""
    for table in tables_of_workspaces(superuser):
        if table != "workspace":
            values = [
                sql.Literal(world.workspace.number if name == "ws" else _number(kind))
                for name, kind in superuser.execute(_COLUMNS, (table,))
            ]
            given = sql.SQL(", ").join(values)
            superuser.execute(_INSERT.format(table=sql.Identifier(table), values=given))


def _number(kind: str) -> str:
    return "{777777}" if kind.endswith("[]") else "777777"


# What is done, and which tables it must have changed, or it would prove nothing.
WRITTEN = {"entity", "past", "search", "secret", "slot", "tx", "version"}
MORE = {"audit", "bucket", "idempotency", "job", "key_use", "owed", "seal", "token"}
SPOILING: dict[Callable[[Superuser, World], None], set[str]] = {
    commit_every_attack: {"workspace", "idempotency", *WRITTEN},
    delete_every_row: {"workspace", "token", *WRITTEN},
    insert_into_every_table: WRITTEN | MORE,
}


@pytest.mark.parametrize("spoil", SPOILING)
def test_the_next_world_has_nothing_of_what_was_done_to_this_one(
    kept_postgres_world: KeptWorld,
    superuser: Superuser,
    spoil: Callable[[Superuser, World], None],
) -> None:
    world = kept_postgres_world.anew()
    ws, treasure, epoch = world.workspace.number, world.treasure(), world.workspace.standing().epoch
    before = rows_of(superuser, ws)
    spoil(superuser, world)
    spoiled = rows_of(superuser, ws)
    assert SPOILING[spoil] <= {table for table in before if spoiled[table] != before[table]}
    again = kept_postgres_world.anew()
    assert rows_of(superuser, ws) == before
    assert again.treasure() == treasure
    assert again.workspace.standing().epoch != epoch


def test_the_workspaces_of_others_stay_as_they_are(
    kept_postgres_world: KeptWorld, shared_postgres: str, superuser: Superuser
) -> None:
    other = Workspace.open(kept_store(shared_postgres), f"other-{uuid4()}")
    before = rows_of(superuser, other.number)
    assert before["entity"]
    delete_every_row(superuser, kept_postgres_world.anew())
    kept_postgres_world.anew()
    assert rows_of(superuser, other.number) == before


def test_whoever_has_looked_before_does_not_take_the_new_for_the_old(
    kept_postgres_world: KeptWorld,
) -> None:
    """The same t with another schema: by the epoch alone it is noticed."""
    old = kept_postgres_world.anew().workspace
    old.define({}, {"first/Thing": {"dt/subclass-of": ["dt/Ref"]}}, principal="test")
    assert "first/Thing" in old.schema().classes()
    new = kept_postgres_world.anew().workspace
    new.define({}, {"second/Thing": {"dt/subclass-of": ["dt/Ref"]}}, principal="test")
    assert new.last_t() == old.last_t()
    for workspace in (old, new):
        seen = {name for name in workspace.schema().classes() if name.endswith("/Thing")}
        assert seen == {"second/Thing"}
