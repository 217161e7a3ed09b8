"""Reads as of the past, against the same reads of the present on items with ten changes each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from bench import subject
from bench.measures.reads import KIND_LIMIT, RANK_LIMIT, kind_input, rank_input
from bench.population import Population, Say
from bench.results import Bar, Result, slowdown
from bench.settings import CHANGES, PAST_AT_MOST, Settings
from bench.timing import alternate, for_a_while

Input = tuple[Any, int]  # what is asked, and the t as of which


class Changed:
    """Items that have been changed ten times: whole kinds, ranked apart from all other items."""

    def __init__(self, population: Population, count: int) -> None:
        self.population = population
        kinds = subject.kinds_of(population.size)
        self.kinds = min(subject.kinds_of(count), kinds)
        self.numbers = [n for n in range(population.size) if n % kinds < self.kinds]
        self.first_rank = 2 * population.size
        self.times: list[int] = []

    def change(self, say: Say, per_transaction: int) -> None:
        """Move every item to another kind, rank and weight, ten times."""
        random = Random(3)
        for turn in range(1, CHANGES + 1):
            for at in range(0, len(self.numbers), per_transaction):
                share = self.numbers[at : at + per_transaction]
                operations = [self._operation(number, turn, random) for number in share]
                t = self.population.db.transact(operations).t
                if turn > 1:  # from here on every rank is one of theirs
                    self.times.append(t)
            say(f"changing {len(self.numbers):,} items, turn {turn} of {CHANGES}")
        self.population.place.settle(self.population.target)

    def _operation(self, number: int, turn: int, random: Random) -> dict[str, Any]:
        changes = {
            subject.KIND: subject.kind((number + turn) % self.kinds),
            subject.RANK: self.first_rank + random.randrange(len(self.numbers)),
            subject.WEIGHT: round(random.random() * 1_000, 3),
        }
        return {"op": "update", "entity": self.population.id_of(number), "set": changes}


def past(changed: Changed, settings: Settings, size: int) -> Iterator[Result]:
    """As-of points, equalities and ranges."""
    db, random = changed.population.db, Random(4)

    def draw(make: Callable[[], Any]) -> list[Input]:
        return [(make(), random.choice(changed.times)) for _ in range(settings.inputs)]

    cls, count = subject.CLASS, len(changed.numbers)
    ids = draw(lambda: changed.population.id_of(random.choice(changed.numbers)))
    kinds = draw(lambda: kind_input(random.randrange(changed.kinds))[0])
    ranks = draw(lambda: rank_input(changed.first_rank + random.randrange(count * 9 // 10))[0])
    by_rank: dict[str, Any] = {"order_by": subject.RANK, "limit": RANK_LIMIT}
    for key, what, inputs, then, now in (
        (
            "past-get",
            "point reads",
            ids,
            lambda i: db.get(i[0], as_of=i[1]),
            lambda i: db.get(i[0]),
        ),
        (
            "past-query-equal",
            "kind = x",
            kinds,
            lambda i: db.query(cls, i[0], limit=KIND_LIMIT, as_of=i[1]),
            lambda i: db.query(cls, i[0], limit=KIND_LIMIT),
        ),
        (
            "past-query-range",
            "rank ≥ x by rank",
            ranks,
            lambda i: db.query(cls, i[0], as_of=i[1], **by_rank),
            lambda i: db.query(cls, i[0], **by_rank),
        ),
    ):
        contest = alternate(
            for_a_while(then, inputs, settings.read_seconds),
            for_a_while(now, inputs, settings.read_seconds),
            settings.rounds,
        )
        yield slowdown(
            contest,
            store=changed.population.place.name,
            size=size,
            key=key,
            what=f"as-of {what} ({_share(changed)}, {CHANGES} changes)",
            against="now",
            bar=Bar("at most", PAST_AT_MOST),
        )


def _share(changed: Changed) -> str:
    count, size = len(changed.numbers), changed.population.size
    return f"all {count:,}" if count == size else f"{count:,} of {size:,}"
