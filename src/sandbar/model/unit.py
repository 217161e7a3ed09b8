"""A unit of work: the entities that one transaction loads, changes and finally hands to the store.

Operations change drafts in memory. After each call all touched drafts are checked together, so
that operations may refer forwards to each other; every finding is collected before anything is
refused. `finish` turns the drafts into one change per entity.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from sandbar.keywords import found_among, new_ident, spellings
from sandbar.model import core
from sandbar.model.checks import (
    decode_slot,
    derived,
    slot_in_change,
    unknown_slot,
)
from sandbar.model.documents import Doc
from sandbar.model.drafts import Draft, Hashed, Misfits, SecretNotHashed
from sandbar.model.forms import Forms, changed_forms, drop, reform
from sandbar.model.guarding import Guard, ask
from sandbar.model.handover import active_key, change_of, creation_of
from sandbar.model.holdings import Holdings
from sandbar.model.naming import (
    ident_keys,
    looked_up_by,
    lookup_keys,
    named_ident,
    names_nothing,
    unknown_entity,
)
from sandbar.model.patterns import Matching, Pattern
from sandbar.model.properties import Property, settled
from sandbar.model.schema import Class, Schema
from sandbar.model.values import VALUE_TYPES
from sandbar.model.values.scalars import decode_ref
from sandbar.patience import check as check_patience
from sandbar.store import Transaction, Wanted

REF = VALUE_TYPES["db.type/ref"]
KEYWORD = VALUE_TYPES["db.type/keyword"]

_EMPTY: Doc = {}
_ABSENT: tuple[Doc | None, Misfits | None] = ({}, None)  # no draft; compared by identity


class Unit:
    """The drafts of one transaction and the rules that they must satisfy."""

    _matching: Matching | None = None  # made when the first pattern is met

    def __init__(self, tx: Transaction, schema: Schema, guard: Guard | None = None) -> None:
        self.tx = tx
        self.guard = guard
        self.base_schema = schema  # what was committed
        self.stored_schema = schema  # by whose rules the stored rows are formed and indexed
        self.schema = schema  # what this unit makes of it
        self.earlier = [schema]  # by whose rules something may have been written
        self.drafts: dict[int, Draft] = {}
        self.held = Holdings(self.drafts)
        self.temps: dict[str, int] = {}
        self.touched: set[int] = set()
        self._undo: dict[int, tuple[Doc | None, Misfits | None]] | None = None
        self._meta_ids: set[int] = set()

    # --- reading -----------------------------------------------------------------------------

    def load(self, id: int) -> Draft | None:
        """The living entity of that id, as this unit sees it."""
        self._remember(id)
        draft = self.drafts.get(id)
        if draft is None:
            check_patience()
            row = self.tx.entity(id)
            if row is None:
                return None
            draft = self.drafts[id] = Draft.of(row)
            if self.schema is not self.stored_schema:
                reform(draft, self._forms_since(self.stored_schema, draft.class_id))
            if draft.class_id in self.schema.metaclasses:
                self._meta_ids.add(id)
        self._admit(draft.class_id)
        return draft if draft.doc is not None else None

    def class_of(self, draft: Draft) -> Class:
        """The class of a draft, as the unit's schema has it."""
        return self.schema.class_by_id(draft.class_id)

    def class_id_of(self, id: int) -> int | None:
        """The class of a living entity, without making a draft of it."""
        draft = self.drafts.get(id)
        if draft is not None:
            return draft.class_id if draft.doc is not None else None
        meta = self.schema.docs.get(id)
        if meta is not None:
            return meta[0]
        row = self.tx.entity(id)
        return None if row is None else row.cls

    def holders(self, property: Property, key: bytes, most: int = 1) -> list[int]:
        """The first living entities whose slot holds this key, as this unit sees them."""
        here = self.held.first(property, key, most)
        stored = self.tx.find(property.id, key)
        if not stored:
            return here
        found = {id for id in stored if self.held.still_holds(id, property, key)}
        return sorted(found.union(here))[:most]

    def referrers(
        self, key: bytes, properties: dict[int, Property], limit: int
    ) -> list[tuple[Property, int]]:
        """(property, id) of the living entities that refer to something, as this unit sees it."""
        found = set(self.tx.referrers(key, list(properties), limit))
        found.update(self.held.among(key, properties))
        return [
            (properties[number], id)
            for number, id in sorted(found)
            if self.held.still_holds(id, properties[number], key)
        ]

    # --- going on with another metamodel -----------------------------------------------------

    def adopt(self, schema: Schema) -> None:
        """Go on with this metamodel; what is in work takes the form that it asks for."""
        before, self.schema = self.schema, schema
        if before is not self.base_schema:
            self.earlier.append(before)
        known: dict[int, Forms] = {}
        for draft in self.drafts.values():
            forms = known.get(draft.class_id)
            if forms is None:
                forms = known[draft.class_id] = self._forms_since(before, draft.class_id)
            if forms:
                self._remember(draft.id)
                reform(draft, forms)
                self.held.note_all(draft, schema.class_of_id(draft.class_id))

    def _forms_since(self, before: Schema, class_id: int) -> Forms:
        return changed_forms(before.class_of_id(class_id), self.schema.class_of_id(class_id))

    # --- naming ------------------------------------------------------------------------------

    def expect(self, given: list[Any]) -> None:
        """Let the store fetch together whoever has these idents."""
        keys = ident_keys(given)
        self.tx.prefetch(Wanted(keys=tuple((core.IDENT, key) for key in keys)))

    def resolve(self, given: Any, property: Property | None = None) -> int:
        """The id of whatever names an entity: id, ident, temporary id or `{slot: value}`."""
        if isinstance(given, int) and not isinstance(given, bool):
            return decode_ref(given)
        if isinstance(given, str):
            return self._resolve_text(given, property)
        if isinstance(given, dict) and len(given) == 1:
            return self._resolve_lookup(*next(iter(given.items())), property)
        raise names_nothing(given, property)

    def _resolve_text(self, text: str, property: Property | None) -> int:
        name = text.removeprefix(":")
        if name in self.temps:
            return self.temps[name]
        if name.isascii() and name.isdigit() and len(name) < 17:
            return int(name)
        known = self.schema.id_named(name)
        if known is not None and known not in self.drafts:
            return known
        ident = named_ident(self.schema, name, property, self.temps)
        if self.guard is not None and known is None:
            self.guard.admit_name(ident)
        found = self.bearer(name)
        if found is None:
            raise unknown_entity(self.schema, ident, property)
        return found

    def bearer(self, ident: str) -> int | None:
        """The living entity of that name, in whichever spelling; it has no colon before it."""
        property = self.schema.property_by_id(core.IDENT)
        for spelled in (ident,) if ident.isascii() else spellings(ident):
            if found := self.holders(property, KEYWORD.index_key(spelled)):
                return found[0]
        return None

    def _resolve_lookup(self, slot: Any, value: Any, referring: Property | None) -> int:
        if self.guard is not None and isinstance(slot, str | int):  # first: is there such a slot?
            self.guard.admit_name(slot if isinstance(slot, str) else self.schema.ident_of(slot))
        property = looked_up_by(self.schema, slot, value, referring)
        stored = decode_slot(property, value, self.resolve, self.match)
        keys = lookup_keys(property, value, stored)
        found = (id for key in keys for id in self.holders(property, key) if self.shows(id))
        if (id := next(found, None)) is not None:
            return id
        raise unknown_entity(self.schema, {slot: value}, referring)

    # --- changing ----------------------------------------------------------------------------

    def begin_create(self, cls: Class, id: int) -> Draft:
        """A new, empty draft."""
        if self.guard is not None:
            self.guard.admit(cls.kinds, is_new=True)
        return self._begin(Draft(id, cls.id, None, None, {}))

    def begin_restore(self, cls: Class, id: int) -> Draft:
        """The empty draft of an entity that was deleted, be it by this very unit."""
        self._admit(cls.id)
        known = self.drafts.get(id)
        before, old = (None, None) if known is None else (known.before, known.old)
        return self._begin(Draft(id, cls.id, before, old, {}))

    def _begin(self, draft: Draft) -> Draft:
        check_patience()
        id = draft.id
        if self._undo is not None:
            self._remember(id)
        self.drafts[id] = draft
        if draft.class_id in self.schema.metaclasses:
            self._meta_ids.add(id)
        self.touched.add(id)
        return draft

    def put(
        self, draft: Draft, property: Property, stored: Any, fresh: list[Any] | None = None
    ) -> None:
        """Set one slot to a stored value; None or an empty list clears it.

        Of a list it may be said which values are `fresh`: the others were there before.
        """
        assert draft.doc is not None
        self.touched.add(draft.id)
        if stored is None or (stored == [] and property.many):
            drop(draft, property.key)
            return
        draft.doc[property.key] = stored
        if property.unique is not None or property.is_ref:
            self.held.note(property, stored if fresh is None else fresh, draft.id)

    def decode(self, draft: Draft, property: Property, given: Any) -> Any:
        """The stored form of what was given for a slot of this draft."""
        if property.inverse_of:
            raise derived(self.schema.ident_of(property.inverse_of))
        if property.secret:
            return self._keep_secret(draft, property, given)
        if given is None:
            return None
        if type(given) is Hashed:
            raise SecretNotHashed(self.schema)  # the slot was secret when this was prepared
        if property.id == core.IDENT and isinstance(given, str):
            return new_ident(given)
        return decode_slot(property, given, self.resolve, self.match)

    def settled(self, draft: Draft, doc: Doc) -> Doc:
        """A document of this draft; that of a property names values as its type stores them."""
        if draft.class_id not in self.schema.property_kinds:
            return doc
        return settled(doc, self.schema.ident_of(doc.get(str(core.RANGE), 0)))

    def take_time(self) -> None:
        """Match as long as it takes from now on: this unit holds up nobody."""
        self._matching = Matching(math.inf)

    def match(self, pattern: Pattern, value: str) -> bool:
        """Whether the pattern occurs in the value, within what a transaction may spend on that."""
        self._matching = self._matching or Matching()
        return self._matching.matches(pattern, value)

    def _keep_secret(self, draft: Draft, property: Property, given: Any) -> None:
        if given is not None and type(given) is not Hashed:
            raise SecretNotHashed(self.schema)
        self.tx.keep_secret(draft.id, property.id, None if given is None else given.kept())
        self.touched.add(draft.id)

    def slot_of(self, cls: Class, name: str, given: Any = None) -> Property:
        """The slot of that name, or a refusal that suggests another."""
        property, plain = found_among(cls.slots, name), name.removeprefix(":")
        if property is not None:
            return property
        before = self.stored_schema.class_of_id(cls.id)
        if before is not None and before is not cls and plain in before.slots:
            raise slot_in_change(cls, before.slots[plain])
        raise unknown_slot(cls, name, given)

    # --- taking back -------------------------------------------------------------------------

    @contextmanager
    def undone_by_failure(self) -> Iterator[None]:
        """Whatever the block does to the unit is taken back if it raises."""
        tx, schema, temps = self.tx, self.schema, dict(self.temps)
        secrets, is_schema, touched = dict(tx.secrets), tx.changes_schema, set(self.touched)
        changed, tx.changed_ids = tx.changed_ids, set()  # so that it can be told what the block did
        self._undo = {}
        self.held.forget_values()
        try:
            yield
        except BaseException:
            for id, known in self._undo.items():
                if known is _ABSENT:
                    self.drafts.pop(id, None)
                else:
                    self.drafts[id].doc, self.drafts[id].misfits = known
            self.schema, self.temps = schema, temps
            for draft in (self.drafts[id] for id in self._undo if id in self.drafts):
                self.held.note_all(draft, schema.class_of_id(draft.class_id))
            self.touched = touched
            tx.secrets, tx.changes_schema = secrets, is_schema
            raise
        else:
            changed |= tx.changed_ids
        finally:
            self._undo, tx.changed_ids = None, changed

    def has_changed(self, draft: Draft) -> bool:
        """Whether an entity, or a secret of it, differs from before: inside `run`, this call."""
        was = _ABSENT if self._undo is None else self._undo.get(draft.id, _ABSENT)
        differs = self.held.differs(draft, draft.old if was is _ABSENT else was[0])
        return differs or draft.id in self.tx.changed_ids

    def meta_drafts(self) -> list[Draft]:
        """The drafts of classes and properties."""
        ids = sorted(self._meta_ids) if self._meta_ids else ()
        return [self.drafts[id] for id in ids if id in self.drafts]

    def _remember(self, id: int) -> None:
        """Keep a draft's document before it can be changed, if that may have to be taken back."""
        if self._undo is None or id in self._undo:
            return
        draft = self.drafts.get(id)
        if draft is None:
            self._undo[id] = _ABSENT
        else:
            doc = None if draft.doc is None else dict(draft.doc)
            self._undo[id] = doc, dict(draft.misfits) if draft.misfits else None

    def _admit(self, class_id: int) -> None:
        if self.guard is not None:
            self.guard.admit(self._kinds(class_id))

    def shows(self, id: int) -> bool:
        """Whether whoever writes may be told of an entity that the write has come across."""
        class_id = None if self.guard is None else self.class_id_of(id)
        return self.guard is None or class_id is None or self.guard.shows(self._kinds(class_id))

    def admit_reference(self, property: Property, class_id: int) -> None:
        """Whether the caller may let this slot refer to an instance of that class."""
        if self.guard is not None:
            target = self.schema.class_of_id(property.target or 0)
            range = frozenset[str]() if target is None else target.kinds
            self.guard.admit_reference(property.ident, range, self._kinds(class_id))

    def begins_here(self, id: int) -> bool:
        """Whether the very call that is being checked makes this entity, or brings it back."""
        draft = self.drafts.get(id)
        is_new = draft is not None and draft.before is None
        return is_new and (self._undo is None or self._undo.get(id) is _ABSENT)

    def _kinds(self, class_id: int) -> frozenset[str]:
        return (self.schema.class_of_id(class_id) or self.base_schema.class_by_id(class_id)).kinds

    def ask_guard(self, *, since_undo: bool = False) -> None:
        """Whether all this may be changed; or only what `undone_by_failure` would undo."""
        if self.guard is not None:
            drafts: Collection[Draft] = self.drafts.values()
            if since_undo:
                drafts = [self.drafts[id] for id in self._undo or () if id in self.drafts]
            ask(self.guard, drafts, self.tx, self.base_schema, self.schema)

    # --- finishing ---------------------------------------------------------------------------

    def begin_anew(self) -> None:
        """Forget what has been written: from here on it is what was there before."""
        self.tx.flush()
        self.drafts.clear()
        self.held.clear()
        self._meta_ids.clear()
        self.stored_schema = self.schema

    def finish(self) -> list[Draft]:
        """Hand the net changes to the transaction, one per entity; returns those that have any."""
        changed = [draft for draft in self.drafts.values() if draft.is_changed()]
        self.ask_guard()
        active = active_key(self.schema)
        for draft in changed:
            self._plan(draft)
            old, doc = draft.old or _EMPTY, draft.doc or _EMPTY
            if active in doc or active in old:
                self.tx.tally.processes += bool(doc.get(active)) - bool(old.get(active))
        return changed

    def _plan(self, draft: Draft) -> None:
        if draft.before is None and draft.doc is not None:
            self.tx.change(creation_of(draft, self.class_of(draft)), None)
            return
        before = self.stored_schema.class_by_id(draft.class_id)
        after = before if draft.doc is None else self.class_of(draft)  # its class may be gone too
        self.tx.change(change_of(draft, before, after), draft.before)
