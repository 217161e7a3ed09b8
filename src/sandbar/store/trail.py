"""The audit's rows and seals as the store keeps them, and the note that becomes a row.

A note is one request on its way into the audit. It rides along with the first write that its
request commits (`accompanied`), at no cost of its own; what wrote nothing is appended. The store
keeps rows and seals; what a seal proves is the business of whoever makes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple, Protocol, get_type_hints

from sandbar import clock
from sandbar.errors import Fault

_REHEARSED_N = (1 << 53) - 1
_TEXT_CHARS_MAX = 256

Place = tuple[int, int, int]  # at_us, run and n of a row: where a page of rows ended


class AuditRow(NamedTuple):
    """One request, under the n-th number of the run of a process; never its arguments.

    This declares the columns of the audit: statements, backups, seals, exports and answers follow.
    One that is added stands last and has a default, which rows hold that are older than it; what
    fills it stands in `Note`. A text may be missing (None), a number is not.
    """

    run: int
    n: int
    at_us: int
    principal: str
    key: str | None
    surface: str
    method: str
    verb: str | None
    is_success: bool
    code: str | None
    duration_us: int
    request_id: str | None

    def sealed(self) -> tuple[Any, ...]:
        """What a seal covers: without the columns at the end that were added and not filled.

        So a row that is older than a column has the digest that it was sealed with.
        """
        end = len(self)
        for default in reversed(self._field_defaults.values()):
            if self[end - 1] != default:
                break
            end -= 1
        return self[:end]


AUDIT_TYPES: dict[str, Any] = get_type_hints(AuditRow)
_FLAGS = [place for place, kind in enumerate(AUDIT_TYPES.values()) if kind is bool]


def audit_row(columns: Sequence[Any]) -> AuditRow:
    """A row as a table has it, where a flag is a number."""
    values = list(columns)
    for place in _FLAGS:
        values[place] = bool(values[place])
    return AuditRow._make(values)


class RunEnd(NamedTuple):
    """How far a run has got: its last row, and the last number that a seal covers."""

    run: int
    last_n: int
    at_us: int
    sealed_n: int


class Seal(NamedTuple):
    """A link of a workspace's chain over the rows `first_n` to `last_n` of a run."""

    number: int
    run: int
    first_n: int
    last_n: int
    count: int  # type: ignore[assignment]  # of rows, not the method of tuples
    at_us: int
    hash: bytes


def rehearsed_row(run: int) -> AuditRow:
    """A row that is never kept, in the place where the next ones of a run will be."""
    return AuditRow(
        run, _REHEARSED_N, clock.now_us(), "-", None, "-", "-", None, False, None, 0, None
    )


class Note:
    """One request on its way into the audit."""

    __slots__ = (
        "began_s", "began_us", "code", "is_kept", "is_settled", "is_success", "key", "method",
        "number", "principal", "request_id", "surface", "verb", "ws",
    )  # fmt: skip

    def __init__(
        self,
        ws: int,
        principal: str,
        *,
        surface: str,
        method: str,
        key: str | None = None,
        verb: str | None = None,
        request_id: str | None = None,
    ) -> None:
        """It begins now."""
        self.ws = ws
        self.principal = principal
        self.key = key
        self.surface = surface
        self.method = method
        self.verb = verb
        self.request_id = request_id
        self.began_us = clock.now_us()
        self.began_s = clock.monotonic_s()
        self.is_success = True
        self.code: str | None = None
        self.is_kept = False  # its row is committed
        self.is_settled = False  # for whoever opened it: nothing more is to be written of it
        self.number: tuple[int, int] | None = None  # run and n, once it has them

    def row(self, run: int, n: int) -> AuditRow:
        """Its row, as things are now."""
        principal, key, surface, method = self.principal, self.key, self.surface, self.method
        verb, code, request_id = self.verb, self.code, self.request_id
        everything = f"{principal}{key}{surface}{method}{verb}{code}{request_id}"
        if len(everything) > _TEXT_CHARS_MAX or "\0" in everything or not everything.isascii():
            principal, surface, method = _storable(principal), _storable(surface), _storable(method)
            key, verb = key and _storable(key), verb and _storable(verb)
            code, request_id = code and _storable(code), request_id and _storable(request_id)
        at_us, is_success = self.began_us, self.is_success
        lasted_us = int((clock.monotonic_s() - self.began_s) * 1_000_000)
        return AuditRow(
            run,
            n,
            at_us,
            principal,
            key,
            surface,
            method,
            verb,
            is_success,
            code,
            lasted_us,
            request_id,
        )

    def again(self) -> Note:
        """Another note of the same request, which has no row yet."""
        note = copy(self)
        note.is_kept = note.is_settled = False
        note.number = None
        return note


