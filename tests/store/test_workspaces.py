"""Listing workspaces, and dropping one with all that is in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from secrets import token_bytes

import apsw
import psycopg
import pytest
from psycopg import sql

from sandbar.errors import Fault, NotFound, Problem
from sandbar.store.api import Store, Transaction
from sandbar.store.jobs import Claim
from sandbar.store.pieces import Change
from sandbar.store.sqlite import workspaces
from sandbar.store.trail import Seal
from tests.postgres_server import PostgresServer
from tests.store.conftest import Place
from tests.store.noting import everything, note
from tests.store.writing import WAIT_S, Gate, changing, create, creating, write

TOKENS: dict[int, bytes] = {}


def fill(store: Store, name: str) -> int:
    """A workspace with rows in every table."""
    ws = store.create_workspace(name)
    TOKENS[ws] = token_bytes(32)

    def work(tx: Transaction) -> None:
        tx.change(Change(tx.new_id(), 1, f'"{name}"', [(5, b"k")], (), ("canary",)), None)
        tx.keep_secret(1, 9, "hash")
        tx.keep_token(1, TOKENS[ws])
        tx.remember("ann", "key", "digest", "receipt")
        tx.schedule(1, 0)

    write(store, ws, work)
    write(store, ws, changing(1, ended=[(5, b"k")], begun=[(5, b"l")]))
    store.trail.append([note(ws)])
    store.trail.seal(ws, lambda last: Seal(1, store.trail.run, 1, 1, 1, 1, b""))
    store.key_uses.note_uses(ws, {1: 1})
    store.buckets.take(ws, 1, 3_600_000_000, 1)
    return ws


def mark_unsearched(place: Place, server: PostgresServer) -> None:
    """As the migration marks the workspaces of an old database, which writes only change."""
    if place.dialect == "sqlite":
        file = apsw.Connection(place.address)
        file.execute("INSERT INTO owed SELECT ws, 'index', 0, 0, 0, 0 FROM workspace")
        file.close()
    else:
        with psycopg.connect(admin_url(place, server)) as admin:
            admin.execute(
                "INSERT INTO sandbar.owed SELECT ws, 'index', 0, 0, 0, 0 FROM sandbar.workspace"
            )


def admin_url(place: Place, server: PostgresServer) -> str:
    """The address of a PostgreSQL database for its owner."""
    return server.url_of(str(psycopg.conninfo.conninfo_to_dict(place.address)["dbname"]))


def rows_left(place: Place, server: PostgresServer, ws: int) -> dict[str, int]:
    """How many rows a workspace has in each table that knows workspaces."""
    if place.dialect == "sqlite":
        return _left_in_file(place.address, ws)
    with psycopg.connect(admin_url(place, server)) as admin:
        tables = admin.execute(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = 'sandbar' AND column_name = 'ws'"
        ).fetchall()
        query = sql.SQL("SELECT count(*) FROM sandbar.{} WHERE ws = %s")
        return {
            table: admin.execute(query.format(sql.Identifier(table)), (ws,)).fetchall()[0][0]
            for (table,) in tables
        }


def _left_in_file(path: str, ws: int) -> dict[str, int]:
    file = apsw.Connection(path)
    tables = file.execute(
        "SELECT s.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c "
        "WHERE s.type = 'table' AND c.name = 'ws'"
    ).fetchall()
    left = {
        str(table): int(file.execute(f"SELECT count(*) FROM {table} WHERE ws = ?", (ws,)).get)
        for (table,) in tables
    }
    places = (ws << 40, (ws + 1) << 40)
    left["search"] = file.execute(
        "SELECT count(*) FROM search_docsize WHERE id >= ? AND id < ?", places
    ).get
    file.close()
    return left


def test_workspaces_are_listed_by_name(own_place: Place) -> None:
    store = own_place.another()
    assert store.workspaces() == []
    numbers = {name: store.create_workspace(name) for name in ("b", "a", "ä", "B")}
    assert store.workspaces() == [(numbers[name], name) for name in ("B", "a", "b", "ä")]
    assert own_place.another().workspaces() == store.workspaces()


def test_dropping_leaves_no_row_and_touches_no_other(
    own_place: Place, postgres_server: PostgresServer
) -> None:
    store = own_place.another()
    mine, gone, third = (fill(store, name) for name in ("mine", "gone", "third"))
    mark_unsearched(own_place, postgres_server)
    before = [rows_left(own_place, postgres_server, ws) for ws in (mine, gone, third)]
    assert before[0] == before[1] == before[2]
    assert min(before[1].values()) >= 1, f"every table is to be tried: {before[1]}"
    store.drop_workspace("gone")
    assert store.scrub()
    left = rows_left(own_place, postgres_server, gone)
    assert {table for table, count in left.items() if count} == {"workspace"}
    assert left["workspace"] == 1
    for ws, rows in ((mine, before[0]), (third, before[2])):
        assert rows_left(own_place, postgres_server, ws) == rows
    assert store.workspaces() == [(mine, "mine"), (third, "third")]


def test_the_list_of_tables_is_whole(sqlite_place: Place) -> None:
    sqlite_place.open()
    tables = set(_left_in_file(sqlite_place.address, 1)) - {"workspace", "search", "entity"}
    assert tables == set(workspaces.TABLES)


def test_a_dropped_workspace_is_not_there_for_anybody(own_place: Place) -> None:
    store, other = own_place.another(), own_place.another()
    ws = fill(store, "gone")
    store.drop_workspace("gone")
    for reader in (store, other):
        assert reader.workspace("gone") is None
        assert reader.token(TOKENS[ws]) is None
        assert reader.jobs.claim("worker", 9, 60.0) == []
        reads: list[Callable[[Store], object]] = [
            lambda store: store.head(ws),
            lambda store: store.point(ws, 1),
            lambda store: store.point_by_key(ws, 5, b"l"),
            lambda store: store.point_as_of(ws, 1, 1),
            lambda store: store.snapshot(ws).__enter__(),
            lambda store: write(store, ws, creating()),
        ]
        for read in reads:
            with pytest.raises(NotFound) as caught:
                read(reader)
            assert caught.value.code == "store.no-workspace"
        assert reader.secret(ws, 1, 9) is None
        assert (everything(reader, ws), reader.trail.last_seal(ws)) == ([], None)
        assert reader.key_uses.uses(ws) == {}


def test_a_number_is_never_given_to_another_workspace(own_place: Place) -> None:
    store = own_place.open()
    given = []
    for _ in range(4):
        given.append(store.create_workspace("again"))
        create(store, given[-1], doc="new")
        store.drop_workspace("again")
    assert len(set(given)) == 4
    fresh = store.create_workspace("again")
    assert fresh not in given
    assert store.head(fresh).t == 0
    store.close()
    reopened = own_place.open()
    assert reopened.workspaces() == [(fresh, "again")]
    assert create(reopened, fresh) == 1


def test_there_must_be_a_workspace_to_drop(own_place: Place) -> None:
    store = own_place.another()
    ws = fill(store, "mine")
    mark = f"{ws:0300d}"
    for name in ("gone", "", mark):
        with pytest.raises(NotFound) as caught:
            store.drop_workspace(name)
        assert caught.value.code == "store.no-workspace"
    store.drop_workspace("mine")
    for name in ("mine", mark):
        with pytest.raises(NotFound):
            store.drop_workspace(name)


def test_a_drop_that_names_nobody_spares_whoever_the_session_was_bound_to(
    postgres_place: Place,
) -> None:
    """A function of the owner's obeys the binding: it must be that of the name, or none."""
    store = postgres_place.another()
    ws = fill(store, "bound")
    with psycopg.connect(postgres_place.address) as bare:
        bare.execute("SELECT set_config('sandbar.ws', %s, false)", (str(ws),))
        assert bare.execute("SELECT sandbar.drop_workspace('nobody', 7)").fetchone() == (None,)
    assert store.head(ws).t == 2
    store.drop_workspace("bound")


