"""Files from entities: written, written over, moved, thrown away."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from sandbar.codecs import numbered
from sandbar.errors import Problem
from sandbar.model import Entity
from sandbar.projects.layout import fold
from sandbar.projects.sync.desk import Desk
from sandbar.projects.sync.journal import Agreement
from sandbar.projects.sync.looking import Seen

_FLUSHED_AFTER = 500
_BOTH = "both sides have changed"


class Rewriting:
    """Lets files say what entities say."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def write_lone(self, ids: set[int]) -> None:
        """Write the files of entities that have none."""
        desk = self._desk
        taken = {fold(path): path for path in desk.present}
        for number, id in enumerate(sorted(ids - desk.pairing.path_of.keys()), 1):
            if number % _FLUSHED_AFTER == 0:
                desk.flush()
            if desk.refusals.is_waited_for(id):
                continue  # its file is there, and cannot be taken as it is
            entity = desk.entities.load(id)
            if entity is None:
                continue
            path = self._place(entity, taken)
            if path in desk.present:  # a file has the name: it is being written, or was refused
                if not desk.refusals.is_refused(path):
                    desk.again_paths.add(path)
                continue
            taken[fold(path)] = path
            if self.write_new(path, entity):
                desk.told("written", path, entity)

    def write_new(self, path: str, entity: Entity) -> bool:
        """Write a file where there is none; whether that was done."""
        desk = self._desk
        try:
            data = desk.meaning.text(entity, path)
            placed = desk.files.write_new(path, data)
        except Problem as problem:
            desk.refusals.tell_entity(path, entity, problem)
            return False
        if not placed.is_done:
            desk.again.add(entity.entity_id)
            return False
        desk.present.add(path)
        desk.agree(path, entity, sha256(data).hexdigest())
        return True

    def replace(self, path: str, entity: Entity, *, expected: str | None) -> None:
        """Write a file over what both sides agreed on, or (None) over what is put aside."""
        desk = self._desk
        data = desk.meaning.text(entity, path)
        sha = sha256(data).hexdigest()
        placed = desk.files.replace(path, data, sha, expected=expected, t=entity.t)
        if not placed.is_done:
            desk.again.add(entity.entity_id)
            return
        desk.agree(path, entity, sha)
        if placed.kept is not None:
            desk.told("conflict", path, entity, placed.kept, _BOTH)
        else:
            desk.told("written", path, entity)

    def unchanged(self, path: str, seen: Seen, data: bytes) -> None:
        """Let a file that nobody has changed say what its entity says now."""
        desk = self._desk
        agreement = desk.pairing.agreement(path)
        known = None if agreement is None else desk.entities.known.get(agreement.entity)
        is_stale = agreement is not None and agreement.entity in desk.stale
        if agreement is None or (known and known.t == agreement.t and not is_stale):
            return
        desk.stale.discard(agreement.entity)
        entity = desk.entities.load(agreement.entity)
        if entity is None:
            self._throw_away(agreement)
            return
        try:
            path = self._follow_ident(agreement, entity)
            if desk.wishing.reads_the_same(path, data, entity):
                desk.agree(path, entity, seen.sha)
            else:
                self.replace(path, entity, expected=seen.sha)
        except Problem as problem:
            desk.refusals.tell_entity(path, entity, problem)

    def _place(self, entity: Entity, taken: dict[str, str]) -> str:
        """Where the file of an entity goes: not where another entity's is."""
        paths, id = self._desk.paths, entity.entity_id
        path = paths.path(entity.ident, id)
        if self._is_anothers(path, taken):
            path = paths.path(entity.ident, id, is_strict=True)
        if entity.ident is not None and self._is_anothers(path, taken):
            path = paths.path(numbered(entity.ident, entity.ident), id)
        return paths.path(None, id) if self._is_anothers(path, taken) else path

    def _is_anothers(self, path: str, taken: dict[str, str]) -> bool:
        """Whether a path is that of another entity's file, or would be, if case did not count."""
        other = taken.get(fold(path))
        is_agreed_on = self._desk.pairing.agreement(path) is not None
        return other is not None and (other != path or is_agreed_on)

    def _follow_ident(self, agreement: Agreement, entity: Entity) -> str:
        """The place of a file whose entity has another ident now: it goes where that says."""
        desk, path = self._desk, agreement.path
        target = desk.paths.path(entity.ident, entity.entity_id)
        is_named_by_place = desk.paths.is_place_of(path, agreement.ident)
        if entity.ident == agreement.ident or not is_named_by_place or target in desk.present:
            return path
        if not desk.files.move(path, target):
            return path
        desk.present.discard(path)
        desk.present.add(target)
        desk.pairing.agree([msgspec.structs.replace(agreement, path=target)], [path])
        desk.told("moved", target, entity, path)
        return target

    def _throw_away(self, agreement: Agreement) -> None:
        desk = self._desk
        placed = desk.files.throw_away(agreement.path, expected=agreement.sha, t=agreement.t)
        if placed.is_done:
            desk.present.discard(agreement.path)
            desk.pairing.agree((), [agreement.path])
            desk.told("thrown-away", agreement.path, agreement, placed.kept)
            return
        desk.again_paths.add(agreement.path)
        if placed.kept is not None:
            desk.told("conflict", agreement.path, agreement, placed.kept, _BOTH)