def _storable(text: str) -> str:
    """What both databases take, and no more than a line of it: a name may be anybody's words."""
    return text[:_TEXT_CHARS_MAX].encode("utf-8", "replace").decode().replace("\0", "?")


class _Current(threading.local):
    note: Note | None = None


_current = _Current()


def current_note() -> Note | None:
    """The note of the request that this thread works for, if any."""
    return _current.note


def accompany(note: Note | None) -> Note | None:
    """Let the next write that this thread submits, and that is kept, keep the note's row, too.

    Answers the note that was to be kept until now: whoever comes first goes on with it afterwards.
    """
    outer, _current.note = _current.note, note
    return outer


@contextmanager
def accompanied(note: Note | None) -> Iterator[None]:
    """The same for as long as the context lasts."""
    outer = accompany(note)
    try:
        yield
    finally:
        accompany(outer)


class Trail(Protocol):
    """The audit of all workspaces: append only."""

    @property
    def run(self) -> int:
        """The number of this process's run: greater than those of earlier ones."""

    def append(self, notes: Sequence[Note]) -> None:
        """Commit the rows of notes that are not kept yet; a power cut may still lose them."""

    def append_at_once(self, notes: Sequence[Note]) -> bool:
        """The same, if it takes microseconds; else False, and nothing is done."""

    def rehearse(self, ws: int) -> bool:
        """Write a row as `append` would, and take it back; a problem says why none can be written.

        Nobody is waited for: False, if another writes just now and nothing could be tried.
        """

    def rows(
        self,
        ws: int,
        *,
        limit: int,
        before_us: int | None = None,
        principal: str | None = None,
        verb: str | None = None,
        is_success: bool | None = None,
        cursor: Place | None = None,
    ) -> list[AuditRow]:
        """Rows from before an instant, newest first; `cursor` is where the last page ended."""

    def rows_of(
        self, ws: int, run: int, *, after_n: int, last_n: int | None = None, limit: int
    ) -> list[AuditRow]:
        """Rows of a run with `after_n < n <= last_n`, ascending."""

    def runs(self, ws: int) -> list[tuple[int, int, int]]:
        """The runs that have rows, ascending: run, last n, and when that row's request came."""

    def run_ends(self, ws: int, *, after: int, limit: int) -> list[RunEnd]:
        """The next runs that have rows, ascending, and how far each has got."""

    def settled_n(self, ws: int) -> int:
        """Of this run: every number up to this one is committed, or never will be."""

    def doubtful(self, ws: int) -> list[Note]:
        """Notes of this run whose outcome nobody can tell: to append them once more settles it."""

    def end_run(self) -> bool:
        """Give out no more numbers; whether every one that was given is settled."""

    def workspaces_of_run(self) -> list[int]:
        """The workspaces in which this run has given out numbers."""

    def seals(self, ws: int, *, after: int, limit: int) -> list[Seal]:
        """Seals with greater numbers, ascending."""

    def last_seal(self, ws: int) -> Seal | None:
        """The end of the workspace's chain."""

    def last_sealed_n(self, ws: int, run: int) -> int:
        """The last number of a run that a seal covers; 0 if none does."""

    def seal(self, ws: int, make: Callable[[Seal | None], Seal | None]) -> Seal | None:
        """Store, synced, the seal that `make` returns for the last one; None: there is none.

        When another process was faster, nothing is stored and `make` is called again, with that
        process's seal. So no two seals follow the same one, and nobody waits for a slow `make`.
        """

    def bring_in(self) -> None:
        """Have all rows in the table, also those that runs which are over put down elsewhere."""

    def checkpoint(self) -> None:
        """Keep the database's log short, if that is anybody's business."""


def require_next(last: Seal | None, made: Seal) -> None:
    """A chain has no holes: each seal's number follows the last one's."""
    if made.number != (last.number if last else 0) + 1:
        raise Fault("audit.seal-number", f"seal {made.number} does not follow the last one")


class Buckets(Protocol):
    """Token buckets, one for each number that somebody gave one to."""

    def take(self, ws: int, id: int, interval_us: int, burst: int) -> int:
        """Take a token of a bucket that holds `burst`, and gets one each `interval_us`.

        Returns 0, or, if there was none, in how many microseconds there will be one.
        """


class KeyUses(Protocol):
    """When keys were last used; a power cut may lose what is new."""

    def note_uses(self, ws: int, uses: Mapping[int, int]) -> None:
        """Note instants of use by id; an earlier one than is known changes nothing."""

    def uses(self, ws: int) -> dict[int, int]:
        """The last use of every key of a workspace that was ever used."""
