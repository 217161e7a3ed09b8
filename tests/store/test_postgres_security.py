"""Row-level security holds when the application's own filter is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from secrets import token_bytes

import psycopg
import pytest
from psycopg import errors, sql

from sandbar.errors import Forbidden
from sandbar.store.api import Store, Transaction
from sandbar.store.pieces import Change
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.trail import Seal
from tests.lending import Lender
from tests.postgres_server import PostgresServer
from tests.store.conftest import Place, new_workspace
from tests.store.noting import note
from tests.store.writing import changing, write

TABLES = [
    "workspace",
    "tx",
    "entity",
    "version",
    "slot",
    "past",
    "secret",
    "idempotency",
    "token",
    "job",
    "audit",
    "seal",
    "bucket",
    "key_use",
]

Bare = psycopg.Connection[tuple[int]]


@pytest.fixture(scope="module")
def spaces(lender: Lender) -> tuple[int, int]:
    """Two workspaces with rows in every table, from which nobody here takes any away."""
    store = lender.borrow()
    spaces = filled(store)
    lender.take_back(store)
    return spaces


def filled(store: Store) -> tuple[int, int]:
    """Two new workspaces with rows in every table."""
    spaces = new_workspace(store), new_workspace(store)

    def everything(tx: Transaction) -> None:
        tx.change(Change(tx.new_id(), 1, "{}", [(5, b"k")], ()), None)
        tx.keep_secret(1, 9, "hash")
        tx.keep_token(1, token_bytes(32))
        tx.remember("ann", "key", "digest", "receipt")
        tx.schedule(1, 0)

    for ws in spaces:
        write(store, ws, everything)
        write(store, ws, changing(1, ended=[(5, b"k")], begun=[(5, b"l")]))
        store.trail.append([note(ws)])
        store.trail.seal(ws, lambda last: Seal(1, store.trail.run, 1, 1, 1, 1, b""))
        store.buckets.take(ws, 1, 1_000_000, 60)
        store.key_uses.note_uses(ws, {1: 1})
    return spaces


@pytest.fixture
def bare(postgres_place: Place) -> Iterator[Bare]:
    """The server's own role, without the server."""
    with psycopg.connect(postgres_place.address, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def bound(installed_postgres: str, spaces: tuple[int, int]) -> Iterator[Bare]:
    """The same, bound to the first workspace, for statements that are all refused."""
    with psycopg.connect(installed_postgres, autocommit=True) as connection:
        bind(connection, spaces[0])
        yield connection


def seen(bare: Bare, table: str) -> set[int]:
    """The workspaces whose rows an unfiltered query gives."""
    query = sql.SQL("SELECT DISTINCT ws FROM sandbar.{}").format(sql.Identifier(table))
    return {ws for (ws,) in bare.execute(query)}


def bind(bare: Bare, ws: object) -> None:
    """What the pool does for every workspace."""
    bare.execute("SELECT set_config('sandbar.ws', %s, false)", (str(ws),))


@pytest.mark.parametrize("table", TABLES)
def test_only_the_bound_workspace_is_seen(bare: Bare, spaces: tuple[int, int], table: str) -> None:
    assert seen(bare, table) == set(), "nothing was bound yet"
    for ws in spaces:
        bind(bare, ws)
        assert seen(bare, table) == {ws}
    bind(bare, "")
    assert seen(bare, table) == set(), "an empty binding is none"
    bare.execute("RESET sandbar.ws")
    assert seen(bare, table) == set()


FOREIGN_ROWS = {
    "tx": "VALUES (%s, 999, 1, '', NULL, '{}', 0, '')",
    "entity": "VALUES (%s, 999, 1, 1, '')",
    "version": "VALUES (%s, 999, 1, 1, '')",
    "slot": "VALUES (%s, 1, '', 999, 1)",
    "past": "VALUES (%s, 1, '', 1, 1, 999, 2)",
    "secret": "VALUES (%s, 999, 1, '')",
    "idempotency": "VALUES (%s, '', 'foreign', '', '', 1)",
    "job": "VALUES (%s, 999, 0, NULL, NULL, 0)",
    "audit": "VALUES (%s, 999, 1, 1, '', NULL, '', '', NULL, 1, NULL, 1, NULL)",
    "seal": "VALUES (%s, 999, 1, 1, 1, 1, 1, '')",
    "bucket": "VALUES (%s, 999, 1, 0)",
    "key_use": "VALUES (%s, 999, 1)",
}


@pytest.mark.parametrize("table", FOREIGN_ROWS)
def test_rows_of_another_workspace_cannot_be_written(
    bare: Bare, spaces: tuple[int, int], table: str
) -> None:
    mine, foreign = spaces
    insert = f"INSERT INTO sandbar.{table} {FOREIGN_ROWS[table]}"
    with pytest.raises(errors.InsufficientPrivilege):
        bare.execute(insert, (mine,))
    bind(bare, mine)
    with pytest.raises(errors.InsufficientPrivilege):
        bare.execute(insert, (foreign,))
    bare.execute(insert, (mine,))


def test_changes_and_deletions_pass_another_workspace_by(bare: Bare, postgres_place: Place) -> None:
    mine, foreign = filled(postgres_place.another())
    bind(bare, mine)
    for statement in (
        "UPDATE sandbar.entity SET doc = 'mine'",
        "UPDATE sandbar.workspace SET t = t",
        "DELETE FROM sandbar.slot",
        "DELETE FROM sandbar.secret",
        "UPDATE sandbar.job SET token = 7",
        "DELETE FROM sandbar.job",
        "UPDATE sandbar.bucket SET full_us = 7",
        "UPDATE sandbar.key_use SET at_us = 7",
    ):
        bare.execute(statement)
    with pytest.raises(errors.InsufficientPrivilege):
        bare.execute("UPDATE sandbar.entity SET ws = %s", (foreign,))
    bind(bare, foreign)
    assert seen(bare, "slot") == seen(bare, "secret") == seen(bare, "job") == {foreign}
    assert bare.execute("SELECT count(*) FROM sandbar.job WHERE token = 7").fetchone() == (0,)
    for table, column in (("bucket", "full_us"), ("key_use", "at_us")):
        query = f"SELECT count(*) FROM sandbar.{table} WHERE {column} = 7"
        assert bare.execute(query).fetchone() == (0,)
    assert bare.execute("SELECT count(*) FROM sandbar.entity WHERE doc = 'mine'").fetchone() == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO sandbar.workspace (name, t, generation, epoch, next_id, instant_us) "
        "VALUES ('x', 0, 0, 0, 1, 0)",
        "DELETE FROM sandbar.workspace",
        "DELETE FROM sandbar.tx",
        "UPDATE sandbar.tx SET reason = 'other'",
        "DELETE FROM sandbar.version",
        "DELETE FROM sandbar.past",
        "TRUNCATE sandbar.entity",
        "UPDATE sandbar.audit SET is_success = 1",
        "DELETE FROM sandbar.audit",
        "TRUNCATE sandbar.audit",
        "INSERT INTO sandbar.audit SELECT * FROM sandbar.audit "
        "ON CONFLICT (ws, run, n) DO UPDATE SET code = 'other'",
        "UPDATE sandbar.seal SET hash = ''",
        "DELETE FROM sandbar.seal",
        "DELETE FROM sandbar.bucket",
        "DELETE FROM sandbar.key_use",
        "ALTER TABLE sandbar.entity DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own ON sandbar.entity",
        "CREATE TABLE sandbar.mine (n int)",
        "INSERT INTO sandbar.migration VALUES (99, 'x')",
    ],
)
def test_the_servers_role_may_do_no_more_than_it_must(bound: Bare, statement: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        bound.execute(statement)


def test_a_binding_never_follows_a_connection_to_another_workspace(
    postgres_place: Place, spaces: tuple[int, int]
) -> None:
    store = postgres_place.another()
    for ws in spaces * 20:
        assert store.point(ws, 1)[1] is not None
        with store.snapshot(ws) as snapshot:
            assert snapshot.find(5, b"l") == [1]


def test_a_superuser_is_refused(installed_admin: str) -> None:
    _assert_refused(installed_admin, "superuser")


def test_a_role_exempt_from_row_level_security_is_refused(
    postgres_server: PostgresServer, fresh_postgres: str
) -> None:
    _make_role(fresh_postgres, "test_exempt", "BYPASSRLS")
    install(fresh_postgres)
    url = fresh_postgres.replace("postgres@", "test_exempt@")
    with psycopg.connect(fresh_postgres, autocommit=True) as connection:
        connection.execute("GRANT USAGE ON SCHEMA sandbar TO test_exempt")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA sandbar TO test_exempt")
    _assert_refused(url, "exempt")
    with pytest.raises(Forbidden):
        install(fresh_postgres, role="test_exempt")


def test_the_owner_of_the_tables_is_refused_though_no_superuser(fresh_postgres: str) -> None:
    _make_role(fresh_postgres, "test_owner", "CREATEROLE")
    with psycopg.connect(fresh_postgres, autocommit=True) as connection:
        database = connection.info.dbname
        connection.execute(
            sql.SQL("GRANT CREATE ON DATABASE {} TO test_owner").format(sql.Identifier(database))
        )
    owner = fresh_postgres.replace("postgres@", "test_owner@")
    app = install(owner)
    _assert_refused(owner, "owner")
    # An owner that is no superuser is bound by the policies too, and yet can make workspaces.
    store = PostgresStore(app)
    ws = store.create_workspace("one")
    assert (store.create_workspace("one"), store.workspace("one")) == (ws, ws)
    # Nor does that keep its functions from the jobs of a workspace that nobody is bound to.
    write(store, ws, lambda tx: tx.schedule(1, 0))
    assert store.jobs.is_due()
    (claim,) = store.jobs.claim("worker", 9, 60.0)
    assert (claim.ws, claim.workspace_name, claim.id) == (ws, "one", 1)
    assert store.jobs.renew(ws, 1, claim.token, 60.0)
    store.jobs.release(ws, 1, claim.token)
    assert store.jobs.next_due_s() == 0.0
    # Nor from listing and dropping workspaces.
    other = store.create_workspace("two")
    store.trail.append([note(ws), note(other)])
    assert store.workspaces() == [(ws, "one"), (other, "two")]
    store.drop_workspace("one")
    assert store.workspaces() == [(other, "two")]
    assert (store.trail.runs(ws), len(store.trail.runs(other))) == ([], 1)
    store.close()


def test_only_the_servers_role_may_reach_all_workspaces(fresh_postgres: str) -> None:
    install(fresh_postgres)
    _make_role(fresh_postgres, "test_stranger", "NOSUPERUSER")
    with psycopg.connect(fresh_postgres, autocommit=True) as connection:
        connection.execute("GRANT USAGE ON SCHEMA sandbar TO test_stranger")
        connection.execute("SET ROLE test_stranger")
        for call in (
            "has_due_job()",
            "next_job_us()",
            "claim_jobs('me', '{1}', 1, '{}')",
            "renew_job(1, 1, 1, 1)",
            "release_job(1, 1, 1, 1)",
            "all_workspaces()",
            "drop_workspace('x', 1)",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(f"SELECT sandbar.{call}")
        connection.execute("SET ROLE sandbar_app")
        assert connection.execute("SELECT sandbar.has_due_job()").fetchone() == (False,)


def test_the_url_of_the_role_keeps_the_rest_and_leaks_no_password(
    postgres_server: PostgresServer, fresh_postgres: str
) -> None:
    admin = fresh_postgres.replace("postgres@", "postgres:s3cret@") + "?application_name=x%20y"
    url = install(admin, role="test_password", password="p/w:ä@?")
    assert "s3cret" not in url
    assert "application_name=x" in url
    parts = psycopg.conninfo.conninfo_to_dict(url)
    assert (parts["user"], parts["password"]) == ("test_password", "p/w:ä@?")
    PostgresStore(url).close()
    socket = postgres_server.socket_url.rsplit("/", 1)[0] + "/" + fresh_postgres.rsplit("/", 1)[1]
    PostgresStore(install(socket)).close()


def _assert_refused(url: str, word: str) -> None:
    with pytest.raises(Forbidden) as caught:
        PostgresStore(url)
    assert caught.value.code == "store.privileged-role"
    assert word in caught.value.message
    assert "sandbar_app" in (caught.value.hint or "")


def _make_role(admin: str, role: str, options: str) -> None:
    with psycopg.connect(admin, autocommit=True) as connection:
        try:
            connection.execute(f"CREATE ROLE {role} LOGIN {options}")
        except errors.DuplicateObject:
            pass  # roles belong to the server and outlive the test's database
