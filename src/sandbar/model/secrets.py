"""Secrets: hashed in the caller's thread before a write is queued, compared and never shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from msgspec.structs import replace

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.model.checks import decode_slot
from sandbar.model.drafts import Hashed, SecretNotHashed
from sandbar.model.naming import resolve, unknown_entity
from sandbar.model.operations import Create, Operation, Update
from sandbar.model.properties import Property
from sandbar.model.schema import Schema
from sandbar.model.values import VALUE_TYPES
from sandbar.store import Snapshot

T = TypeVar("T")

ATTEMPTS_MAX = 3

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_STRING = VALUE_TYPES["db.type/string"]

_SECRECY = frozenset({"dt/secret?", ":dt/secret?"})

Rules = dict[str, Property]  # what a secret must satisfy before it is hashed, by ident


def with_hashed_secrets(
    schema: Schema, operations: list[Operation], attempt: Callable[[list[Operation]], T]
) -> T:
    """Do something with the operations once their secrets are hashed.

    Which slots are secret the operations may change themselves, or others meanwhile: whoever finds
    that out tells by which schema, and they are prepared again.
    """
    for _ in range(ATTEMPTS_MAX):
        try:
            return attempt(hash_secrets(schema, operations))
        except SecretNotHashed as found:
            schema = found.schema
    raise schema_moving()


def schema_moving() -> Conflict:
    """The refusal of a write that others never gave a chance."""
    return Conflict("schema.moving", "the schema keeps changing under this write", hint="retry")


def hash_secrets(schema: Schema, operations: list[Operation]) -> list[Operation]:
    """The operations with every value of a secret slot replaced by its hash."""
    secret = schema.secret_slots
    if len(operations) > 1:
        secret |= _made_secret(operations)
    if not secret:
        return operations
    rules = {name: schema.property_named(name) for name in schema.secret_slots}
    named = secret.union(f":{name}" for name in secret)
    return [op if _says_none(op, named) else _hashed(op, secret, rules) for op in operations]


def sets_secrets(schema: Schema, operations: list[Operation]) -> bool:
    """Whether there is anything to hash, by this schema."""
    secret = schema.secret_slots
    named = secret.union(f":{name}" for name in secret)
    return bool(secret) and not all(_says_none(op, named) for op in operations)


def kept_secret(snapshot: Snapshot, schema: Schema, entity: Any, slot: str) -> str | None:
    """The hash that a secret slot of an entity keeps."""
    id = resolve(snapshot, schema, entity, None)
    property = schema.property_named(slot)
    if not snapshot.entities([id]):
        raise unknown_entity(schema, entity)
    if not property.secret:
        raise Incorrect(
            "slot.not-secret", f"{property.ident} is not secret", hint="read it with get"
        )
    return snapshot.secret(id, property.id)


def matches_secret(hashed: str, candidate: str) -> bool:
    """Whether the candidate is the secret that was hashed."""
    try:
        return _hasher.verify(hashed, candidate)
    except (VerificationError, InvalidHashError, UnicodeEncodeError, TypeError, AttributeError):
        return False


def _made_secret(operations: list[Operation]) -> set[str]:
    """The slots that these very operations make secret."""
    names = set()
    for op in operations:
        if isinstance(op, (Create, Update)) and not _says_none(op, _SECRECY):
            given = op.slots if isinstance(op, Create) else op.set
            slots = {name.removeprefix(":"): value for name, value in given.items()}
            ident = slots.get("db/ident") if isinstance(op, Create) else op.entity
            if slots.get("dt/secret?") is True and isinstance(ident, str):
                names.add(ident.removeprefix(":"))
    return names


def _says_none(op: Operation, names: frozenset[str]) -> bool:
    """Whether an operation sets none of these slots: that is nearly always so, and found fast."""
    if isinstance(op, Create):
        return names.isdisjoint(op.slots)
    return not isinstance(op, Update) or names.isdisjoint(op.set)


def _hashed(op: Operation, secret: frozenset[str], rules: Rules) -> Operation:
    if isinstance(op, Create):
        return replace(op, slots=_hash_slots(op.slots, secret, rules))
    if isinstance(op, Update):
        return replace(op, set=_hash_slots(op.set, secret, rules))
    return op


def _hash_slots(slots: dict[str, Any], secret: frozenset[str], rules: Rules) -> dict[str, Any]:
    return {
        name: _hash(name.removeprefix(":"), given, rules)
        if name.removeprefix(":") in secret and given is not None
        else given
        for name, given in slots.items()
    }


def _hash(name: str, given: Any, rules: Rules) -> Hashed:
    if isinstance(given, Hashed):
        return given
    problem = _what_is_wrong(name, given, rules)
    return Hashed("", problem) if problem else Hashed(_hasher.hash(given))


def _what_is_wrong(name: str, given: Any, rules: Rules) -> Problem | None:
    """To be told with all else that is wrong; the usual message would show what was given."""
    if not isinstance(given, str) or not given:
        return Incorrect(
            "value.type", "a secret is a string that is not empty", hint="give such a string"
        )
    try:
        _STRING.decode(given)
        if name in rules:
            decode_slot(rules[name], given, _no_reference)
    except Problem as problem:
        return Incorrect(problem.code, "the slot does not take this secret", hint=problem.hint)
    return None


def _no_reference(given: Any, property: Property) -> int:
    raise AssertionError("a secret is text")
