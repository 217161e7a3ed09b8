"""What is said when PostgreSQL does not let us in: each reason has its own words and advice."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

import sandbar
from sandbar.database import examine_database
from sandbar.errors import Incorrect, NotFound, Problem, Unavailable
from sandbar.store.postgres.connection import problem_of
from sandbar.store.postgres.install import install
from tests.postgres_server import PostgresServer

OUTSIDER = "outsider_of_refusals"


@pytest.fixture
def outsider(postgres_server: PostgresServer, fresh_postgres: str) -> Iterator[str]:
    """The address of the same new database for a role that nobody has given anything."""
    name = sql.Identifier(OUTSIDER)
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(name))
        yield fresh_postgres.replace("//postgres@", f"//{OUTSIDER}@")
        connection.execute(sql.SQL("DROP ROLE {}").format(name))


def refused(url: str) -> Problem:
    """What is said to whoever opens it; `doctor` and the others say the same."""
    with pytest.raises(Problem) as caught:
        sandbar.open(url)
    with pytest.raises(Problem) as examined:
        examine_database(url)
    assert str(examined.value) == str(caught.value)
    return caught.value


def test_a_database_that_does_not_exist(postgres_url: str) -> None:
    problem = refused(postgres_url.rpartition("/")[0] + "/no_such_database")
    assert isinstance(problem, NotFound)
    assert problem.code == "store.no-database"
    assert "no database of this name" in problem.message
    assert "sandbar migrate" in str(problem.hint)


def test_a_role_that_does_not_exist(postgres_url: str) -> None:
    problem = refused(postgres_url.replace("//postgres@", "//nobody_of_that_name@"))
    assert problem.code == "store.refused"
    assert "no such role" in problem.message


def test_a_role_that_may_not_log_in(postgres_url: str) -> None:
    problem = refused(postgres_url.replace("//postgres@", "//pg_read_all_data@"))
    assert problem.code == "store.refused"
    assert "log in" in problem.message


def test_a_role_without_rights(outsider: str, fresh_postgres: str) -> None:
    problem = refused(outsider)
    assert isinstance(problem, Unavailable)
    assert problem.code == "store.not-installed"
    with pytest.raises(Incorrect) as caught:
        install(outsider)
    assert caught.value.code == "store.refused"
    assert "owner" in str(caught.value.hint)
    install(fresh_postgres)
    problem = refused(outsider)
    assert problem.code == "store.refused"
    assert OUTSIDER in problem.message
    assert "sandbar_app" in str(problem.hint)


def test_a_role_that_may_not_connect(outsider: str, fresh_postgres: str) -> None:
    with psycopg.connect(fresh_postgres, autocommit=True) as connection:
        database = sql.Identifier(str(connection.info.dbname))
        connection.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(database))
    problem = refused(outsider)
    assert problem.code == "store.refused"
    assert "lacks a right" in problem.message


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ('FATAL:  password authentication failed for user "x"', "store.refused", "password"),
        ("fe_sendauth: no password supplied", "store.refused", "password"),
        (
            'FATAL:  no pg_hba.conf entry for host "::1", user "x", database "y", no encryption',
            "store.refused",
            "pg_hba.conf",
        ),
        ('FATAL:  database "x" is not currently accepting connections', "store.lost", "connection"),
        ("FATAL:  sorry, too many clients already", "store.crowded", "no more connections"),
        ("connection refused", "store.lost", "could not be made"),
    ],
)
def test_what_the_server_says(words: str, code: str, told: str) -> None:
    problem = problem_of(psycopg.OperationalError(f'connection to server at "::1" failed: {words}'))
    assert problem.code == code
    assert told in problem.message
