"""Row-level security keeps tenants apart by itself, and so do the store's own filters.

PostgreSQL has two layers. Here each has to do without the other: first in random calls, then
statement by statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from sandbar.store.postgres.connection import Connection, open_writer
from sandbar.store.postgres.install import install
from tests.conftest import Say
from tests.postgres_server import PostgresServer
from tests.tenancy.arena import Address, Arena, NewArena, assert_kept_apart
from tests.tenancy.canaries import Canaries
from tests.tenancy.fingerprint import fingerprint
from tests.tenancy.playing import play
from tests.tenancy.row_security import (
    Recorder,
    Said,
    is_part_of,
    named_queries,
    unfiltered,
    without_filters,
)
from tests.tenancy.statements import say_the_rest
from tests.tenancy.victim import Victim, planted
from tests.tenancy.world import World, opened_world

CALLS = 150  # twice every verb
CALLS_LONG = 100_000
CONTROL_CALLS = 2_000
_COUNTS = re.compile(r"SELECT (count|coalesce|max)\(")  # one row, whatever they have found
_BINDS = ("queries.sql:bind", "archive.sql:bind")
_WS = re.compile(r"\bws\b|found\(|bound\(")
PLANTED = pytest.mark.xdist_group("tenancy-planted")  # they copy one victim
TOGETHER = pytest.mark.xdist_group("tenancy-statements")  # they share what was recorded
ON_POSTGRES = pytest.mark.parametrize("kind", ["postgres"], indirect=True)

# Functions that reach beyond the bound workspace because that is what they are for.
BEYOND = {
    "workspace_by_name": "a name is looked up before anybody can be bound; it tells a number",
    "create_workspace": "a workspace is made before anybody can be bound; it tells nothing",
    "token_of": "signing in: whoever knows the digest of a key is told whose it is",
    "all_workspaces": "the server's operator and its background work; it tells numbers and names",
    "drop_workspace": "the server's operator, by name; the verb asks who may",
    "has_due_job": "the worker serves all workspaces; it tells yes or no",
    "next_job_us": "the worker serves all workspaces; it tells a time",
    "claim_jobs": "the worker serves all workspaces; it tells numbers, never documents",
    "renew_job": "the worker's: whoever has the job's random token",
    "release_job": "the worker's: whoever has the job's random token",
    "owed_duties": "the caretaker and the doctor serve all workspaces; it tells numbers and names",
    "claim_owed": "the caretaker serves all workspaces; it tells numbers and names",
    "workspace_numbers": "a backup, which is bound to each in turn; it tells numbers",
    "restore_workspaces": "makes workspaces in a database that never had one; it tells how many",
}


# --- thousands of calls ------------------------------------------------------------------------


def switch_security(admin: str, *, on: bool) -> None:
    """Row-level security of all tables, as only their owner can."""
    word = "ENABLE" if on else "DISABLE"
    with psycopg.connect(admin, autocommit=True) as connection:
        for table in secured_tables(connection):
            connection.execute(
                sql.SQL("ALTER TABLE sandbar.{} {} ROW LEVEL SECURITY").format(
                    sql.Identifier(table), sql.SQL(word)
                )
            )


def secured_tables(connection: psycopg.Connection[Any]) -> list[str]:
    """The tables that hold rows of workspaces."""
    query = """SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'sandbar'::regnamespace AND c.relkind = 'r' AND a.attname = 'ws'"""
    return [name for (name,) in connection.execute(query)]


@PLANTED
@ON_POSTGRES
def test_row_level_security_alone_keeps_tenants_apart(
    new_arena: NewArena, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_filters(monkeypatch) > 30
    assert_kept_apart(new_arena, CALLS, say)


@pytest.mark.long
@pytest.mark.timeout(7200)
@PLANTED
@ON_POSTGRES
def test_row_level_security_alone_keeps_tenants_apart_in_very_many_calls(
    new_arena: NewArena, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_filters(monkeypatch) > 30
    assert_kept_apart(new_arena, CALLS_LONG, say, is_compared=False)


@pytest.fixture
def without_security(new_arena: NewArena) -> NewArena:
    """Makes arenas whose tables have no policies any more."""

    def new(*, is_compared: bool = True) -> Arena:
        arena = new_arena(is_compared=is_compared)
        switch_security(arena.admin, on=False)
        return arena

    return new


@PLANTED
@ON_POSTGRES
def test_filters_alone_keep_tenants_apart(without_security: NewArena, say: Say) -> None:
    assert_kept_apart(without_security, CALLS, say)


@pytest.mark.long
@pytest.mark.timeout(7200)
@PLANTED
@ON_POSTGRES
def test_filters_alone_keep_tenants_apart_in_very_many_calls(
    without_security: NewArena, say: Say
) -> None:
    assert_kept_apart(without_security, CALLS_LONG, say, is_compared=False)


@PLANTED
@ON_POSTGRES
def test_without_either_it_is_noticed(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement without its filter, on a table without its policy."""
    without_filters(monkeypatch)
    with psycopg.connect(arena.admin, autocommit=True) as connection:
        connection.execute("ALTER TABLE sandbar.entity DISABLE ROW LEVEL SECURITY")
    game = play(arena.attacker, arena.world, None, arena.canaries, CONTROL_CALLS, until="LEAK")
    assert any("LEAK" in finding for finding in game.findings)


