"""Bare psycopg: a superuser's connection, past row-level security, with prepared statements."""

from __future__ import annotations

import time
from typing import Any

import psycopg

from bench.bare.contract import NONCE, PRINCIPAL, Doc, decode
from bench.samples import Batch
from sandbar.store.search import GAP, Words

_ENTITY = "INSERT INTO entity (ws, id, class, t, doc) VALUES (%s, %s, %s, %s, %s)"
_SLOT = "INSERT INTO slot (ws, property, value, id, since) VALUES (%s, %s, %s, %s, %s)"
_WORDS = "INSERT INTO search (ws, id, words) VALUES (%s, %s, %s::tsvector)"
_TX = "INSERT INTO tx VALUES (%s, %s, %s, %s, NULL, %s, 0, %s)"
_STATE = "UPDATE workspace SET t = %s, next_id = %s, instant_us = %s WHERE ws = %s"
_POINT = "SELECT id, class, t, doc FROM entity WHERE ws = %s AND id = %s"
_JOIN = """SELECT e.id, e.class, e.t, e.doc
FROM slot s JOIN entity e ON e.ws = s.ws AND e.id = s.id
WHERE s.ws = %s AND s.property = %s AND s.value"""
_BY_KEY = f"{_JOIN} = %s LIMIT 1"
_EQUAL = f"{_JOIN} = %s ORDER BY s.id LIMIT %s"
_AT_LEAST = f"{_JOIN} >= %s ORDER BY s.value, s.id LIMIT %s"


class BarePostgres:
    """One connection that writes or reads."""

    def __init__(self, admin_url: str) -> None:
        self._connection: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(
            admin_url, autocommit=True, prepare_threshold=0, options="-c search_path=sandbar"
        )
        self._ws = self.counters()[0]

    def counters(self) -> tuple[int, int, int]:
        """ws, the last t and the next id of the only workspace."""
        row = self._connection.execute("SELECT ws, t, next_id FROM workspace").fetchone()
        assert row is not None
        return row[0], row[1], row[2]

    def write(self, batch: Batch) -> None:
        """Insert the rows of one transaction, without waiting for each answer, and commit it."""
        connection, ws = self._connection, self._ws
        now = time.time_ns() // 1_000
        with connection.pipeline(), connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(_ENTITY, batch.entities)
            cursor.executemany(_SLOT, batch.slots)
            cursor.executemany(_WORDS, [(ws, id, _vector(ws, w)) for id, w in batch.words])
            cursor.execute(_TX, (ws, batch.t, now, PRINCIPAL, batch.ids, NONCE))
            cursor.execute(_STATE, (batch.t, batch.next_id, now, ws))

    def point(self, id: int) -> Doc:
        """One document by id."""
        row = self._connection.execute(_POINT, (self._ws, id)).fetchone()
        assert row is not None
        return decode(row[3])

    def point_by_key(self, property: int, key: bytes) -> Doc:
        """One document by the key of a unique slot."""
        row = self._connection.execute(_BY_KEY, (self._ws, property, key)).fetchone()
        assert row is not None
        return decode(row[3])

    def equal(self, property: int, key: bytes, limit: int) -> list[Doc]:
        """The documents whose slot has this value."""
        rows = self._connection.execute(_EQUAL, (self._ws, property, key, limit)).fetchall()
        return [decode(row[3]) for row in rows]

    def at_least(self, property: int, key: bytes, limit: int) -> list[Doc]:
        """The documents from this value on, in the order of the slot."""
        rows = self._connection.execute(_AT_LEAST, (self._ws, property, key, limit)).fetchall()
        return [decode(row[3]) for row in rows]

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def _vector(ws: int, words: Words) -> str:
    return " ".join([f"{ws}_{word}:{place}" for place, word in enumerate(words, 1) if word != GAP])
