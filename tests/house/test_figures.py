"""The code as it stands keeps within every limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.house import figures, rooms
from tests.house.limits import BROAD_HANDLERS, FIGURES, MCP_ASKS_ACCESS, SIDE_DOORS, SOURCE, Figure
from tests.house.summary import HOUSE_FIGURE, row_of


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figure_is_within_its_limit(
    figure: Figure, record_property: Callable[[str, object], None]
) -> None:
    record_property(HOUSE_FIGURE, row_of(figure))
    guilty = [one for one in figure.places() if not figure.is_size or one.line > figure.limit]
    listing = "\n".join(map(str, guilty))
    assert figure.value() <= figure.limit, f"{figure.name}, at most {figure.limit}:\n{listing}"


def test_broad_handlers_stand_exactly_where_they_are_allowed() -> None:
    expected = {path: number for path, (number, _) in BROAD_HANDLERS.items()}
    assert expected == dict(Counter(one.path for one in figures.broad_handlers(SOURCE)))


def test_no_side_door_is_left_open_that_nobody_uses() -> None:
    entered = {place.what.removeprefix("enters ") for place in rooms.windows(SOURCE)}
    assert set(SIDE_DOORS) <= entered


def test_mcp_asks_access_for_these_names_and_no_others() -> None:
    asked = rooms.asked_of(SOURCE, "sandbar.mcp", "sandbar.access")
    assert {place.what for place in asked} == MCP_ASKS_ACCESS
