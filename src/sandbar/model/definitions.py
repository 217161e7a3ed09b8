"""Defining many properties and classes at once: what exists is updated, what does not is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbar.errors import Incorrect
from sandbar.keywords import looks_like_ident, parse_ident, spellings
from sandbar.model.introspection import Introspection
from sandbar.model.operations import Create, Operation, Update
from sandbar.model.values.refusals import named

_EXAMPLE = 'for example {"footwear/name": {"dt/range": "db.type/string"}}'

Definitions = Mapping[str, Mapping[str, Any]]  # ident to slots


def definition_operations(
    schema: Introspection, properties: Definitions, classes: Definitions
) -> list[Operation]:
    """The operations that bring the metamodel to these definitions."""
    known = {"dt/Property": set(schema.properties()), "dt/Class": set(schema.classes())}
    operations: list[Operation] = []
    for kind, definitions in (("dt/Property", properties), ("dt/Class", classes)):
        if not isinstance(definitions, Mapping):
            raise Incorrect(
                "define.malformed", "definitions are an object of ident to slots", hint=_EXAMPLE
            )
        for given, slots in definitions.items():
            if not isinstance(slots, Mapping):
                raise Incorrect(
                    "define.malformed",
                    f"the definition of {named(given)} is not an object",
                    hint=_EXAMPLE,
                )
            ident = _ident_of(kind, given)
            kept = next((spelled for spelled in spellings(given) if spelled in known[kind]), None)
            if kept is not None:
                operations.append(Update(entity=kept, set=dict(slots)))
            else:
                operations.append(Create(class_=kind, slots={"db/ident": ident, **slots}))
    return operations


def _ident_of(kind: str, given: Any) -> str:
    """The ident under which something is defined."""
    try:
        return parse_ident(given)
    except Incorrect as problem:
        is_bare = isinstance(given, str) and looks_like_ident(f"my/{given}")
        if problem.code != "keyword.malformed" or not is_bare:
            raise
        what = "class" if kind == "dt/Class" else "property"
        message = f"the name of a {what} is written ns/name, and {named(given)} has no namespace"
        raise Incorrect(problem.code, message, hint=f'for example "my/{given}"') from None
