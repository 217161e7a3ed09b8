"""Reads of the present: points and indexed queries, against the bare driver and across sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import sandbar
from bench import subject
from bench.bare.contract import Doc
from bench.population import Population, index_key
from bench.results import Bar, Result, slowdown, speed
from bench.settings import POINT_AT_LEAST, SLOWDOWN_AT_MOST, Settings
from bench.timing import alternate, for_a_while

KIND_LIMIT = 50
RANK_LIMIT = 20


class Reading(NamedTuple):
    """One way to read a population: inputs (ours, the bare driver's), and what each does."""

    key: str
    what: str
    inputs: list[tuple[Any, Any]]
    ours: Callable[[Any], object]
    bare: Callable[[Any], Doc | list[Doc]]
    bar: Bar | None = None
    is_flat: bool = True  # whether it must cost the same at every size


def readings(population: Population, settings: Settings) -> list[Reading]:
    """All ways, with inputs from all over the population."""
    db, bare = population.db, population.reader
    random = Random(1)
    kind, rank = population.property_id(subject.KIND), population.property_id(subject.RANK)
    ident = population.property_id("db/ident")

    def draw(make: Callable[[], tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        return [make() for _ in range(settings.inputs)]

    ids = population.random_ids(settings.inputs)
    return [
        Reading(
            "get",
            "point reads by id",
            [(id, id) for id in ids],
            lambda pair: db.get(pair[0]),
            lambda pair: bare.point(pair[1]),
            Bar("at least", POINT_AT_LEAST),
        ),
        Reading(
            "get-ident",
            "point reads by ident",
            draw(lambda: _ident_input(random, population.size)),
            lambda pair: db.get(pair[0]),
            lambda pair: bare.point_by_key(ident, pair[1]),
            is_flat=False,
        ),
        Reading(
            "query-equal",
            "query: kind = x, about 20 rows",
            draw(lambda: kind_input(random.randrange(subject.kinds_of(population.size)))),
            lambda pair: db.query(subject.CLASS, pair[0], limit=KIND_LIMIT),
            lambda pair: bare.equal(kind, pair[1], KIND_LIMIT),
        ),
        Reading(
            "query-range",
            "query: rank ≥ x by rank, 20 rows",
            draw(lambda: rank_input(random.randrange(max(population.size - RANK_LIMIT, 1)))),
            lambda pair: db.query(subject.CLASS, pair[0], order_by=subject.RANK, limit=RANK_LIMIT),
            lambda pair: bare.at_least(rank, pair[1], RANK_LIMIT),
        ),
    ]


def _ident_input(random: Random, size: int) -> tuple[str, bytes]:
    number = random.randrange((size - 1) // subject.IDENT_EVERY + 1) * subject.IDENT_EVERY
    return subject.ident(number), index_key("keyword", subject.ident(number))


def kind_input(number: int) -> tuple[dict[str, Any], bytes]:
    """A filter for one kind, and its index key."""
    return {subject.KIND: subject.kind(number)}, index_key("keyword", subject.kind(number))


def rank_input(lowest: int) -> tuple[dict[str, Any], bytes]:
    """A filter for ranks from a number on, and its index key."""
    return {subject.RANK: {">=": lowest}}, index_key("long", lowest)


def reads(population: Population, settings: Settings) -> Iterator[Result]:
    """Every reading against the bare driver, after a look that both find the same."""
    for reading in readings(population, settings):
        assert_same(reading)
        contest = alternate(
            for_a_while(reading.ours, reading.inputs, settings.read_seconds),
            for_a_while(reading.bare, reading.inputs, settings.read_seconds),
            settings.rounds,
        )
        yield speed(
            contest,
            store=population.place.name,
            size=population.size,
            key=reading.key,
            what=reading.what,
            bar=reading.bar,
        )


def assert_same(reading: Reading) -> None:
    """A benchmark of two different answers says nothing."""
    for one in reading.inputs[:20]:
        ours, theirs = reading.ours(one), reading.bare(one)
        found: Any = ours if isinstance(ours, sandbar.Page) else [ours]
        expected = theirs if isinstance(theirs, list) else [theirs]
        values = [sorted(map(repr, entity.slots.values())) for entity in found]
        assert values == [sorted(map(repr, doc.values())) for doc in expected], reading.key


def flatness(small: Population, large: Population, settings: Settings) -> Iterator[Result]:
    """What the same reading costs in a large population and in a small one, in turn."""
    pairs = zip(readings(small, settings), readings(large, settings), strict=True)
    for few, many in pairs:
        if not many.is_flat:
            continue
        contest = alternate(
            for_a_while(many.ours, many.inputs, settings.flat_seconds),
            for_a_while(few.ours, few.inputs, settings.flat_seconds),
            settings.flat_rounds,
        )
        yield slowdown(
            contest,
            store=large.place.name,
            size=large.size,
            key=f"flat-{many.key}",
            what=f"slowdown, {many.what}",
            against=f"{small.size:,}",
            bar=Bar("at most", SLOWDOWN_AT_MOST),
        )
