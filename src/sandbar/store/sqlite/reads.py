"""Reads of one workspace over one connection: shared by snapshots and the writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from sandbar.patience import Patience
from sandbar.sql import load_queries
from sandbar.store.rows import Row, State, TxRow, Version
from sandbar.store.scan import Found, Key, Scan, levels_at
from sandbar.store.search import Sought
from sandbar.store.sqlite.connection import translated
from sandbar.store.sqlite.scans import compose_scan, explain_scan
from sandbar.store.sqlite.words import find_words
from sandbar.store.wanted import LookedUp, Wanted
from sandbar.store.workspaces import no_workspace

QUERIES = load_queries("sandbar.store.sqlite", "queries.sql")
_DOCUMENT_AS_OF = load_queries("sandbar.store.sqlite", "scans.sql").document_as_of

_ids = msgspec.json.Decoder(tuple[int, ...])


class SqliteReads:
    """A consistent view of one workspace: the connection has a transaction open."""

    def __init__(
        self, connection: apsw.Connection, ws: int, patience: Patience | None = None
    ) -> None:
        self._connection = connection
        self._ws = ws
        self._patience = patience
        self.state = State(*self._begin(QUERIES.state))

    def _begin(self, statement: str) -> tuple[Any, ...]:
        """The row of the workspace, which must be there."""
        with translated():
            row: tuple[Any, ...] | None = self._connection.execute(
                statement, (self._ws,)
            ).fetchone()
        if row is None:
            raise no_workspace(self._ws)
        return row

    def entity(self, id: int) -> Row | None:
        """The current row of an entity."""
        with translated():
            for row in self._connection.execute(QUERIES.entity, (self._ws, id)):
                return Row(*row)
        return None

    def entity_as_of(self, id: int, t: int) -> Row | None:
        """The row of an entity right after transaction `t`."""
        with translated():
            for row in self._connection.execute(QUERIES.entity_as_of, (self._ws, id, t)):
                return Row(*row) if row[3] is not None else None
        return None

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""
        if as_of is None:
            rows = [self.entity(id) for id in ids]
        else:
            rows = [self.entity_as_of(id, as_of) for id in ids]
        return [row for row in rows if row is not None]

    def entities_at(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Row]:
        """The rows of entities right after transactions."""
        rows = ((place, self.entity_as_of(*place)) for place in places)
        return {place: row for place, row in rows if row is not None}

    def look_up(self, wanted: Wanted) -> LookedUp:
        """The rows and holders that are wanted."""
        rows = {id: self.entity(id) for id in wanted.ids}
        return LookedUp(rows, {pair: self.find(*pair) for pair in wanted.keys})

    def find(self, property: int, key: Key) -> list[int]:
        """Ids of the entities that hold this key now."""
        with translated():
            cursor = self._connection.execute(QUERIES.find, (self._ws, property, key))
            return [id for (id,) in cursor]

    def count(self, property: int, key: Key) -> int:
        """How many entities hold this key now."""
        with translated():
            return int(self._connection.execute(QUERIES.count, (self._ws, property, key)).get)

    def find_as_of(self, property: int, key: Key, t: int) -> list[int]:
        """Ids of the entities that held this key right after transaction `t`."""
        levels = msgspec.json.encode(levels_at(t, self.state.t)).decode()
        bindings = (self._ws, property, key, t, levels)
        with translated():
            return [id for (id,) in self._connection.execute(QUERIES.find_as_of, bindings)]

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it."""
        query = QUERIES.holders
        after: tuple[int | str, ...] = (limit,)
        if as_of is not None:
            levels = msgspec.json.encode(levels_at(as_of, self.state.t)).decode()
            query, after = QUERIES.holders_as_of, (as_of, levels, limit)
        found = {}
        with translated():
            for key in keys:
                bindings = (self._ws, property, key, *after)
                found[key] = [id for (id,) in self._connection.execute(query, bindings)]
        return found

    def referrers(self, key: Key, properties: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """(property, id) pairs that hold this key now."""
        wanted = msgspec.json.encode(list(properties)).decode()
        bindings = (self._ws, wanted, key, limit)
        with translated():
            return [(p, id) for p, id in self._connection.execute(QUERIES.referrers, bindings)]

    def secret(self, id: int, property: int) -> str | None:
        """The hash kept for a secret slot."""
        with translated():
            for (hashed,) in self._connection.execute(QUERIES.secret, (self._ws, id, property)):
                return str(hashed)
        return None

    def scan(self, scan: Scan) -> list[Found]:
        """One page of an index walk."""
        if self._patience is not None:  # short statements end before SQLite asks
            self._patience.check()
        with translated():
            cursor = self._connection.execute(*compose_scan(self._ws, scan, self.state.t))
            if scan.as_of is None:
                return [Found(*row) for row in cursor]
            return self._documents(cursor.fetchall(), scan.as_of)

    def explain(self, scan: Scan) -> str:
        """SQLite's plan for this scan."""
        sql, bindings = compose_scan(self._ws, scan, self.state.t)
        cursor = self._connection.execute(explain_scan(sql), bindings)
        return "\n".join(row[3] for row in cursor)

    def versions(self, id: int, *, after: int, limit: int) -> list[Version]:
        """The versions of an entity with t > `after`, oldest first."""
        with translated():
            cursor = self._connection.execute(QUERIES.versions, (self._ws, id, after, limit))
            return [Version(*row) for row in cursor]

    def last_version(self, id: int) -> Version | None:
        """The last version of an entity that was superseded."""
        with translated():
            for row in self._connection.execute(QUERIES.last_version, (self._ws, id)):
                return Version(*row)
        return None

    def former(self, property: int, key: Key) -> int | None:
        """The id of the entity that was the last to hold this key."""
        with translated():
            for (id,) in self._connection.execute(QUERIES.former, (self._ws, property, key)):
                return int(id)
        return None

    def search(self, sought: Sought) -> list[list[int]]:
        """For each search for words the ids of those who have them, greatest first."""
        if self._patience is not None:
            self._patience.check()
        with translated():
            return find_words(self._connection, self._ws, sought)

    def unsearched(self) -> int | None:
        """Up to which id older entities can be searched; None, when all of them can."""
        with translated():
            for (after,) in self._connection.execute(QUERIES.unsearched, (self._ws,)):
                return int(after)
        return None

    def entities_after(self, id: int, limit: int) -> list[Row]:
        """Entities with greater ids, lowest first."""
        with translated():
            cursor = self._connection.execute(QUERIES.entities_after, (self._ws, id, limit))
            return [Row(*row) for row in cursor]

    def transactions(self, *, after: int, limit: int) -> list[TxRow]:
        """Transactions with t > `after`, oldest first."""
        with translated():
            cursor = self._connection.execute(QUERIES.transactions, (self._ws, after, limit))
            return [TxRow(t, at, who, why, _ids.decode(ids)) for t, at, who, why, ids in cursor]

    def transaction_at(self, instant_us: int) -> int:
        """The last t committed at or before this instant."""
        with translated():
            for (t,) in self._connection.execute(QUERIES.transaction_at, (self._ws, instant_us)):
                return int(t)
        return 0

    def schema_changes(self) -> list[int]:
        """Every t that changed the metamodel."""
        with translated():
            return [t for (t,) in self._connection.execute(QUERIES.schema_changes, (self._ws,))]

    def _documents(self, places: list[Any], t: int) -> list[Found]:
        found = []
        for key, id in places:
            for cls, since, doc in self._connection.execute(_DOCUMENT_AS_OF, (self._ws, id, t)):
                found.append(Found(key, id, cls, since, doc))
        return found
