"""Jobs among many: nobody shares one, and whoever was overtaken writes nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from sandbar import clock
from sandbar.errors import Conflict
from sandbar.store.api import Claim, Store, Transaction
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from tests.store.conftest import Place, new_workspace
from tests.store.writing import WAIT_S, Work, create, creating, write

HOUR_S = 3600.0
ENDED_S = 0.0
JOBS = 120
SHORT_S = 0.3  # enough for a thread to come as far as the lock that it waits for


@pytest.fixture
def place(own_place: Place) -> Place:
    """Whoever claims, claims in all workspaces: these tests share no database."""
    return own_place


def schedule_all(store: Store, spaces: list[int], count: int) -> None:
    """Jobs that are due, of every workspace."""

    def work(tx: Transaction) -> None:
        for id in range(1, count + 1):
            tx.schedule(id, id)

    for ws in spaces:
        write(store, ws, work)


def at_once(*calls: Callable[[], list[Claim]]) -> list[list[Claim]]:
    """Make these calls at the same time, each on a thread."""
    barrier = threading.Barrier(len(calls))

    def one(call: Callable[[], list[Claim]]) -> list[Claim]:
        barrier.wait(WAIT_S)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def shared(claims: list[Claim]) -> list[tuple[int, int]]:
    """The jobs that were handed out more than once."""
    times = Counter((claim.ws, claim.id) for claim in claims)
    return [job for job, count in times.items() if count > 1]


def test_a_job_that_is_handed_out_twice_is_noticed() -> None:
    one, two, again = Claim(1, "a", 1, 7, 0), Claim(1, "a", 2, 8, 0), Claim(1, "a", 1, 9, 0)
    assert shared([one, two, Claim(2, "b", 1, 10, 0)]) == []
    assert shared([one, two, again]) == [(1, 1)]


def test_servers_never_share_a_job(place: Place) -> None:
    stores = [place.another(), place.another()]
    spaces = [new_workspace(stores[0]) for _ in range(3)]
    schedule_all(stores[0], spaces, JOBS)

    def take(store: Store) -> list[Claim]:
        taken: list[Claim] = []
        while store.jobs.is_due():  # what the others have locked is passed over, and still due
            taken += store.jobs.claim("server", 7, HOUR_S)
        return taken

    taken = at_once(*(lambda store=store: take(store) for store in stores * 3))
    claims = [claim for part in taken for claim in part]
    assert shared(claims) == []
    assert len(claims) == len(spaces) * JOBS
    assert len({claim.token for claim in claims}) == len(claims)
    assert sum(bool(part) for part in taken) > 1, "only one of them ever got anything"


@pytest.mark.parametrize("is_fenced", [True, False])
def test_of_those_who_take_over_from_each_other_one_writes(place: Place, is_fenced: bool) -> None:
    """All hold every job, one after the other, and then write at once. Unfenced, all of them do."""
    stores = [place.another(), place.another()]
    ws = new_workspace(stores[0])
    schedule_all(stores[0], [ws], JOBS)
    claims = [store.jobs.claim("server", JOBS, ENDED_S) for store in stores]
    assert [len(part) for part in claims] == [JOBS, JOBS]

    def do(store: Store, claim: Claim) -> bool:
        def work(tx: Transaction) -> None:
            if is_fenced:
                tx.require_job(claim.id, claim.token)
            tx.schedule(claim.id, None)
            creating()(tx)

        try:
            write(store, ws, work)
        except Conflict:
            return False
        return True

    todo = [one for pair in zip(*claims, strict=True) for one in zip(stores, pair, strict=True)]
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda one: do(*one), todo))
    assert (any(done[::2]), all(done[1::2])) == (not is_fenced, True)
    assert stores[0].head(ws).t == JOBS * (1 if is_fenced else 2)


def test_every_job_is_done_once_although_leases_keep_running_out(place: Place) -> None:
    stores = [place.another(), place.another()]
    ws = new_workspace(stores[0])
    schedule_all(stores[0], [ws], JOBS)

    def do(store: Store, claim: Claim) -> None:
        def work(tx: Transaction) -> None:
            tx.require_job(claim.id, claim.token)
            creating((5, claim.id.to_bytes(8)))(tx)
            tx.schedule(claim.id, None)

        try:
            write(store, ws, work)
        except Conflict as lost:
            overtaken.append(lost.code)

    def serve(store: Store) -> list[Claim]:
        while store.jobs.next_due_s() is not None:
            for claim in store.jobs.claim("server", 3, 0.001):
                do(store, claim)
        return []

    overtaken: list[str] = []
    at_once(*(lambda store=store: serve(store) for store in stores * 2))
    with stores[0].snapshot(ws) as snapshot:
        holders = [snapshot.find(5, id.to_bytes(8)) for id in range(1, JOBS + 1)]
    assert [len(ids) for ids in holders] == [1] * JOBS
    assert overtaken, "nobody was ever overtaken, so nothing was tried"
    assert set(overtaken) == {"job.lost"}


class Held:
    """A transaction that has shown its token, and is held up before its commit."""

    def __init__(self, store: Store, claim: Claim, then: Work) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

        def work(tx: Transaction) -> None:
            tx.require_job(claim.id, claim.token)
            then(tx)
            self._reached.set()
            assert self._opened.wait(4.0)

        self._future = store.submit(claim.ws, work)
        assert self._reached.wait(WAIT_S)

    def commit(self) -> None:
        """Let it go on."""
        self._opened.set()
        self._future.result(WAIT_S)


@pytest.mark.parametrize("is_done", [True, False])
def test_what_is_being_written_in_its_holders_name_is_not_taken_over(
    place: Place, is_done: bool
) -> None:
    mine, other = place.another(), place.another()
    ws = new_workspace(mine)
    schedule_all(mine, [ws], 1)
    (old,) = mine.jobs.claim("mine", 1, ENDED_S)

    def then(tx: Transaction) -> None:
        creating()(tx)
        if is_done:
            tx.schedule(1, None)

    held = Held(mine, old, then)
    assert other.jobs.is_due(), "its lease is over, so only the open transaction keeps it"
    with ThreadPoolExecutor(1) as pool:
        claiming = pool.submit(other.jobs.claim, "other", 9, HOUR_S)
        clock.pause_s(SHORT_S)
        # SQLite waits for the writer, PostgreSQL passes the row over.
        assert not claiming.done() or claiming.result() == []
        held.commit()
        early = claiming.result(WAIT_S)
    assert mine.head(ws).t == 1
    claims = early or other.jobs.claim("other", 9, HOUR_S)
    if is_done:
        assert claims == []
        return
    assert [claim.id for claim in claims] == [1]
    with pytest.raises(Conflict):
        write(mine, ws, lambda tx: tx.require_job(1, old.token))


def test_a_lease_is_renewed_while_its_holder_writes(place: Place) -> None:
    store = place.another()
    ws = new_workspace(store)
    schedule_all(store, [ws], 1)
    (claim,) = store.jobs.claim("mine", 1, ENDED_S)
    held = Held(store, claim, creating())
    with ThreadPoolExecutor(1) as pool:
        renewing = pool.submit(store.jobs.renew, ws, 1, claim.token, HOUR_S)
        clock.pause_s(SHORT_S)
        held.commit()
        assert renewing.result(WAIT_S)
    assert not store.jobs.is_due()


def test_a_claim_that_is_about_to_commit_is_waited_for(fresh_postgres: str) -> None:
    """As a claim of another server would, we hold the row; then it has another token."""
    store = PostgresStore(install(fresh_postgres))
    ws = new_workspace(store)
    schedule_all(store, [ws], 1)
    (old,) = store.jobs.claim("mine", 1, ENDED_S)
    with psycopg.connect(fresh_postgres) as claimer:
        claimer.execute("UPDATE sandbar.job SET token = 7")
        answer = store.submit(ws, lambda tx: tx.require_job(1, old.token))
        clock.pause_s(SHORT_S)
        assert not answer.done()
        claimer.commit()
    problem = answer.exception(WAIT_S)
    assert isinstance(problem, Conflict)
    assert problem.code == "job.lost"
    store.close()


def test_leases_and_commits_do_not_disturb_each_other(place: Place) -> None:
    """Both come as fast as they can, from two stores; none of them may fail or be lost."""
    mine, other = place.another(), place.another()
    ws = new_workspace(mine)
    schedule_all(mine, [ws], 3)
    claims = other.jobs.claim("other", 3, HOUR_S)
    ending = threading.Event()
    renewed = Counter[bool]()

    def hold() -> None:
        while not ending.is_set():
            for claim in claims:
                renewed[other.jobs.renew(ws, claim.id, claim.token, HOUR_S)] += 1

    with ThreadPoolExecutor(5) as pool:
        holding = [pool.submit(hold) for _ in range(2)]
        writing = [pool.submit(lambda: [create(mine, ws) for _ in range(60)]) for _ in range(3)]
        ids = [id for one in writing for id in one.result(WAIT_S)]
        ending.set()
        for one in holding:
            one.result(WAIT_S)
    assert sorted(ids) == list(range(1, 181))
    assert set(renewed) == {True}
    assert renewed[True] > 20
