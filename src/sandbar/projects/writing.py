"""Writing verdicts: several hundred in a transaction, and only the guilty are refused.

References to what comes later are left out of optional slots, and set when all is there; what needs
them waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sandbar.errors import Conflict, Problem
from sandbar.model import Create, Introspection, Operation, Update, Written
from sandbar.projects.comparing import Name, facts_of, references
from sandbar.projects.findings import REFUSALS
from sandbar.projects.judging import Verdict
from sandbar.projects.keys import Keys
from sandbar.projects.names import LINKS_FOLLOW, Names
from sandbar.projects.tally import Tally

BATCH = 500
BATCH_BYTES_MAX = 1 << 20

# Writes operations for a reason; one that answers None only foresees it.
Write = Callable[[Sequence[Operation], str], Written | None]


class Writer:
    """Collects verdicts and writes them batch by batch."""

    def __init__(
        self,
        schema: Introspection,
        names: Names,
        tally: Tally,
        write: Write,
        reason: str,
        *,
        waiting: Keys,
        links: Keys,
        is_plan: bool = False,
        size: int = BATCH,
    ) -> None:
        """Items that need what is not there yet get into `waiting`; those whose links follow, into
        `links`. A plan writes nothing, so nobody has to wait for what would be there by then.
        """
        self._schema = schema
        self._names = names
        self._tally = tally
        self._write = write
        self._reason = reason
        self._is_plan = is_plan
        self._size = size
        self._batch: list[Verdict] = []
        self._bytes = 0
        self._waiting = waiting
        self._links = links
        self.written = 0

    def add(self, verdict: Verdict) -> None:
        """Take one more; it is counted when its fate is known."""
        if not verdict.is_write:
            self._tally.add(verdict)
            return
        if self._bytes + verdict.item.size > BATCH_BYTES_MAX:
            self.flush()
        self._batch.append(verdict)
        self._bytes += verdict.item.size
        if len(self._batch) >= self._size:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        batch, self._batch, self._bytes = self._batch, [], 0
        self._write_some(batch)

    def _write_some(self, batch: list[Verdict]) -> None:
        while batch:
            batch = self._without_waiting(batch)
            together = {verdict.name for verdict in batch if verdict.action == "create"}
            given = [self._possible(verdict, together) for verdict in batch]
            are_late = [len(now) < len(v.changes) for now, v in zip(given, batch, strict=True)]
            reason = self._reason + (LINKS_FOLLOW if any(are_late) else "")
            operations = [operation(v, now) for v, now in zip(batch, given, strict=True)]
            try:
                written = self._write(operations, reason) if batch else None
            except REFUSALS as problem:
                batch = self._without_guilty(batch, problem)
                continue
            for at, verdict in enumerate(batch):
                self._done(verdict, written, at, is_late=are_late[at])
            return

    def _done(self, verdict: Verdict, written: Written | None, at: int, *, is_late: bool) -> None:
        if written is not None:
            outcome = written.outcomes[at]
            if verdict.action == "create" and not outcome.created:
                verdict.refuse(_overtaken(verdict))
            else:
                self.written += 1
                if verdict.name is not None:
                    self._names.made(verdict.name)
                if is_late:
                    self._links.add(verdict.item)
        self._tally.add(verdict)

    # --- what can be written now -------------------------------------------------------------

    def _without_waiting(self, batch: list[Verdict]) -> list[Verdict]:
        """Those that need nothing but what is there, or comes with them."""
        while True:
            together = {verdict.name for verdict in batch if verdict.action == "create"}
            ready = [verdict for verdict in batch if not self._must_wait(verdict, together)]
            if len(ready) == len(batch):
                return batch
            kept = {id(verdict) for verdict in ready}
            for verdict in batch:
                if id(verdict) not in kept and self._is_plan:
                    self._tally.add(verdict)
                elif id(verdict) not in kept:
                    self._waiting.add(verdict.item)
            batch = ready

    def _must_wait(self, verdict: Verdict, together: set[Name | None]) -> bool:
        """A new entity waits for what it must refer to, a change for all that it refers to.

        A change is never made in part: it would look like somebody's own the next time.
        """
        parsed = verdict.item.parsed
        assert parsed is not None
        facts = facts_of(self._schema, parsed.class_)
        is_new = verdict.action == "create"
        return any(
            name not in together and not self._names.is_there(name)
            for slot, name in references(facts, verdict.changes)
            if not is_new or slot in facts.required
        )

    def _possible(self, verdict: Verdict, together: set[Name | None]) -> dict[str, Any]:
        """The changes without slots that refer to what is not there yet."""
        parsed = verdict.item.parsed
        assert parsed is not None
        facts = facts_of(self._schema, parsed.class_)
        late = {
            slot
            for slot, name in references(facts, verdict.changes)
            if name not in together and not self._names.is_there(name)
        }
        return {slot: value for slot, value in verdict.changes.items() if slot not in late}

    # --- who is to blame ---------------------------------------------------------------------

    def _without_guilty(self, batch: list[Verdict], problem: Problem) -> list[Verdict]:
        """Those that are to be tried again: together if it is known who was wrong, else apart."""
        blamed = blame(problem, len(batch))
        if blamed:
            for at, found in blamed.items():
                batch[at].refuse_for(found)
                self._refused(batch[at])
            return [verdict for at, verdict in enumerate(batch) if at not in blamed]
        if len(batch) == 1:
            batch[0].refuse(problem)
            self._refused(batch[0])
            return []
        middle = len(batch) // 2
        self._write_some(batch[:middle])
        return batch[middle:]

    def _refused(self, verdict: Verdict) -> None:
        if verdict.entity is None and verdict.name is not None:
            self._names.forget(verdict.name)
        self._tally.add(verdict)


def operation(verdict: Verdict, slots: dict[str, Any]) -> Operation:
    """What brings the entity to what the file states."""
    parsed = verdict.item.parsed
    assert parsed is not None
    if verdict.entity is None:
        return Create(class_=parsed.class_, slots=slots, id=parsed.id)
    found = verdict.entity
    return Update(entity=found.entity_id, set=slots, expect=found.t)


def blame(problem: Problem, count: int) -> dict[int, list[dict[str, Any]]]:
    """The findings of each operation that was wrong; none if they do not say whose they are."""
    findings = problem.data.get("findings")
    if not isinstance(findings, list) or not findings or count == 1:
        return {}
    blamed: dict[int, list[dict[str, Any]]] = {}
    for found in findings:
        at = found.get("at")
        if type(at) is not int or not 0 <= at < count:
            return {}
        blamed.setdefault(at, []).append(found)
    return blamed


def _overtaken(verdict: Verdict) -> Conflict:
    return Conflict(
        "project.overtaken",
        f"somebody has made {verdict.name} while the files were read",
        hint="import once more",
    )
