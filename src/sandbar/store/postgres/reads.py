"""Reads of one workspace over one connection: shared by snapshots and the writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.patience import Patience
from sandbar.sql import load_queries
from sandbar.store.postgres.arrays import Blobs, Longs
from sandbar.store.postgres.connection import Connection, limit_ms, translated
from sandbar.store.postgres.scans import compose_scan, explain_scan
from sandbar.store.postgres.words import find_words
from sandbar.store.rows import Row, State, TxRow, Version
from sandbar.store.scan import Found, Key, Scan, levels_at
from sandbar.store.search import Sought
from sandbar.store.wanted import LookedUp, Wanted

_WORTH_SAYING = 0.75  # of the time that was left when the server was last told

QUERIES = load_queries("sandbar.store.postgres", "queries.sql")


class Hurry:
    """Gives every statement of a snapshot no more time than is left."""

    def __init__(self, connection: Connection, patience: Patience) -> None:
        self._connection = connection
        self._patience = patience
        self._allowed_s = patience.remaining_s() or 0.0  # as the snapshot's beginning said

    def limit_next(self) -> None:
        """Before a statement: stop if nobody waits; tell the server when much time has passed."""
        self._patience.check()
        left_s = self._patience.remaining_s()
        if left_s is not None and left_s < self._allowed_s * _WORTH_SAYING:
            self._allowed_s = left_s
            limit = str(limit_ms(left_s))
            self._connection.execute(QUERIES.limit_statements, (limit,), prepare=True)


class PostgresReads:
    """A consistent view of one workspace: the connection has a transaction open."""

    def __init__(
        self, connection: Connection, ws: int, state: State, hurry: Hurry | None = None
    ) -> None:
        self._connection = connection
        self._ws = ws
        self._hurry = hurry
        self.state = state

    def entity(self, id: int) -> Row | None:
        """The current row of an entity."""
        row = self._one(QUERIES.entity, (self._ws, id))
        return None if row is None else Row(*row)

    def entity_as_of(self, id: int, t: int) -> Row | None:
        """The row of an entity right after transaction `t`."""
        row = self._one(QUERIES.entity_as_of, {"ws": self._ws, "id": id, "t": t})
        return None if row is None or row[3] is None else Row(*row)

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities, in one statement."""
        if as_of is None:
            rows = self._all(QUERIES.entities, {"ws": self._ws, "ids": Longs(ids)})
        else:
            bindings = {"ws": self._ws, "ids": Longs(ids), "t": as_of}
            rows = self._all(QUERIES.entities_as_of, bindings)
        return [Row(*row) for row in rows]

    def entities_at(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Row]:
        """The rows of entities right after transactions, in one statement."""
        bindings = {
            "ws": self._ws,
            "ids": Longs(id for id, _ in places),
            "ts": Longs(t for _, t in places),
        }
        found = self._all(QUERIES.entities_at, bindings)
        return {(id, t): Row(id, cls, since, doc) for id, t, cls, since, doc in found}

    def look_up(self, wanted: Wanted) -> LookedUp:
        """The rows and holders that are wanted, and the holders' rows, in one statement."""
        bindings = {
            "ws": self._ws,
            "ids": Longs(wanted.ids),
            "properties": Longs(property for property, _ in wanted.keys),
            "keys": Blobs(key for _, key in wanted.keys),
        }
        found = LookedUp(dict.fromkeys(wanted.ids), {pair: [] for pair in wanted.keys})
        for property, key, *row in self._all(QUERIES.look_up, bindings):
            found.rows[row[0]] = Row(*row)
            if property is not None:
                found.holders[property, key].append(row[0])
        return found

    def find(self, property: int, key: Key) -> list[int]:
        """Ids of the entities that hold this key now."""
        return [id for (id,) in self._all(QUERIES.find, (self._ws, property, key))]

    def count(self, property: int, key: Key) -> int:
        """How many entities hold this key now."""
        row = self._one(QUERIES.count, (self._ws, property, key))
        return 0 if row is None else int(row[0])

    def find_as_of(self, property: int, key: Key, t: int) -> list[int]:
        """Ids of the entities that held this key right after transaction `t`."""
        levels, since = zip(*levels_at(t, self.state.t), strict=True)
        bindings = {
            "ws": self._ws,
            "property": property,
            "key": key,
            "t": t,
            "levels": Longs(levels),
            "since": Longs(since),
        }
        return [id for (id,) in self._all(QUERIES.find_as_of, bindings)]

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it, in one statement."""
        found: dict[Key, list[int]] = {key: [] for key in keys}
        bindings = {"ws": self._ws, "property": property, "keys": Blobs(found), "limit": limit}
        query = QUERIES.holders
        if as_of is not None:
            levels, since = zip(*levels_at(as_of, self.state.t), strict=True)
            bindings |= {"t": as_of, "levels": Longs(levels), "since": Longs(since)}
            query = QUERIES.holders_as_of
        for key, id in self._all(query, bindings):
            found[key].append(id)
        return found

    def referrers(self, key: Key, properties: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """(property, id) pairs that hold this key now."""
        bindings = {
            "ws": self._ws,
            "key": key,
            "properties": Longs(sorted(set(properties))),
            "limit": limit,
        }
        return [(property, id) for property, id in self._all(QUERIES.referrers, bindings)]

    def secret(self, id: int, property: int) -> str | None:
        """The hash kept for a secret slot."""
        row = self._one(QUERIES.secret, (self._ws, id, property))
        return None if row is None else str(row[0])

    def scan(self, scan: Scan) -> list[Found]:
        """One page of an index walk."""
        return [Found(*row) for row in self._all(*compose_scan(self._ws, scan, self.state.t))]

    def explain(self, scan: Scan) -> str:
        """PostgreSQL's plan for this scan."""
        sql, bindings = compose_scan(self._ws, scan, self.state.t)
        return "\n".join(line for (line,) in self._all(explain_scan(sql), bindings))

    def versions(self, id: int, *, after: int, limit: int) -> list[Version]:
        """The versions of an entity with t > `after`, oldest first."""
        bindings = {"ws": self._ws, "id": id, "after": after, "limit": limit}
        return [Version(*row) for row in self._all(QUERIES.versions, bindings)]

    def last_version(self, id: int) -> Version | None:
        """The last version of an entity that was superseded."""
        row = self._one(QUERIES.last_version, {"ws": self._ws, "id": id})
        return None if row is None else Version(*row)

    def former(self, property: int, key: Key) -> int | None:
        """The id of the entity that was the last to hold this key."""
        row = self._one(QUERIES.former, (self._ws, property, key))
        return None if row is None else int(row[0])

    def search(self, sought: Sought) -> list[list[int]]:
        """For each search for words the ids of those who have them, greatest first."""
        return find_words(self._all, self._ws, self.state.next_id, sought)

    def unsearched(self) -> int | None:
        """Up to which id older entities can be searched; None, when all of them can."""
        row = self._one(QUERIES.unsearched, (self._ws,))
        return None if row is None else int(row[0])

    def entities_after(self, id: int, limit: int) -> list[Row]:
        """Entities with greater ids, lowest first."""
        return [Row(*row) for row in self._all(QUERIES.entities_after, (self._ws, id, limit))]

    def transactions(self, *, after: int, limit: int) -> list[TxRow]:
        """Transactions with t > `after`, oldest first."""
        rows = self._all(QUERIES.transactions, (self._ws, after, limit))
        return [TxRow(t, at, who, why, tuple(ids)) for t, at, who, why, ids in rows]

    def transaction_at(self, instant_us: int) -> int:
        """The last t committed at or before this instant."""
        row = self._one(QUERIES.transaction_at, (self._ws, instant_us))
        return 0 if row is None else int(row[0])

    def schema_changes(self) -> list[int]:
        """Every t that changed the metamodel."""
        return [t for (t,) in self._all(QUERIES.schema_changes, (self._ws,))]

    def _one(self, sql: str, bindings: Any) -> tuple[Any, ...] | None:
        with translated():
            if self._hurry is not None:
                self._hurry.limit_next()
            return self._connection.execute(sql, bindings).fetchone()

    def _all(self, sql: str, bindings: Any) -> list[tuple[Any, ...]]:
        with translated():
            if self._hurry is not None:
                self._hurry.limit_next()
            return self._connection.execute(sql, bindings).fetchall()
