"""Purging: nothing of an entity is left, in any place or at any moment, but a mark of that."""

from __future__ import annotations

import random
import secrets
import sys
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from sandbar import Database, Problem
from tests.model.conftest import Place
from tests.model.shop import define, item
from tests.postgres_server import PostgresServer


def purge(db: Database, entity: Any, **more: Any) -> Any:
    """Purge one entity."""
    return db.workspace.purge(entity, principal="warden", reason="asked to", **more)


def refused(db: Database, entity: Any, **more: Any) -> Problem:
    """The refusal of a purge, which must leave everything as it was."""
    t = db.t
    with pytest.raises(Problem) as caught:
        purge(db, entity, **more)
    assert db.t == t
    assert caught.value.hint
    return caught.value


def test_only_a_mark_is_left(shop: Database) -> None:
    one = item(shop, "needle", code="c1", tags=["t1"], notes=["haystack"])
    made = shop.t
    shop.update(one, {"item/name": "pin", "db/ident": "my/pin"})
    changed = shop.t
    answer = purge(shop, "my/pin")
    assert (answer.entity_ids, answer.receipt.t, answer.scrubbed) == ([one], changed + 1, True)
    (mark,) = shop.history(one)
    assert (mark.kind, mark.t, mark.principal) == ("purged", changed + 1, "warden")
    assert (mark.reason, mark.changes) == ("asked to", [])
    for t in (made, changed, shop.t):
        for name in (one, "my/pin", {"item/code": "c1"}):
            with pytest.raises(Problem) as caught:
                shop.get(name, as_of=t)
            assert caught.value.code == "entity.unknown"
        assert shop.query("shop/Item", as_of=t).items == []
        assert shop.query("shop/Item", {"item/tags": "t1"}, as_of=t).items == []
        assert shop.query("shop/Item", order_by="item/name", as_of=t).items == []
    assert shop.workspace.search("needle").items == shop.workspace.search("pin").items == []
    with pytest.raises(Problem):
        shop.history("my/pin")
    assert shop.diff(one, made, changed) == []
    item(shop, "another", code="c1")


def test_a_deleted_entity_is_purged_by_its_former_name(shop: Database) -> None:
    one = shop.create("shop/Item", {"item/name": "x", "db/ident": "my/x"}).entity_id
    made = shop.t
    shop.delete(one)
    assert purge(shop, "my/x").entity_ids == [one]
    assert [entry.kind for entry in shop.history(one)] == ["purged"]
    with pytest.raises(Problem):
        shop.get(one, as_of=made)


def test_what_was_purged_is_neither_restored_nor_purged_again(shop: Database) -> None:
    one = item(shop, "x")
    made = shop.t
    purge(shop, one)
    assert refused(shop, one).code == "entity.purged"
    for to in (None, made):
        with pytest.raises(Problem) as caught:
            shop.transact([{"op": "restore", "entity": one, "to": to}])
        assert caught.value.code == "entity.purged"
    assert refused(shop, 777_777).code == "entity.unknown"
    assert refused(shop, "no/such").code == "entity.unknown"


def test_it_is_refused_while_referred_to_unless_detached(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"maker/name": "m"}).entity_id
    one = item(shop, "x", maker=maker)
    assert refused(shop, maker).code == "entity.referenced"
    assert refused(shop, maker, mode="cascade").code == "purge.mode"
    purge(shop, maker, mode="detach")
    assert "item/maker" not in shop.get(one).slots
    assert [entry.kind for entry in shop.history(one)] == ["created", "changed"]


def test_detaching_can_reach_the_metamodel(shop: Database, place: Place) -> None:
    shop.define(
        properties={"m/author": {"dt/range": "shop/Maker"}},
        classes={"m/Meta": {"dt/subclass-of": ["dt/Class"], "dt/slots": ["m/author"]}},
    )
    maker = shop.create("shop/Maker", {}).entity_id
    shop.create("m/Meta", {"db/ident": "m/Kind", "m/author": maker})
    generation = shop.schema.generation
    purge(shop, maker, mode="detach")
    assert shop.schema.generation == generation + 1
    assert shop.schema.dump() == place.another().schema.dump()  # which reads it anew
    assert "m/author" not in shop.get("m/Kind").slots


def test_what_it_owns_goes_with_it(shop: Database) -> None:
    one = item(shop, "x")
    line = {"op": "create", "class": "shop/Line", "temp": "l", "slots": {"line/item": one}}
    order = {"op": "create", "class": "shop/Order", "temp": "o", "slots": {"order/lines": ["l"]}}
    temps = shop.transact([line, order]).temps
    assert purge(shop, temps["o"]).entity_ids == sorted(temps.values())
    assert [entry.kind for entry in shop.history(temps["l"])] == ["purged"]


def test_the_metamodel_cannot_be_purged(shop: Database) -> None:
    for name in ("dt/Class", "db/ident", "shop/Item", "item/name"):
        assert refused(shop, name).code == "purge.metamodel"
    shop.define(classes={"z/C": {}})
    shop.delete("z/C")
    assert refused(shop, "z/C").code == "purge.metamodel"


