"""Writing a plan: a statement for the values that end, and one for all the rest.

Not a pipeline of many statements: the driver closes one with a Flush message, after which the
server no longer watches for an idle transaction, and a frozen writer would keep its lock.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbar.errors import Fault
from sandbar.sql import load_queries
from sandbar.store.plan import Plan
from sandbar.store.postgres.arrays import Blobs, Longs, Texts
from sandbar.store.postgres.connection import Connection
from sandbar.store.postgres.jobs import apply_jobs
from sandbar.store.postgres.trail import apply_rides
from sandbar.store.postgres.words import note_searched, words_of
from sandbar.store.rows import RECORDS_KEPT_US

_Q = load_queries("sandbar.store.postgres", "queries.sql")

Bindings = dict[str, Any]


def apply_plan(connection: Connection, ws: int, plan: Plan, nonce: bytes) -> None:
    """Write the plan's rows; ends come before beginnings, so that values can be swapped."""
    _end_slots(connection, ws, plan)
    rows: Bindings = {"ws": ws, "nonce": nonce}
    rows |= {"t": plan.t, "generation": plan.generation}
    rows |= {"next_id": plan.next_id, "instant_us": plan.instant_us}
    rows |= plan.account.usage._asdict() | plan.account.unsaved()._asdict()
    rows |= _slots(ws, plan) | _past(plan) | _versions(plan) | _entities(plan) | _transactions(plan)
    rows |= words_of(ws, plan)
    connection.execute(_Q.put_rows, rows)
    _put_secrets(connection, ws, plan)
    _put_tokens(connection, ws, plan)
    _put_records(connection, ws, plan)
    note_searched(connection, ws, plan)
    apply_jobs(connection, ws, plan)
    apply_rides(connection, ws, plan)
    for id, t in plan.erased.items():
        connection.execute(_Q.erase_usage, {"ws": ws, "id": id})
        connection.execute(_Q.erase, (Longs((id,)), t))


def _end_slots(connection: Connection, ws: int, plan: Plan) -> None:
    rows = [(*pair, *held) for pair, ids in plan.ended.items() for held in ids.items()]
    if not rows:
        return
    properties, keys, ids, until = _columns(rows, 4)
    bindings = {
        "ws": ws,
        "properties": Longs(properties),
        "keys": Blobs(keys),
        "ids": Longs(ids),
        "until": Longs(until),
    }
    if connection.execute(_Q.end_slots, bindings).fetchone() != (len(rows),):
        raise Fault("store.index-hole", "a value that ends was not indexed")


def _slots(ws: int, plan: Plan) -> Bindings:
    _, properties, keys, ids, since = _columns(plan.begun.rows(ws), 5)
    return {
        "slot_properties": Longs(properties),
        "slot_keys": Blobs(keys),
        "slot_ids": Longs(ids),
        "slot_since": Longs(since),
    }


def _past(plan: Plan) -> Bindings:
    properties, keys, levels, since, ids, until = _columns(plan.past, 6)
    return {
        "past_properties": Longs(properties),
        "past_keys": Blobs(keys),
        "past_levels": Longs(levels),
        "past_since": Longs(since),
        "past_ids": Longs(ids),
        "past_until": Longs(until),
    }


def _versions(plan: Plan) -> Bindings:
    ids, ts = _columns(plan.versions, 2)
    classes, docs = _columns(plan.versions.values(), 2)
    return {
        "version_ids": Longs(ids),
        "version_ts": Longs(ts),
        "version_classes": Longs(classes),
        "version_docs": Texts(docs),
    }


def _entities(plan: Plan) -> Bindings:
    living = [row for row in plan.rows.values() if row is not None]
    return {
        "entity_ids": Longs(row.id for row in living),
        "entity_classes": Longs(row.cls for row in living),
        "entity_ts": Longs(row.t for row in living),
        "entity_docs": Texts(row.doc for row in living),
        "gone_ids": Longs(id for id, row in plan.rows.items() if row is None),
    }


def _transactions(plan: Plan) -> Bindings:
    rows = [row for row, _ in plan.transactions]
    return {
        "tx_ts": Longs(row.t for row in rows),
        "tx_instants": Longs(row.instant_us for row in rows),
        "tx_principals": Texts(row.principal for row in rows),
        "tx_reasons": Texts(row.reason for row in rows),
        "tx_id_lists": Texts("{" + ",".join(map(str, row.ids)) + "}" for row in rows),
        "tx_is_schema": Longs(int(is_schema) for _, is_schema in plan.transactions),
    }


def _put_secrets(connection: Connection, ws: int, plan: Plan) -> None:
    if not plan.secrets:
        return
    kept = [(*place, hashed) for place, hashed in plan.secrets.items() if hashed is not None]
    gone = [place for place, hashed in plan.secrets.items() if hashed is None]
    ids, properties, hashes = _columns(kept, 3)
    gone_ids, gone_properties = _columns(gone, 2)
    bindings = {
        "ws": ws,
        "ids": Longs(ids),
        "properties": Longs(properties),
        "hashes": Texts(hashes),
        "gone_ids": Longs(gone_ids),
        "gone_properties": Longs(gone_properties),
    }
    connection.execute(_Q.put_secrets, bindings)


def _put_tokens(connection: Connection, ws: int, plan: Plan) -> None:
    if plan.tokens is None:
        return
    for id in plan.tokens.revoked_ids:
        connection.execute(_Q.revoke_tokens, (ws, id))
    for digest in plan.tokens.revoked:
        connection.execute(_Q.revoke_token, (ws, digest))
    for digest, id in plan.tokens.minted:
        connection.execute(_Q.put_token, (digest, ws, id))


def _put_records(connection: Connection, ws: int, plan: Plan) -> None:
    if not plan.records:
        return
    principals, keys = _columns(plan.records, 2)
    digests, receipts, instants = _columns(plan.records.values(), 3)
    bindings = {
        "ws": ws,
        "principals": Texts(principals),
        "keys": Texts(keys),
        "digests": Texts(digests),
        "receipts": Texts(receipts),
        "instants": Longs(instants),
        "oldest": max(instants) - RECORDS_KEPT_US,
    }
    connection.execute(_Q.put_records, bindings)


def _columns(rows: Iterable[tuple[Any, ...]], count: int) -> Iterable[tuple[Any, ...]]:
    """The columns of the rows, also when there are none."""
    return tuple(zip(*rows, strict=True)) or ((),) * count
