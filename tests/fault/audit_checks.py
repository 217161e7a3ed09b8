"""Whether the audit tells the same as the clients' memories and the data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from sandbar.database import Database
from sandbar.model import AuditRow
from tests.fault.audit_client import CLASS, MARK, Asked, Memory

_SURFACE = "mcp"
_BEFORE_S = 0.5  # the kill is noted a moment after it was done


class Found(NamedTuple):
    """What a database says after the fact."""

    rows: list[AuditRow]
    marks: list[str]


class Verdict(NamedTuple):
    """What was compared, and what does not fit, by kind."""

    answers: int
    rows: int
    writes: int
    unanswered: int
    kept_unanswered: int
    broken: dict[str, list[str]]

    def __str__(self) -> str:
        wrong = ", ".join(f"{kind} {len(what)}" for kind, what in self.broken.items()) or "none"
        return (
            f"{self.answers} answers, {self.rows} rows, {self.writes} writes; {self.unanswered}"
            f" without an answer, {self.kept_unanswered} of these with a row; broken: {wrong}"
        )


def look(db: Database) -> Found:
    """All rows of requests from outside, and all marks."""
    trail, ws = db.journal.trail, db.workspace.number
    rows = []
    for run, _, _ in trail.runs(ws):
        after_n = 0
        while page := trail.rows_of(ws, run, after_n=after_n, last_n=None, limit=1_000):
            rows += [row for row in page if row.surface == _SURFACE]
            after_n = page[-1].n
    return Found(rows, [str(thing[MARK]) for thing in db.each(CLASS, page_size=500)])


def judge(memory: Memory, found: Found, given: Collection[str] = ("the-one",)) -> Verdict:
    """Compare; `given` are marks that were there before."""
    broken: defaultdict[str, list[str]] = defaultdict(list)
    by_id: defaultdict[str | None, list[AuditRow]] = defaultdict(list)
    for row in found.rows:
        by_id[row.request_id].append(row)
    for id in by_id.keys() - memory.asked.keys():
        broken["row of nobody"].append(str(id))
    kept_unanswered = 0
    for one in memory.asked.values():
        rows = by_id.get(one.id, [])
        kept_unanswered += bool(rows) and not one.is_answered
        for kind in _defects(one, rows, memory.kills):
            broken[kind].append(f"{one} {rows}")
    for kind, mark in _against_data(memory, by_id, Counter(found.marks), given):
        broken[kind].append(mark)
    asked = list(memory.asked.values())
    return Verdict(
        memory.answers(),
        len(found.rows),
        sum(bool(one.marks) and one.is_success for one in asked),
        sum(not one.is_answered for one in asked),
        kept_unanswered,
        dict(broken),
    )


def _defects(one: Asked, rows: list[AuditRow], kills: Iterable[float]) -> Iterable[str]:
    if len(rows) > 1:
        yield "two rows"
    if one.method is None:
        if rows:
            yield "row of something unreadable"
        return
    if not one.is_answered:
        if not any(one.sent_s - _BEFORE_S < at < one.ended_s for at in kills):
            yield "no answer without a kill"
        return
    if not rows:
        yield "no row"
        return
    row = rows[0]
    if (row.method, row.verb) != (one.method, one.verb):
        yield "another request"
    if (row.is_success, row.code) != (one.is_success, one.code):
        yield "another outcome"


def _against_data(
    memory: Memory,
    by_id: dict[str | None, list[AuditRow]],
    marks: Counter[str],
    given: Collection[str],
) -> Iterable[tuple[str, str]]:
    """Data and rows of success come together or not at all, whether there was an answer or not."""
    known = set(given)
    for one in memory.asked.values():
        known |= set(one.marks)
        is_told = any(row.is_success for row in by_id.get(one.id, ()))
        for mark in one.marks:
            if is_told and not marks[mark]:
                yield "row without data", mark
            if marks[mark] and not is_told:
                yield "data without row", mark
    for mark, count in marks.items():
        if mark not in known:
            yield "data of nobody", mark
        if count > 1:
            yield "data twice", mark
