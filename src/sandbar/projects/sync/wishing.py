"""What has to be written to the workspace so that an entity says what its file says."""

from __future__ import annotations

from typing import Any

from sandbar.access import Guarded
from sandbar.clock import us_of_text
from sandbar.errors import Problem
from sandbar.model import Create, Delete, Entity, Operation, Restore, Update
from sandbar.projects.names import LINKS_FOLLOW
from sandbar.projects.sync.journal import Agreement
from sandbar.projects.sync.meaning import IDENT, Meaning, changes
from sandbar.projects.sync.pairing import Look
from sandbar.projects.sync.paths import Paths
from sandbar.projects.sync.table import Step
from sandbar.projects.sync.writing import Wish


class Wishing:
    """Makes the operations of one round."""

    def __init__(self, db: Guarded, meaning: Meaning, paths: Paths) -> None:
        self._db = db
        self._meaning = meaning
        self._paths = paths

    def wish(
        self, step: Step, look: Look, entity: Entity | None, agreement: Agreement | None
    ) -> Wish | None:
        """The operations for a file; None if there is nothing to do."""
        if step == "create":
            return self._creation(look)
        assert agreement is not None
        if step == "revive":
            return self._revival(look, agreement)
        assert entity is not None
        wanted = self._changes(look, entity)
        if not wanted:
            return None
        update = Update(entity=entity.entity_id, set=wanted, expect=agreement.t)
        return Wish(look.path, (*_needed(look), update), len(look.data))

    def deletion(self, agreement: Agreement) -> Wish:
        """The operation for a file that was deleted."""
        return Wish(agreement.path, (Delete(entity=agreement.entity, expect=agreement.t),))

    def joint_deletion(self, agreements: list[Agreement]) -> Wish:
        """One wish for files that were deleted together: what they say of each other is no reason
        to keep them."""
        names = {name for one in agreements for name in (one.entity, one.ident)}
        parting: list[Operation] = []
        for agreement in agreements:
            slots = self._db.get(agreement.entity).slots
            among = {slot: _among(value, names) for slot, value in slots.items()}
            links = {
                slot: found
                for slot, found in among.items()
                if found and self._meaning.is_stored_link(slot)
            }
            if links:
                parting.append(Update(entity=agreement.entity, remove=links))
        deletions = (op for one in agreements for op in self.deletion(one).operations)
        return Wish(agreements[0].path, (*parting, *deletions))

    def is_same(self, look: Look, entity: Entity) -> bool:
        """Whether a file and an entity say the same."""
        return not self._changes(look, entity)

    def is_made_of(self, look: Look, entity: Entity) -> bool:
        """Whether an import has made an entity of this very file, and neither has changed since.

        Importers understand more of a file than we do, such as links in its text: what they made
        of it stands. The entity names the file; the file is older than the one import that wrote.
        """
        assert look.stated is not None
        names_it = look.path in entity.slots.values()
        if not names_it or look.stated.ident not in (None, entity.ident):
            return False
        entries = self._db.history(entity.entity_id)
        reasons = {(entry.reason or "").removesuffix(LINKS_FOLLOW) for entry in entries}
        is_older = look.seen.status[2] < us_of_text(entries[0].instant) * 1000
        return len(reasons) == 1 and is_older and self._meaning.says_its_text(look.stated, entity)

    def reads_the_same(self, path: str, data: bytes, entity: Entity) -> bool:
        """Whether a file that nobody has changed still says what its entity says."""
        try:
            stated = self._meaning.of_file(path, data, entity.class_)
        except Problem:
            return False  # the metamodel has changed since: it is written anew
        is_named = stated.ident in (None, entity.ident)
        has_place = stated.ident is not None or self._paths.is_place_of(path, entity.ident)
        is_same = stated.slots == self._meaning.of_entity(entity)
        return is_same and is_named and (has_place or entity.ident is None)

    def _changes(self, look: Look, entity: Entity) -> dict[str, Any]:
        stated = look.stated
        assert stated is not None
        wanted = changes(self._meaning.of_entity(entity), stated.slots)
        ident = self._ident(look, entity)
        return wanted if ident == entity.ident else {**wanted, IDENT: ident}

    def _ident(self, look: Look, entity: Entity) -> str | None:
        """The ident that a file gives its entity: one that it states, or that of its place."""
        assert look.stated is not None
        if look.stated.ident is not None or entity.ident is None:
            return look.stated.ident
        return look.ident or entity.ident

    def _creation(self, look: Look) -> Wish:
        stated = look.stated
        assert stated is not None
        slots = {**stated.slots, IDENT: stated.ident or look.ident}
        creation = Create(class_=stated.class_, slots=slots)
        return Wish(look.path, (*_needed(look), creation), len(look.data))

    def _revival(self, look: Look, agreement: Agreement) -> Wish:
        """Bring a deleted entity back with what its file says; a new one, if that cannot be."""
        try:
            last = self._db.history(agreement.entity, after=agreement.t)[-1]
            before = self._db.get(agreement.entity, as_of=last.t - 1)
        except (Problem, IndexError):
            return self._creation(look)
        operations: tuple[Operation, ...] = (
            *_needed(look),
            Restore(entity=before.entity_id),
            Update(entity=before.entity_id, set=self._changes(look, before)),
        )
        return Wish(look.path, operations, len(look.data))


def _needed(look: Look) -> tuple[Create, ...]:
    return () if look.stated is None else look.stated.needed


def _among(value: Any, names: set[int | str | None]) -> list[Any]:
    return (
        [one for one in value if isinstance(one, int | str) and one in names]
        if isinstance(value, list)
        else []
    )