def test_a_filter_is_recognised_in_every_spelling() -> None:
    for name, statement in named_queries().items():
        left = unfiltered(statement).replace("ws = u.ws", "")
        assert " ws = " not in left.replace("ws = EXCLUDED", ""), f"{name}: {left}"
        assert ".ws = " not in left, f"{name}: {left}"


# --- statement by statement --------------------------------------------------------------------


class Spoken:
    """All statements of a store that has been used in every way, and two workspaces in it."""

    def __init__(self, world: World, recorder: Recorder, address: Address) -> None:
        self.recorder, self.address = recorder, address
        self.ours, self.theirs = _numbers(world)
        self.name = world.victim.workspace_name

    def bound(self, ws: int) -> Connection:
        """A connection of the servers' role, bound to a workspace."""
        connection = open_writer(self.address.url)
        connection.execute("SELECT set_config('sandbar.ws', %s, false)", (str(ws),))
        return connection


def _numbers(world: World) -> tuple[int, int]:
    store = world.db._store
    ours, theirs = (store.workspace(db.workspace_name) for db in (world.ours, world.victim))
    assert ours is not None
    assert theirs is not None
    return ours, theirs


@pytest.fixture(scope="module")
def spoken(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spoken]:
    """What the store says while a victim is planted, read and used."""
    admin = postgres_server.create_database()
    address = Address(install(admin), admin)
    with psycopg.connect(admin, autocommit=True) as owner:
        # Numbers of workspaces that no other number in a statement is.
        owner.execute("SELECT setval(pg_get_serial_sequence('sandbar.workspace', 'ws'), 7654320)")
    canaries, recorder = Canaries(Random()), Recorder()
    name = f"tenant-{canaries.known('name of a workspace')}"
    with recorder.recording(), opened_world(address.url, name) as world:
        victim: Victim = planted(world, canaries, tmp_path_factory.mktemp("packs"))
        _, theirs = _numbers(world)
        say_the_rest(victim, theirs, address.admin, address.url)
        yield Spoken(world, recorder, address)
    postgres_server.drop_database(admin)


def said_again(connection: Connection, said: Said) -> str | None:
    """What a statement gives that it must not, on a connection that is bound elsewhere."""
    given = said.sql.replace("BEGIN;", "")
    if "set_config('sandbar.ws'" in given:  # it would bind itself: all but that
        given = given.rsplit(";", 1)[-1]
    try:
        cursor = connection.execute(given, said.bindings, prepare=False)
    except errors.InsufficientPrivilege:
        return None
    except errors.UniqueViolation:
        return f"{said.head}: a row of another tenant was in the way"
    rows = cursor.fetchall() if cursor.description else []
    is_nothing = _COUNTS.search(said.sql) and rows in ([(0,)], [(None,)])
    if rows and not is_nothing:
        return f"{said.head}: gives {rows[:3]}"
    if not cursor.description and cursor.rowcount > 0:
        return f"{said.head}: changes {cursor.rowcount} rows"
    return None


