"""`entity.history`, `diff`, `restore`, `purge`: entities as they were."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sandbar.errors import Incorrect
from sandbar.model import HistoryEntry, PurgeMode, Receipt, Restore, SlotChange
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import ENTITY_ALIASES, EntityName, Paged, Reason, Writing, moment
from sandbar.verbs.paging import fitting, read_place, write_place

_ENTRIES_DEFAULT = 50


class HistoryArguments(Paged, frozen=True, kw_only=True):
    """Whose history."""

    entity: EntityName


class History(Answer, frozen=True, kw_only=True):
    """Changes, oldest first."""

    history: list[HistoryEntry]
    cursor: str | None = None


class DiffArguments(Arguments, frozen=True, kw_only=True):
    """An entity and two moments."""

    entity: EntityName
    from_: Annotated[int | str, Meta(description="t or instant")] = msgspec.field(name="from")
    to: Annotated[int | str | None, Meta(description="t or instant; default now")] = None


class Differences(Answer, frozen=True, kw_only=True):
    """The slots that differ, each with the values that went and those that came."""

    changes: list[SlotChange]


class RestoreArguments(Writing, frozen=True, kw_only=True):
    """An entity and the moment to go back to."""

    entity: EntityName
    to: Annotated[
        int | str | None, Meta(description="t or instant; default: right before its deletion")
    ] = None
    expect: Annotated[int | None, Meta(description="refuse if its t is another")] = None


class Restored(Answer, frozen=True, kw_only=True):
    """The entity as it is again, and whether anything changed."""

    entity_id: int
    ident: str | None
    created: bool
    changed: bool
    receipt: Receipt
    replayed: bool = False


class PurgeArguments(Arguments, frozen=True, kw_only=True):
    """The entity to be erased. There is no key: a second purge finishes it, or says it is done."""

    entity: EntityName
    confirm: Annotated[
        str | int | dict[str, Any],
        Meta(description="the entity once more, as it was named; there is no way back"),
    ]
    mode: Annotated[
        PurgeMode, Meta(description="when others refer to it: cut those references")
    ] = "refuse"
    reason: Reason = None


class PurgeAnswer(Answer, frozen=True, kw_only=True):
    """The entities that are no more: this one and what it owned."""

    entity_ids: list[int]
    scrubbed: (
        bool  # false: erased bytes may linger in the file; they are owed, and overwritten soon
    )
    receipt: Receipt


def history(context: Context, arguments: HistoryArguments) -> History:
    """What happened to an entity."""
    question = ("entity.history", arguments.entity)
    after = 0 if arguments.cursor is None else read_place(arguments.cursor, int, *question)
    limit = arguments.limit or _ENTRIES_DEFAULT
    entries = context.db.history(context.named(arguments.entity), after=after, limit=limit)
    shown = entries if arguments.limit is not None else entries[: fitting(entries)]
    is_last = len(shown) == len(entries) and len(entries) < limit
    cursor = None if is_last else write_place(shown[-1].t, *question)
    return History(history=shown, cursor=cursor)


def diff(context: Context, arguments: DiffArguments) -> Differences:
    """What differs between two moments."""
    before = moment(arguments.from_)
    assert before is not None
    changes = context.db.diff(context.named(arguments.entity), before, moment(arguments.to))
    return Differences(changes=changes)


def restore(context: Context, arguments: RestoreArguments) -> Restored:
    """Bring an entity back."""
    operation = Restore(entity=arguments.entity, to=moment(arguments.to), expect=arguments.expect)
    written = context.db.transact(
        [operation], reason=arguments.reason, idempotency_key=arguments.idempotency_key
    )
    outcome = written.outcomes[0]
    return Restored(
        entity_id=outcome.entity_id,
        ident=outcome.ident,
        created=outcome.created,
        changed=outcome.changed,
        receipt=written.receipt,
        replayed=written.replayed,
    )


def purge(context: Context, arguments: PurgeArguments) -> PurgeAnswer:
    """Erase an entity and its past, if it is named twice."""
    if _spelled(arguments.confirm) != _spelled(arguments.entity):
        raise Incorrect(
            "purge.unconfirmed",
            "to purge an entity with its whole past, it must be named once more as confirm",
            hint=f"confirm: {_spelled(arguments.entity)[:80]}; there is no way back, entity.delete"
            " has one",
        )
    purged = context.db.purge(arguments.entity, mode=arguments.mode, reason=arguments.reason)
    return PurgeAnswer(
        entity_ids=purged.entity_ids, scrubbed=purged.scrubbed, receipt=purged.receipt
    )


def _spelled(entity: str | int | dict[str, Any]) -> str:
    """An entity as it was named, numbers and idents in one form."""
    if isinstance(entity, dict):
        return msgspec.json.encode(entity, order="sorted").decode()
    return str(entity).removeprefix(":")


VERBS = (
    Verb(
        name="entity.history",
        title="History of an entity",
        description="Every change of an entity, oldest first: when, who, why and which slots. "
        "Also of deleted entities, by id. For an old state use entity.find with as-of.",
        access="read",
        arguments=HistoryArguments,
        result=History,
        run=history,
        aliases=ENTITY_ALIASES,
        is_core=True,
        examples=(Example("A boot's life", {"entity": "product/mud-lord"}),),
    ),
    Verb(
        name="entity.diff",
        title="Compare two moments",
        description="Read how one entity differs between two moments (t or instant). "
        "entity.history lists the moments and every change; entity.find with as-of reads one whole "
        "state.",
        access="read",
        arguments=DiffArguments,
        result=Differences,
        run=diff,
        aliases=ENTITY_ALIASES | {"before": "from", "after": "to"},
        examples=(Example("Since the beginning", {"entity": "product/mud-lord", "from": 0}),),
    ),
    Verb(
        name="entity.restore",
        title="Restore an entity",
        description="Bring a deleted entity back, or set any entity back to what it was at a past "
        "moment. entity.history lists the moments.",
        access="write",
        arguments=RestoreArguments,
        result=Restored,
        run=restore,
        aliases=ENTITY_ALIASES | {"as-of": "to"},
        is_destructive=True,
        is_idempotent=True,
        examples=(Example("As it was at t 2", {"entity": "product/mud-lord", "to": 2}),),
    ),
    Verb(
        name="entity.purge",
        title="Purge an entity",
        description="Erase an entity with all its versions for good, for pasted secrets and "
        "personal data; only a tombstone stays in history. confirm names it once more. To merely "
        "delete use entity.delete.",
        access="admin",
        arguments=PurgeArguments,
        result=PurgeAnswer,
        run=purge,
        is_housekeeping=True,
        aliases=ENTITY_ALIASES,
        is_destructive=True,
        examples=(
            Example(
                "Somebody's data",
                {
                    "entity": "product/solar-flop",
                    "confirm": "product/solar-flop",
                    "reason": "the customer asked for it",
                },
            ),
        ),
    ),
)
