"""A database from before there were budgets is counted when it is brought up to date."""

from __future__ import annotations

from pathlib import Path

import apsw
import psycopg

import sandbar
from sandbar.store.migrate import migrations_of
from sandbar.store.postgres.install import install
from sandbar.store.usage import Counters

SQLITE, POSTGRES = "sandbar.store.sqlite", "sandbar.store.postgres"
USAGE = "_usage.sql"  # how the name of the step ends
COLUMNS = (
    "stored_bytes", "history_bytes", "entities", "processes", "background_transitions",
    "background_bytes", "background_us", "limits",
)  # fmt: skip
WAITING = {
    "name": "test/wait",
    "states": [
        {"name": "waiting", "initial?": True},
        {"name": "over", "terminal?": True, "terminal-kind": "success"},
    ],
    "transitions": [{"name": "stop", "from": "waiting", "to": "over"}],
}


def _fill(address: str) -> Counters:
    """Some of everything; what it comes to."""
    with sandbar.open(address) as db:
        db.define(
            properties={"a/text": {"dt/range": "db.type/string"}},
            classes={"a/A": {"dt/slots": ["a/text"]}},
        )
        ids = [db.create("a/A", {"a/text": "ä" * n}).entity_id for n in range(1, 9)]
        db.update(ids[0], {"a/text": "☃"})
        db.delete(ids[1])
        db.purge(ids[2])
        db.workflows.define(WAITING, principal="ann")
        started = [db.workflows.start("test/wait", principal="ann") for _ in range(3)]
        db.workflows.transition(started[0].process_id, "stop", principal="ann")
        return db.workspace.budgets.account().counters


def _counted(address: str) -> Counters:
    with sandbar.open(address) as db:
        return db.workspace.budgets.account().counters


def _number(package: str) -> int:
    return next(step.number for step in migrations_of(package) if step.name.endswith(USAGE))


def test_an_old_file_is_counted(tmp_path: Path) -> None:
    path = str(tmp_path / "old.db")
    used = _fill(path)
    assert used.processes == 2
    connection = apsw.Connection(path)
    for column in COLUMNS:
        connection.execute(f"ALTER TABLE workspace DROP COLUMN {column}")
    connection.execute("ALTER TABLE job DROP COLUMN over_us")
    connection.execute("DELETE FROM migration WHERE number >= ?", (_number(SQLITE),))
    connection.close()
    assert _counted(path) == used


def test_an_old_database_of_an_owner_whom_policies_bind_is_counted(fresh_postgres: str) -> None:
    with psycopg.connect(fresh_postgres, autocommit=True) as connection:
        try:
            connection.execute("CREATE ROLE test_owner LOGIN CREATEROLE")
        except psycopg.errors.DuplicateObject:
            pass
        database = psycopg.sql.Identifier(connection.info.dbname)
        grant = psycopg.sql.SQL("GRANT CREATE ON DATABASE {} TO test_owner").format(database)
        connection.execute(grant)
    owner = fresh_postgres.replace("postgres@", "test_owner@")
    address = install(owner)
    used = _fill(address)
    with psycopg.connect(owner) as connection:
        for column in COLUMNS:
            connection.execute(f"ALTER TABLE sandbar.workspace DROP COLUMN {column}")
        connection.execute("ALTER TABLE sandbar.job DROP COLUMN over_us CASCADE")
        step = (_number(POSTGRES),)
        connection.execute("DELETE FROM sandbar.migration WHERE number >= %s", step)
    install(owner)
    assert _counted(address) == used
