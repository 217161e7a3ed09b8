"""References to accounts, in a form that means the same in another workspace.

Accounts are never exported, and most have no ident: their numbers say nothing elsewhere. So a slot
that refers to one is written as the lookup of its name: `{"auth/user-name": "user/anna"}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from sandbar.access import Guarded, protected_classes
from sandbar.errors import Forbidden, NotFound
from sandbar.model import Entity, Introspection, Moment
from sandbar.projects.comparing import facts_of

Portable = Callable[[Entity], Entity]


def portable_accounts(db: Guarded, schema: Introspection, as_of: Moment | None = None) -> Portable:
    """What makes of an entity the one to be written; who may not see accounts sees numbers."""
    known: dict[Any, Any] = {}

    def name(account: Any) -> Any:
        if account not in known:
            try:
                known[account] = _lookup(schema, db.get(account, as_of=as_of))
            except (Forbidden, NotFound):
                known[account] = account
        return known[account]

    def portable(entity: Entity) -> Entity:
        slots = _account_slots(schema, entity.class_).intersection(entity.slots)
        if not slots:
            return entity
        written = {
            slot: list(map(name, value)) if isinstance(value, list) else name(value)
            for slot in slots
            for value in [entity.slots[slot]]
        }
        return replace(entity, slots={**entity.slots, **written})

    return portable


def _account_slots(schema: Introspection, class_: str) -> frozenset[str]:
    def make() -> frozenset[str]:
        kept = protected_classes(schema)
        facts = facts_of(schema, class_)
        return frozenset(s for s in facts.refs - facts.computed if schema.range(s) in kept)

    return schema.derived(("project.account-slots", class_), make)


def _lookup(schema: Introspection, account: Entity) -> Any:
    """By its name, if it has one that no other can have."""
    unique = facts_of(schema, account.class_).unique
    names = [slot for slot in unique if slot.endswith("-name") and account.get(slot) is not None]
    return {names[0]: account[names[0]]} if names else account.ident or account.entity_id
