"""The schema is said twice, in `schema.sql` and in the migrations: both must say the same."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from sandbar.errors import Conflict, Problem
from sandbar.sql import load_queries
from sandbar.store.migrate import migrations_of, schema_of
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.postgres_server import PostgresServer

SQLITE, POSTGRES = "sandbar.store.sqlite", "sandbar.store.postgres"

CATALOGUE = {
    "columns": """
        SELECT table_name, ordinal_position, column_name, data_type, collation_name, is_nullable,
               column_default, is_identity, identity_generation
        FROM information_schema.columns WHERE table_schema = 'sandbar' ORDER BY 1, 2""",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'sandbar' ORDER BY 1",
    "constraints": """
        SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'sandbar'::regnamespace ORDER BY 1, 2""",
    "tables": """
        SELECT relname, relkind, reloptions, relrowsecurity, relforcerowsecurity, relacl::text
        FROM pg_class WHERE relnamespace = 'sandbar'::regnamespace ORDER BY 1""",
    "policies": """
        SELECT tablename, policyname, permissive, roles, cmd, qual, with_check
        FROM pg_policies WHERE schemaname = 'sandbar' ORDER BY 1, 2""",
    "functions": """
        SELECT pg_get_functiondef(oid), proacl::text FROM pg_proc
        WHERE pronamespace = 'sandbar'::regnamespace ORDER BY 1""",
    "schema": "SELECT nspacl::text FROM pg_namespace WHERE nspname = 'sandbar'",
    "migrations": "SELECT number, name FROM sandbar.migration ORDER BY 1",
}


def catalogue(url: str) -> dict[str, list[Any]]:
    """All that PostgreSQL knows of our tables."""
    with psycopg.connect(url) as connection:
        return {name: connection.execute(sql).fetchall() for name, sql in CATALOGUE.items()}


def test_postgres_migrations_add_up_to_the_schema(postgres_server: PostgresServer) -> None:
    new, old = postgres_server.create_database(), postgres_server.create_database()
    first = migrations_of(POSTGRES)[0]
    with psycopg.connect(old) as connection:
        connection.execute("CREATE SCHEMA sandbar")
        connection.execute(first.sql)
        connection.execute("INSERT INTO sandbar.migration VALUES (%s, %s)", first[:2])
    install(new)
    install(old)
    assert catalogue(new) == catalogue(old)
    assert {len(rows) > 0 for rows in catalogue(new).values()} == {True}
    for url in (new, old):
        postgres_server.drop_database(url)


def test_sqlite_migrations_add_up_to_the_schema() -> None:
    new, old = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    new.execute(schema_of(SQLITE))
    for migration in migrations_of(SQLITE):
        old.execute(migration.sql)
    assert _sqlite_schema(new) == _sqlite_schema(old) != []
    settings = "SELECT k, v FROM search_config ORDER BY 1"
    assert new.execute(settings).fetchall() == old.execute(settings).fetchall() != []


def _sqlite_schema(connection: apsw.Connection) -> list[Any]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2").fetchall()
    # A column that was added stands behind the others' line end.
    plain = [(kind, name, re.sub(r"--.*|\s+", " ", str(sql))) for kind, name, sql in rows]
    return [(kind, name, re.sub(r" ?([,()]) ?", r"\1", sql)) for kind, name, sql in plain]


def test_installing_twice_changes_nothing(fresh_postgres: str) -> None:
    url = install(fresh_postgres)
    before = catalogue(fresh_postgres)
    assert install(fresh_postgres) == url
    assert catalogue(fresh_postgres) == before


def test_a_database_without_tables_is_refused_with_a_hint(fresh_postgres: str) -> None:
    _refused(fresh_postgres, "store.not-installed")


@pytest.mark.parametrize(("number", "code"), [(0, "store.older"), (99, "store.newer")])
def test_a_postgres_database_of_another_version_is_refused(
    fresh_postgres: str, number: int, code: str
) -> None:
    url = install(fresh_postgres)
    with psycopg.connect(fresh_postgres) as connection:
        connection.execute("DELETE FROM sandbar.migration WHERE number > 1")
        connection.execute("UPDATE sandbar.migration SET number = %s", (number,))
    _refused(url, code)


def _refused(url: str, code: str) -> None:
    with pytest.raises(Problem) as caught:
        PostgresStore(url)
    assert caught.value.code == code
    assert caught.value.hint


def test_a_sqlite_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    SqliteStore(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO migration VALUES (99, 'later')")
    connection.close()
    with pytest.raises(Conflict) as caught:
        SqliteStore(path)
    assert caught.value.code == "store.newer"


@pytest.mark.parametrize(
    ("package", "file", "names"),
    [
        (SQLITE, "queries.sql", "QUERIES"),
        (POSTGRES, "queries.sql", "QUERIES|_Q"),
        (POSTGRES, "install.sql", "_Q"),
        (SQLITE, "jobs.sql", "_Q"),
        (SQLITE, "trail.sql", "_Q"),
        (SQLITE, "workspaces.sql", "_Q"),
        (SQLITE, "archive.sql", "_Q"),
        (POSTGRES, "archive.sql", "_Q"),
        (POSTGRES, "jobs.sql", "_Q"),
        (POSTGRES, "trail.sql", "_Q"),
        (POSTGRES, "buckets.sql", "_Q"),
        (SQLITE, "owed.sql", "_Q"),
        (POSTGRES, "owed.sql", "_Q"),
        (SQLITE, "scans.sql", "_F"),
        (POSTGRES, "scans.sql", "_F"),
    ],
)
def test_every_named_query_is_defined_and_used(package: str, file: str, names: str) -> None:
    defined = set(vars(load_queries(package, file)))
    used: set[str] = set()
    for entry in resources.files(package).iterdir():
        text = entry.read_text() if entry.name.endswith(".py") else ""
        if f'"{file}"' in text or (file == "queries.sql" and "import QUERIES" in text):
            used |= set(re.findall(rf"\b(?:{names})\.([a-z_]+)", text))
            used |= set(re.findall(rf'load_queries\([^)]*"{file}"\)\.([a-z_]+)', text))
    assert used == defined
