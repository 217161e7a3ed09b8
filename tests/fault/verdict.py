"""Compares a database with the journal of those who wrote to it, and with itself.

Everything is looked at through the public API, except the index rows: those are read raw and
compared with what the documents and their versions call for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sandbar.database import Database
from sandbar.errors import NotFound
from sandbar.model import TransactionEntry
from tests.fault.index_check import index_findings
from tests.fault.journal import Intent, Journal, Slots
from tests.fault.tables import Tables

_PAGE = 1000


@dataclass
class Verdict:
    """Totals, and every broken promise by kind."""

    answered: int = 0
    unanswered_but_kept: int = 0
    transactions: int = 0
    refused: list[str] = field(default_factory=list)  # the writer met an error before the kill
    lost: list[str] = field(default_factory=list)  # answered, and not there
    half: list[str] = field(default_factory=list)  # some parts of a transaction without others
    twice: list[str] = field(default_factory=list)  # one attempt, several transactions
    strange: list[str] = field(default_factory=list)  # nobody attempted this
    history: list[str] = field(default_factory=list)  # history, as-of and present disagree
    index: list[str] = field(default_factory=list)  # index and documents disagree
    damage: list[str] = field(default_factory=list)  # holes in t, or what the engine found

    def broken(self) -> dict[str, list[str]]:
        """The promises that were broken, with a few examples each."""
        kinds = ("refused", "lost", "half", "twice", "strange", "history", "index", "damage")
        return {kind: getattr(self, kind)[:5] for kind in kinds if getattr(self, kind)}


def judge(db: Database, journal: Journal, tables: Tables, *, since: int = 0) -> Verdict:
    """Check all transactions after `since`, and the index and the numbering as a whole."""
    verdict = Verdict(answered=len(journal.answers), refused=list(journal.failures))
    entries = {entry.t: entry for entry in _transactions(db, since)}
    verdict.transactions = len(entries)
    _check_answers(verdict, journal, entries)
    latest: dict[int, Slots | None] = {}
    changed_at: defaultdict[int, list[int]] = defaultdict(list)
    for entry in entries.values():
        states = {id: _state(db, id, entry.t) for id in entry.entity_ids}
        latest.update(states)
        for id in states:
            changed_at[id].append(entry.t)
        if _is_load(entry):
            _check_parts(verdict, db, journal, entry, states)
    for id, state in latest.items():
        _check_present(verdict, db, id, state, changed_at[id])
    _check_tables(verdict, db, tables)
    return verdict


def _transactions(db: Database, since: int) -> Iterator[TransactionEntry]:
    while page := db.changes(since=since, limit=_PAGE):
        yield from page
        since = page[-1].t


def _is_load(entry: TransactionEntry) -> bool:
    return (entry.reason or "").startswith("load/")


def _state(db: Database, id: int, t: int | None) -> Slots | None:
    try:
        return db.get(id, as_of=t).slots
    except NotFound:
        return None


def _check_answers(
    verdict: Verdict, journal: Journal, entries: dict[int, TransactionEntry]
) -> None:
    """What was answered is there, at the t that the answer named."""
    for op, (t, ids) in journal.answers.items():
        entry = entries.get(t)
        if entry is None or entry.reason != op or not set(ids) <= set(entry.entity_ids):
            verdict.lost.append(f"{op} at {t}")
    count = Counter(one.reason for one in entries.values() if _is_load(one))
    verdict.twice += [str(op) for op, number in count.items() if number > 1]
    kept = {op for op in count if op in journal.intents}
    verdict.unanswered_but_kept = len(kept - set(journal.answers))


def _check_parts(
    verdict: Verdict,
    db: Database,
    journal: Journal,
    entry: TransactionEntry,
    states: dict[int, Slots | None],
) -> None:
    """A transaction, answered or not, did all that it was to do, and nothing else."""
    assert entry.reason is not None
    intent = journal.intents.get(entry.reason)
    if intent is None:
        verdict.strange.append(f"{entry.reason} at {entry.t}")
    elif len(states) != intent.parts() or not _is_done(db, intent, entry.t, states):
        verdict.half.append(f"{entry.reason} at {entry.t}: {len(states)} of {intent.parts()} parts")


def _is_done(db: Database, intent: Intent, t: int, states: dict[int, Slots | None]) -> bool:
    named = {*intent.set, *intent.add, *intent.delete}
    made = [state for id, state in states.items() if id not in named]
    return (
        sorted(made, key=str) == sorted(intent.make, key=str)
        and all(states.get(id) == slots for id, slots in intent.set.items())
        and all(id in states and states[id] is None for id in intent.delete)
        and all(
            _count(states.get(id)) == _count(_state(db, id, t - 1)) + change
            for id, change in intent.add.items()
        )
    )


def _count(state: Slots | None) -> int:
    return int((state or {}).get("fault/count", 0))


def _check_present(
    verdict: Verdict, db: Database, id: int, state: Slots | None, changed_at: list[int]
) -> None:
    """The present is the last state of the past, and is found by its values."""
    if _state(db, id, None) != state:
        verdict.history.append(f"entity {id} is not as its last transaction left it")
    told = [entry.t for entry in db.history(id, after=changed_at[0] - 1)]
    if not set(changed_at) <= set(told):
        verdict.history.append(f"entity {id} changed at {changed_at}, its history says {told}")
    tag: Any = (state or {}).get("fault/tag")
    if tag is not None:
        found = [entity.entity_id for entity in db.query("fault/Item", {"fault/tag": tag}).items]
        if found != [id]:
            verdict.index.append(f"a query by tag for {id} finds {found}")


def _check_tables(verdict: Verdict, db: Database, tables: Tables) -> None:
    if tables.integrity != "ok":
        verdict.damage.append(tables.integrity)
    if sorted(tables.tx) != list(range(1, tables.t + 1)):
        holes = sorted(set(range(1, tables.t + 1)) ^ set(tables.tx))
        verdict.damage.append(f"t has holes, or rows beyond its end: {holes[:10]}")
    with db._store.snapshot(db._workspace._ws) as snapshot:
        schema = db._workspace._schemas.current(snapshot)
    verdict.index += index_findings(schema, tables)
    if "fault/Item" not in db.schema.classes():
        return  # killed before it began
    accounts = db.each("fault/Item", {"fault/tag": {"starts-with": "account-"}})
    if sum(account["fault/count"] for account in accounts) != 0:
        verdict.half.append("amounts vanished or appeared between the accounts")
