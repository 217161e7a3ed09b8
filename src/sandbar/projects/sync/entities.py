"""The instances of the class: which there are, and which have changed since the last look."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from sandbar.access import Guarded
from sandbar.errors import Conflict, NotFound
from sandbar.model import Entity, Standing

_PAGE = 500
_TRANSACTIONS = 1000


class Known(msgspec.Struct, frozen=True):
    """What is kept of an entity between two looks."""

    t: int
    ident: str | None


class Entities:
    """Follows the instances of one class."""

    def __init__(self, db: Guarded, standing: Callable[[], Standing], class_: str) -> None:
        self._db = db
        self._standing = standing
        self._class = class_
        self._seen = standing()
        self.known: dict[int, Known] = {}
        self._by_ident: dict[str, int] = {}
        self.names = 0  # counts entities and idents that came or went
        self.renamed: set[int] = set()  # idents changed: what refers to them reads otherwise
        for entity in self._all():
            self.note(entity.entity_id, Known(entity.t, entity.ident))

    def named(self, ident: str | None) -> int | None:
        """The instance that has an ident."""
        return None if ident is None else self._by_ident.get(ident)

    def load(self, id: int) -> Entity | None:
        """An instance as it is now, or None if there is none."""
        try:
            entity = self._db.get(id)
        except NotFound:
            self.note(id, None)
            return None
        is_ours = entity.class_ == self._class or self._db.schema().is_kind(
            entity.class_, self._class
        )
        self.note(id, Known(entity.t, entity.ident) if is_ours else None)
        return entity if is_ours else None

    def note(self, id: int, known: Known | None) -> None:
        """Keep what is known of an entity; None if it is there no more."""
        before = self.known.get(id)
        self.names += (before and before.ident) != (known and known.ident)
        if before is not None and before.ident is not None:
            if self._by_ident.get(before.ident) == id:
                del self._by_ident[before.ident]
            if known is not None and known.ident != before.ident:
                self.renamed.add(id)
        if known is None:
            self.known.pop(id, None)
            return
        self.known[id] = known
        if known.ident is not None:
            self._by_ident[known.ident] = id

    def news(self) -> set[int]:
        """The instances that transactions have touched since the last look."""
        now = self._standing()
        if now.epoch != self._seen.epoch:
            raise Conflict(
                "watch.restored",
                "the workspace was restored from a backup",
                hint="start `sandbar watch` again: it compares both sides first",
            )
        touched: set[int] = set()
        since = self._seen.t
        while since < now.t:
            found = self._db.changes(since=since, limit=_TRANSACTIONS)
            if not found:
                break
            touched.update(id for entry in found for id in entry.entity_ids)
            since = found[-1].t
        self._seen = Standing(max(since, now.t), now.epoch)
        ours = {id for id in touched if id in self.known}
        for id in touched:
            if self.load(id) is not None:
                ours.add(id)
        return ours

    def referring(self, ids: set[int]) -> Iterator[int]:
        """The instances that refer to any of these."""
        schema = self._db.schema()
        datatypes = set(schema.datatypes())
        for slot in schema.slots(self._class):
            facts = schema.describe_property(slot)
            if facts["range"] in datatypes or "inverse-of" in facts:
                continue
            for id in ids & self.known.keys():
                for entity in self._pages({slot: id}):
                    yield entity.entity_id

    def _all(self) -> Iterator[Entity]:
        return self._pages(None)

    def _pages(self, where: dict[str, int] | None) -> Iterator[Entity]:
        cursor = None
        while True:
            page = self._db.query(
                self._class, where, fields=["db/ident"], limit=_PAGE, cursor=cursor
            )
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return
