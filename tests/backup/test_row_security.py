"""On PostgreSQL, the role of servers gets no way around row-level security by restoring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from sandbar.database import backup_database, restore_database
from sandbar.store.postgres.install import install
from tests.backup.conftest import Site, Sites, Snapshots
from tests.backup.filling import fill

CALL = (
    "SELECT sandbar.restore_workspaces(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[],"
    " %s::bigint[], %s::bigint[], %s::bigint[])"
)

Bare = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def site(sites: Sites) -> Site:
    """A prepared database."""
    return sites("postgres")


@pytest.fixture
def bare(site: Site) -> Iterator[Bare]:
    """The server's own role, without the server."""
    with psycopg.connect(site.address, autocommit=True) as connection:
        yield connection


def restored(bare: Bare, *numbers: int) -> int:
    """How many workspaces were made under these numbers."""
    names, ones = [f"n{number}" for number in numbers], [1 for _ in numbers]
    row = bare.execute(CALL, (list(numbers), names, ones, ones, ones, ones, ones)).fetchone()
    assert row is not None
    return int(row[0])


def test_workspaces_are_restored_only_where_there_are_none(site: Site, bare: Bare) -> None:
    with site.open() as db:
        number, t = db.workspace.number, db.t
    before = site.raw.everything()
    assert restored(bare, 7) == restored(bare, number) == restored(bare, 7, number) == 0
    assert site.raw.everything() == before
    with site.open("other") as db:
        db.neighbours.drop("main")
    with site.open("third") as db:
        db.neighbours.drop("other")
    assert restored(bare, number) == 0, "nor where there were some"
    assert t > 0


def test_numbers_beyond_a_file_are_not_given(site: Site, bare: Bare) -> None:
    assert restored(bare, 0, -1, 1 << 23, 1 << 62) == 0
    assert restored(bare, 7, 9) == 2
    assert restored(bare, 8) == 0
    with site.open("later") as db:
        assert db.workspace.number == 10, "numbers go on after the restored ones"


def test_nobody_else_may(site: Site, sites: Sites) -> None:
    owner = site.raw.owner_address
    with psycopg.connect(owner, autocommit=True) as connection:
        try:
            connection.execute("CREATE ROLE test_stranger LOGIN NOSUPERUSER")
        except errors.DuplicateObject:
            pass  # roles belong to the server and outlive the test's database
        connection.execute("GRANT USAGE ON SCHEMA sandbar TO test_stranger")
        connection.execute("SET ROLE test_stranger")
        for call in (
            "workspace_numbers()",
            "restore_workspaces('{}','{}','{}','{}','{}','{}','{}')",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(f"SELECT sandbar.{call}".encode())
        connection.execute("SET ROLE sandbar_app")
        assert connection.execute("SELECT sandbar.workspace_numbers()").fetchall() == []


def test_a_workspace_is_marked_for_the_search_by_itself_only(site: Site, bare: Bare) -> None:
    with site.open() as db, site.open("other") as other:
        mine, foreign = db.workspace.number, other.workspace.number
    bare.execute("SELECT set_config('sandbar.ws', %s, false)", (str(mine),))
    with pytest.raises(errors.InsufficientPrivilege):
        bare.execute("INSERT INTO sandbar.owed VALUES (%s, 'index', 0, 0, 0, 0)", (foreign,))
    bare.execute("INSERT INTO sandbar.owed VALUES (%s, 'index', 0, 0, 0, 0)", (mine,))


def test_an_owner_that_is_no_superuser_will_do(
    sites: Sites, snapshots: Snapshots, fresh_postgres: str, tmp_path: Path
) -> None:
    """Then the policies bind the owner, too, as whom the functions run."""
    with psycopg.connect(fresh_postgres, autocommit=True) as connection:
        try:
            connection.execute("CREATE ROLE test_owner LOGIN CREATEROLE")
        except errors.DuplicateObject:
            pass
        database = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO test_owner").format(database))
    address = install(fresh_postgres.replace("postgres@", "test_owner@"))
    source, target = sites("sqlite"), Site("postgres", address, fresh_postgres, snapshots)
    fill(source)
    backup_database(source.address, tmp_path / "one.backup")
    restore_database(tmp_path / "one.backup", target.address)
    assert target.raw.everything() == source.raw.everything()
    third = sites("sqlite")
    backup_database(target.address, tmp_path / "two.backup")
    restore_database(tmp_path / "two.backup", third.address)
    assert third.raw.everything() == source.raw.everything()
