"""Writing a plan: one statement per table, all of them in one round trip."""

from __future__ import annotations

from sandbar.errors import Fault
from sandbar.store.plan import Plan
from sandbar.store.postgres.arrays import Blobs, Longs, Texts
from sandbar.store.postgres.connection import Connection, Cursor
from sandbar.store.queries import load_queries

_Q = load_queries("sandbar.store.postgres", "queries.sql")

RECORDS_KEPT_US = 7 * 24 * 3600 * 1_000_000


def apply_plan(connection: Connection, ws: int, plan: Plan, nonce: bytes) -> None:
    """Write the plan's rows; ends come before beginnings, so that values can be swapped."""
    with connection.pipeline():
        ended = _end_slots(connection, ws, plan)
        _put_past(connection, ws, plan)
        _begin_slots(connection, ws, plan)
        _put_versions(connection, ws, plan)
        _put_entities(connection, ws, plan)
        _put_transactions(connection, ws, plan, nonce)
        _put_secrets(connection, ws, plan)
        _put_records(connection, ws, plan)
        state = (plan.t, plan.generation, plan.next_id, plan.instant_us, ws)
        connection.execute(_Q.save_state, state)
    if ended is not None and ended.fetchone() != (sum(map(len, plan.ended.values())),):
        raise Fault("store.index-hole", "a value that ends was not indexed")


def _end_slots(connection: Connection, ws: int, plan: Plan) -> Cursor | None:
    rows = [(*pair, *held) for pair, ids in plan.ended.items() for held in ids.items()]
    if not rows:
        return None
    properties, keys, ids, until = zip(*rows, strict=True)
    bindings = {
        "ws": ws,
        "properties": Longs(properties),
        "keys": Blobs(keys),
        "ids": Longs(ids),
        "until": Longs(until),
    }
    return connection.execute(_Q.end_slots, bindings)


def _put_past(connection: Connection, ws: int, plan: Plan) -> None:
    if not plan.past:
        return
    properties, keys, levels, since, ids, until = zip(*plan.past, strict=True)
    bindings = {
        "ws": ws,
        "properties": Longs(properties),
        "keys": Blobs(keys),
        "levels": Longs(levels),
        "since": Longs(since),
        "ids": Longs(ids),
        "until": Longs(until),
    }
    connection.execute(_Q.put_past, bindings)


def _begin_slots(connection: Connection, ws: int, plan: Plan) -> None:
    rows = [(*pair, *held) for pair, ids in plan.begun.items() for held in ids.items()]
    if not rows:
        return
    properties, keys, ids, since = zip(*rows, strict=True)
    bindings = {
        "ws": ws,
        "properties": Longs(properties),
        "keys": Blobs(keys),
        "ids": Longs(ids),
        "since": Longs(since),
    }
    connection.execute(_Q.begin_slots, bindings)


def _put_versions(connection: Connection, ws: int, plan: Plan) -> None:
    if not plan.versions:
        return
    ids, ts = zip(*plan.versions, strict=True)
    classes, docs = zip(*plan.versions.values(), strict=True)
    bindings = {
        "ws": ws,
        "ids": Longs(ids),
        "ts": Longs(ts),
        "classes": Longs(classes),
        "docs": Texts(docs),
    }
    connection.execute(_Q.put_versions, bindings)


def _put_entities(connection: Connection, ws: int, plan: Plan) -> None:
    rows = [row for row in plan.rows.values() if row is not None]
    if rows:
        ids, classes, ts, docs = zip(*rows, strict=True)
        bindings = {
            "ws": ws,
            "ids": Longs(ids),
            "classes": Longs(classes),
            "ts": Longs(ts),
            "docs": Texts(docs),
        }
        connection.execute(_Q.put_entities, bindings)
    gone = Longs(id for id, row in plan.rows.items() if row is None)
    if gone:
        connection.execute(_Q.drop_entities, {"ws": ws, "ids": gone})


def _put_transactions(connection: Connection, ws: int, plan: Plan, nonce: bytes) -> None:
    if not plan.transactions:
        return
    rows = [row for row, _ in plan.transactions]
    bindings = {
        "ws": ws,
        "nonce": nonce,
        "ts": Longs(row.t for row in rows),
        "instants": Longs(row.instant_us for row in rows),
        "principals": Texts(row.principal for row in rows),
        "reasons": Texts(row.reason for row in rows),
        "id_lists": Texts("{" + ",".join(map(str, row.ids)) + "}" for row in rows),
        "is_schema": Longs(int(is_schema) for _, is_schema in plan.transactions),
    }
    connection.execute(_Q.put_transactions, bindings)


def _put_secrets(connection: Connection, ws: int, plan: Plan) -> None:
    kept = [(*place, hashed) for place, hashed in plan.secrets.items() if hashed is not None]
    if kept:
        ids, properties, hashes = zip(*kept, strict=True)
        bindings = {
            "ws": ws,
            "ids": Longs(ids),
            "properties": Longs(properties),
            "hashes": Texts(hashes),
        }
        connection.execute(_Q.put_secrets, bindings)
    gone = [place for place, hashed in plan.secrets.items() if hashed is None]
    if gone:
        ids, properties = zip(*gone, strict=True)
        places = {"ws": ws, "ids": Longs(ids), "properties": Longs(properties)}
        connection.execute(_Q.drop_secrets, places)


def _put_records(connection: Connection, ws: int, plan: Plan) -> None:
    if not plan.records:
        return
    principals, keys = zip(*plan.records, strict=True)
    digests, receipts, instants = zip(*plan.records.values(), strict=True)
    bindings = {
        "ws": ws,
        "principals": Texts(principals),
        "keys": Texts(keys),
        "digests": Texts(digests),
        "receipts": Texts(receipts),
        "instants": Longs(instants),
    }
    connection.execute(_Q.put_records, bindings)
    connection.execute(_Q.forget_records, (ws, max(instants) - RECORDS_KEPT_US))
