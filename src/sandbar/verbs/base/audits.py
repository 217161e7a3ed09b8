"""`audit.list`: who asked for what, and how it ended."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from sandbar.audit import SHOWN, AuditRow, row_object
from sandbar.verbs.answers import Answer
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import Paged
from sandbar.verbs.paging import fitting, read_place, write_place

_ENTRIES_DEFAULT = 50


class ListArguments(Paged, frozen=True, kw_only=True):
    """Which requests."""

    principal: Annotated[str | None, Meta(description="only those of, e.g. service/claude")] = None
    verb: Annotated[str | None, Meta(description="only those for, e.g. entity.create")] = None
    success: Annotated[bool | None, Meta(description="only those that went well, or ill")] = None


def _fields() -> list[tuple[str, Any, Any]]:
    """The columns as fields; those that may hold nothing are left out then, and come last."""
    fields = []
    for column, (name, kind) in zip(AuditRow._fields, SHOWN.items(), strict=True):
        usual = AuditRow._field_defaults.get(column, msgspec.NODEFAULT)
        default = None if type(None) in get_args(kind) else usual
        fields.append((name.replace("-", "_"), kind, default))
    return sorted(fields, key=lambda field: field[2] is not msgspec.NODEFAULT)


_ENTRY = "One request: who, when, what, and how it ended; never its arguments or its result."
AuditEntry = msgspec.defstruct(
    "AuditEntry",
    _fields(),
    bases=(Answer,),
    namespace={"__doc__": _ENTRY},
    module=__name__,
    frozen=True,
    kw_only=True,
)


class AuditList(Answer, frozen=True, kw_only=True):
    """Requests of one workspace, newest first."""

    workspace: str
    entries: list[AuditEntry]  # type: ignore[valid-type]
    cursor: str | None = None


def list_entries(context: Context, arguments: ListArguments) -> AuditList:
    """The requests of a workspace."""
    filters = (arguments.principal, arguments.verb, arguments.success)
    question = ("audit.list", *filters)
    place = None
    if arguments.cursor is not None:
        place = read_place(arguments.cursor, tuple[int, int, int], *question)
    limit = arguments.limit or _ENTRIES_DEFAULT
    rows = context.services.journal.trail.rows(
        context.db.number,
        limit=limit + 1,
        cursor=place,
        principal=arguments.principal,
        verb=arguments.verb,
        is_success=arguments.success,
    )
    entries = [_entry(row) for row in rows[:limit]]
    if arguments.limit is None:
        entries = entries[: fitting(entries)]
    cursor = None
    if len(entries) < len(rows):
        last = rows[len(entries) - 1]
        cursor = write_place((last.at_us, last.run, last.n), *question)
    return AuditList(workspace=context.db.caller.workspace, entries=entries, cursor=cursor)


def _entry(row: AuditRow) -> msgspec.Struct:
    shown = row_object(row).items()
    return AuditEntry(**{name.replace("-", "_"): value for name, value in shown})


VERBS = (
    Verb(
        name="audit.list",
        title="List requests",
        description="Who asked for what, when, and how it ended, newest first; one entry per "
        "request, refused ones included. entity.history says what was changed.",
        access="admin",
        arguments=ListArguments,
        result=AuditList,
        run=list_entries,
        aliases={"tool": "verb", "who": "principal"},
        is_housekeeping=True,
        examples=(
            Example("The last ten", {"limit": 10}),
            Example("What was refused", {"success": False}),
        ),
    ),
)
