"""An older database is brought up to date in steps: all of them or none, also if it is killed.

Steps of the future are invented here: the programs of two versions differ in nothing but what
`migrations_of` and `schema_of` give them.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from sandbar.errors import Conflict, Problem
from sandbar.store.migrate import Migration, migrations_of, schema_of
from sandbar.store.postgres import install as postgres
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite import upgrade as sqlite
from sandbar.store.sqlite.store import SqliteStore
from tests.postgres_server import PostgresServer

# Neither can be run twice, nor in the other order.
COLOUR = "ALTER TABLE {schema}workspace ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue';"
INDEX = "CREATE INDEX by_colour ON {schema}workspace (colour);"
BROKEN = "UPDATE {schema}workspace SET colour = 'red'; UPDATE {schema}no_such_table SET x = 1;"
KILLED_POSTGRES = (
    "UPDATE {schema}workspace SET colour = 'red'; SELECT pg_terminate_backend(pg_backend_pid());"
)

TODAY = len(migrations_of(sqlite.PACKAGE))
POSTGRES_TODAY = len(migrations_of(postgres.PACKAGE))
WAITING_S = 0.3  # enough for a process to come from opening the file to its lock

Later = Callable[..., None]  # from here on the program is a later version, with these steps


def _become(patch: pytest.MonkeyPatch, module: Any, schema: str, *steps: str) -> None:
    texts = [step.format(schema=schema) for step in steps]
    now = migrations_of(module.PACKAGE)
    then = [Migration(n, f"{n:04}_later.sql", text) for n, text in enumerate(texts, len(now) + 1)]
    whole = "\n".join([schema_of(module.PACKAGE), *texts])
    patch.setattr(module, "migrations_of", lambda package: now + then)
    patch.setattr(module, "schema_of", lambda package: whole)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Makes the program a later version of itself."""

    def become(*steps: str) -> None:
        _become(monkeypatch, sqlite, "", *steps)
        _become(monkeypatch, postgres, "sandbar.", *steps)

    return become


# --- SQLite ----------------------------------------------------------------------------------


@pytest.fixture
def old_file(tmp_path: Path) -> str:
    """A file of today's version, with a workspace in it."""
    path = str(tmp_path / "old.db")
    store = SqliteStore(path)
    store.create_workspace("kept")
    store.close()
    return path


def rows(path: str, sql: str) -> list[Any]:
    """What a file holds."""
    connection = apsw.Connection(path)
    found = connection.execute(sql).fetchall()
    connection.close()
    return found


def up_to(last: int) -> list[int]:
    """The numbers of all steps up to one."""
    return list(range(1, last + 1))


def everything(path: str) -> list[Any]:
    """Tables, indexes and migrations of a file."""
    schema = rows(path, "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2")
    return schema + rows(path, "SELECT number, name FROM migration ORDER BY 1")


def test_an_old_file_becomes_what_a_new_one_is(old_file: str, tmp_path: Path, later: Later) -> None:
    new_file = str(tmp_path / "new.db")
    later(COLOUR, INDEX)
    for path in (old_file, new_file):
        SqliteStore(path).close()
    assert everything(old_file) == everything(new_file)
    assert rows(old_file, "SELECT max(number) FROM migration") == [(TODAY + 2,)]
    assert rows(old_file, "SELECT name, colour FROM workspace") == [("kept", "blue")]


def test_a_file_is_brought_up_to_date_from_wherever_it_stands(
    old_file: str, tmp_path: Path, later: Later
) -> None:
    later(COLOUR)
    SqliteStore(old_file).close()
    later(COLOUR, INDEX)
    SqliteStore(old_file).close()
    after = everything(old_file)
    SqliteStore(old_file).close()
    assert everything(old_file) == after
    assert [number for number, _ in after[-TODAY - 2 :]] == up_to(TODAY + 2)


def test_an_upgraded_file_is_refused_by_the_older_version(old_file: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _become(patch, sqlite, "", COLOUR)
        SqliteStore(old_file).close()
    with pytest.raises(Conflict) as caught:
        SqliteStore(old_file)
    assert caught.value.code == "store.newer"


def test_a_step_that_fails_leaves_the_file_as_it_was(old_file: str, later: Later) -> None:
    before = everything(old_file)
    later(COLOUR, BROKEN)
    with pytest.raises(Problem):
        SqliteStore(old_file)
    assert everything(old_file) == before
    later(COLOUR, INDEX)
    SqliteStore(old_file).close()
    assert rows(old_file, "SELECT name, colour FROM workspace") == [("kept", "blue")]


CHILD = """
import os, signal, sys
from sandbar.store.migrate import Migration
from sandbar.store.sqlite import upgrade

open_writer, migrations_of = upgrade.open_writer, upgrade.migrations_of

def able_to_die(path):
    connection = open_writer(path)
    print("open", flush=True)
    connection.create_scalar_function("die", lambda: os.kill(os.getpid(), signal.SIGKILL))
    return connection

first = len(migrations_of(upgrade.PACKAGE)) + 1
steps = [Migration(n, "later", sql) for n, sql in enumerate(sys.argv[2:], first)]
upgrade.open_writer = able_to_die
upgrade.migrations_of = lambda package: migrations_of(package) + steps
upgrade.bring_up_to_date(sys.argv[1])
"""


def child(path: str, *steps: str) -> subprocess.Popen[bytes]:
    """A process that brings the file up to date; a step may say die()."""
    texts = [step.format(schema="") for step in steps]
    command = [sys.executable, "-c", CHILD, path, *texts]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def status(child: subprocess.Popen[bytes]) -> int:
    """How a child ended."""
    child.communicate(timeout=30)
    return child.returncode


def test_a_process_that_is_killed_in_a_step_leaves_the_file_as_it_was(
    old_file: str, later: Later
) -> None:
    before = everything(old_file)
    half_way = INDEX + " UPDATE workspace SET colour = 'red'; SELECT die();"
    assert status(child(old_file, COLOUR, half_way)) == -signal.SIGKILL
    assert everything(old_file) == before
    later(COLOUR, INDEX)
    SqliteStore(old_file).close()
    assert rows(old_file, "SELECT name, colour FROM workspace") == [("kept", "blue")]


def test_a_new_file_that_was_not_finished_is_still_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "new.db")
    monkeypatch.setattr(sqlite, "schema_of", lambda package: schema_of(package) + "SELECT no();")
    with pytest.raises(Problem):
        SqliteStore(path)
    assert rows(path, "SELECT * FROM sqlite_schema") == []
    monkeypatch.undo()
    SqliteStore(path).close()
    assert [n for (n,) in rows(path, "SELECT number FROM migration")] == up_to(TODAY)


