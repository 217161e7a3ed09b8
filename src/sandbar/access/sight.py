"""What one caller is shown of a workspace: what is refused when named, and left out of lists."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from sandbar.access.protected import (
    filters_protected_entity,
    is_protected,
    names_protected_entity,
    names_protected_slot,
    protected_classes,
    protected_roots,
    refuse_protected,
    writes_protected,
)
from sandbar.access.scope import (
    Reach,
    Scopes,
    classes_within,
    is_within,
    names_slot_outside,
    refuse_outside,
    slots_within,
)
from sandbar.errors import Forbidden, NotFound
from sandbar.model import AllBut, Entity, Introspection, Moment, TransactionEntry, Workspace


class Sight:
    """A workspace as far as it is shown; an admin of everything (`is_full`) is shown all of it."""

    def __init__(self, workspace: Workspace, reach: Reach, *, is_full: bool) -> None:
        self._workspace = workspace
        self._is_full = is_full
        self.keeps_access = not is_full and not reach.governs_access
        self.scopes: Scopes = () if is_full else reach.read

    def sees(self, class_: str) -> bool:
        """Whether instances of a class are shown."""
        if self._is_full:
            return True
        schema = self._workspace.schema_at_hand()
        if self.keeps_access and class_ in protected_classes(schema):
            return False
        return not self.scopes or class_ in classes_within(schema, self.scopes)

    def sees_any(self, class_: str) -> bool:
        """Whether instances of a class or of any below it are shown."""
        if not self.scopes:
            return self.sees(class_)
        schema = self._workspace.schema_at_hand()
        return _shows_any(schema, classes_within(schema, self.scopes), class_)

    def admit_named(self, entity: Any, as_of: Moment | None = None) -> None:
        """Refuse what is named as something of access, before a look whether it is there."""
        if isinstance(entity, dict):
            self.admit_lookup(entity, as_of)
            return
        is_suspect = self.keeps_access and is_protected(entity)
        if is_suspect and names_protected_entity(self._workspace.schema(as_of), entity):
            raise refuse_protected()

    def admit_filter(self, where: Any, named: Collection[Any], as_of: Moment | None) -> None:
        """The same for all that a query names: in its filter, its order and its fields."""
        if self.keeps_access:
            if names_protected_slot(where) or any(map(is_protected, named)):
                raise refuse_protected()
            if filters_protected_entity(self._workspace.schema(as_of), where):
                raise refuse_protected()
        self.admit_lookups(where)

    def admit_operations(
        self, operations: Sequence[Any], schema: Introspection | None = None
    ) -> None:
        """The same for all that operations name as classes, slots and new idents.

        By the metamodel of now, or by the one that there would be.
        """
        plain = [_plain(operation) for operation in operations]
        if self.keeps_access:
            for operation in plain:
                if isinstance(operation, dict) and writes_protected(operation):
                    raise refuse_protected()
        self.admit_lookups(plain, schema)

    def admit_found(self, found: Entity, named: Any) -> None:
        """Refuse what was found by a name, if it is kept from the caller."""
        schema = self._workspace.schema_at_hand()
        if self.keeps_access and found.class_ in protected_classes(schema):
            raise refuse_protected()
        if self.scopes and found.class_ not in classes_within(schema, self.scopes):
            raise self.refusal_of(named)

    def admit(self, entity: Any) -> None:
        """Refuse what is, or once was, kept from the caller; also if it is gone by now."""
        if self._is_full:
            return
        self.admit_named(entity)
        for kinds in self._workspace.kinds([entity]):
            if self.keeps_access and any(map(is_protected, kinds)):
                raise refuse_protected()
            if not is_within(kinds, self.scopes) or not self._is_shown_now(entity):
                raise self.refusal_of(entity)

    def _is_shown_now(self, entity: Any) -> bool:
        """Whether its class is within reach today, if it lives: that counts, not what it was."""
        if not self.scopes:
            return True
        try:
            found = self._workspace.get(entity)
        except NotFound:
            return True
        return found.class_ in classes_within(self._workspace.schema_at_hand(), self.scopes)

    def admit_lookups(self, given: Any, schema: Introspection | None = None) -> None:
        """The same for all that stand anywhere in a filter or in operations."""
        if self.scopes:
            if self.keeps_access and names_protected_slot(given):
                raise refuse_protected()
            slots = slots_within(schema or self._workspace.schema(), self.scopes)
            if names_slot_outside(given, slots):
                raise refuse_outside("an entity with such a slot")

    def admit_lookup(self, entity: dict[Any, Any], as_of: Moment | None) -> None:
        """A lookup tells whether anybody has a value: not in slots kept from the caller."""
        if self.keeps_access and names_protected_slot(entity):
            raise refuse_protected()
        if self.scopes:
            slots = slots_within(self._workspace.schema(as_of), self.scopes)
            if names_slot_outside(entity, slots):
                raise refuse_outside("an entity with such a slot")

    def refusal_of(self, entity: Any) -> Forbidden | NotFound:
        """What is named is refused; by a value nobody learns that somebody outside has it."""
        if isinstance(entity, dict):
            return self._workspace.schema_at_hand().unknown_entity(entity)
        return refuse_outside(f"entity {entity}")

    def left_out(
        self, class_: Any, hidden: Collection[str] = (), as_of: Moment | None = None
    ) -> Collection[str]:
        """The classes that the caller is not shown; to ask for one of them by name is refused."""
        if self._is_full:
            return hidden
        if self.keeps_access and is_protected(class_):
            raise refuse_protected()
        schema = self._workspace.schema(as_of)
        now = schema if as_of is None else self._workspace.schema_at_hand()
        name = class_.removeprefix(":") if isinstance(class_, str) else None
        kept: frozenset[str] = frozenset()
        if self.keeps_access:
            if name in protected_classes(schema):
                raise refuse_protected()
            kept = protected_roots(schema) | protected_roots(now)
        if not self.scopes:
            return kept.union(hidden)
        within = classes_within(schema, self.scopes)
        gone = frozenset(schema.classes()).difference(now.classes())
        within &= classes_within(now, self.scopes) | gone
        if name in schema.classes() and not _shows_any(schema, within, str(name)):
            raise refuse_outside(str(name))
        return AllBut(within - schema.below(kept.union(hidden)))

    def without_kept(self, entries: list[TransactionEntry]) -> list[TransactionEntry]:
        """The same without what is kept from the caller, and no reason where nothing is left."""
        ids = sorted({id for entry in entries for id in entry.entity_ids})
        kinds = zip(ids, self._workspace.kinds(ids), strict=True)
        kept_from = {id for id, names in kinds if not self._is_shown(names)}
        shown = []
        for entry in entries:
            left = tuple(id for id in entry.entity_ids if id not in kept_from)
            if left != entry.entity_ids:
                reason = entry.reason if left else None
                entry = msgspec.structs.replace(entry, entity_ids=left, reason=reason)
            shown.append(entry)
        return shown

    def _is_shown(self, kinds: frozenset[str]) -> bool:
        if self.keeps_access and any(map(is_protected, kinds)):
            return False
        return is_within(kinds, self.scopes)


def _plain(operation: Any) -> Any:
    """An operation as its members; what is none will be refused as such."""
    return msgspec.structs.asdict(operation) if isinstance(operation, msgspec.Struct) else operation


def _shows_any(schema: Introspection, within: frozenset[str], class_: str) -> bool:
    return not within.isdisjoint((class_, *schema.subclasses(class_)))
