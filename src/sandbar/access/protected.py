"""What is kept from everybody but admins: all that belongs to signing in, and how it is told.

A name of the namespace `auth` is refused as such, before anything is looked up: the answer is the
same whether or not there is something of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sandbar.access.metamodel import NAMESPACE
from sandbar.errors import Forbidden, NotFound
from sandbar.keywords import namespace
from sandbar.model import Introspection

_BEGINNINGS = (NAMESPACE, f":{NAMESPACE}")
_IDENT = "db/ident"
_REF = "db.type/ref"
_CONNECTIVES = ("and", "or", "not")
_NAMING = ("slots", "set", "add", "remove", "fill", "clear", "rename")  # members of operations


def is_protected(name: object) -> bool:
    """Whether a class, a slot or an ident is one of access."""
    if not isinstance(name, str) or not name.startswith(_BEGINNINGS):
        return False
    return "/" in name and namespace(name) == NAMESPACE


def protected_roots(schema: Introspection) -> frozenset[str]:
    """The classes of access: they, and all below them, are kept from everybody but admins."""
    return schema.derived(
        "access.roots", lambda: frozenset(name for name in schema.classes() if is_protected(name))
    )


def protected_classes(schema: Introspection) -> frozenset[str]:
    """The same with all classes below them, wherever those are named."""
    return schema.derived("access.classes", lambda: schema.below(protected_roots(schema)))


def refuse_protected() -> Forbidden:
    """The answer to a request for an account, and to a change of one."""
    return Forbidden(
        "entity.protected",
        "accounts and whatever belongs to signing in are read and changed by admins only",
        hint="ask an admin; on the server's machine `sandbar account list|add|revoke` does it",
    )


def names_protected_slot(given: Any) -> bool:
    """Whether a filter, a list of slots or a lookup names a slot of access, however deep."""
    waiting = [given]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if any(map(is_protected, part)):
                return True
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return False


def names_protected_entity(schema: Introspection, entity: object) -> bool:
    """Whether an ident is one of access; classes and properties are no secret."""
    if not isinstance(entity, str) or not is_protected(entity):
        return False
    return entity.removeprefix(":") not in _definitions(schema)


def filters_protected_entity(schema: Introspection, where: object) -> bool:
    """Whether a filter compares a reference with the ident of something of access."""
    return any(
        names_protected_entity(schema, text)
        for slot, operand in _comparisons(where)
        if _refers(schema, slot)
        for text in _texts(operand)
    )


def writes_protected(operation: Mapping[str, Any]) -> bool:
    """Whether an operation names a class, a slot or a new ident of access.

    Whom it names by a lookup or as the value of a slot, the guard of the write sees.
    """
    if is_protected(operation.get("class_", operation.get("class"))):
        return True
    for member in _NAMING:
        slots = operation.get(member)
        if isinstance(slots, list | tuple | dict) and any(map(is_protected, slots)):
            return True
        if isinstance(slots, dict):
            idents = (slots.get(_IDENT), slots.get(f":{_IDENT}"))
            renamed = slots.values() if member == "rename" else ()
            if any(map(is_protected, (*idents, *renamed))):
                return True
    return False


def _definitions(schema: Introspection) -> frozenset[str]:
    return schema.derived(
        "access.definitions", lambda: frozenset((*schema.classes(), *schema.properties()))
    )


def _refers(schema: Introspection, slot: str) -> bool:
    try:
        range = schema.range(slot)
        return range == _REF or range not in schema.datatypes()
    except NotFound:
        return False  # the query will say so


def _comparisons(where: object) -> Iterator[tuple[str, object]]:
    """Each slot of a filter with what it is compared with, however deep."""
    waiting = [where]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, dict):
            for name, value in part.items():
                if name in _CONNECTIVES:
                    waiting.append(value)
                elif isinstance(name, str):
                    yield name, value
                    waiting += [value] if isinstance(value, dict) else []


def _texts(operand: object) -> Iterator[str]:
    """The texts that a slot is compared with; those of a filter behind it are not."""
    if isinstance(operand, str):
        yield operand
    elif isinstance(operand, list | tuple):
        yield from (one for one in operand if isinstance(one, str))
    elif isinstance(operand, dict):
        for operator, value in operand.items():
            if isinstance(operator, str) and "/" not in operator:
                yield from _texts(value)
