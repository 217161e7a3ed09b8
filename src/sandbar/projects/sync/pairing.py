"""Which file belongs to which entity, also after files were moved.

A file that states an ident is that entity's, wherever it lies. Else it is the file of the entity
that it was before; else, if it has what a file had that is gone, that one was moved; else its path
says whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sandbar.errors import Conflict, Problem
from sandbar.projects.sync.entities import Entities
from sandbar.projects.sync.journal import Agreement, Journal
from sandbar.projects.sync.looking import Seen
from sandbar.projects.sync.meaning import Stated
from sandbar.projects.sync.paths import Paths


class Look(msgspec.Struct):
    """A file that has changed or is new, as it was read."""

    path: str
    seen: Seen
    data: bytes
    stated: Stated | None = None
    said: str | None = None  # the ident that it states, also if it cannot be taken
    ident: str | None = None  # the one that it has by its place, if it states none
    problem: Problem | None = None
    entity: int | None = None  # whose file it is
    moved_from: str | None = None


class Pairing:
    """Finds whose file each is, and keeps the journal's agreements at the places of the files."""

    def __init__(self, journal: Journal, entities: Entities, paths: Paths) -> None:
        self._journal = journal
        self._entities = entities
        self._paths = paths
        self.path_of: dict[int, str] = {a.entity: a.path for a in journal.agreements.values()}

    def agree(self, agreements: Iterable[Agreement], forgotten: Iterable[str] = ()) -> None:
        """Note what is agreed on; where an entity's file lies follows from it."""
        fresh, left = list(agreements), list(forgotten)
        for path in (*left, *(agreement.path for agreement in fresh)):
            before = self._journal.agreements.get(path)
            if before is not None and self.path_of.get(before.entity) == path:
                del self.path_of[before.entity]
        self._journal.agree(fresh, left)
        for agreement in fresh:
            self.path_of[agreement.entity] = agreement.path

    def agreement(self, path: str) -> Agreement | None:
        """What is agreed on about a file."""
        return self._journal.agreements.get(path)

    def claimed(self, path: str, ident: str | None) -> int | None:
        """The entity that a file says it belongs to, or belonged to before."""
        stated = self._entities.named(ident)
        if stated is not None:
            return stated
        mine = self._journal.agreements.get(path)
        if mine is not None:
            return mine.entity
        if ident is not None:
            return None
        number = self._paths.number(path)
        if number is not None:
            known = self._entities.known.get(number)
            if known is not None and known.ident is None:
                return number
        other = self._entities.named(self._paths.other_ident(path))
        return other if other is not None else self._entities.named(self._paths.ident(path))

    def pair(self, looks: list[Look], present: Iterable[str]) -> set[int]:
        """Say of each whose it is. Returns entities that have lost their file to another one."""
        there = set(present)
        gone = self._gone(there)
        claims = {
            look.path: self.claimed(look.path, look.stated.ident if look.stated else look.said)
            for look in looks
        }
        taken: set[int] = set()
        for look in sorted(looks, key=lambda one: self._is_elsewhere(one.path, claims[one.path])):
            id = claims[look.path]
            is_stated = look.said is not None or self.agreement(look.path) is not None
            if (
                id is not None
                and not is_stated
                and self._is_anothers(id, look, taken, there, claims)
            ):
                id = None  # its path makes the ident of another one: it is a new one
            if id is None:
                self._find_moved(look, gone, taken)
                id = look.entity
            if id is None:
                continue
            if self._is_anothers(id, look, taken, there, claims):
                look.problem = look.problem or self._two_files(id, look.path)
                continue
            taken.add(id)
            look.entity = id
        self._name(looks)
        return self._move_agreements([look for look in looks if look.entity is not None])

    def _name(self, looks: list[Look]) -> None:
        """Say which ident each has by its place: the first has the plain one."""
        given = {look.said for look in looks}
        for look in looks:
            ident = self._paths.ident(look.path)
            holder = self._entities.named(ident)
            is_taken = ident in given or holder not in (None, look.entity)
            known = self._entities.known.get(look.entity or 0)
            if known is not None and known.ident == self._paths.other_ident(look.path):
                is_taken = True
            look.ident = self._paths.other_ident(look.path) if is_taken else ident
            given.add(look.ident if look.said is None else None)

    def _is_anothers(
        self,
        id: int,
        look: Look,
        taken: set[int],
        there: set[str],
        claims: dict[str, int | None],
    ) -> bool:
        return id in taken or self._is_held(id, look.path, there, claims)

    def _gone(self, there: set[str]) -> dict[str, list[Agreement]]:
        """What files had that are gone."""
        gone: dict[str, list[Agreement]] = {}
        for agreement in self._journal.agreements.values():
            if agreement.path not in there:
                gone.setdefault(agreement.sha, []).append(agreement)
        return gone

    def _find_moved(self, look: Look, gone: dict[str, list[Agreement]], taken: set[int]) -> None:
        if look.stated is not None and look.stated.ident is not None:
            return  # it says whose it is, and there is no such entity
        for agreement in gone.get(look.seen.sha, []):
            if agreement.entity not in taken and agreement.entity in self._entities.known:
                look.entity = agreement.entity
                look.moved_from = agreement.path
                return

    def _is_elsewhere(self, path: str, id: int | None) -> bool:
        return id is not None and self.path_of.get(id) != path

    def _is_held(self, id: int, path: str, there: set[str], claims: dict[str, int | None]) -> bool:
        """Whether the file that an entity has already is there, and is still its own."""
        holder = self.path_of.get(id)
        if holder is None or holder == path or holder not in there:
            return False
        return claims.get(holder, id) == id

    def _two_files(self, id: int, path: str) -> Conflict:
        known = self._entities.known.get(id)
        name = (known.ident if known else None) or str(id)
        return Conflict(
            "watch.two-files",
            f"{name} has a file already: {self.path_of.get(id, 'another one')}",
            hint="give this one another ident, or delete one of the two files",
        )

    def _move_agreements(self, looks: list[Look]) -> set[int]:
        agreements = self._journal.agreements
        fresh: list[Agreement] = []
        left: set[str] = set()
        orphans: set[int] = set()
        for look in looks:
            id = look.entity
            assert id is not None
            mine = agreements.get(look.path)
            if mine is not None and mine.entity == id:
                continue
            holder = self.path_of.get(id)
            if mine is not None:
                orphans.add(mine.entity)
                left.add(look.path)
            if holder is not None:
                look.moved_from = holder
                fresh.append(msgspec.structs.replace(agreements[holder], path=look.path))
                left.add(holder)
        if left or fresh:
            self.agree(fresh, left)
        return {id for id in orphans if id not in self.path_of}
