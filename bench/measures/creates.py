"""Durable creates: one by one, from many threads, and in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import Any

from bench import subject
from bench.bare.contract import Bare
from bench.population import Population
from bench.results import Bar, Result, speed
from bench.samples import Batch, Sample, batch_of, harvest
from bench.settings import BULK, BULK_AT_LEAST, THREADS, THREADS_AT_LEAST, Settings
from bench.timing import Round, alternate


class _BareCreates:
    """The bare driver's rounds, their rows made before the clock runs."""

    def __init__(self, bare: Bare, samples: list[Sample]) -> None:
        self._bare, self._samples = bare, samples
        self._ws, self._t, self._next_id = bare.counters()

    def rounds(self, rounds: int, transactions: int, each: int) -> Round:
        """A round of so many transactions, each with so many items."""
        ready = [
            [self._batch(n * each, each) for n in range(transactions)] for _ in range(rounds + 1)
        ]
        upcoming = iter(ready)

        def write() -> int:
            for batch in next(upcoming):
                self._bare.write(batch)
            return transactions * each

        return write

    def _batch(self, at: int, each: int) -> Batch:
        samples = [self._samples[(at + n) % len(self._samples)] for n in range(each)]
        self._t += 1
        batch = batch_of(self._ws, samples, self._next_id, self._t)
        self._next_id = batch.next_id
        return batch


class _Made:
    """New items, made up before the clock runs."""

    def __init__(self, size: int) -> None:
        self._size, self._numbers = size, count(size)

    def rounds(self, rounds: int, each: int) -> Iterator[list[dict[str, Any]]]:
        """The slots of so many new items for every round, and for the one that is not counted."""
        return iter([self._slots(each) for _ in range(rounds + 1)])

    def _slots(self, each: int) -> list[dict[str, Any]]:
        return [subject.slots(number, self._size) for number in islice(self._numbers, each)]


def creates(population: Population, folder: Path, settings: Settings) -> Iterator[Result]:
    """All three; ours go into the population, the bare driver's into a copy of it."""
    place, size = population.place, population.size
    population.close()
    copy = place.copy(population.target)
    samples = harvest(folder / f"samples-{place.name}-{size}.db", size, 2 * BULK, size)
    bare, made = place.bare(copy, writes=True), _Made(size)
    theirs = _BareCreates(bare, samples)
    one_each = settings.creates_per_round
    yield speed(
        alternate(
            _one_by_one(population, made, settings),
            theirs.rounds(settings.rounds, one_each, 1),
            settings.rounds,
        ),
        store=place.name,
        size=size,
        key="create",
        what="durable creates, one by one",
    )
    yield _from_threads(population, made, settings)
    bulk = theirs.rounds(settings.rounds, settings.bulk_per_round, BULK)
    yield _in_bulk(population, made, bulk, settings)
    bare.close()
    place.drop(copy)


def _one_by_one(population: Population, made: _Made, settings: Settings) -> Round:
    db, ready = population.db, made.rounds(settings.rounds, settings.creates_per_round)

    def create() -> int:
        for slots in next(ready):
            db.create(subject.CLASS, slots)
        return settings.creates_per_round

    return create


def _from_threads(population: Population, made: _Made, settings: Settings) -> Result:
    db, each = population.db, settings.creates_per_thread
    ready = made.rounds(settings.rounds, THREADS * each)

    def create_all(share: list[dict[str, Any]]) -> None:
        for slots in share:
            db.create(subject.CLASS, slots)

    with ThreadPoolExecutor(THREADS) as pool:

        def create() -> int:
            slots = next(ready)
            list(pool.map(create_all, [slots[n::THREADS] for n in range(THREADS)]))
            return len(slots)

        contest = alternate(create, _one_by_one(population, made, settings), settings.rounds)
    return speed(
        contest,
        store=population.place.name,
        size=population.size,
        key="create-threads",
        what=f"durable creates from {THREADS} threads",
        against="1 thread",
        bar=Bar("at least", THREADS_AT_LEAST),
    )


def _in_bulk(population: Population, made: _Made, bare: Round, settings: Settings) -> Result:
    db, each = population.db, settings.bulk_per_round
    ready = [
        [{"op": "create", "class": subject.CLASS, "slots": slots} for slots in share]
        for share in made.rounds((settings.rounds + 1) * each - 1, BULK)
    ]

    def create() -> int:
        for _ in range(each):
            db.transact(ready.pop())
        return each * BULK

    return speed(
        alternate(create, bare, settings.rounds),
        store=population.place.name,
        size=population.size,
        key="create-bulk",
        what=f"bulk creates, {BULK:,} per transaction",
        bar=Bar("at least", BULK_AT_LEAST),
    )
