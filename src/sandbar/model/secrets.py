"""Secrets: hashed in the caller's thread before a write is queued, compared and never shown."""

from __future__ import annotations

from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from sandbar.errors import Incorrect
from sandbar.model.operations import Create, Operation, Update
from sandbar.model.schema import Schema
from sandbar.model.unit import Hashed
from sandbar.model.values import VALUE_TYPES

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_STRING = VALUE_TYPES["db.type/string"]


def hash_secrets(schema: Schema, operations: list[Operation]) -> list[Operation]:
    """The operations with every value of a secret slot replaced by its hash."""
    secret = {schema.ident_of(id) for id in schema.property_ids if schema.property_by_id(id).secret}
    return [_hashed(op, secret) for op in operations] if secret else operations


def matches_secret(hashed: str, candidate: str) -> bool:
    """Whether the candidate is the secret that was hashed."""
    try:
        return _hasher.verify(hashed, candidate)
    except (VerificationError, InvalidHashError):
        return False


def _hashed(op: Operation, secret: set[str]) -> Operation:
    if isinstance(op, Create):
        return Create(class_=op.class_, slots=_hash_slots(op.slots, secret), temp=op.temp)
    if isinstance(op, Update):
        given = _hash_slots(op.set, secret)
        return Update(entity=op.entity, set=given, add=op.add, remove=op.remove, expect=op.expect)
    return op


def _hash_slots(slots: dict[str, Any], secret: set[str]) -> dict[str, Any]:
    return {
        name: _hash(given) if name.removeprefix(":") in secret and given is not None else given
        for name, given in slots.items()
    }


def _hash(given: Any) -> Hashed:
    if isinstance(given, Hashed):
        return given
    if not isinstance(given, str) or not given:
        raise Incorrect("value.type", "a secret is a string that is not empty")
    return Hashed(_hasher.hash(str(_STRING.decode(given))))
