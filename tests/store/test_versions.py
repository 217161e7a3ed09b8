"""A database of every version of the tables there ever was is opened by the newest program.

They are kept in `tests/store/versions`, as their own version wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import psycopg
import pytest
from psycopg import sql

from sandbar.access import Houses, sign_in
from sandbar.audit import verify
from sandbar.database import Database, open_database
from sandbar.store.migrate import migrations_of
from sandbar.store.postgres import install as postgres
from sandbar.store.sqlite import upgrade as sqlite
from tests.postgres_server import PostgresServer
from tests.store.versions import kept, unpack
from tests.store.versions.world import DROPPED, HOME, OTHER, PIN, TITLES

NEWEST = {
    "sqlite": len(migrations_of(sqlite.PACKAGE)),
    "postgres": len(migrations_of(postgres.PACKAGE)),
}
PURGE, PROCESS, AUDIT = 3, 4, 5  # the versions that knew them first
BYTES_MAX = 40_000  # of one that is kept
ALL = [(dialect, version) for dialect, newest in NEWEST.items() for version in range(1, newest + 1)]


@pytest.mark.parametrize("dialect", NEWEST)
def test_every_version_of_the_tables_is_kept(dialect: str) -> None:
    missing = set(range(1, NEWEST[dialect] + 1)) - kept(dialect).keys()
    how = "python -m tests.store.versions.make keeps that of the newest version"
    assert not missing, f"there is no database of version {sorted(missing)} of {dialect}: {how}"
    assert max(path.stat().st_size for path in kept(dialect).values()) < BYTES_MAX


@contextmanager
def copied(path: Path, folder: Path) -> Iterator[str]:
    """The address of a copy of a SQLite file."""
    copy = folder / "old.db"
    copy.write_bytes(unpack(path))
    yield str(copy)


@contextmanager
def restored(path: Path, server: PostgresServer) -> Iterator[str]:
    """The address of a new PostgreSQL database with the same rows, brought up to date."""
    admin = server.create_database()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(unpack(path))
    yield postgres.install(admin)
    server.drop_database(admin)


@pytest.mark.parametrize(("dialect", "version"), ALL)
def test_it_is_understood_and_goes_on(
    dialect: str,
    version: int,
    tmp_path: Path,
    postgres_server: PostgresServer,
    request: pytest.FixtureRequest,
) -> None:
    path = kept(dialect)[version]
    if dialect == "postgres":
        request.getfixturevalue("installed_postgres")  # with which the role is there
        copy = restored(path, postgres_server)
    else:
        copy = copied(path, tmp_path)
    with copy as address:
        with open_database(address, HOME) as db:
            look(db, version)
            write(db, version)
            assert db.neighbours.names() == [HOME, OTHER]
        with open_database(address, OTHER) as db:
            assert db.get("other/list").class_ == "dt/List"
            assert DROPPED not in db.neighbours.names()
            assert db._store.owed.duties() == []
    if dialect == "sqlite":
        assert_sound(tmp_path / "old.db", tmp_path / "new.db")


def test_an_owner_who_is_no_superuser_brings_it_up_to_date(postgres_server: PostgresServer) -> None:
    """Row-level security binds such an owner, too, also in the steps between versions."""
    admin = postgres_server.create_database()
    with psycopg.connect(admin, autocommit=True) as connection:
        for role in ("test_owner LOGIN CREATEROLE", postgres.ROLE):
            try:
                connection.execute(f"CREATE ROLE {role}".encode())
            except psycopg.errors.DuplicateObject:
                pass  # roles belong to the server and outlive the test's database
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO test_owner").format(name))
    owner = admin.replace("postgres@", "test_owner@")
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(unpack(kept("postgres")[2]).replace(b" TO postgres", b" TO test_owner"))
    with open_database(postgres.install(owner), HOME) as db:
        look(db, 2)
        assert [duty.workspace_name for duty in db._store.owed.duties()] == [OTHER]
    postgres_server.drop_database(admin)


def look(db: Database, version: int) -> None:
    """See all that there was."""
    first = db.get("note/first")
    assert (first["note/title"], first["note/rank"]) == (TITLES[-1], len(TITLES))
    changes = db.history("note/first")
    assert [db.get("note/first", as_of=change.t)["note/title"] for change in changes] == TITLES
    assert [change.kind for change in changes] == ["created", "changed", "changed"]
    assert changes[-1].reason == "rank 3"
    assert db.get({"note/code": "c1"}).entity_id == first.entity_id
    assert db.get("note/second")["note/next"] == "note/first"
    for t, ranks in ((changes[0].t, [1]), (db.t, [3])):
        found = db.query("note/Note", {"note/title": {"in": TITLES}}, as_of=t).items
        assert [one["note/rank"] for one in found] == ranks
    assert [hit.entity.entity_id for hit in db.search("mud lord").items] == [first.entity_id]
    assert db.search("moonwalker").items == []
    assert db.secret_matches("note/first", "note/pin", PIN)
    if version >= PURGE:
        (mark,) = db.history(db.get("note/tomb")["note/rank"])
        assert (mark.kind, mark.reason) == ("purged", "asked to")
        caller = sign_in(Houses(db.workspace_now, HOME), db.get("note/key")["note/title"])
        assert caller.principal == "service/keeper"
    if version >= AUDIT:
        assert len(db.journal.trail.rows(db.workspace.number, limit=100)) >= 6
    assert verify(db.journal.trail, db.workspace.number).is_intact


def write(db: Database, version: int) -> None:
    """Go on with it."""
    again = db.create("note/Note", {"db/ident": "note/first", "note/title": TITLES[0]})
    assert (again.created, again.outcomes[0].differs) == (False, ["note/title"])
    assert db.restore("note/deleted").outcomes[0].changed
    assert [hit.entity.ident for hit in db.search("sunken").items] == ["note/deleted"]
    db.update("note/first", {"note/title": "a lighthouse"})
    assert [hit.entity.ident for hit in db.search("lighthouse").items] == ["note/first"]
    assert db.purge("note/deleted").scrubbed
    if version >= PROCESS:
        waiting = db.get("note/waiting")["note/rank"]
        assert db.workflows.view(waiting).state == "open"
        assert db.workflows.transition(waiting, "finish", principal="ann").state == "done"
        assert db._store.jobs.next_due_s() is None
    with db.recorded("tests", surface="cli"):
        db.create("note/Note", {"note/rank": 1000})


def assert_sound(old: Path, new: Path) -> None:
    """A file that was brought up to date is what a new one is."""
    open_database(new, HOME).close()
    found = []
    for path in (old, new):
        connection = apsw.Connection(str(path))
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        names = "SELECT type, name FROM sqlite_schema ORDER BY 1, 2"
        found.append(connection.execute(names).fetchall())
        connection.close()
    assert found[0] == found[1]