def test_it_is_no_part_of_a_transaction(shop: Database) -> None:
    one = item(shop, "x")
    with pytest.raises(Problem) as caught:
        shop.run(lambda: purge(shop, one))
    assert caught.value.code == "purge.inside"
    assert shop.get(one)["item/name"] == "x"


def test_receipts_that_name_it_go_and_others_stay(shop: Database) -> None:
    slots = {"item/name": "x", "db/ident": "my/x"}
    one = shop.create("shop/Item", slots, idempotency_key="k1").entity_id
    two = shop.create("shop/Item", {"item/name": "y"}, idempotency_key="k2").entity_id
    purge(shop, one)
    again = shop.create("shop/Item", {"item/name": "y"}, idempotency_key="k2")
    assert (again.replayed, again.entity_id) == (True, two)
    assert not shop.create("shop/Item", slots, idempotency_key="k1").replayed


def test_the_rows_are_gone(shop: Database, place: Place, postgres_server: PostgresServer) -> None:
    shop.define(
        properties={"s/key": {"dt/range": "db.type/string", "dt/secret?": True}},
        classes={"s/S": {"dt/slots": ["s/key"], "dt/subclass-of": ["shop/Item"]}},
    )
    given = {"item/name": "a", "s/key": "hush", "item/tags": ["t"], "item/code": "c"}
    one = shop.create("s/S", given, idempotency_key="k").entity_id
    other = item(shop, "b", code="d")
    for name in ("c", "d"):
        shop.update(one, {"item/name": name})
        shop.update(other, {"item/name": name})
    assert min(_rows(place, postgres_server, one).values()) > 0
    kept = _rows(place, postgres_server, other)
    purge(shop, one)
    left = _rows(place, postgres_server, one)
    assert left == dict.fromkeys(left, 0) | {"version": 1}
    assert _rows(place, postgres_server, other) == kept


def _rows(place: Place, server: PostgresServer, id: int) -> dict[str, int]:
    """How many rows of each table are about an entity."""
    tables = ("entity", "version", "slot", "past", "secret", "search")
    if place.dialect == "sqlite":
        file = apsw.Connection(place.address)
        counts = {
            table: file.execute(f"SELECT count(*) FROM {table} WHERE id = ?", (id,)).get
            for table in tables[:-1]
        }
        places = "SELECT count(*) FROM search WHERE rowid & 1099511627775 = ?"
        counts["search"] = file.execute(places, (id,)).get
        file.close()
        return counts
    name = str(conninfo_to_dict(place.address)["dbname"])
    mine = "ws = (SELECT ws FROM sandbar.workspace WHERE name = %s)"
    with psycopg.connect(server.url_of(name)) as admin:
        return {
            table: admin.execute(
                f"SELECT count(*) FROM sandbar.{table} WHERE {mine} AND id = %s",
                (place.workspace, id),
            ).fetchone()[0]  # type: ignore[index]
            for table in tables
        }


def _bytes_of(path: Path) -> bytes:
    """The file and what lies beside it."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def test_the_bytes_are_gone_from_a_sqlite_file(tmp_path: Path) -> None:
    seed = secrets.randbits(32)
    sys.stdout.write(f"seed {seed}\n")
    dice = random.Random(seed)
    place = Place("sqlite", str(tmp_path / "purge.db"))
    db = place.open()
    define(db)
    victims, others = [], []
    for n in range(300):
        id = item(
            db, f"{dice.choice('abc')} filler {n} {'pad ' * dice.randrange(60)}", code=f"f{n}"
        )
        others.append(id)
        if n % 20 == 0:
            victims.append(item(db, "ZANZIBAR mercury", code=f"ZANZIBAR-{n}", notes=["quixotic"]))
        victim = dice.choice(victims)
        text = f"ZANZIBAR {dice.randrange(1000)} mercury {'pad ' * dice.randrange(900)}"
        db.update(victim, {"item/name": text, "db/ident": f"ZANZIBAR/v{dice.randrange(10**9)}"})
        db.update(dice.choice(others), {"item/name": f"other {n} {'x' * dice.randrange(3000)}"})
        if dice.random() < 0.2:
            db.delete(others.pop(dice.randrange(len(others))))
    db.delete(victims[0])
    path = Path(place.address)
    assert b"ZANZIBAR" in _bytes_of(path)
    assert b"zanzibar" in _bytes_of(path)
    for victim in victims:
        assert purge(db, victim).scrubbed
    left = _bytes_of(path)
    for word in (b"ZANZIBAR", b"anzibar", b"mercury", b"ercury", b"quixotic", b"uixotic"):
        assert word not in left, (seed, word)
    assert len(db.query("shop/Item", limit=1000).items) == len(others)
    place.close()
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    connection.close()


def test_a_reader_that_holds_on_is_reported_and_the_next_purge_finishes(tmp_path: Path) -> None:
    place = Place("sqlite", str(tmp_path / "held.db"))
    db = place.open()
    define(db)
    one, two = item(db, "ZANZIBAR"), item(db, "second")
    reader = apsw.Connection(place.address)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entity").fetchall()
    assert not purge(db, one).scrubbed
    reader.close()
    assert purge(db, two).scrubbed
    assert b"ZANZIBAR" not in _bytes_of(Path(place.address))
    place.close()
