"""Verifying: is the log what was sealed? If not, which part of it is not?

The walk follows the chain from its first seal, reads the rows of each in pages, and then looks at
what no seal covers. It can run beside servers that write: what is sealed changes no more.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sandbar.audit.chain import GENESIS, LAST_N, Head, RowsDigest, head_of, read_head, seal_hash
from sandbar.clock import instant_text
from sandbar.model import AuditRow, Seal, Trail

BROKEN_MAX = 1000
PAGE_ROWS = 1000
_PAGE_SEALS = 500
_NUMBERS_SHOWN = 5
_LOWEST = -(1 << 63)

Progress = Callable[[int], None]  # told how many rows have been looked at


class Broken(msgspec.Struct, frozen=True):
    """One thing that is not as it was sealed."""

    kind: str  # rows-changed, rows-missing, rows-added, seal-missing, seal-added, seal-changed, …
    where: str
    message: str


class Verdict(msgspec.Struct, frozen=True):
    """What a verification has found."""

    is_intact: bool
    rows: int
    seals: int
    unsealed: int
    oldest_unsealed_us: int | None
    head: str | None
    broken: list[Broken]


def verify(
    trail: Trail, ws: int, *, head: str | None = None, progress: Progress | None = None
) -> Verdict:
    """Compare the log of a workspace with its seals, and with a head that was kept elsewhere."""
    walk = _Walk(trail, ws, None if head is None else read_head(head), progress)
    walk.follow_chain()
    walk.look_at_the_rest()
    return walk.verdict()


class _Covered:
    """The rows of one seal as they are now."""

    def __init__(self) -> None:
        self.digest = RowsDigest()
        self.first: AuditRow | None = None
        self.last: AuditRow | None = None
        self.gaps: list[int] = []  # the first numbers without a row

    def add(self, rows: list[AuditRow], after_n: int) -> None:
        self.digest.add(rows)
        self.first = self.first or rows[0]
        self.last = rows[-1]
        if self.last.n - after_n == len(rows):
            return  # one after the other
        for row in rows:
            if row.n > after_n + 1 and len(self.gaps) <= _NUMBERS_SHOWN:
                self.gaps += range(after_n + 1, min(row.n, after_n + _NUMBERS_SHOWN + 2))
            after_n = row.n


class _Walk:
    def __init__(self, trail: Trail, ws: int, kept: Head | None, progress: Progress | None) -> None:
        self._trail = trail
        self._ws = ws
        self._kept = kept
        self._progress = progress
        self._broken: list[Broken] = []
        self._sealed_to: dict[int, int] = {}  # by run, the last number that a seal covers
        self._last: Seal | None = None
        self._rows = self._seals = self._unsealed = 0
        self._oldest_us: int | None = None

    def verdict(self) -> Verdict:
        """What was found."""
        return Verdict(
            is_intact=not self._broken,
            rows=self._rows,
            seals=self._seals,
            unsealed=self._unsealed,
            oldest_unsealed_us=self._oldest_us,
            head=head_of(self._last),
            broken=self._broken,
        )

    def follow_chain(self) -> None:
        """Look at every seal, and at the rows that it covers."""
        after = _LOWEST
        while seals := self._trail.seals(self._ws, after=after, limit=_PAGE_SEALS):
            for seal in seals:
                self._look_at(seal)
            after = seals[-1].number
        if self._kept is not None and (self._last is None or self._last.number < self._kept.number):
            ends = "is empty" if self._last is None else f"ends with seal {self._last.number}"
            self._tell(
                "head-missing",
                f"seal {self._kept.number}",
                f"the chain {ends}, but the head that you kept is seal {self._kept.number}: "
                "the end of the log was cut off",
            )

    def _look_at(self, seal: Seal) -> None:
        self._seals += 1
        where = f"seal {seal.number}"
        if seal.number < 1:
            self._tell("seal-added", where, "no seal ever gets this number")
            return
        last, self._last = self._last, seal
        expected = 1 if last is None else last.number + 1
        if seal.number != expected:
            missing = _numbers("seal", expected, seal.number - 1)
            message = "missing; whether the next one continues the chain cannot be told"
            self._tell("seal-missing", missing, message)
        self._look_at_range(seal)
        covered = self._read_covered(seal)
        if seal.number == expected:
            previous = GENESIS if last is None else last.hash
            if seal_hash(self._ws, previous, seal, covered.digest) != seal.hash:
                self._tell_changed(seal, covered)
        kept = self._kept
        if kept is not None and kept.number == seal.number and kept.hash != seal.hash:
            message = "not the head that you kept: the log up to here was made anew"
            self._tell("head-differs", where, message)

    def _look_at_range(self, seal: Seal) -> None:
        sealed_to = self._sealed_to.get(seal.run, 0)
        if seal.first_n != sealed_to + 1 or not seal.first_n - 1 <= seal.last_n <= LAST_N:
            self._tell(
                "seal-changed",
                f"seal {seal.number}, run {seal.run}",
                f"covers {_numbers('n', seal.first_n, seal.last_n)}, "
                f"but the seals before it end at n {sealed_to}",
            )
        self._sealed_to[seal.run] = max(sealed_to, seal.last_n)

    def _read_covered(self, seal: Seal) -> _Covered:
        covered = _Covered()
        after_n = seal.first_n - 1
        while rows := self._page(seal.run, after_n, seal.last_n):
            covered.add(rows, after_n)
            after_n = rows[-1].n
        return covered

    def look_at_the_rest(self) -> None:
        """Look at the rows that no seal covers: those still to be sealed, and impossible ones."""
        for run, last_n, _ in self._trail.runs(self._ws):
            sealed_to = self._sealed_to.get(run, 0)
            self._look_for_impossible(run)
            after_n = sealed_to
            while after_n < last_n and (rows := self._page(run, after_n, LAST_N)):
                self._unsealed += len(rows)
                oldest_us = min(row.at_us for row in rows)
                self._oldest_us = min(self._oldest_us or oldest_us, oldest_us)
                after_n = rows[-1].n

    def _look_for_impossible(self, run: int) -> None:
        ends = ((_LOWEST, 0), (LAST_N, None)) if run > 0 else ((_LOWEST, None),)
        for after_n, last_n in ends:
            for row in self._page(run, after_n, last_n):
                message = "added: no server ever gives a row this number"
                self._tell("rows-added", _place(row), message)

    def _page(self, run: int, after_n: int, last_n: int | None) -> list[AuditRow]:
        rows = self._trail.rows_of(self._ws, run, after_n=after_n, last_n=last_n, limit=PAGE_ROWS)
        self._rows += len(rows)
        if rows and self._progress is not None:
            self._progress(self._rows)
        return rows

    # --- saying it ---------------------------------------------------------------------------

    def _tell(self, kind: str, where: str, message: str) -> None:
        if len(self._broken) < BROKEN_MAX:
            self._broken.append(Broken(kind, where, message))

    def _tell_changed(self, seal: Seal, covered: _Covered) -> None:
        where = _span(seal, covered)
        lacking = seal.count - covered.digest.count
        if lacking > 0:
            which = ""
            if covered.gaps:
                shown = ", ".join(map(str, covered.gaps[:_NUMBERS_SHOWN]))
                more = ", …" if len(covered.gaps) > _NUMBERS_SHOWN else ""
                which = f"; no row has the numbers {shown}{more}"
            message = f"{lacking} of {seal.count} rows that were sealed here are missing{which}"
            self._tell("rows-missing", where, message)
        elif lacking < 0:
            message = f"{-lacking} more rows than the {seal.count} that were sealed here"
            self._tell("rows-added", where, message)
        else:
            message = "these rows, or their seal, are not what was sealed"
            self._tell("rows-changed", where, message)


def _place(row: AuditRow) -> str:
    return f"run {row.run}, n {row.n}, {instant_text(row.at_us)}"


def _span(seal: Seal, covered: _Covered) -> str:
    """Which rows a seal is about: run, numbers, instants."""
    last_n = seal.last_n
    if last_n == LAST_N:  # the end of a run: nobody wants to read that number
        last_n = max(covered.last.n if covered.last else 0, seal.first_n + seal.count - 1)
    text = f"run {seal.run}, {_numbers('n', seal.first_n, last_n)}"
    if covered.first is not None and covered.last is not None:
        first, last = instant_text(covered.first.at_us), instant_text(covered.last.at_us)
        text += f", {first}" if first == last else f", {first} to {last}"
    return f"{text} (seal {seal.number}, made {instant_text(seal.at_us)})"


def _numbers(word: str, first: int, last: int) -> str:
    return f"{word} {first}" if first == last else f"{word} {first} to {last}"
