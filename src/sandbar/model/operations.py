"""The operations of a transaction, as they arrive: plain JSON, decoded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from sandbar.errors import Incorrect

OPERATIONS_MAX = 10_000
BYTES_MAX = 4 * 1024 * 1024

DeleteMode = Literal["refuse", "cascade", "detach"]


class Create(msgspec.Struct, tag_field="op", tag="create", frozen=True, kw_only=True):
    """Make an entity; with an existing ident it changes nothing and says what differs."""

    class_: Any = msgspec.field(name="class")
    slots: dict[str, Any] = {}
    temp: str | None = None


class Update(msgspec.Struct, tag_field="op", tag="update", frozen=True, kw_only=True):
    """Change slots: `set` replaces (null clears), `add` and `remove` work on many-valued slots."""

    entity: Any
    set: dict[str, Any] = {}
    add: dict[str, Any] = {}
    remove: dict[str, Any] = {}
    expect: int | None = None


class Delete(msgspec.Struct, tag_field="op", tag="delete", frozen=True, kw_only=True):
    """End an entity; its history stays."""

    entity: Any
    mode: DeleteMode = "refuse"
    expect: int | None = None


class Migrate(msgspec.Struct, tag_field="op", tag="migrate", frozen=True, kw_only=True):
    """Change all instances of a class, so that a stricter definition fits them."""

    class_: Any = msgspec.field(name="class")
    fill: dict[str, Any] = {}
    clear: list[str] = []
    rename: dict[str, str] = {}


Operation = Create | Update | Delete | Migrate


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
    ready = [op for op in given if isinstance(op, Operation)]
    if len(ready) == len(given):
        return ready
    try:
        return msgspec.convert(given, type=list[Operation])
    except msgspec.ValidationError as error:
        raise Incorrect("operations.malformed", str(error), hint=_HINT) from error


_HINT = 'for example [{"op": "create", "class": "zorp/Boot", "slots": {"footwear/name": "X"}}]'
