"""`entity.transact`: several operations, all or none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sandbar.errors import Incorrect
from sandbar.findings import Finding, Findings, moved_data
from sandbar.model import Outcome, Receipt, malformed_operations
from sandbar.verbs.answers import Answer
from sandbar.verbs.base.writing import slots_of_entity
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.class_tools import slots_by_ident
from sandbar.verbs.context import Context
from sandbar.verbs.fields import Writing

# How operations inside a transaction may also be spelled.
_SPELLINGS = {
    "create": {"attributes": "slots"},
    "update": {"attributes": "set", "slots": "set", "id": "entity", "ident": "entity"},
    "delete": {"id": "entity", "ident": "entity"},
    "restore": {"id": "entity", "ident": "entity"},
}


class TransactArguments(Writing, frozen=True, kw_only=True):
    """Operations that are done all or none."""

    operations: Annotated[
        list[dict[str, Any]],
        Meta(
            description='{"op": "create", class, slots, temp}; "migrate": class, rename, '
            'clear, fill; with entity and expect: "update": set, add, remove; "delete": mode; '
            '"restore": to'
        ),
    ]


class Transacted(Answer, frozen=True, kw_only=True):
    """What each operation did, and the ids behind the temporary names."""

    outcomes: list[Outcome]
    temps: dict[str, int] = msgspec.field(default_factory=dict)
    receipt: Receipt
    replayed: bool = False


def transact(context: Context, arguments: TransactArguments) -> Transacted:
    """Do several things or none of them."""
    operations = [_keyed(context, _spelled(operation)) for operation in arguments.operations]
    try:
        written = context.db.transact(
            operations, reason=arguments.reason, idempotency_key=arguments.idempotency_key
        )
    except Incorrect as problem:
        raise _beside_the_malformed(problem, context, operations) from problem
    return Transacted(
        outcomes=written.outcomes,
        temps=written.temps,
        receipt=written.receipt,
        replayed=written.replayed,
    )


def _beside_the_malformed(
    problem: Incorrect, context: Context, operations: list[dict[str, Any]]
) -> Incorrect:
    """If some operations cannot be read, the others are tried out, to tell it all."""
    found = list(problem.data.get("findings", []))
    if problem.code != "operations.malformed" or not found or "left-out" in problem.data:
        return problem  # there is nothing to add, or more than enough already
    unread = {finding["at"] for finding in found}
    others = [at for at in range(len(operations)) if at not in unread]
    # What refers to something that an unread operation would make is not to blame.
    made = [_whole_word(name) for at in unread for name in _names_made(operations[at])]
    beside = context.db.validate([operations[at] for at in others]) if others else []
    found += [
        moved_data(finding, at=others[finding.get("at") or 0])
        for finding in beside
        if not any(name.search(finding["message"]) for name in made)
    ]
    found.sort(key=lambda finding: (finding["at"] not in unread, finding["at"]))
    findings = Findings.of(*msgspec.convert(found, list[Finding]))
    return malformed_operations(findings, problem.hint)


def _names_made(operation: dict[str, Any]) -> Iterator[str]:
    """The names by which other operations may refer to what this one would make."""
    slots = operation.get("slots", operation.get("attributes"))
    named = (operation.get("temp"), slots.get("db/ident") if isinstance(slots, dict) else None)
    yield from (name.removeprefix(":") for name in named if isinstance(name, str))


def _whole_word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/.-]){re.escape(name)}(?![\w/.-])")


def _keyed(context: Context, operation: dict[str, Any]) -> dict[str, Any]:
    """An operation with its slots under their idents."""
    for name, of_entity in (("slots", False), ("set", True), ("add", True), ("remove", True)):
        slots = operation.get(name)
        if isinstance(slots, dict) and not all("/" in str(key) for key in slots):
            if of_entity:
                slots = slots_of_entity(context, operation.get("entity"), slots)
            else:
                slots = slots_by_ident(context.db.schema(), operation.get("class"), slots)
            operation = operation | {name: slots}
    return operation


def _spelled(operation: dict[str, Any]) -> dict[str, Any]:
    """The operation in the model's words."""
    others = _SPELLINGS.get(str(operation.get("op")), {})
    if others.keys().isdisjoint(operation):
        return operation
    renamed = {others.get(key, key): value for key, value in operation.items()}
    return renamed if len(renamed) == len(operation) else operation


VERBS = (
    Verb(
        name="entity.transact",
        title="Run a transaction",
        description="Run several create, update, delete, restore and migrate operations, all or "
        "none. A temp name of one create can be the value of a reference in another.",
        access="write",
        arguments=TransactArguments,
        result=Transacted,
        run=transact,
        is_destructive=True,
        examples=(
            Example(
                "One in, one out",
                {
                    "operations": [
                        {
                            "op": "create",
                            "class": "zorp/LowTop",
                            "slots": {"footwear/name": "Meteor Low"},
                            "temp": "new",
                        },
                        {"op": "delete", "entity": "product/comet-low"},
                    ]
                },
            ),
        ),
    ),
)
