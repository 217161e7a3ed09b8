"""Performing operations on a unit of work: announce ids, metamodel first, then the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.errors import Incorrect, Problem
from sandbar.model import core
from sandbar.model.checking import check_drafts, check_touched
from sandbar.model.checks import (
    contradicted,
    fixed_class,
    ident_taken,
    refuse_twice,
    takes_one,
)
from sandbar.model.deletion import delete_entity
from sandbar.model.documents import exact
from sandbar.model.drafts import Draft, Hashed, conflict_if_moved, core_is_immutable, ident_of
from sandbar.model.forms import require_formed
from sandbar.model.growth import Effort, check_amount, check_growth
from sandbar.model.migrating import migrate_instances
from sandbar.model.naming import unknown_entity
from sandbar.model.new_names import given_ident, new_id
from sandbar.model.operations import Create, Delete, Migrate, Operation, Restore, Update
from sandbar.model.properties import Property
from sandbar.model.restoring import restore_entity, restores_metamodel
from sandbar.model.results import Outcome
from sandbar.model.schema import Class
from sandbar.model.soundness import check_definition
from sandbar.model.trouble import Trouble
from sandbar.model.unit import Unit


def perform(unit: Unit, operations: Sequence[Operation]) -> list[Outcome]:
    """Run the operations; either all of them take effect on the unit or none."""
    return _Performance(unit, operations).run()


def evolve(unit: Unit) -> None:
    """Let the metamodel follow what became of classes and properties without an operation."""
    _Performance(unit, ()).evolve()


class _Performance:
    def __init__(self, unit: Unit, operations: Sequence[Operation]) -> None:
        self.unit = unit
        self.operations = operations
        self.trouble = Trouble(operations)
        self.outcomes: list[Outcome | None] = [None] * len(operations)
        self.ids: dict[int, tuple[Class, int, bool]] = {}
        self.announced: set[int] = set()
        self.temps: set[str] = set()
        self.made: dict[int, int] = {}  # new entities, and by which operation
        self.about: dict[int, int] = {}  # the same of updated ones
        self._known: dict[str, Class | None] = {}

    def run(self) -> list[Outcome]:
        done, turns = set[int](), 0
        while meta := self._announce_known(done):
            turns += 1
            check_amount(self.unit.schema, turns, len(done) + len(meta))
            for at in meta:
                self._perform(at, self.operations[at])
            done.update(meta)
            self.evolve()
        for at, op in enumerate(self.operations):
            if isinstance(op, Create) and at not in self.announced:
                self._announce(at, op, None)
        for at, op in enumerate(self.operations):
            if at not in done:
                self._perform(at, op)
        self.evolve()  # deleting data can reach the metamodel, too
        self.trouble.refuse_if_any(check_touched(self.unit), self._operation_of)
        return [outcome for outcome in self.outcomes if outcome is not None]

    def _operation_of(self, id: int) -> int | None:
        """Which operation makes an entity, or changes it."""
        return self.made.get(id, self.about.get(id))

    # --- announcing --------------------------------------------------------------------------

    def _announce_known(self, done: set[int]) -> list[int]:
        """Announce what can be; returns which operations are the metamodel's turn."""
        metaclasses = self.unit.schema.metaclasses
        meta = []
        for at, op in enumerate(self.operations):
            if at in done:
                continue
            if not isinstance(op, Create):
                if self._is_meta(op):
                    meta.append(at)
                continue
            cls = self._class_of(op)
            if cls is None:
                continue
            if at not in self.announced:
                self._announce(at, op, cls)
            if cls.id in metaclasses and at in self.ids:
                meta.append(at)
        return meta

    def _class_of(self, op: Create) -> Class | None:
        name = op.class_
        if not isinstance(name, str):
            return self.unit.schema.class_if_known(name)
        cls = self._known.get(name)
        if cls is None:
            named = self.unit.temps.get(name, name)
            cls = self._known[name] = self.unit.schema.class_if_known(named)
        return cls

    def _announce(self, at: int, op: Create, cls: Class | None) -> None:
        """Give a new entity its id before anything refers to it."""
        self.announced.add(at)
        try:
            cls = cls or self._class_of(op) or self.unit.schema.class_named(op.class_)
            self._give_id(at, op, cls)
        except Problem as problem:
            self.trouble.note(problem, None, at)

    def _give_id(self, at: int, op: Create, cls: Class) -> None:
        unit = self.unit
        given = given_ident(op)
        existing = None if given is None else self._existing(given)
        id = existing if existing is not None else new_id(unit, op, given)
        if op.temp is not None:
            self._name_temp(op.temp, id)
        if existing is None:
            self._begin(cls, id, given)
        self.ids[at] = (cls, id, existing is None)
        self.made.setdefault(id, at)

    def _begin(self, cls: Class, id: int, ident: str | None) -> None:
        draft = self.unit.begin_create(cls, id)
        if ident is not None:
            self.unit.put(draft, self.unit.schema.property_by_id(core.IDENT), ident)

    def _name_temp(self, temp: str, id: int) -> None:
        name = temp.removeprefix(":")
        if name in self.temps:
            raise Incorrect(
                "temp.taken",
                f"two operations have the temporary id {name[:80]}",
                hint="give each its own",
            )
        self.temps.add(name)
        self.unit.temps[name] = id

    def _existing(self, ident: str | None) -> int | None:
        return None if ident is None else self.unit.bearer(ident)

    def _is_meta(self, op: Operation) -> bool:
        if not isinstance(op, Update | Delete | Restore):
            return False
        try:
            if isinstance(op, Restore):
                return restores_metamodel(self.unit, op)
            class_id = self.unit.class_id_of(self.unit.resolve(op.entity))
        except Problem:
            return False  # performing it will say what is wrong
        return class_id in self.unit.schema.metaclasses

    def evolve(self) -> None:
        """Let the rest of the operations see the new metamodel; refuse wrong definitions."""
        unit = self.unit
        drafts = unit.meta_drafts()
        if not drafts:
            return
        entries = {  # also of what is as it was before: an earlier call may have changed it
            draft.id: None if draft.doc is None else (draft.class_id, dict(draft.doc))
            for draft in drafts
        }
        known = unit.schema.docs
        changed = {id: entry for id, entry in entries.items() if known.get(id) != entry}
        if not changed:
            return
        written = [id for id, entry in changed.items() if entry is not None]
        schema = unit.schema.evolve(changed)
        check_growth(unit.base_schema, schema, written)  # first: the rest costs what it allows
        unit.tx.bump_schema()
        unit.adopt(schema)
        self._known.clear()
        effort = Effort()
        for id in written:
            with effort:
                self._check_definition(id)
        # With a broken metamodel nothing else can be understood.
        self.trouble.refuse_if_any(check_drafts(unit, written), self._operation_of)

    def _check_definition(self, id: int) -> None:
        at = self._operation_of(id)
        if self.trouble.is_with(at):
            return  # what is left of it says nothing: a property without its range, say
        try:
            check_definition(self.unit.schema, id, self.unit.class_id_of)
        except Problem as problem:
            self.trouble.note(problem, self.unit.schema.ident_of(id), at)
        except KeyError:
            # A definition that refers to nothing is reported as a dangling reference below.
            self.unit.touched.add(id)

    # --- performing --------------------------------------------------------------------------

    def _perform(self, at: int, op: Operation) -> None:
        try:
            if isinstance(op, Create):
                self._create(at, op)
            else:
                self._perform_other(at, op)
        except Problem as problem:
            self.trouble.note(problem, None, at)

    def _perform_other(self, at: int, op: Operation) -> None:
        if isinstance(op, Update):
            self._update(at, op)
        elif isinstance(op, Delete):
            id = self.unit.resolve(op.entity)
            draft = self._draft(id)
            conflict_if_moved(draft, op.expect, self.unit.tx.t)
            gone = delete_entity(self.unit, draft, op.mode)
            self.outcomes[at] = Outcome(id, changed=True, deleted=gone)
        elif isinstance(op, Restore):
            self.outcomes[at] = self._restore(at, op)
        else:
            assert isinstance(op, Migrate)
            cls = self.unit.schema.class_named(op.class_)
            count = migrate_instances(self.unit, op)
            self.outcomes[at] = Outcome(cls.id, cls.ident, changed=bool(count), migrated=count)

    def _draft(self, id: int) -> Draft:
        draft = self.unit.load(id)
        if draft is None:
            raise unknown_entity(self.unit.schema, id)
        if id < core.FIRST_FREE_ID:
            raise core_is_immutable(self.unit.schema.ident_of(id))
        return draft

    def _create(self, at: int, op: Create) -> None:
        if at not in self.ids:
            return  # it could not be announced; the finding is there
        cls, id, is_new = self.ids[at]
        by_now = self.unit.schema.class_of_id(cls.id)  # other operations may have changed it
        cls = by_now or cls
        if not is_new:
            given = given_ident(op)
            if id == self._existing(given):
                self._repeat(at, op, cls, id)
                return
            id = self.unit.tx.new_id()  # an earlier operation has set the ident free
            self.ids[at], self.made[id] = (cls, id, True), at
            if op.temp is not None:
                self.unit.temps[op.temp.removeprefix(":")] = id
            self._begin(cls, id, given)
        if cls.abstract:
            self.unit.touched.discard(id)  # what its slots lack is beside the point
        cls.require_concrete()
        draft = self.unit.drafts[id]
        if draft.doc is None or by_now is None:
            raise contradicted("it" if draft.doc is None else cls.ident)
        self._set_slots(at, draft, cls, op.slots)
        for property in cls.defaults:
            is_given = property.ident in op.slots or f":{property.ident}" in op.slots
            if not is_given and property.key not in (draft.doc or {}):
                self.unit.put(draft, property, self.unit.decode(draft, property, property.default))
        draft.doc = self.unit.settled(draft, draft.doc)
        self.outcomes[at] = Outcome(id, ident_of(draft), created=True, changed=True)

    def _repeat(self, at: int, op: Create, cls: Class, id: int) -> None:
        """A second create of the same ident changes nothing, and says where it differs."""
        draft = self.unit.load(id)
        assert draft is not None and draft.doc is not None
        if draft.class_id != cls.id:
            raise ident_taken(ident_of(draft), self.unit.class_of(draft))
        said: dict[str, Any] = {}
        for property, given in self._given(at, cls, op.slots):
            if property.secret and (type(given) is not Hashed or given.problem is None):
                continue
            stored = self.unit.decode(draft, property, given)
            said[property.key] = None if stored == [] else stored
        had = self.unit.settled(draft, draft.doc)
        new = self.unit.settled(draft, had | said)
        differs = sorted(cls.names[k] for k in said if exact(had.get(k)) != exact(new[k]))
        self.outcomes[at] = Outcome(id, ident_of(draft), differs=differs)

    def _update(self, at: int, op: Update) -> None:
        id = self.unit.resolve(op.entity)
        draft = self._draft(id)
        conflict_if_moved(draft, op.expect, self.unit.tx.t)
        cls = self.unit.class_of(draft)
        self._set_slots(at, draft, cls, op.set)
        for slots, adding in ((op.add, True), (op.remove, False)):
            for property, given in self._given(at, cls, slots):
                self._combine(at, draft, property, given, adding=adding)
        draft.doc = self.unit.settled(draft, draft.doc or {})
        self.unit.touched.add(id)
        self.about[id] = at
        self.outcomes[at] = Outcome(id, ident_of(draft), changed=self.unit.has_changed(draft))

    def _restore(self, at: int, op: Restore) -> Outcome:
        findings: list[tuple[Problem, str]] = []
        draft = restore_entity(self.unit, op, findings)
        for problem, slot in findings:
            self.trouble.note(problem, slot, at)
        draft.doc = self.unit.settled(draft, draft.doc or {})
        self.about[draft.id] = at
        return Outcome(draft.id, ident_of(draft), changed=self.unit.has_changed(draft))

    def _set_slots(self, at: int, draft: Draft, cls: Class, slots: dict[str, Any]) -> None:
        doc = draft.doc
        assert doc is not None
        self.trouble.classes[at] = cls.ident
        direct = cls.direct_slots
        rest = {}
        for name, given in slots.items():
            found = direct.get(name)
            if found is None or given is None or type(given) is Hashed:
                rest[name] = given
                continue
            key, decode = found
            try:
                doc[key] = decode(given)
            except Problem as problem:
                self.trouble.note(problem, name, at)
        for property, given in self._given(at, cls, rest, slots) if rest else ():
            try:
                self.unit.put(draft, property, self.unit.decode(draft, property, given))
            except Problem as problem:
                self.trouble.note(problem, property.ident, at)
        self.unit.touched.add(draft.id)

    def _given(
        self, at: int, cls: Class, slots: dict[str, Any], among: dict[str, Any] | None = None
    ) -> list[tuple[Property, Any]]:
        """The slots that were named, with a finding for each that the class does not have."""
        pairs, known = [], cls.slots
        for name, given in slots.items():
            property = known.get(name)
            if property is None:
                plain = name.removeprefix(":")
                if plain == "dt/type":
                    if not isinstance(given, str) or given.removeprefix(":") != cls.ident:
                        self.trouble.note(fixed_class(cls), "dt/type", at)
                    continue
                if self.trouble.findings.is_full and plain not in known:
                    self.trouble.findings.count += 1
                    continue
                try:
                    property = self.unit.slot_of(cls, name, given)
                    refuse_twice(property, slots if among is None else among)
                except Problem as problem:
                    self.trouble.note(problem, name[:80], at)
                    continue
            pairs.append((property, given))
        return pairs

    def _combine(
        self, at: int, draft: Draft, property: Property, given: Any, *, adding: bool
    ) -> None:
        assert draft.doc is not None
        try:
            if not property.many or property.secret:
                raise takes_one()
            require_formed(draft, property, self.unit.schema)
            stored = self.unit.decode(draft, property, given) or []
            before = draft.doc = self.unit.settled(draft, draft.doc)
            stored = self.unit.settled(draft, {**before, property.key: stored})[property.key]
            values = self.unit.held.values_of(draft, property)
            fresh = values.add(stored) if adding else values.remove(stored)
            self.unit.put(draft, property, values.values, fresh)
        except Problem as problem:
            self.trouble.note(problem, property.ident, at)
