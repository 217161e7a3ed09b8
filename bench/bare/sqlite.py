"""Bare apsw, with the pragmas that Sandbar sets on its own connections."""

from __future__ import annotations

import time

import apsw
import msgspec

from bench.bare.contract import NONCE, PRINCIPAL, Doc, decode
from bench.samples import Batch
from sandbar.store.sqlite.connection import open_reader, open_writer

_ENTITY = "INSERT INTO entity (place, class, t, doc) VALUES ((?1 << 40) + ?2, ?3, ?4, ?5)"
_SLOT = "INSERT INTO slot (ws, property, value, id, since) VALUES (?, ?, ?, ?, ?)"
_WORDS = "INSERT INTO search (rowid, words) VALUES (?, ?)"
_TX = "INSERT INTO tx VALUES (?, ?, ?, ?, NULL, ?, 0, ?)"
_STATE = "UPDATE workspace SET t = ?, next_id = ?, instant_us = ? WHERE ws = ?"
_POINT = "SELECT id, class, t, doc FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1"
_JOIN = """SELECT e.id, e.class, e.t, e.doc
FROM slot s CROSS JOIN entity e ON e.place = (s.ws << 40) + s.id
WHERE s.ws = ? AND s.property = ? AND s.value"""
_BY_KEY = f"{_JOIN} = ? LIMIT 1"
_EQUAL = f"{_JOIN} = ? ORDER BY s.id LIMIT ?"
_AT_LEAST = f"{_JOIN} >= ? ORDER BY s.value, s.id LIMIT ?"


class BareSqlite:
    """One connection that writes or reads."""

    def __init__(self, path: str, *, writes: bool) -> None:
        self._connection: apsw.Connection = open_writer(path) if writes else open_reader(path)
        self._ws = self.counters()[0]

    def counters(self) -> tuple[int, int, int]:
        """ws, the last t and the next id of the only workspace."""
        ws, t, next_id = self._connection.execute("SELECT ws, t, next_id FROM workspace").get
        return ws, t, next_id

    def write(self, batch: Batch) -> None:
        """Insert the rows of one transaction and commit it durably."""
        connection, ws = self._connection, self._ws
        now = time.time_ns() // 1_000
        ids = msgspec.json.encode(batch.ids).decode()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_ENTITY, batch.entities)
        connection.executemany(_SLOT, batch.slots)
        prefix, between = f"{ws}_", f" {ws}_"
        texts = [((ws << 40) + id, prefix + between.join(words)) for id, words in batch.words]
        connection.executemany(_WORDS, texts)
        connection.execute(_TX, (ws, batch.t, now, PRINCIPAL, ids, NONCE))
        connection.execute(_STATE, (batch.t, batch.next_id, now, ws))
        connection.execute("COMMIT")

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
        bindings = (self._ws, property, key, limit)
        return [decode(row[3]) for row in self._connection.execute(_EQUAL, bindings)]

    def at_least(self, property: int, key: bytes, limit: int) -> list[Doc]:
        """The documents from this value on, in the order of the slot."""
        bindings = (self._ws, property, key, limit)
        return [decode(row[3]) for row in self._connection.execute(_AT_LEAST, bindings)]

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()
