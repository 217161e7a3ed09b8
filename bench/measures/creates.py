"""Durable creates: one by one, from many threads, and in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import Any

import sandbar
from bench import subject
from bench.bare.contract import Bare
from bench.ground import Ground
from bench.population import Population
from bench.results import Bar, Result, speed
from bench.samples import Batch, Sample, batch_of, harvest
from bench.settings import BULK, BULK_AT_LEAST, THREADS, THREADS_AT_LEAST, Settings
from bench.timing import Round, alternate
from sandbar import Database

_WARM = 20  # items that are created in a new copy before it is ready


class _BareCreates:
    """The bare driver's rounds, their rows made before the clock runs."""

    def __init__(self, population: Population, samples: list[Sample], *, outgrows: bool) -> None:
        self.ground: Ground[Bare] = Ground(
            population,
            "bare",
            connect=lambda target: population.place.bare(target, writes=True),
            warm=self._warm,
            outgrows=outgrows,
        )
        self._samples = samples
        self.ground.renew()
        self._ws, self._t, self._next_id = self.ground.it.counters()

    def rounds(self, rounds: int, transactions: int, each: int) -> Round:
        """A round of so many transactions, each with so many items."""
        ready = [
            [self._batch(n * each, each) for n in range(transactions)] for _ in range(rounds + 1)
        ]
        upcoming = iter(ready)

        def write() -> int:
            bare = self.ground.it
            for batch in next(upcoming):
                bare.write(batch)
            return transactions * each

        return write

    def _batch(self, at: int, each: int) -> Batch:
        samples = [self._samples[(at + n) % len(self._samples)] for n in range(each)]
        self._t += 1
        batch = batch_of(self._ws, samples, self._next_id, self._t)
        self._next_id = batch.next_id
        return batch

    def _warm(self, bare: Bare) -> None:
        ws, t, next_id = bare.counters()
        bare.write(batch_of(ws, self._samples[:_WARM], next_id, t + 1))


class _OurCreates:
    """Our rounds, their items made up before the clock runs."""

    def __init__(self, population: Population, settings: Settings, *, outgrows: bool) -> None:
        self.ground: Ground[Database] = Ground(
            population, "ours", connect=sandbar.open, warm=self._warm, outgrows=outgrows
        )
        self._size, self._settings = population.size, settings
        self._numbers = count(population.size)

    def one_by_one(self) -> Round:
        """A round of creates, each after the one before."""
        each = self._settings.creates_per_round
        ready = self._rounds(self._settings.rounds, each)

        def create() -> int:
            _create_all(self.ground.it, next(ready))
            return each

        return create

    def from_threads(self, pool: ThreadPoolExecutor) -> Round:
        """A round of creates by all threads at once."""
        ready = self._rounds(self._settings.rounds, THREADS * self._settings.creates_per_thread)

        def create() -> int:
            db, slots = self.ground.it, next(ready)
            shares = [slots[n::THREADS] for n in range(THREADS)]
            list(pool.map(lambda share: _create_all(db, share), shares))
            return len(slots)

        return create

    def in_bulk(self) -> Round:
        """A round of large transactions."""
        each = self._settings.bulk_per_round
        ready = [
            [{"op": "create", "class": subject.CLASS, "slots": slots} for slots in share]
            for share in self._rounds((self._settings.rounds + 1) * each - 1, BULK)
        ]

        def create() -> int:
            db = self.ground.it
            for _ in range(each):
                db.transact(ready.pop())
            return each * BULK

        return create

    def _rounds(self, rounds: int, each: int) -> Iterator[list[dict[str, Any]]]:
        """The slots of so many new items for every round, and for the one that is not counted."""
        return iter([self._slots(each) for _ in range(rounds + 1)])

    def _slots(self, each: int) -> list[dict[str, Any]]:
        return [subject.slots(number, self._size) for number in islice(self._numbers, each)]

    def _warm(self, db: Database) -> None:
        _create_all(db, self._slots(_WARM))


def _create_all(db: Database, share: list[dict[str, Any]]) -> None:
    for slots in share:
        db.create(subject.CLASS, slots)


def creates(population: Population, folder: Path, settings: Settings) -> Iterator[Result]:
    """All three, each contestant's in a copy of its own."""
    place, size = population.place, population.size
    population.close()
    samples = harvest(folder / f"samples-{place.name}-{size}.db", size, 2 * BULK, size)
    outgrows = settings.rounds * settings.bulk_per_round * BULK > size
    ours = _OurCreates(population, settings, outgrows=outgrows)
    bare = _BareCreates(population, samples, outgrows=outgrows)
    yield _one_by_one(place.name, size, ours, bare, settings)
    yield _from_threads(place.name, size, ours, settings)
    yield _in_bulk(place.name, size, ours, bare, settings)
    ours.ground.drop()
    bare.ground.drop()


def _one_by_one(
    store: str, size: int, ours: _OurCreates, bare: _BareCreates, settings: Settings
) -> Result:
    contest = alternate(
        ours.one_by_one(),
        bare.rounds(settings.rounds, settings.creates_per_round, 1),
        settings.rounds,
        prepare_ours=ours.ground.renew,
        prepare_other=bare.ground.renew,
    )
    what = "durable creates, one by one"
    return speed(contest, store=store, size=size, key="create", what=what)


def _from_threads(store: str, size: int, ours: _OurCreates, settings: Settings) -> Result:
    with ThreadPoolExecutor(THREADS) as pool:
        contest = alternate(
            ours.from_threads(pool),
            ours.one_by_one(),
            settings.rounds,
            prepare_ours=ours.ground.renew,
            prepare_other=ours.ground.renew,
        )
    return speed(
        contest,
        store=store,
        size=size,
        key="create-threads",
        what=f"durable creates from {THREADS} threads",
        against="1 thread",
        bar=Bar("at least", THREADS_AT_LEAST),
    )


def _in_bulk(
    store: str, size: int, ours: _OurCreates, bare: _BareCreates, settings: Settings
) -> Result:
    contest = alternate(
        ours.in_bulk(),
        bare.rounds(settings.rounds, settings.bulk_per_round, BULK),
        settings.rounds,
        prepare_ours=ours.ground.renew,
        prepare_other=bare.ground.renew,
    )
    return speed(
        contest,
        store=store,
        size=size,
        key="create-bulk",
        what=f"bulk creates, {BULK:,} per transaction",
        bar=Bar("at least", BULK_AT_LEAST),
    )
