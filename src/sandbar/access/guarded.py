"""A workspace as one caller may see and change it: every verb works through this."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from sandbar.access.callers import Access, Caller
from sandbar.access.guard import (
    RightsGuard,
    is_protected,
    names_protected_slot,
    protected_classes,
    protected_roots,
    refuse_protected,
    refuse_writing,
)
from sandbar.access.processes import ProcessGuard, refuse_purge
from sandbar.access.rights import rights_of_role
from sandbar.access.scope import (
    Scopes,
    classes_within,
    is_within,
    names_slot_outside,
    reach_of,
    refuse_outside,
    slots_within,
)
from sandbar.errors import Forbidden, NotFound
from sandbar.model import (
    AllBut,
    Entity,
    HistoryEntry,
    Introspection,
    Judged,
    Moment,
    Page,
    Purged,
    PurgeMode,
    SearchPage,
    SlotChange,
    TransactionEntry,
    Walk,
    Workspace,
    Written,
)


class Guarded:
    """The calls of a workspace, each checked against what the caller may see and do."""

    def __init__(
        self, workspace: Workspace, caller: Caller, group: str = "entity", verb: str | None = None
    ) -> None:
        """For a verb of a group; without a verb, for a door that shows entities by itself."""
        self._workspace = workspace
        self.number = workspace.number
        self.caller = caller
        self._reach = reach_of(caller.rights, group, verb or group)
        # An admin of everything is kept from nothing; whoever is limited in any way is none.
        self._guard = None if caller.may("admin") else RightsGuard(self._reach)
        self._write_guard = ProcessGuard(self._guard)

    def schema(self, as_of: Moment | None = None) -> Introspection:
        """The metamodel, now or as of the past."""
        return self._workspace.schema(as_of)

    def get(self, entity: Any, *, as_of: Moment | None = None) -> Entity:
        """One entity, by id, ident or `{slot: value}`."""
        if self._guard is None:
            return self._workspace.get(entity, as_of=as_of)
        if isinstance(entity, dict):
            self._admit_lookup(entity, as_of)
        found = self._workspace.get(entity, as_of=as_of)
        schema = self._workspace.schema_at_hand()
        if self._keeps_access and found.class_ in protected_classes(schema):
            raise refuse_protected()
        if as_of is not None:
            self._admit(found.entity_id)  # its class may have been another's heir then
        elif self._scopes and found.class_ not in classes_within(schema, self._scopes):
            raise self._refused(entity)
        return found

    def own_account(self) -> Entity | None:
        """Who the caller is, as the workspace knows them: everybody may know that of themselves."""
        id = self.caller.account_id
        return None if id is None else self._workspace.get(id)

    def query(
        self,
        class_: Any,
        where: Any = None,
        *,
        order_by: str | None = None,
        fields: Sequence[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        as_of: Moment | None = None,
        hidden: Collection[str] = (),
    ) -> Page:
        """One page of the instances of a class that satisfy a filter, `hidden` classes left out."""
        if self._keeps_access:
            named = [order_by.removeprefix("-")] if isinstance(order_by, str) else []
            named += fields if isinstance(fields, list | tuple | set | frozenset) else ()
            if names_protected_slot(where) or any(map(_is_protected_text, named)):
                raise refuse_protected()
        self._admit_lookups(where)
        hidden = self._left_out(class_, hidden, as_of)
        return self._workspace.query(
            class_,
            where,
            order_by=order_by,
            fields=fields,
            limit=limit,
            cursor=cursor,
            as_of=as_of,
            hidden=hidden,
        )

    def search(
        self,
        query: str,
        *,
        class_: Any = None,
        limit: int = 20,
        cursor: str | None = None,
        as_of: Moment | None = None,
        hidden: Collection[str] = (),
    ) -> SearchPage:
        """One page of the entities whose text holds all the words, `hidden` classes left out."""
        hidden = self._left_out(class_, hidden)
        return self._workspace.search(
            query, class_=class_, limit=limit, cursor=cursor, as_of=as_of, hidden_classes=hidden
        )

    def history(self, entity: Any, *, after: int = 0, limit: int = 1000) -> list[HistoryEntry]:
        """What happened to an entity, oldest first."""
        self._admit(entity)
        return self._workspace.history(entity, after=after, limit=limit)

    def diff(self, entity: Any, before: Moment, after: Moment | None = None) -> list[SlotChange]:
        """The slots in which an entity differs between two moments."""
        self._admit(entity)
        return self._workspace.diff(entity, before, after)

    def changes(self, *, since: int = 0, limit: int = 100) -> list[TransactionEntry]:
        """The transactions after `since`, oldest first."""
        found = self._workspace.changes(since=since, limit=limit)
        return found if self._guard is None else self._without_kept(found)

    def transact(
        self,
        operations: Sequence[Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Run several operations as one transaction, in the caller's name."""
        self._require("write")
        self._admit_lookups([_plain(operation) for operation in operations])
        return self._workspace.transact(
            operations,
            principal=self.caller.principal,
            reason=reason,
            idempotency_key=idempotency_key,
            guard=self._write_guard,
        )

    def define(
        self,
        properties: dict[str, dict[str, Any]],
        classes: dict[str, dict[str, Any]],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Define properties and classes in one transaction."""
        self._require("write")
        return self._workspace.define(
            properties,
            classes,
            principal=self.caller.principal,
            reason=reason,
            idempotency_key=idempotency_key,
            guard=self._write_guard,
        )

    def purge(
        self, entity: Any, *, reason: str | None = None, mode: PurgeMode = "refuse"
    ) -> Purged:
        """Erase every version of an entity, in the caller's name."""
        self._require("admin")
        for kinds in self._workspace.kinds([entity]):
            refuse_purge(kinds)
            if self._guard is not None:
                self._guard.admit_purge(kinds)
        # What it owns goes with it, and what refers to it changes: the guard looks at those too.
        return self._workspace.purge(
            entity,
            principal=self.caller.principal,
            reason=reason,
            mode=mode,
            guard=self._guard,
        )

    def trial(self, operations: Sequence[Any]) -> list[dict[str, Any]]:
        """What `transact` would find wrong with these operations; nothing is written."""
        self._admit_lookups([_plain(operation) for operation in operations])
        guard = self._guard
        if guard is not None and not self._reach.may_write:
            # A reader may ask what is wrong with data, too, if not about accounts.
            writers = reach_of(rights_of_role("writer"), "entity", "entity")
            guard = RightsGuard(writers._replace(write=self._scopes))
        return self._workspace.trial(operations, guard=ProcessGuard(guard))

    def instance_count(self, class_: Any) -> int:
        """How many instances of a class the caller is shown, by the index alone."""
        return self._workspace.validity.count(class_, hidden=self._left_out(class_))

    def judged(self, class_: Any, walk: Walk | None, *, limit: int) -> Judged:
        """Which of the next instances of a class are not valid today."""
        hidden = self._left_out(class_)
        return self._workspace.validity.page(class_, walk, limit=limit, hidden=hidden)

    def sees(self, class_: str) -> bool:
        """Whether the caller is shown instances of a class: for lists and news made elsewhere."""
        if self._guard is None:
            return True
        schema = self._workspace.schema_at_hand()
        if self._keeps_access and class_ in protected_classes(schema):
            return False
        return not self._scopes or class_ in classes_within(schema, self._scopes)

    def sees_entity(self, entity: Any, *, is_changed: bool = False) -> bool:
        """Whether the caller may see an entity (or work on it), also if it is gone by now."""
        try:
            self._admit(entity)
            if is_changed and self._guard is not None:
                for kinds in self._workspace.kinds([entity]):
                    self._guard.admit(kinds)
        except (Forbidden, NotFound):
            return False
        return True

    def shows_any(self, class_: str) -> bool:
        """Whether the caller is shown instances of a class or of any below it."""
        if not self._scopes:
            return self.sees(class_)
        schema = self._workspace.schema_at_hand()
        return _shows_any(schema, classes_within(schema, self._scopes), class_)

    @property
    def may_create(self) -> bool:
        """Whether the caller may make anything at all."""
        return self._guard is None or self._reach.may_write

    def is_made(self, class_: str) -> bool:
        """Whether the caller may make instances of a class (or, a reader, ask about them)."""
        if self._guard is None:
            return True
        schema = self._workspace.schema_at_hand()
        if self._keeps_access and class_ in protected_classes(schema):
            return False
        if not self._reach.governs_packs and class_.startswith("pack/"):
            return False
        scopes = self._reach.write if self._reach.may_write else self._reach.read
        return not scopes or class_ in classes_within(schema, scopes)

    @property
    def is_scoped(self) -> bool:
        """Whether there are classes that the caller is kept from besides those of access."""
        return bool(self._scopes)

    def services(self) -> Workspace:
        """The workspace itself, for services of admins: the turnstile has let the caller pass."""
        self._require("admin")
        return self._workspace

    # --- what is kept from others than admins --------------------------------------------------

    @property
    def _keeps_access(self) -> bool:
        return self._guard is not None and not self._reach.governs_access

    @property
    def _scopes(self) -> Scopes:
        return () if self._guard is None else self._reach.read

    def _require(self, access: Access) -> None:
        if self._guard is None:
            return
        if access == "write" and not self._reach.may_write:
            raise refuse_writing()
        if access == "admin" and not self._reach.may_purge:
            raise _admins_only()

    def _admit(self, entity: Any) -> None:
        """Refuse what is, or once was, kept from the caller; also if it is gone by now."""
        if self._guard is None:
            return
        if isinstance(entity, dict):
            self._admit_lookup(entity, None)
        for kinds in self._workspace.kinds([entity]):
            if self._keeps_access and any(map(is_protected, kinds)):
                raise refuse_protected()
            if not is_within(kinds, self._scopes) or not self._is_shown_now(entity):
                raise self._refused(entity)

    def _is_shown_now(self, entity: Any) -> bool:
        """Whether its class is within reach today, if it lives: that counts, not what it was."""
        if not self._scopes:
            return True
        try:
            found = self._workspace.get(entity)
        except NotFound:
            return True
        return found.class_ in classes_within(self._workspace.schema_at_hand(), self._scopes)

    def _admit_lookups(self, given: Any) -> None:
        """The same for all that stand anywhere in a filter or in operations."""
        if self._scopes:
            if self._keeps_access and names_protected_slot(given):
                raise refuse_protected()
            slots = slots_within(self._workspace.schema(), self._scopes)
            if names_slot_outside(given, slots):
                raise refuse_outside("an entity with such a slot")

    def _admit_lookup(self, entity: dict[Any, Any], as_of: Moment | None) -> None:
        """A lookup tells whether anybody has a value: not in slots kept from the caller."""
        if self._keeps_access and names_protected_slot(entity):
            raise refuse_protected()
        if self._scopes:
            slots = slots_within(self._workspace.schema(as_of), self._scopes)
            if names_slot_outside(entity, slots):
                raise refuse_outside("an entity with such a slot")

    def _refused(self, entity: Any) -> Forbidden | NotFound:
        """What is named is refused; by a value nobody learns that somebody outside has it."""
        if isinstance(entity, dict):
            return NotFound(
                "entity.unknown",
                "no entity has this value",
                hint="entity.query lists what is within reach",
            )
        return refuse_outside(f"entity {entity}")

    def _left_out(
        self, class_: Any, hidden: Collection[str] = (), as_of: Moment | None = None
    ) -> Collection[str]:
        """The classes that the caller is not shown; to ask for one of them by name is refused."""
        if self._guard is None:
            return hidden
        schema = self._workspace.schema(as_of)
        now = schema if as_of is None else self._workspace.schema_at_hand()
        name = class_.removeprefix(":") if isinstance(class_, str) else None
        kept: frozenset[str] = frozenset()
        if self._keeps_access:
            if name in protected_classes(schema):
                raise refuse_protected()
            kept = protected_roots(schema) | protected_roots(now)
        if not self._scopes:
            return kept.union(hidden)
        within = classes_within(schema, self._scopes)
        gone = frozenset(schema.classes()).difference(now.classes())
        within &= classes_within(now, self._scopes) | gone
        if name in schema.classes() and not _shows_any(schema, within, str(name)):
            raise refuse_outside(str(name))
        roots = kept.union(hidden).intersection(schema.classes())
        without = roots.union(*(schema.subclasses(root) for root in roots))
        return AllBut(within - without)

    def _without_kept(self, entries: list[TransactionEntry]) -> list[TransactionEntry]:
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
        if self._keeps_access and any(map(is_protected, kinds)):
            return False
        return is_within(kinds, self._scopes)


def _plain(operation: Any) -> Any:
    """An operation as its members; what is none will be refused as such."""
    return msgspec.structs.asdict(operation) if isinstance(operation, msgspec.Struct) else operation


def _shows_any(schema: Introspection, within: frozenset[str], class_: str) -> bool:
    return not within.isdisjoint((class_, *schema.subclasses(class_)))


def _is_protected_text(name: object) -> bool:
    return isinstance(name, str) and is_protected(name)


def _admins_only() -> Forbidden:
    return Forbidden(
        "access.admin-only", "only admins may do this", hint="ask an admin of this workspace"
    )
