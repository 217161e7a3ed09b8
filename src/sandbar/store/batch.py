"""Running a batch: plan every item, apply all rows at once, commit once, answer afterwards.

If the database refuses the batch (disk full, statement interrupted, connection lost before
COMMIT), or what one of them asks for breaks us while it is looked up or written, nothing of it was
kept; its items are then run again, each in a transaction of its own, so that only the guilty ones
fail. Closures must therefore be safe to run more than once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sandbar import clock
from sandbar.errors import Fault, Interrupted, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.patience import Patience, limited
from sandbar.store.answer import Answer, resolve_all
from sandbar.store.numbering import Outcome, Ride
from sandbar.store.plan import Base, Plan, Transaction
from sandbar.store.rows import State
from sandbar.store.usage import Account
from sandbar.store.wanted import Wanted, unique_wanted


class InDoubt(Unavailable):
    """The connection broke during COMMIT and the outcome could not be found out."""


def in_doubt() -> InDoubt:
    """The answer to a write of which nobody can say whether it was kept."""
    return InDoubt(
        "store.in-doubt",
        "the commit failed, and nobody can say whether it was kept",
        hint="retry with the same idempotency key, which writes at most once",
    )


class MaybeKept(Unavailable):
    """COMMIT failed in a way that a crash may still undo: the items are worth another try."""


class _NotBegun(Exception):
    """No transaction could be begun, which is no item's fault and no item's to retry."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class WriteSession(Base, Protocol):
    """An open database transaction that holds the lock of one workspace."""

    state: State
    account: Account

    def prefetch(self, wanted: Wanted) -> None:
        """Fetch what the batch is likely to read."""

    def is_open(self) -> bool:
        """Whether the database transaction is still the one that was begun."""

    def commit(self) -> None:
        """Make it durable; raises `InDoubt` only if that is what it is."""

    def release(self) -> None:
        """End one that is to leave nothing; raises `InDoubt` if what it has read is in doubt."""

    def rollback(self) -> None:
        """Give everything up; never raises for a transaction that is gone already."""


class Item:
    """One queued transaction and the future of whoever waits for it."""

    __slots__ = (
        "alone", "deadline_s", "error", "future", "is_doubtful", "patience", "ride", "value",
        "wanted", "work",
    )  # fmt: skip

    def __init__(
        self,
        work: Callable[[Transaction], Any],
        wanted: Wanted,
        *,
        alone: bool,
        deadline_s: float | None,
        ride: Ride | None = None,
        patience: Patience | None = None,
    ) -> None:
        """`ride` is the note that this write keeps, if it writes anything.

        `patience` ends its planning; once its rows are written, nothing does.
        """
        self.work = work
        self.wanted = wanted
        self.alone = alone
        self.deadline_s = deadline_s
        self.ride = ride
        self.patience = patience
        self.future: Answer[Any] = Answer()
        self.value: Any = None
        self.error: BaseException | None = None
        self.is_doubtful = False

    def fail(self, problem: Problem) -> None:
        """Settle for a failure; after a commit in doubt that is all one can say."""
        if self.is_doubtful and not isinstance(problem, InDoubt):
            problem = in_doubt()
        self.error = problem

    def answer(self) -> None:
        """Tell the waiting caller; the last thing that happens to an item."""
        self.future.resolve(self.value, self.error)


def run_batch(
    begin: Callable[[], WriteSession],
    items: list[Item],
    enter: Callable[[Transaction | None], None],
    committed: Callable[[int], None] = lambda t: None,
) -> None:
    """Run the items to their answers. `enter` is told which transaction is open, if any.

    `committed` is told the last t of each commit that wrote transactions; it must not raise.

    Whatever is decided is answered at once, so that a later defect cannot deny it.
    """
    alone = len(items) == 1 and items[0].alone
    waiting = items
    try:
        waiting = _attempt(begin, items, enter, committed, alone=alone)
        _answer([item for item in items if item not in waiting])
        while waiting:
            _attempt(begin, waiting[:1], enter, committed, alone=True)
            _answer(waiting[:1])
            waiting = waiting[1:]
    except _NotBegun as not_begun:
        for item in waiting:
            item.fail(not_begun.problem)
        _answer(waiting)


