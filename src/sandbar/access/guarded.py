"""A workspace as one caller may see and change it: every verb works through this."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from sandbar.access.callers import Access, Caller
from sandbar.access.guard import (
    RoleGuard,
    is_protected,
    names_protected_slot,
    protected_classes,
    protected_roots,
    refuse_protected,
    refuse_writing,
)
from sandbar.access.processes import ProcessGuard, refuse_purge
from sandbar.errors import Forbidden
from sandbar.model import (
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

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._workspace = workspace
        self.caller = caller
        self._guard = None if caller.may("admin") else RoleGuard(caller)
        self._write_guard = ProcessGuard(self._guard)

    def schema(self, as_of: Moment | None = None) -> Introspection:
        """The metamodel, now or as of the past."""
        return self._workspace.schema(as_of)

    def get(self, entity: Any, *, as_of: Moment | None = None) -> Entity:
        """One entity, by id, ident or `{slot: value}`."""
        if self._guard is None:
            return self._workspace.get(entity, as_of=as_of)
        if isinstance(entity, dict) and names_protected_slot(entity):
            raise refuse_protected()
        found = self._workspace.get(entity, as_of=as_of)
        if found.class_ in protected_classes(self._workspace.schema_at_hand()):
            raise refuse_protected()
        if as_of is not None:
            self._admit(found.entity_id)  # its class may have been another's heir then
        return found

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
        if self._guard is not None:
            named = [order_by.removeprefix("-")] if isinstance(order_by, str) else []
            named += fields if isinstance(fields, list | tuple | set | frozenset) else ()
            if names_protected_slot(where) or any(map(_is_protected_text, named)):
                raise refuse_protected()
            hidden = self._hidden(class_, as_of).union(hidden)
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
        hidden = self._kept_from(class_).union(hidden)
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
        return found if self._guard is None else self._without_protected(found)

    def transact(
        self,
        operations: Sequence[Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Run several operations as one transaction, in the caller's name."""
        self._require("write")
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
        return self._workspace.purge(
            entity, principal=self.caller.principal, reason=reason, mode=mode
        )

    def trial(self, operations: Sequence[Any]) -> list[dict[str, Any]]:
        """What `transact` would find wrong with these operations; nothing is written."""
        # A reader may ask what is wrong with data, too, if not about accounts.
        guard = self._guard and RoleGuard(msgspec.structs.replace(self.caller, role="writer"))
        return self._workspace.trial(operations, guard=ProcessGuard(guard))

    def instance_count(self, class_: Any) -> int:
        """How many instances of a class the caller is shown, by the index alone."""
        return self._workspace.validity.count(class_, hidden=self._kept_from(class_))

    def judged(self, class_: Any, walk: Walk | None, *, limit: int) -> Judged:
        """Which of the next instances of a class are not valid today."""
        hidden = self._kept_from(class_)
        return self._workspace.validity.page(class_, walk, limit=limit, hidden=hidden)

    def sees(self, class_: str) -> bool:
        """Whether the caller is shown instances of a class: for lists and news made elsewhere."""
        if self._guard is None:
            return True
        return class_ not in protected_classes(self._workspace.schema_at_hand())

    # --- what is kept from others than admins --------------------------------------------------

    def _require(self, access: Access) -> None:
        if not self.caller.may(access):
            raise refuse_writing() if access == "write" else _admins_only()

    def _admit(self, entity: Any) -> None:
        """Refuse what is, or once was, an account; also if it is gone by now."""
        if self._guard is not None:
            for kinds in self._workspace.kinds([entity]):
                self._guard.admit(kinds)

    def _kept_from(self, class_: Any) -> frozenset[str]:
        """The classes that the caller is not shown now."""
        return frozenset() if self._guard is None else self._hidden(class_, None)

    def _hidden(self, class_: Any, as_of: Moment | None) -> frozenset[str]:
        """The classes of access; asking for one of them by name is refused outright."""
        schema = self._workspace.schema(as_of)
        if isinstance(class_, str) and class_.removeprefix(":") in protected_classes(schema):
            raise refuse_protected()
        now = schema if as_of is None else self._workspace.schema_at_hand()
        return protected_roots(schema) | protected_roots(now)

    def _without_protected(self, entries: list[TransactionEntry]) -> list[TransactionEntry]:
        """The same without the ids of accounts, and without the reason where nothing is left."""
        ids = sorted({id for entry in entries for id in entry.entity_ids})
        kinds = zip(ids, self._workspace.kinds(ids), strict=True)
        kept_from = {id for id, names in kinds if any(map(is_protected, names))}
        shown = []
        for entry in entries:
            left = tuple(id for id in entry.entity_ids if id not in kept_from)
            if left != entry.entity_ids:
                reason = entry.reason if left else None
                entry = msgspec.structs.replace(entry, entity_ids=left, reason=reason)
            shown.append(entry)
        return shown


def _is_protected_text(name: object) -> bool:
    return isinstance(name, str) and is_protected(name)


def _admins_only() -> Forbidden:
    return Forbidden(
        "access.admin-only", "only admins may do this", hint="ask an admin of this workspace"
    )
