"""What the planting of a victim does not say to PostgreSQL yet: the rest of the store's words."""

from __future__ import annotations

from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from psycopg import sql

from sandbar.access import add_account, revoke
from sandbar.access.keys import key_digest
from sandbar.database import backup_database, open_database, restore_database
from sandbar.errors import Conflict
from sandbar.model import Standing
from sandbar.sql import load_queries
from sandbar.store.postgres.install import install
from sandbar.store.postgres.session import PostgresConnector
from sandbar.store.search import Sought, Term
from sandbar.store.trail import Note, Seal
from tests.tenancy.victim import Victim


def say_the_rest(victim: Victim, ws: int, admin: str, url: str) -> None:
    """Say it in the victim's name, each with effect."""
    _look_back(victim)
    _ask_again(victim)
    _sign(victim)
    _keep_books(victim, ws)
    _keep_to_budgets(victim, ws, url)
    _search_widely(victim, ws)
    _upgrade(victim, ws, admin, url)
    _move_house(ws, admin, url)
    connector = PostgresConnector(url)
    connector.was_kept(ws, 1, b"")  # after a commit without an answer
    connector.close()


def _look_back(victim: Victim) -> None:
    db, thing, t = victim.db, "thing/n1", victim.db.t
    first = db.get(thing).t
    instant = next(one for one in victim.loot.moments if isinstance(one, str))
    db.update(thing, {"shared/of-long": 5, "shared/key": "another"})
    db.update(thing, {"shared/of-long": 6})
    db.get(thing, as_of=first)
    db.get(db.get(thing).entity_id, as_of=first)
    wheres: list[dict[str, Any]] = [
        {},
        {"shared/of-long": 5},
        {"shared/of-long": {"in": [5, 6]}},
        {"shared/of-long": {">": 4}},
    ]
    for where in wheres:
        for order in (None, "shared/of-long"):
            for moment in (t, db.t - 1, db.t, instant):
                db.query("shared/Thing", where, order_by=order, as_of=moment, limit=2)
    for then in (None, first):  # names in a list are looked up together
        db.query("dt/Class", {"dt/slots": {"in": ["db/doc", "dt/label"]}}, as_of=then)
    db.history(thing)
    since = Standing(t, db.workspace.standing().epoch)
    assert db.workspace.commits(since, limit=9)


def _ask_again(victim: Victim) -> None:
    slots = {"shared/of-string": "twice"}
    order: dict[str, Any] = {"workflow": "order/fulfillment", "subject": "product/mud-lord"}
    order |= {"data": {"quantity": 1}, "idempotency_key": "once more"}
    for _ in range(2):
        victim.db.create("shared/Thing", slots, idempotency_key="again")
        victim.quietly("workflow.start-process", **order)
    with pytest.raises(Conflict):
        victim.db.delete("product/mud-lord")  # others refer to it
    victim.db.update("thing/n1", {"shared/secret": "hashed"})
    assert not victim.db.secret_matches("thing/n1", "shared/secret", "x")
    victim.db.update("thing/n1", {"shared/secret": None})
    victim.db.update("thing/n1", {"shared/secret": "hashed again"})
    made = victim.db.create("shared/Thing", {"db/ident": "thing/back"})
    victim.db.delete(made.entity_id)
    victim.db.restore("thing/back")


def _sign(victim: Victim) -> None:
    by_key = add_account(victim.db.workspace, "by-key")
    revoke(victim.db.workspace, by_key.token)
    old = add_account(victim.db.workspace, "old")
    home, digest = victim.db.workspace, key_digest(old.token)
    token = home.credentials.token(digest)
    assert token is not None
    home.run(lambda: home.credentials.revoke_token(token.id, digest), principal="tests")
    add_account(victim.db.workspace, "by-name")
    revoke(victim.db.workspace, "by-name")
    add_account(victim.db.workspace, "by-name")


