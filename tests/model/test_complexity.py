"""No request costs more than linear x log of what a caller can make larger.

`pytest -s` and `python -m tests.model.costs` show how each grows; see `tests/model/complexity.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from sandbar.model import schema
from tests.conftest import Say
from tests.model.complexity import Ground, Measure, Work, growth_of, on_sqlite, shown
from tests.model.costs import MEASURES
from tests.model.schema_costs import define_layers


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Workspaces in one file."""
    ground = on_sqlite(tmp_path_factory.mktemp("cost"))
    yield ground
    ground.close()


@pytest.fixture(scope="module")
def postgres(shared_postgres: str) -> Iterator[Ground]:
    """Workspaces in the database of all."""
    ground = Ground(shared_postgres)
    yield ground
    ground.close()


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_cost_grows_no_faster_than_linear_x_log(measure: Measure, sqlite: Ground) -> None:
    growth = growth_of(measure, sqlite)
    assert not growth.is_steep, shown(measure.name, growth)


@pytest.mark.long
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_so_it_does_at_the_largest_sizes(
    store: str, measure: Measure, request: pytest.FixtureRequest, say: Say
) -> None:
    ground: Ground = request.getfixturevalue(store)
    growth = growth_of(measure.larger(), ground)
    say(f"{store}, {measure.name}: n^{growth.fitted:.2f}, at last n^{growth.last:.2f}")
    assert not growth.is_steep, shown(measure.name, growth)


# --- negative controls: what is planted is found --------------------------------------------------


def _compares_all(_: Ground, size: int) -> Work:
    names = [f"name {n}" for n in range(size)]
    return lambda: [name for name in names if name in names]


def _copies_all(_: Ground, size: int) -> Work:
    def work() -> None:
        found: list[int] = []
        for n in range(size):
            found = [*found, n]

    return work


@pytest.mark.parametrize("planted", [_compares_all, _copies_all])
def test_a_quadratic_cost_is_found(planted: Callable[[Ground, int], Work], sqlite: Ground) -> None:
    assert growth_of(Measure("planted", (250, 500, 1_000, 2_000), planted), sqlite).is_steep


def test_a_walk_that_comes_by_everything_again_is_found(
    sqlite: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_every_way(
        start: Iterable[int], onward: Callable[[int], Iterable[int]]
    ) -> dict[int, None]:
        """As it was: nothing is removed that is twice on a level."""
        seen: dict[int, None] = {}
        level = list(start)
        while level:
            seen.update(dict.fromkeys(level))
            level = [there for here in level for there in onward(here) if there not in seen]
        return seen

    monkeypatch.setattr(schema, "reached", on_every_way)
    assert growth_of(Measure("layers", (3, 6, 12), define_layers), sqlite).is_steep


def test_the_command_shows_a_bar_for_each_size(sqlite: Ground, tmp_path: Path) -> None:
    measure = next(one for one in MEASURES if one.name == "names that are alike")
    lines = shown(measure.name, growth_of(measure, sqlite)).splitlines()
    assert len(lines) == 1 + len(measure.sizes)
    assert all("#" in line for line in lines[1:])
