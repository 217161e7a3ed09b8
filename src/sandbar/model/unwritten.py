"""A workspace as of one `t`, with rows on top of it that are never written.

Everything is read through short snapshots, so nobody is held up; what others commit meanwhile is
not seen (but for secrets, and for what is gone: those have no index of the past). Rows that a plan
would write are kept in memory, in two layers: the upper one can be dropped, or kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import NamedTuple

from sandbar.errors import Fault
from sandbar.store import (
    Equals,
    Found,
    Key,
    LookedUp,
    Pair,
    Plan,
    Position,
    Record,
    Row,
    Scan,
    Snapshot,
    Sought,
    Store,
    TxRow,
    Version,
    Wanted,
)

_ID = attrgetter("id")


class _Layer(NamedTuple):
    """Rows that were not written, and what they change of the index."""

    rows: dict[int, Row | None]
    versions: dict[int, dict[int, tuple[int, str | None]]]  # class and document, by id and t
    begun: dict[Pair, set[int]]
    ended: dict[Pair, dict[int, int]]  # until when
    secrets: dict[tuple[int, int], str | None]

    def holds(self, pair: Pair, id: int) -> bool | None:
        """Whether an entity has this value now; None: as below."""
        if id in self.begun.get(pair, ()):
            return True
        return False if id in self.ended.get(pair, ()) else None

    def begin(self, pair: Pair, id: int) -> None:
        """Let an entity have a value."""
        self.begun.setdefault(pair, set()).add(id)
        self.ended.get(pair, {}).pop(id, None)

    def end(self, pair: Pair, id: int, t: int) -> None:
        """Let it have the value no more."""
        self.begun.get(pair, set()).discard(id)
        self.ended.setdefault(pair, {})[id] = t


def _new_layer() -> _Layer:
    return _Layer({}, {}, {}, {}, {})


class Unwritten:
    """What planning needs of a write session, without one."""

    def __init__(self, store: Store, ws: int, t: int) -> None:
        self._store = store
        self._ws = ws
        self._t = t
        self._known = LookedUp({}, {})
        self._page: list[Found] = []  # the last one that was walked, in the order of ids
        self._kept = self._top = _new_layer()
        self._layers: tuple[_Layer, ...] = ()  # those that have anything, the upper one first

    # --- layers ------------------------------------------------------------------------------

    def apply(self, plan: Plan) -> None:
        """Take rows over; ends come before beginnings, so that values can be swapped."""
        if self._top is self._kept:
            self._top = _new_layer()
        top = self._top
        top.rows.update(plan.rows)
        top.secrets.update(plan.secrets)
        for (id, t), state in plan.versions.items():
            top.versions.setdefault(id, {})[t] = state
        for pair, ids in plan.ended.items():
            for id, t in ids.items():
                top.end(pair, id, t)
        for _, property, key, id, _ in plan.begun.rows(self._ws):
            top.begin((property, key), id)
        self._layers = (top, self._kept)

    def drop(self) -> None:
        """Forget what was taken over since the last `keep`."""
        self._top = self._kept
        self._layers = (self._kept,) if any(self._kept) else ()

    def keep(self) -> None:
        """Let what was taken over stay."""
        top, kept = self._top, self._kept
        if top is kept:
            return
        kept.rows.update(top.rows)
        kept.secrets.update(top.secrets)
        for id, states in top.versions.items():
            kept.versions.setdefault(id, {}).update(states)
        for pair, ended in top.ended.items():
            for id, t in ended.items():
                kept.end(pair, id, t)
        for pair, begun in top.begun.items():
            for id in begun:
                kept.begin(pair, id)
        self._top, self._layers = kept, (kept,)

    # --- reading -----------------------------------------------------------------------------

    @contextmanager
    def _look(self) -> Iterator[tuple[Snapshot, int | None]]:
        """A short snapshot, and as of when to look into it (None: nothing has happened since)."""
        with self._store.snapshot(self._ws) as snapshot:
            yield snapshot, None if snapshot.state.t == self._t else self._t

    def prefetch(self, wanted: Wanted) -> None:
        """Fetch together what will probably be read next; it replaces what was fetched before."""
        if not wanted.ids and not wanted.keys:
            return
        with self._look() as (snapshot, past):
            self._known = snapshot.look_up(wanted) if past is None else LookedUp({}, {})

    def entity(self, id: int) -> Row | None:
        """The row of an entity."""
        for layer in self._layers:
            if id in layer.rows:
                return layer.rows[id]
        at = bisect_left(self._page, id, key=_ID)
        if at < len(self._page) and self._page[at].id == id:
            one = self._page[at]
            return Row(id, one.cls, one.t, one.doc)
        rows = self._known.rows  # which do not grow: large populations pass through here
        return rows[id] if id in rows else self._stored(id)

    def _stored(self, id: int) -> Row | None:
        head, row = self._store.point(self._ws, id)
        if head.t == self._t or (row is not None and row.t <= self._t):
            return row
        return self._store.point_as_of(self._ws, id, self._t)[1]

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""
        at = (self.entity(id) if as_of is None else self.entity_as_of(id, as_of) for id in ids)
        return [row for row in at if row is not None]

    def find(self, property: int, key: Key) -> list[int]:
        """Ids of the entities that hold this key."""
        pair = (property, key)
        holders = self._known.holders
        if pair not in holders:
            with self._look() as (snapshot, past):
                holders[pair] = (
                    snapshot.find(property, key)
                    if past is None
                    else snapshot.find_as_of(property, key, past)
                )
        return self._changed(pair, holders[pair])

    def _changed(self, pair: Pair, ids: Sequence[int]) -> list[int]:
        """The holders of a value, with those who have come and without those who have gone."""
        if not self._layers:
            return list(ids)
        found = set(ids)
        for layer in reversed(self._layers):
            found.difference_update(layer.ended.get(pair, ()))
            found.update(layer.begun.get(pair, ()))
        return sorted(found)

    def count(self, property: int, key: Key) -> int:
        """How many entities hold this key."""
        return len(self.find(property, key))

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it."""
        assert as_of is None, "a transaction stands at the end of time"
        return {key: self.find(property, key)[:limit] for key in keys}

    def referrers(self, key: Key, properties: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """(property, id) pairs that hold this key."""
        pairs = [(property, key) for property in properties]
        gone = (len(layer.ended.get(pair, ())) for layer in self._layers for pair in pairs)
        most = limit + sum(gone)
        with self._look() as (snapshot, past):
            if past is None:
                found = set(snapshot.referrers(key, properties, most))
            else:
                held = ((p, snapshot.holders(p, [key], most, past)) for p in properties)
                found = {(p, id) for p, holders in held for id in holders.get(key, ())}
        for layer in reversed(self._layers):
            for pair in pairs:
                found.difference_update((pair[0], id) for id in layer.ended.get(pair, ()))
                found.update((pair[0], id) for id in layer.begun.get(pair, ()))
        return sorted(found)[:limit]

    def secret(self, id: int, property: int) -> str | None:
        """The hash kept for a secret slot."""
        for layer in self._layers:
            if (id, property) in layer.secrets:
                return layer.secrets[id, property]
        return self._store.secret(self._ws, id, property)

    def scan(self, scan: Scan) -> list[Found]:
        """One page of those who hold a key, in the order of their ids."""
        drive = scan.drive
        if not isinstance(drive, Equals) or scan.descending or scan.as_of is not None:
            raise _beyond("walk a range of")
        found: dict[int, Found] = {}
        after = scan.after
        while True:
            page = self._page = self._walked(scan._replace(after=after))
            if not found and not self._concerns(drive, page):
                return page
            last = page[-1].id if len(page) == scan.limit else None
            found.update((one.id, now) for one in page if (now := self._now(drive, one)))
            for one in self._come(drive, after, last):
                found.setdefault(one.id, one)
            if last is None or len(found) >= scan.limit:
                return [found[id] for id in sorted(found)[: scan.limit]]
            after = Position(page[-1].key, page[-1].id)

    def _walked(self, scan: Scan) -> list[Found]:
        with self._look() as (snapshot, past):
            return snapshot.scan(scan._replace(as_of=past))

    def _concerns(self, drive: Equals, page: list[Found]) -> bool:
        """Whether a page is another than it was: of a large population, most are not."""
        pairs = [(drive.property, key) for key in drive.keys]
        return any(
            any(pair in layer.begun or pair in layer.ended for pair in pairs)
            or any(one.id in layer.rows for one in page)
            for layer in self._layers
        )

    def _now(self, drive: Equals, one: Found) -> Found | None:
        """What was found as it is now, if it still is."""
        for layer in self._layers:
            held = layer.holds((drive.property, one.key), one.id)
            if held is not None:
                return self._shown(one.key, one.id, one) if held else None
        return self._shown(one.key, one.id, one)

    def _shown(self, key: Key, id: int, was: Found | None = None) -> Found | None:
        for layer in self._layers:
            if id in layer.rows:
                row = layer.rows[id]
                return None if row is None else Found(key, id, row.cls, row.t, row.doc)
        if was is not None:
            return was
        stored = self.entity(id)
        return None if stored is None else Found(key, id, stored.cls, stored.t, stored.doc)

    def _come(self, drive: Equals, after: Position | None, last: int | None) -> Iterator[Found]:
        """Who has come to hold one of the keys, in this part of the walk."""
        first = 0 if after is None else after.id
        for key in drive.keys:
            pair = (drive.property, key)
            for id in self._changed(pair, ()):
                if first < id and (last is None or id <= last) and (one := self._shown(key, id)):
                    yield one

    def search(self, sought: Sought) -> list[list[int]]:
        """Nothing of this is ever searched for words."""
        raise _beyond("search")

    # --- the past ----------------------------------------------------------------------------

    def transaction_at(self, instant_us: int) -> int:
        """The last t committed at or before this instant."""
        with self._look() as (snapshot, _):
            return min(snapshot.transaction_at(instant_us), self._t)

    def entity_as_of(self, id: int, t: int) -> Row | None:
        """The row of an entity right after transaction `t`."""
        states: dict[int, tuple[int, str | None]] = {}
        for layer in reversed(self._layers):
            states |= layer.versions.get(id, {})
            if (row := layer.rows.get(id)) is not None:
                states[row.t] = (row.cls, row.doc)
        since = max((one for one in states if one <= t), default=None)
        if since is None:
            return self._store.point_as_of(self._ws, id, min(t, self._t))[1]
        cls, doc = states[since]
        return None if doc is None else Row(id, cls, since, doc)

    def last_version(self, id: int) -> Version | None:
        """The last version of an entity that was superseded."""
        for layer in self._layers:
            if states := layer.versions.get(id):
                t = max(states)
                return Version(t, *states[t], 0, "", None)
        with self._look() as (snapshot, _):
            return snapshot.last_version(id)

    def former(self, property: int, key: Key) -> int | None:
        """The id of the entity that was the last to hold this key."""
        for layer in self._layers:
            if ended := layer.ended.get((property, key)):
                return max(ended, key=lambda id: (ended[id], id))
        with self._look() as (snapshot, _):
            return snapshot.former(property, key)

    # --- what belongs to a write only --------------------------------------------------------

    def unsearched(self) -> int | None:
        """No index of words is built."""
        return None

    def entities_after(self, id: int, limit: int) -> list[Row]:
        """So nobody walks over all entities for it."""
        return []

    def transactions(self, *, after: int, limit: int) -> list[TxRow]:
        """Nothing happens meanwhile."""
        return []

    def recall(self, principal: str, key: str) -> Record | None:
        """This is no retry."""
        return None

    def job_token(self, id: int) -> int | None:
        """This holds no job."""
        return None


def _beyond(what: str) -> Fault:
    return Fault("preview.beyond", f"operations never {what} what is not written")