def _keep_books(victim: Victim, ws: int) -> None:
    """The audit, when keys were used, and buckets."""
    store = victim.db._store
    trail = store.trail
    trail.append([Note(ws, "service/audited", surface="mcp", method="tools/call")])
    row = trail.rows(ws, limit=1)[0]
    assert trail.rows_of(ws, row.run, after_n=0, last_n=None, limit=1)
    assert trail.runs(ws)
    assert trail.run_ends(ws, after=0, limit=1)
    trail.seal(ws, lambda _: Seal(1, row.run, 1, row.n, row.n, row.at_us, b"hash"))
    assert trail.seals(ws, after=0, limit=1)
    assert trail.last_seal(ws) is not None
    assert trail.last_sealed_n(ws, row.run) == row.n
    store.key_uses.note_uses(ws, {1: 1})
    assert store.key_uses.uses(ws)
    store.buckets.take(ws, 1, 1, 1)


def _keep_to_budgets(victim: Victim, ws: int, url: str) -> None:
    """What is used, what may be, and what waits for room."""
    store, budgets = victim.db._store, victim.db.workspace.budgets
    assert budgets.account().counters.entities
    budgets.set_limits({"streams": 7})
    home, id = victim.db.workspace, victim.db.get("thing/n1").entity_id
    home.run(lambda: home.jobs.schedule(id, 1), principal="tests")
    held = next(
        one for one in store.jobs.claim("tests", 1000, 30.0) if (one.ws, one.id) == (ws, id)
    )
    store.jobs.note_over_budget(ws, id, held.token, is_over=True)
    assert budgets.waiting_of([id])
    assert budgets.waiting().processes
    store.jobs.put_off(ws, id, held.token, 1.0, with_all_due=False)
    store.jobs.try_over_budget(ws)
    home.run(lambda: home.jobs.schedule(id, None), principal="tests")
    reset = load_queries("sandbar.store.postgres", "queries.sql").reset_usage
    with psycopg.connect(url) as server:  # as when a workspace is dropped; and taken back
        server.execute("SELECT set_config('sandbar.ws', %s, true)", (str(ws),))
        server.execute("SET LOCAL search_path = sandbar, pg_catalog")
        server.execute(reset, (ws,))
        server.rollback()


def _search_widely(victim: Victim, ws: int) -> None:
    """What many have is found in another way than what few have, if there are many more."""
    any_word = tuple(Term((letter,), is_prefix=True) for letter in ascii_lowercase)
    with victim.db._store.snapshot(ws) as snapshot:
        (found,) = snapshot.search(Sought(((any_word,),), 1))
    assert found


def _upgrade(victim: Victim, ws: int, admin: str, url: str) -> None:
    """A workspace from before there was a search is indexed by whoever opens it."""
    with psycopg.connect(admin, autocommit=True) as owner:
        owner.execute("INSERT INTO sandbar.owed VALUES (%s, 'index', 0, 0, 0, 0)", (ws,))
    owed = victim.db._store.owed
    owed.postpone(next(duty for duty in owed.duties() if duty.ws == ws))
    with open_database(url, victim.db.workspace_name) as again:
        again.search("thing")
    with psycopg.connect(admin, autocommit=True) as owner:
        owner.execute("INSERT INTO sandbar.owed VALUES (%s, 'index', 7, 0, 0, 0)", (ws,))


def _move_house(ws: int, admin: str, url: str) -> None:
    """A backup, and a restore of it into another database."""
    name = f"moved_{ws}"
    with psycopg.connect(admin, autocommit=True) as owner, TemporaryDirectory() as folder:
        owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        backup_database(url, f"{folder}/it")
        restore_database(f"{folder}/it", install(f"{admin.rpartition('/')[0]}/{name}"))
        owner.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
    queries = load_queries("sandbar.store.postgres", "archive.sql")
    with psycopg.connect(url, autocommit=True) as reader:  # as COPY it passes our ears by
        reader.execute("SELECT set_config('sandbar.ws', %s, false)", (str(ws),))
        query = queries.read_rows.format(columns="id, doc", table="sandbar.entity", ws=ws, key="id")
        assert reader.execute(query).fetchall()
