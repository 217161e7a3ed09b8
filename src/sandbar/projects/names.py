"""Who is there: the entities that a workspace has, and those that an import brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.access import Guarded
from sandbar.errors import Forbidden, NotFound, Problem
from sandbar.model import Entity, HistoryEntry
from sandbar.projects.comparing import IDENT, Name
from sandbar.scratch import Scratch, Table

LINKS_FOLLOW = " (links follow)"  # ends the reason of a write that left references for later
LOOKED_UP = 200  # at once

_COMING, _THERE, _LOOKED = 1, 2, 4
_TURN = 8
_EVERYTHING = "dt/Resource"


def found(db: Guarded, entity: Any) -> Entity | None:
    """The entity, if it is there; it is an error if it is there, but not for this caller."""
    try:
        return db.get(entity)
    except NotFound:
        return None


class Names:
    """What is known of names; each is looked up once, many at a time.

    There are as many as files, so what is known of them is not kept in memory.
    """

    def __init__(self, db: Guarded, scratch: Scratch) -> None:
        self._db = db
        self._scratch = scratch
        self._known: Table[int] = scratch.table()
        self._at_hand: dict[Name, Entity | None] = {}
        self._turn = 0

    def again(self) -> Names:
        """The same expectations, with nothing taken for granted."""
        names = Names(self._db, self._scratch)
        for key, mark in self._known.items():
            if mark & _COMING:
                names._known[key] = _COMING
        return names

    def _mark_of(self, name: Name) -> int:
        # To be written as in Python tells 5 from "5".
        return self._known.get(repr(name)) or 0

    # --- what comes --------------------------------------------------------------------------

    def expect(self, names: Sequence[Name]) -> None:
        """Note that files state these, and look which of them are there already."""
        looked_up = self._look_up(names)
        for name in names:
            mark = self._mark_of(name) | _COMING
            if name in looked_up:
                mark |= _LOOKED | (_THERE if looked_up[name] is not None else 0)
            self._known[repr(name)] = mark

    def is_coming(self, name: Name) -> bool:
        """Whether a file states it."""
        return bool(self._mark_of(name) & _COMING)

    def forget(self, name: Name) -> None:
        """Expect it no more: its file was refused."""
        self._known[repr(name)] = self._mark_of(name) & ~_COMING

    def begin_turn(self) -> None:
        """Let every name be taken once more."""
        self._turn += 1
        self._at_hand = {}

    def take(self, name: Name) -> bool:
        """Whether nobody else has taken this name in this turn."""
        mark = self._mark_of(name)
        self._known[repr(name)] = mark % _TURN + self._turn * _TURN
        return mark // _TURN != self._turn

    # --- what is there -----------------------------------------------------------------------

    def look(self, names: Sequence[Name]) -> None:
        """Have these entities at hand: they are about to be asked for."""
        self._at_hand = self._look_up(names)

    def find(self, entity: Any) -> Entity | None:
        """The same, for what may be at hand."""
        if not isinstance(entity, dict) and entity in self._at_hand:
            return self._at_hand[entity]
        return found(self._db, entity)

    def is_there(self, name: Name) -> bool:
        """Whether there is an entity of this name by now."""
        mark = self._mark_of(name)
        if not mark & _LOOKED:
            mark |= _LOOKED | (_THERE if self._exists(name) else 0)
            self._known[repr(name)] = mark
        return bool(mark & _THERE)

    def made(self, name: Name) -> None:
        """Note that an entity is there now, or is another than before."""
        self._known[repr(name)] = self._mark_of(name) | _LOOKED | _THERE
        self._at_hand.pop(name, None)

    def was_there(self, name: Name) -> bool:
        """Whether there was an entity of this name that is no more."""
        try:
            return bool(self._db.history(name, limit=1))
        except (NotFound, Forbidden):
            return False

    def half_made(self, entity: Entity, slots: set[str]) -> set[str]:
        """Those of the slots that an import was about to set when it was interrupted.

        The write that made the entity said that links would follow, and nobody has ever set them.
        """
        entries: list[HistoryEntry] = self._db.history(entity.entity_id)
        if not entries or not (entries[0].reason or "").endswith(LINKS_FOLLOW):
            return set()
        ever_set = {change.slot for entry in entries for change in entry.changes}
        return slots - ever_set - entity.slots.keys()

    # --- looking up --------------------------------------------------------------------------

    def _look_up(self, names: Sequence[Name]) -> dict[Name, Entity | None]:
        """Each of them, or None; whom the caller may not see is left out, to be asked for alone."""
        there: dict[Name, Entity | None] = {}
        idents = [
            name for name in dict.fromkeys(names) if isinstance(name, str) and "{" not in name
        ]
        try:
            for start in range(0, len(idents), LOOKED_UP):
                some = idents[start : start + LOOKED_UP]
                where = {IDENT: {"in": some}}
                page = self._db.query(_EVERYTHING, where, limit=2 * LOOKED_UP)
                if page.cursor is None:
                    there.update(dict.fromkeys(some) if self._db.caller.may("admin") else {})
                    there.update((one.ident, one) for one in page.items if one.ident is not None)
        except Forbidden:
            return {}
        return there

    def _exists(self, name: Name) -> bool:
        try:
            return self.find(name) is not None
        except Forbidden:
            return True  # the write will say what is wrong with naming it
        except Problem:
            return False