def _answer(items: list[Item]) -> None:
    resolve_all([(item.future, item.value, item.error) for item in items])


def _attempt(
    begin: Callable[[], WriteSession],
    items: list[Item],
    enter: Callable[[Transaction | None], None],
    committed: Callable[[int], None],
    *,
    alone: bool,
) -> list[Item]:
    """Run the items in one database transaction; returns those that must run alone."""
    try:
        session = begin()
    except Problem as problem:
        raise _NotBegun(problem) from problem
    plan = Plan(session.state, session.account)
    outcome = Outcome.LOST
    deferred: list[Item] = []
    try:
        session.prefetch(unique_wanted(item.wanted for item in items))
        deferred = _plan_items(session, plan, items, enter, alone=alone)
        if plan.is_empty():
            session.release()
        else:
            session.apply(plan)
            outcome = Outcome.DOUBTFUL
            session.commit()
            outcome = Outcome.KEPT
    except Problem as problem:
        session.rollback()
        for item in items:
            item.is_doubtful = item.is_doubtful or isinstance(problem, MaybeKept)
        if isinstance(problem, InDoubt):
            for item in items:
                if item.error is None and item not in deferred:
                    item.fail(problem)
            return deferred
        if alone:
            for item in items:
                item.fail(problem)
            return []
        return items
    except BaseException as error:  # a defect, perhaps in what one of many has asked for
        session.rollback()
        if outcome is Outcome.DOUBTFUL:
            raise
        if len(items) > 1:
            return items
        fault_id = log_fault("writer.item-failed", error)
        items[0].fail(Fault("writer.failed", "the write failed", data={"id": fault_id}))
        return []
    finally:
        for ride in plan.rides:
            ride.end(outcome)
    if plan.transactions:
        committed(plan.t)
    return deferred


def _plan_items(
    session: WriteSession,
    plan: Plan,
    items: list[Item],
    enter: Callable[[Transaction | None], None],
    *,
    alone: bool,
) -> list[Item]:
    deferred = []
    for item in items:
        item.value = item.error = None
        if not item.future.begin():
            item.error = Interrupted("write.cancelled", "the write was taken back")
            continue
        if item.deadline_s is not None and clock.monotonic_s() > item.deadline_s:
            item.error = Interrupted(
                "deadline.passed", "the deadline passed before the write began"
            )
            continue
        tx = Transaction(plan, session, alone=alone, ride=item.ride)
        enter(tx)
        try:
            with limited(item.patience):
                item.value = item.work(tx)
            tx.finish()
            if item.ride is not None and _has_written(tx, plan):
                row = item.ride.begin()
                if row is not None:
                    plan.rides[item.ride] = row
        except BaseException as error:  # noqa: BLE001 - whatever it raised is its caller's answer
            if tx.is_refused:
                deferred.append(item)  # to be run again by itself, whatever it made of that
            else:
                item.error = error
        finally:
            enter(None)
            if item.ride is not None and item.ride not in plan.rides:
                item.ride.end(Outcome.LOST)  # a number that was quoted is not used
        if not session.is_open():
            raise _given_up(item.error)
    return deferred


def _has_written(tx: Transaction, plan: Plan) -> bool:
    """Whether there is anything to commit for this item; how far a search got it notes alone."""
    return bool(tx.changed_ids or tx.records or tx.jobs or plan.unsearched)


def _given_up(error: BaseException | None) -> Problem:
    """Why the transaction is gone: the work may have been told."""
    if isinstance(error, Interrupted):
        return error
    return Unavailable(
        "store.rolled-back", "the database gave up the whole transaction", hint="retry"
    )
