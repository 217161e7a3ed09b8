"""The operations of a transaction, as they arrive: plain JSON, decoded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from sandbar.errors import Incorrect
from sandbar.findings import Finding, Findings
from sandbar.model.plain_words import UNREADABLE, said_plainly, what_it_takes
from sandbar.model.synonyms import operation_meant
from sandbar.model.values.refusals import named, quoted
from sandbar.suggestions import Suggestion

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
    id: int | None = None  # in Python only: the number that a nameless entity had elsewhere


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

_KINDS: dict[str, type[msgspec.Struct]] = {
    "create": Create,
    "update": Update,
    "delete": Delete,
    "restore": Restore,
    "migrate": Migrate,
}
_EXACT: frozenset[type] = frozenset(_KINDS.values())  # what nearly all are that Python makes
_NAMES: frozenset[type] = frozenset({str})


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
        kinds = set(map(type, given))
        if _EXACT.isdisjoint(kinds) and not any(issubclass(kind, Operation) for kind in kinds):
            return [_unnumbered(op) for op in msgspec.convert(given, type=list[Operation])]
        return [
            _shaped(op)
            if isinstance(op, Operation)
            else _unnumbered(msgspec.convert(op, type=Operation))
            for op in given
        ]
    except UNREADABLE as error:
        raise malformed_operations(_findings(given), _HINT) from error


def malformed_operations(findings: Findings, otherwise: str | None = None) -> Incorrect:
    """The refusal of operations, with all that is wrong; each finding says which one it is about.

    What there is to say if the findings have no hint is the hint `otherwise`.
    """
    first = findings.told[0]
    return findings.as_problem("operations.malformed", f"{first.place}: ", otherwise)


def _findings(given: Sequence[Any]) -> Findings:
    """Everything about the shape of operations that cannot be read."""
    findings = Findings()
    for at, op in enumerate(given):
        if isinstance(op, Operation):
            continue
        for message, hint in _faults(op):
            said = findings.hint(hint)
            found = Finding(code="operation.malformed", message=message, hint=said, at=at)
            findings.add(found)
    if not findings.told:
        findings.add(
            Finding(
                place="operations",
                code="operation.malformed",
                message="they are plain JSON",
                hint=_HINT,
            )
        )
    return findings


def _faults(op: object) -> Iterator[tuple[str, str | Suggestion | None]]:
    """What is wrong with one operation, in plain words."""
    if not isinstance(op, dict):
        yield "an operation is an object", _HINT
        return
    name = op.get("op")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        what = "op is missing" if name is None else f"there is no op {quoted(name)}"
        known, meant = f"op is one of {', '.join(_KINDS)}", operation_meant(name)
        yield what, f"{meant}; {known}" if meant else known
        return
    fields = _fields_of(kind)
    takes = f"{name} takes {', '.join(fields)}"
    for key in op:
        if key != "op" and key not in fields:
            yield f"{name} takes no {named(key)}", Suggestion(key, fields, takes)
    for key, field in fields.items():
        if key in op:
            try:
                msgspec.convert(op[key], field.type)
            except UNREADABLE as error:
                words = what_it_takes(field.type)
                yield said_plainly(key, error), f"{key} is {words}" if words else takes
        elif field.required:
            yield f"{name} needs {key}", takes


@cache
def _fields_of(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    fields.pop("id", None)
    return fields


def _unnumbered(op: Operation) -> Operation:
    """An operation that came as JSON: who writes it does not choose numbers."""
    if isinstance(op, Create) and op.id is not None:
        raise msgspec.ValidationError("create takes no id")
    return op


def _shaped(op: Operation) -> Operation:
    """An operation that was made in Python, where nothing has looked at its fields yet."""
    if isinstance(op, Create):
        _check_names(op.slots)
        is_right = op.temp is None or type(op.temp) is str
        is_right = is_right and (op.id is None or type(op.id) is int)
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
    if type(slots) is not dict or not _NAMES.issuperset(map(type, slots)):
        raise Incorrect("operations.malformed", "slots are an object by ident", hint=_HINT)


_HINT = 'for example [{"op": "create", "class": "zorp/Boot", "slots": {"footwear/name": "X"}}]'
