"""The operations of a transaction, as they arrive: plain JSON, decoded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from sandbar.errors import Incorrect

OPERATIONS_MAX = 10_000
BYTES_MAX = 4 * 1024 * 1024

DeleteMode = Literal["refuse", "cascade", "detach"]


class Create(
    msgspec.Struct,
    tag_field="op",
    tag="create",
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
):
    """Make an entity; with an existing ident it changes nothing and says what differs."""

    class_: Any = msgspec.field(name="class")
    slots: dict[str, Any] = {}
    temp: str | None = None


class Update(
    msgspec.Struct,
    tag_field="op",
    tag="update",
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
):
    """Change slots: `set` replaces (null clears), `add` and `remove` work on many-valued slots."""

    entity: Any
    set: dict[str, Any] = {}
    add: dict[str, Any] = {}
    remove: dict[str, Any] = {}
    expect: int | None = None


class Delete(
    msgspec.Struct,
    tag_field="op",
    tag="delete",
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
):
    """End an entity; its history stays."""

    entity: Any
    mode: DeleteMode = "refuse"
    expect: int | None = None


class Restore(
    msgspec.Struct,
    tag_field="op",
    tag="restore",
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
):
    """Bring a deleted entity back as it was right before its end, or any as it was at `to`."""

    entity: Any
    to: int | str | None = None
    expect: int | None = None


class Migrate(
    msgspec.Struct,
    tag_field="op",
    tag="migrate",
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
):
    """Change all instances of a class, so that a stricter definition fits them."""

    class_: Any = msgspec.field(name="class")
    fill: dict[str, Any] = {}
    clear: list[str] = []
    rename: dict[str, str] = {}


Operation = Create | Update | Delete | Restore | Migrate


def parse_operations(given: Sequence[Any]) -> list[Operation]:
    """The operations, or an error that says which one is malformed and how."""
    if not isinstance(given, list | tuple):
        raise Incorrect("operations.malformed", "operations come as a list", hint=_HINT)
    if len(given) > OPERATIONS_MAX:
        raise Incorrect(
            "operations.too-many",
            f"a transaction has at most {OPERATIONS_MAX} operations; these are {len(given)}",
            hint="send them in several transactions",
        )
    try:
        if not any(isinstance(op, msgspec.Struct) for op in given):
            return msgspec.convert(given, type=list[Operation])
        return [
            _shaped(op) if isinstance(op, Operation) else msgspec.convert(op, type=Operation)
            for op in given
        ]
    except (msgspec.ValidationError, RecursionError) as error:
        raise Incorrect("operations.malformed", str(error), hint=_HINT) from error


def _shaped(op: Operation) -> Operation:
    """An operation that was made in Python, where nothing has looked at its fields yet."""
    if isinstance(op, Create):
        _check_names(op.slots)
        is_right = op.temp is None or type(op.temp) is str
    elif isinstance(op, Update):
        for slots in (op.set, op.add, op.remove):
            _check_names(slots)
        is_right = op.expect is None or type(op.expect) is int
    elif isinstance(op, Delete):
        is_right = op.mode in ("refuse", "cascade", "detach")
        is_right = is_right and (op.expect is None or type(op.expect) is int)
    elif isinstance(op, Restore):
        is_right = op.to is None or type(op.to) in (int, str)
        is_right = is_right and (op.expect is None or type(op.expect) is int)
    else:
        _check_names(op.fill)
        _check_names(op.rename)
        is_right = type(op.clear) is list and all(type(v) is str for v in op.rename.values())
    if not is_right:
        kind = type(op).__name__.lower()
        raise Incorrect("operations.malformed", f"this {kind} is malformed", hint=_HINT)
    return op


def _check_names(slots: object) -> None:
    if type(slots) is not dict or not all(type(name) is str for name in slots):
        raise Incorrect("operations.malformed", "slots are an object by ident", hint=_HINT)


_HINT = 'for example [{"op": "create", "class": "zorp/Boot", "slots": {"footwear/name": "X"}}]'
