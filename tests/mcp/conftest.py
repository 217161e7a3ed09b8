"""One server with the pack zorp for each module, on SQLite."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbar.database import open_database
from tests.mcp.planting import Plant, plant_in
from tests.mcp.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running server."""
    path: Path = tmp_path_factory.mktemp("served") / "shop.db"
    with serving(path) as running:
        yield running


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run on asyncio, as the server does."""
    return "asyncio"


@pytest.fixture
def planted(served: Served, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Puts a verb of the test's own into the catalogue."""
    return plant_in(served, monkeypatch)


@pytest.fixture(scope="module")
def tasked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running server whose tools are slow, fail, and ask; it has a workspace `beside`."""
    path: Path = tmp_path_factory.mktemp("tasked") / "tasks.db"
    open_database(path, workspace="beside").close()
    with serving(path, packs=("everything",)) as running:
        for role in ("reader", "writer", "admin"):
            running.token(role)
        running.token("admin", "beside")
        time.sleep(0.2)  # a session that hears of the making of its own account ends
        yield running
