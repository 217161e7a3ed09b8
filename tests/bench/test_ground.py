"""A size is what it claims to be: creates go into copies, which do not grow from round to round."""

from __future__ import annotations

from pathlib import Path

import pytest

import sandbar
from bench import subject
from bench.ground import Ground
from bench.places import Place, PostgresPlace, SqlitePlace
from bench.population import Population
from sandbar import Database
from tests.postgres_server import PostgresServer

SIZE = 5


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, postgres_server: PostgresServer) -> Place:
    return SqlitePlace(tmp_path) if request.param == "sqlite" else PostgresPlace(postgres_server)


def create(db: Database) -> None:
    db.create(subject.CLASS, subject.slots(SIZE, SIZE))


def items(db: Database) -> int:
    return len(db.query(subject.CLASS, limit=100).items)


@pytest.mark.parametrize(("outgrows", "seen"), [(True, [6, 6, 6]), (False, [6, 7, 8])])
def test_only_a_copy_that_outgrows_its_size_is_made_anew(
    place: Place, outgrows: bool, seen: list[int]
) -> None:
    population = Population(place, f"ground-{outgrows}".lower(), SIZE)
    population.load(lambda text: None)
    ground = Ground(population, "ours", connect=sandbar.open, warm=create, outgrows=outgrows)
    found = []
    for _ in seen:
        ground.renew()
        found.append(items(ground.it))
        create(ground.it)
    ground.drop()
    assert found == seen
    assert items(population.db) == SIZE
    population.drop()
