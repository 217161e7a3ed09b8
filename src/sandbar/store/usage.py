"""What a workspace uses, and what it may use: its budgets.

Counters stand in the workspace's own row and are advanced by the transaction that writes, under
its lock: they are right after a crash, after a restart, and with any number of servers.

What the server does by itself (timers, activities and their effects) is paid from a bucket that
empties steadily: it holds what may be done in one minute, and while it is full nothing is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import add, sub
from typing import Any, Final, NamedTuple

import msgspec

from sandbar.errors import TooMany
from sandbar.store.rows import Row

_MINUTE_US = 60_000_000
_MIB = 1 << 20
_GIB = 1 << 30
_NO_LIMIT = 1 << 62

# Beyond a limit, for what must be possible in a full workspace: cancelling, revoking, deleting.
_RESERVE_BYTES = _MIB
_RESERVE_ENTITIES = 1_000
_RESERVE_PART = 10


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """How much a workspace may use; 0 is without limit."""

    stored_bytes: int = 16 * _GIB  # of the documents of living entities
    history_bytes: int = 64 * _GIB  # of all their former documents
    entities: int = 20_000_000
    processes: int = 10_000  # that have not ended
    background_transitions: int = 6_000  # a minute, by timers and activities
    background_bytes: int = 64 * _MIB  # a minute, of documents that timers and activities write
    streams: int = 1_000  # open at one server

    @property
    def of_background(self) -> tuple[int, int]:
        """What the bucket may hold: more is forgotten when limits are set, so the wait is short."""
        return self.background_transitions, self.background_bytes


LIMIT_NAMES: Final = tuple(field.encode_name for field in msgspec.structs.fields(Limits))


class Usage(NamedTuple):
    """The counters of a workspace, and what its bucket held at a moment."""

    stored_bytes: int = 0
    history_bytes: int = 0
    entities: int = 0
    processes: int = 0
    background_transitions: float = 0.0
    background_bytes: float = 0.0
    background_us: int = 0

    def at(self, now_us: int, limits: Limits) -> Usage:
        """The same with a bucket that has emptied until now; without a limit it holds nothing.

        A moment that is more than a minute ahead is of a clock that was wrong: it counts no more.
        """
        elapsed_us = now_us - self.background_us
        part = max(elapsed_us, 0) / _MINUTE_US if elapsed_us >= -_MINUTE_US else float("inf")
        return self._replace(
            background_transitions=_left(
                self.background_transitions, part, limits.background_transitions
            ),
            background_bytes=_left(self.background_bytes, part, limits.background_bytes),
            background_us=now_us,
        )


def _left(used: float, part: float, limit: int) -> float:
    return max(used - part * limit, 0.0) if limit else 0.0


class Counters(NamedTuple):
    """Stored bytes, history bytes, entities and processes: all of them, or how many more."""

    stored_bytes: int = 0
    history_bytes: int = 0
    entities: int = 0
    processes: int = 0

    def plus(self, other: Counters) -> Counters:
        """The sums."""
        return Counters(*map(add, self, other))


class Account:
    """The usage of a workspace as a batch sees it, and advances it."""

    def __init__(self, usage: Usage, limits: Limits, now_us: int) -> None:
        self.counters = self._saved = Counters(*usage[:4])
        self.usage = usage  # of which only what is spent is advanced here
        self.limits = limits
        self.most = Counters(
            limits.stored_bytes or _NO_LIMIT,
            limits.history_bytes or _NO_LIMIT,
            limits.entities or _NO_LIMIT,
            limits.processes or _NO_LIMIT,
        )
        self.now_us = now_us
        self.limits_set = "{}"  # of which the others are the usual

    @classmethod
    def of_row(cls, row: Sequence[Any], defaults: Limits, now_us: int) -> Account:
        """From the columns of the workspace's row: what is used, and the limits that were set."""
        *used, limits = row
        account = cls(Usage(*used), limits_of(defaults, limits), now_us)
        account.limits_set = limits
        return account

    def unsaved(self) -> Counters:
        """By how much the counters have changed since they were last written."""
        return Counters(*map(sub, self.counters, self._saved))

    def note_saved(self) -> None:
        """They were written just now."""
        self._saved = self.counters

    def admit_background(self) -> None:
        """Go on only if the server may do something by itself now."""
        problem = background_full(self.usage, self.limits, self.now_us)
        if problem is not None:
            raise problem

    def spend(self, transitions: int, written_bytes: int) -> None:
        """Pay for what the server has done by itself; the bucket may run over once."""
        usage = self.usage.at(self.now_us, self.limits)
        self.usage = usage._replace(
            background_transitions=usage.background_transitions + transitions,
            background_bytes=usage.background_bytes + written_bytes,
        )