def sayings(spoken: Spoken) -> list[Said]:
    """All that is said of the victim, and a plain look at its rows in each table."""
    with psycopg.connect(spoken.address.admin) as connection:
        tables = secured_tables(connection)
    looks = [
        Said(f"SELECT * FROM sandbar.{table} WHERE ws = %s", (spoken.theirs,), 1)
        for table in tables
    ]
    said = spoken.recorder.naming(spoken.theirs)
    return [one for one in (*said, *looks) if not _is_beyond(one.sql)]


def findings_of(spoken: Spoken) -> list[str]:
    """All that is said of the victim, said again where another tenant is bound."""
    found: list[str] = []
    with spoken.bound(spoken.ours) as connection:
        for said in sayings(spoken):
            wrong = said_again(connection, said)
            found += [] if wrong is None else [wrong]
    return found


@TOGETHER
def test_no_statement_reaches_beyond_the_bound_workspace(spoken: Spoken, say: Say) -> None:
    before = fingerprint(spoken.address.admin, spoken.name)
    found = findings_of(spoken)
    say(f"{len(sayings(spoken))} statements about another workspace said again")
    assert not found, "\n".join(found)
    assert fingerprint(spoken.address.admin, spoken.name) == before


@TOGETHER
def test_every_statement_of_the_store_was_tried(spoken: Spoken, say: Say) -> None:
    """And with effect: what gives nothing even to its owner would prove nothing."""
    effective = [said for said in spoken.recorder.naming(spoken.theirs) if said.rows > 0]
    about = {
        name: statement
        for name, statement in named_queries().items()
        if _WS.search(statement) and not _is_beyond(statement) and name not in _BINDS
    }
    say(f"{len(about)} named statements that know workspaces")
    missing = [
        name
        for name, statement in about.items()
        if not any(is_part_of(statement, said) for said in effective)
    ]
    assert not missing, f"say_the_rest() of statements.py has to say: {missing}"


def _is_beyond(statement: str) -> bool:
    return any(f"{name}(" in statement for name in BEYOND)


def test_every_function_beyond_the_policies_is_known(fresh_postgres: str) -> None:
    """A new SECURITY DEFINER function asks for the bound workspace, or has a reason not to."""
    install(fresh_postgres)
    query = """SELECT proname, pg_get_functiondef(oid) FROM pg_proc
    WHERE pronamespace = 'sandbar'::regnamespace AND prosecdef"""
    with psycopg.connect(fresh_postgres) as connection:
        functions: dict[str, str] = dict(connection.execute(query).fetchall())
    asks = {
        name
        for name, body in functions.items()
        if ("'sandbar.ws'" in body or "sandbar.bound()" in body) and "set_config" not in body
    }
    assert functions.keys() - asks == BEYOND.keys()


@TOGETHER
def test_a_table_without_security_is_noticed_statement_by_statement(spoken: Spoken) -> None:
    with psycopg.connect(spoken.address.admin, autocommit=True) as connection:
        tables = secured_tables(connection)
    assert len(tables) >= 11
    for table in tables:
        with psycopg.connect(spoken.address.admin, autocommit=True) as connection:
            named = sql.Identifier(table)
            switch = sql.SQL("ALTER TABLE sandbar.{} {} ROW LEVEL SECURITY")
            connection.execute(switch.format(named, sql.SQL("DISABLE")))
            assert _is_noticed(spoken), f"nobody noticed that {table} lies open"
            connection.execute(switch.format(named, sql.SQL("ENABLE")))


def _is_noticed(spoken: Spoken) -> bool:
    """Without keeping what an open table lets through."""
    with spoken.bound(spoken.ours) as connection:
        for said in sayings(spoken):
            with connection.transaction(force_rollback=True):
                if said_again(connection, said) is not None:
                    return True
    return False
