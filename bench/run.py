"""The course of a run: populations one after the other, and what is measured on each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.measures.creates import creates
from bench.measures.memory import growth_apart, result_of
from bench.measures.past import Changed, past
from bench.measures.reads import flatness, reads
from bench.places import Place
from bench.population import Population, Say
from bench.results import Result
from bench.settings import Settings


def measure(
    place: Place, sizes: list[int], settings: Settings, folder: Path, say: Say
) -> Iterator[Result]:
    """Everything about one store; writes come last, so that sizes are what they claim to be."""
    small = Population(place, f"flat-{sizes[0]}", sizes[0])
    small.load(say)
    for size in sizes:
        yield from _at_size(place, size, small, settings, folder, _prefixed(say, place, size))
    small.drop()


def _at_size(
    place: Place, size: int, small: Population, settings: Settings, folder: Path, say: Say
) -> Iterator[Result]:
    population = Population(place, f"of-{size}", size)
    population.load(say)
    yield Result(
        store=place.name,
        size=size,
        key="load",
        what="loading through the public API",
        ours=population.load_rate,
    )
    say("reading")
    yield from reads(population, settings)
    if size > small.size:
        say(f"reading beside {small.size:,}")
        yield from flatness(small, population, settings)
    population.close()
    say("paging through everything")
    yield result_of(growth_apart(population.target), place.name)
    yield from _past(place, size, population, settings, say)
    say("creating")
    yield from creates(population, folder, settings)
    population.drop()


def _past(
    place: Place, size: int, population: Population, settings: Settings, say: Say
) -> Iterator[Result]:
    if size >= settings.past_large:
        yield from _past_of(population, settings.past_large, size, settings, say)
        return
    apart = Population(place, f"past-{size}", settings.past_small)
    apart.load(say)
    yield from _past_of(apart, settings.past_small, size, settings, say)
    apart.drop()


def _past_of(
    population: Population, count: int, size: int, settings: Settings, say: Say
) -> Iterator[Result]:
    changed = Changed(population, count)
    changed.change(say, settings.past_operations)
    say("reading the past")
    yield from past(changed, settings, size)


def _prefixed(say: Say, place: Place, size: int) -> Say:
    return lambda text: say(f"{place.name}, {size:,}: {text}")