def test_of_several_processes_one_takes_the_steps(old_file: str) -> None:
    """All of them have seen that the file is old, and wait for the lock that we hold."""
    connection = apsw.Connection(old_file)
    connection.execute("BEGIN IMMEDIATE")
    children = [child(old_file, COLOUR, INDEX) for _ in range(3)]
    for one in children:
        assert one.stdout is not None
        assert one.stdout.readline() == b"open\n"
    time.sleep(WAITING_S)
    connection.execute("COMMIT")
    connection.close()
    assert [status(one) for one in children] == [0] * 3
    taken = rows(old_file, "SELECT number FROM migration ORDER BY 1")
    assert [number for (number,) in taken] == up_to(TODAY + 2)


# --- PostgreSQL ------------------------------------------------------------------------------


def asked(url: str, sql: str) -> list[Any]:
    """What the database holds, as its owner sees it."""
    with psycopg.connect(url) as connection:
        return connection.execute(sql).fetchall()


COLUMNS = """
    SELECT table_name, column_name, data_type, column_default FROM information_schema.columns
    WHERE table_schema = 'sandbar' ORDER BY table_name, ordinal_position"""
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'sandbar' ORDER BY 1"
MIGRATIONS = "SELECT number, name FROM sandbar.migration ORDER BY 1"
WORKSPACES = "SELECT name, colour FROM sandbar.workspace"


def tables(url: str) -> list[Any]:
    """Columns, indexes and migrations of a database."""
    return [asked(url, sql) for sql in (COLUMNS, INDEXES, MIGRATIONS)]


@pytest.fixture
def old_database(fresh_postgres: str) -> str:
    """The owner's address of a database of today's version, with a workspace in it."""
    store = PostgresStore(postgres.install(fresh_postgres))
    store.create_workspace("kept")
    store.close()
    return fresh_postgres


def test_an_old_database_waits_for_its_owner(old_database: str, later: Later) -> None:
    url = postgres.install(old_database)
    later(COLOUR, INDEX)
    with pytest.raises(Problem) as caught:
        PostgresStore(url)
    assert caught.value.code == "store.older"
    assert postgres.install(old_database) == url
    store = PostgresStore(url)
    assert store.workspace("kept") is not None
    store.close()
    taken = [number for number, _ in asked(old_database, MIGRATIONS)]
    assert taken == up_to(POSTGRES_TODAY + 2)
    assert asked(old_database, WORKSPACES) == [("kept", "blue")]


def test_an_old_database_becomes_what_a_new_one_is(
    old_database: str, postgres_server: PostgresServer, later: Later
) -> None:
    new_database = postgres_server.create_database()
    later(COLOUR, INDEX)
    for url in (old_database, new_database):
        postgres.install(url)
    assert tables(old_database) == tables(new_database)
    postgres_server.drop_database(new_database)


@pytest.mark.parametrize("step", [BROKEN, KILLED_POSTGRES], ids=["broken", "killed"])
def test_a_step_that_fails_or_loses_its_session_leaves_the_database_as_it_was(
    old_database: str, later: Later, step: str
) -> None:
    before = tables(old_database)
    later(COLOUR, step)
    with pytest.raises(Problem):
        postgres.install(old_database)
    assert tables(old_database) == before
    later(COLOUR, INDEX)
    postgres.install(old_database)
    assert asked(old_database, WORKSPACES) == [("kept", "blue")]


def test_a_step_that_forgets_row_level_security_is_noticed(old_database: str, later: Later) -> None:
    later("CREATE TABLE {schema}open_to_all (ws bigint);")
    url = postgres.install(old_database)
    with pytest.raises(Problem) as caught:
        PostgresStore(url)
    assert caught.value.code == "store.unprotected"


def test_workspaces_from_before_the_search_are_marked_as_unsearched(fresh_postgres: str) -> None:
    first = migrations_of(postgres.PACKAGE)[0]
    with psycopg.connect(fresh_postgres) as connection:
        connection.execute("CREATE SCHEMA sandbar")
        connection.execute(first.sql)
        connection.execute("INSERT INTO sandbar.migration VALUES (%s, %s)", first[:2])
        connection.execute("SELECT sandbar.create_workspace('old', 7)")
    store = PostgresStore(postgres.install(fresh_postgres))
    old, new = store.workspace("old"), store.create_workspace("new")
    assert old is not None
    for ws, expected in ((old, 0), (new, None)):
        with store.snapshot(ws) as snapshot:
            assert snapshot.unsearched() == expected
    store.close()