def test_a_drop_waits_for_the_write_before_it_and_fails_those_after_it(own_place: Place) -> None:
    store, other = own_place.another(), own_place.another()
    ws = store.create_workspace("busy")
    gate = Gate(store, ws)
    failed: list[BaseException] = []

    def drop() -> None:
        try:
            other.drop_workspace("busy")
        except Problem as problem:
            failed.append(problem)

    thread = threading.Thread(target=drop)
    thread.start()
    assert thread.is_alive()
    assert other.workspace("busy") == ws
    gate.open()
    thread.join(WAIT_S)
    assert (failed, gate.future.exception(WAIT_S)) == ([], None)
    with pytest.raises(NotFound):
        write(store, ws, creating())
    assert write(store, store.create_workspace("next"), creating()).id == 1


def test_a_workspace_cannot_be_dropped_from_inside_a_write(own_place: Place) -> None:
    store = own_place.another()
    ws = store.create_workspace("mine")
    with pytest.raises(Fault) as caught:
        write(store, ws, lambda tx: store.drop_workspace("mine"))
    assert caught.value.code == "writer.reentrant"
    assert create(store, ws) == 1


def test_a_workspace_cannot_be_made_from_inside_a_write(own_place: Place) -> None:
    store = own_place.another()
    ws = store.create_workspace("mine")
    with pytest.raises(Fault) as caught:
        write(store, ws, lambda tx: store.create_workspace("ghost"))
    assert caught.value.code == "writer.reentrant"
    assert store.workspace("ghost") is None, "it would outlive the transaction"
    assert create(store, ws) == 1


def test_whoever_did_a_job_of_a_dropped_workspace_has_lost_it(own_place: Place) -> None:
    store = own_place.another()
    ws = fill(store, "gone")
    (claim,) = store.jobs.claim("worker", 9, 60.0)
    assert isinstance(claim, Claim)
    store.drop_workspace("gone")
    assert not store.jobs.renew(ws, 1, claim.token, 60.0)
    store.jobs.release(ws, 1, claim.token)
    assert store.jobs.next_due_s() is None


def test_after_a_scrub_a_file_has_no_byte_of_it(sqlite_place: Place) -> None:
    store = sqlite_place.open()
    canary = "f00dcanary"
    store.create_workspace("kept")
    ws = fill(store, canary)
    strange = note(ws, canary)
    store.trail.append([strange])
    store.drop_workspace(canary)
    assert store.scrub()
    store.close()
    with open(sqlite_place.address, "rb") as file:
        assert canary.encode() not in file.read()
