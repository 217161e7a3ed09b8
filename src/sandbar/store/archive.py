"""What a backup holds: the rows of every workspace, in words that both stores understand.

A store gives them out as of one moment (`Origin`) and takes them in as a whole (`Destination`).
What is not here is made anew: the search index from the entities, the limits of callers from now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

from sandbar import clock
from sandbar.errors import Conflict, Incorrect
from sandbar.store.numbering import TICK_S, Numbers
from sandbar.store.trail import AUDIT_TYPES, AuditRow

WORKSPACE_NUMBER_MAX = (1 << 23) - 1

_NAME_OF_DROPPED_CHARS = 300
_ELSEWHERE = "give a new file, or a new PostgreSQL database prepared by `sandbar migrate`"

Values = tuple[Any, ...]


class Kind(Enum):
    """What a column holds."""

    NUMBER = "number"
    SMALL = "small number"
    TEXT = "text"
    TEXT_OR_NONE = "text or nothing"
    BYTES = "bytes"
    NUMBERS = "numbers"


class Table(NamedTuple):
    """One table, without the column ws: its rows are always those of one workspace."""

    name: str
    key: str  # the columns that its rows are ordered by
    columns: Mapping[str, Kind]
    later: Mapping[str, Any] = {}  # the last ones: what they hold in backups that are older


class WorkspaceRow(NamedTuple):
    """The counters of a workspace. A t below 0 marks a number that was somebody's once."""

    ws: int
    name: str
    t: int
    generation: int
    next_id: int
    instant_us: int
    limits: str = "{}"  # those that were set; what is used is counted anew

    @property
    def is_dropped(self) -> bool:
        """Whether only the number is left."""
        return self.t < 0

    @property
    def stored_name(self) -> str:
        """The name in the table: that of a mark is longer than a name may be."""
        return str(self.ws).zfill(_NAME_OF_DROPPED_CHARS) if self.is_dropped else self.name


_NUMBER, _SMALL, _NUMBERS = Kind.NUMBER, Kind.SMALL, Kind.NUMBERS
_TEXT, _TEXT_OR_NONE, _BYTES = Kind.TEXT, Kind.TEXT_OR_NONE, Kind.BYTES
_KIND_OF: dict[Any, Kind] = {int: _NUMBER, bool: _SMALL, str: _TEXT, str | None: _TEXT_OR_NONE}

# Every table of a workspace but those that are made anew; a test compares with both schemas. Of a
# job only what is due is kept: whoever held it does not hold it in the restored database.
TABLES = {
    table.name: table
    for table in (
        Table(
            "tx",
            "t",
            {
                "t": _NUMBER,
                "instant_us": _NUMBER,
                "principal": _TEXT,
                "reason": _TEXT_OR_NONE,
                "ids": _NUMBERS,
                "is_schema": _SMALL,
                "nonce": _BYTES,
            },
        ),
        Table("entity", "id", {"id": _NUMBER, "class": _NUMBER, "t": _NUMBER, "doc": _TEXT}),
        Table(
            "version",
            "id, t",
            {"id": _NUMBER, "t": _NUMBER, "class": _NUMBER, "doc": _TEXT_OR_NONE},
        ),
        Table(
            "slot",
            "property, value, id",
            {"property": _NUMBER, "value": _BYTES, "id": _NUMBER, "since": _NUMBER},
        ),
        Table(
            "past",
            "property, value, level, since, id",
            {
                "property": _NUMBER,
                "value": _BYTES,
                "level": _SMALL,
                "since": _NUMBER,
                "id": _NUMBER,
                "until": _NUMBER,
            },
        ),
        Table("secret", "id, property", {"id": _NUMBER, "property": _NUMBER, "hash": _TEXT}),
        Table(
            "idempotency",
            "principal, key",
            {
                "principal": _TEXT,
                "key": _TEXT,
                "digest": _TEXT,
                "receipt": _TEXT,
                "instant_us": _NUMBER,
            },
        ),
        Table("token", "id, digest", {"digest": _BYTES, "id": _NUMBER, "is_revoked": _SMALL}),
        Table("job", "id", {"id": _NUMBER, "due_us": _NUMBER}),
        Table(
            "audit",
            "run, n",
            {name: _KIND_OF[kind] for name, kind in AUDIT_TYPES.items()},
            AuditRow._field_defaults,
        ),
        Table(
            "seal",
            "number",
            {
                "number": _NUMBER,
                "run": _NUMBER,
                "first_n": _NUMBER,
                "last_n": _NUMBER,
                "count": _NUMBER,
                "at_us": _NUMBER,
                "hash": _BYTES,
            },
        ),
        Table("key_use", "id", {"id": _NUMBER, "at_us": _NUMBER}),
    )
}


class Origin(Protocol):
    """One moment of a database, all of its workspaces."""

    def workspaces(self) -> list[WorkspaceRow]:
        """Every workspace, and the marks of those that were dropped, by number."""

    def count(self, ws: int, table: Table) -> int:
        """How many rows of a workspace there are in a table."""

    def rows(self, ws: int, table: Table) -> Iterator[Values]:
        """Those rows in the order of their key, a few at a time."""


class Destination(Protocol):
    """An empty database; nothing of it is there before `commit`, and then all of it."""

    def begin(self, workspaces: Sequence[WorkspaceRow]) -> None:
        """Make the workspaces, under the numbers that they had, each with a new epoch."""

    def put(self, ws: int, table: Table, rows: Sequence[Values]) -> None:
        """Add rows to a workspace."""

    def count(self, ws: int, table: Table) -> int:
        """How many rows of a workspace there are in a table by now."""

    def commit(self) -> None:
        """Let it be there, and safe on the disk."""


class Runs:
    """Watches the numbers of runs go by: processes to come must get greater ones."""

    def __init__(self) -> None:
        clock.pause_s(TICK_S)  # or else a run that has just begun might seem to be still to come
        self._now = Numbers().run

    def look_at(self, table: Table, rows: Iterable[Values]) -> None:
        """Refuse rows of a run that has not begun yet, by the clock of this machine."""
        if "run" not in table.columns:
            return
        place = list(table.columns).index("run")
        if any(row[place] > self._now for row in rows):
            raise Conflict(
                "backup.clock",
                "this backup holds rows of the audit that, by this machine's clock, are still"
                " to come",
                hint="set the clock, then restore again",
            )


def not_empty(where: str) -> Conflict:
    """What to raise when a database has, or ever had, workspaces."""
    return Conflict(
        "backup.not-empty",
        f"{where} is in use: a backup is restored into an empty database only",
        hint=_ELSEWHERE,
    )


def damaged(what: str) -> Incorrect:
    """What to raise for a file that is not as it was written."""
    return Incorrect(
        "backup.damaged",
        f"this backup is damaged: {what}",
        hint="nothing was restored; take another copy of the file, or an earlier backup",
    )