class Tally:
    """What one transaction adds to the account of its workspace."""

    stored_bytes = history_bytes = entities = processes = 0  # as the class's: most stay so
    transitions = 0  # of processes, and starts of processes by others
    written_bytes = 0
    is_background = False  # made by the server, of its own accord
    uses_reserve = False  # possible in a full workspace, too: it keeps it safe, or helps empty it
    is_erasing = False
    _flushed: Counters | None = None

    def __init__(self, account: Account) -> None:
        self._account = account

    def change(self, doc: str | None, before: Row | None, t: int) -> None:
        """Count the change of one entity."""
        if before is not None:
            size = len(before.doc) if before.doc.isascii() else _encoded(before.doc)
            self.entities -= 1
            self.stored_bytes -= size
            if before.t != t:
                self.history_bytes += size
        if doc is not None:
            size = len(doc) if doc.isascii() else _encoded(doc)
            self.entities += 1
            self.stored_bytes += size
            self.written_bytes += size

    def begin_background(self) -> None:
        """Count this as the server's own doing, if it may do something now."""
        self._account.admit_background()
        self.is_background = True

    def flush(self) -> None:
        """What was changed so far is about to be written; the end of the transaction decides."""
        growth = self._growth()
        self._account.counters = self._account.counters.plus(growth)
        self._flushed = growth if self._flushed is None else self._flushed.plus(growth)
        self.stored_bytes = self.history_bytes = self.entities = self.processes = 0

    def finish(self) -> None:
        """Hand everything to the account, unless the workspace became larger than it may be."""
        account = self._account
        stored, history, entities, processes = account.counters
        after = Counters(
            stored + self.stored_bytes,
            history + self.history_bytes,
            entities + self.entities,
            processes + self.processes,
        )
        most = account.most
        if (
            after[0] > most[0] or after[1] > most[1] or after[2] > most[2] or after[3] > most[3]
        ) and not self.is_erasing:
            growth = self._growth()
            growth = growth if self._flushed is None else growth.plus(self._flushed)
            require_room(after, growth, account.limits, uses_reserve=self.uses_reserve)
        account.counters = after
        if self.is_background:
            account.spend(self.transitions, self.written_bytes)

    def _growth(self) -> Counters:
        return Counters(self.stored_bytes, self.history_bytes, self.entities, self.processes)


def require_room(after: Counters, growth: Counters, limits: Limits, *, uses_reserve: bool) -> None:
    """Refuse a transaction that makes a workspace larger than it may be.

    What makes it smaller is never refused; nor is deleting, which moves documents to the past.
    While the past is full nothing new is made, since it would end there.
    """
    is_deleting = growth.entities < 0
    if is_deleting and growth.stored_bytes + growth.history_bytes <= 0:
        return
    spare = uses_reserve or is_deleting
    is_larger = growth.stored_bytes > 0 or growth.entities > 0
    if growth.stored_bytes > 0:
        _refuse("stored-bytes", after.stored_bytes, limits.stored_bytes, spare)
    if growth.history_bytes > 0 or is_larger:
        _refuse("history-bytes", after.history_bytes, limits.history_bytes, spare)
    if growth.entities > 0:
        _refuse("entities", after.entities, limits.entities, spare)
    if growth.processes > 0:
        _refuse("processes", after.processes, limits.processes, False)


def _encoded(doc: str) -> int:
    return len(doc.encode(errors="surrogatepass"))  # which the database will refuse


@lru_cache(maxsize=1024)
def limits_of(defaults: Limits, text: str) -> Limits:
    """The limits of a workspace: what was set for it, as its row says it, and else the usual."""
    given = msgspec.json.decode(text, type=dict[str, int])
    fields = msgspec.structs.fields(Limits)
    known = {one.name: given[one.encode_name] for one in fields if one.encode_name in given}
    return msgspec.structs.replace(defaults, **known)


def background_full(usage: Usage, limits: Limits, now_us: int) -> TooMany | None:
    """Why the server may do nothing by itself for this workspace now; None: it may."""
    now = usage.at(now_us, limits)
    for name, used, limit in (
        ("background-transitions", now.background_transitions, limits.background_transitions),
        ("background-bytes", now.background_bytes, limits.background_bytes),
    ):
        if limit and used >= limit:
            wait_s = (used - limit + 1) / limit * _MINUTE_US / 1e6
            return over_budget(name, round(used), limit, wait_s=wait_s)
    return None


def _refuse(name: str, used: int, limit: int, has_reserve: bool) -> None:
    most = limit or _NO_LIMIT
    if has_reserve and limit:
        most += limit // _RESERVE_PART
        most += _RESERVE_ENTITIES if name == "entities" else _RESERVE_BYTES
    if used > most:
        raise over_budget(name, used, limit)


_WHAT = {
    "stored-bytes": (
        TooMany,
        "budget.stored-bytes",
        "would hold {used} bytes",
        "delete what is not needed: entity.delete",
    ),
    "history-bytes": (
        TooMany,
        "budget.history-bytes",
        "would hold {used} bytes of history",
        "entity.purge erases what was deleted, with its history; deleting is possible still",
    ),
    "entities": (
        TooMany,
        "budget.entities",
        "would hold {used} entities",
        "delete what is not needed: entity.delete",
    ),
    "processes": (
        TooMany,
        "budget.processes",
        "would have {used} processes that have not ended",
        "end some: workflow.active-processes lists them, task.cancel ends one",
    ),
    "background-transitions": (
        TooMany,
        "budget.background-transitions",
        "has made {used} transitions by timers and activities within a minute",
        "nothing has to be done: they go on by themselves; longer timers need fewer transitions",
    ),
    "background-bytes": (
        TooMany,
        "budget.background-bytes",
        "has written {used} bytes by timers and activities within a minute",
        "nothing has to be done: they go on by themselves; let effects write less",
    ),
    "streams": (
        TooMany,
        "budget.streams",
        "would have {used} open streams",
        "close some, or listen to more by each of them",
    ),
}


def over_budget(name: str, used: int, limit: int, *, wait_s: float | None = None) -> TooMany:
    """The refusal that names what is used up, and the way on."""
    kind, code, what, hint = _WHAT[name]
    data: dict[str, int | float | str] = {"limit": f"limit/{name}", "used": used, "most": limit}
    if wait_s is not None:
        data["wait-s"] = wait_s
    return kind(
        code,
        f"this workspace {what.format(used=f'{used:,}')}, and its budget is {limit:,}",
        hint=f"{hint}. workspace.usage shows all budgets; only who runs the server raises them: "
        "`sandbar workspace limit`",
        data=data,
    )
