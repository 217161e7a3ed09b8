"""Many writes in few transactions, and a verdict for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from sandbar.access import Guarded
from sandbar.errors import Incorrect, Interrupted, Problem, Unavailable
from sandbar.model import Operation, Outcome

_OPERATIONS_MAX = 300
_BYTES_MAX = 1 << 20


class Wish(msgspec.Struct, frozen=True):
    """What is to be done for one path: all of it or nothing."""

    path: str
    operations: tuple[Operation, ...]
    size: int = 0


class Verdict(msgspec.Struct, frozen=True):
    """What became of a wish: the transaction and the outcome of its last operation, or why not."""

    t: int = 0
    outcome: Outcome | None = None
    problem: Problem | None = None


def grant(db: Guarded, wishes: Iterable[Wish], reason: str) -> dict[str, Verdict]:
    """Write as many wishes as can be at a time; those that are refused keep no other back."""
    verdicts: dict[str, Verdict] = {}
    waiting = list(_batches(wishes))
    while waiting:
        batch = waiting.pop(0)
        try:
            operations = [op for wish in batch for op in wish.operations]
            written = db.transact(operations, reason=_reason(reason, batch))
        except (Unavailable, Interrupted):
            raise
        except Problem as problem:
            waiting[:0] = _rest(batch, problem, verdicts)
            continue
        at = 0
        for wish in batch:
            at += len(wish.operations)
            verdicts[wish.path] = Verdict(written.t, written.outcomes[at - 1])
    return verdicts


def _rest(
    batch: Sequence[Wish], problem: Problem, verdicts: dict[str, Verdict]
) -> list[Sequence[Wish]]:
    """What is to be tried next after a refusal: the others, if it says who is guilty."""
    if len(batch) == 1:
        verdicts[batch[0].path] = Verdict(problem=problem)
        return []
    innocent: list[Wish] = []
    at = 0
    for wish in batch:
        mine = _findings(problem, range(at, at + len(wish.operations)))
        at += len(wish.operations)
        if mine:
            verdicts[wish.path] = Verdict(problem=_own(problem, mine))
        else:
            innocent.append(wish)
    if len(innocent) < len(batch):
        return [innocent] if innocent else []
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]]


def _findings(problem: Problem, operations: range) -> list[dict[str, Any]]:
    found = problem.data.get("findings")
    findings = found if isinstance(found, list) else []
    return [one for one in findings if isinstance(one, dict) and one.get("at") in operations]


def _own(problem: Problem, findings: list[dict[str, Any]]) -> Problem:
    """The part of a refusal that is about one wish."""
    first = findings[0]
    where = f"{first['slot']}: " if first.get("slot") else ""
    return Incorrect(
        str(first.get("code", problem.code)),
        f"{where}{first.get('message', problem.message)}",
        hint=first.get("hint") or problem.hint,
        data={"findings": findings},
    )


def _batches(wishes: Iterable[Wish]) -> Iterator[Sequence[Wish]]:
    batch: list[Wish] = []
    count = size = 0
    for wish in wishes:
        count += len(wish.operations)
        size += wish.size
        if batch and (count > _OPERATIONS_MAX or size > _BYTES_MAX):
            yield batch
            batch, count, size = [], len(wish.operations), wish.size
        batch.append(wish)
    if batch:
        yield batch


def _reason(reason: str, batch: Sequence[Wish]) -> str:
    return f"{reason}: {batch[0].path if len(batch) == 1 else f'{len(batch)} files'}"
