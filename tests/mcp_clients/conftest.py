"""The server that the clients of this folder talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live_server import LiveServer


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with the shoes of the tutorial, one for all files of a worker."""
    with LiveServer(tmp_path_factory.mktemp("clients") / "live.db", packs=["zorp"]) as server:
        yield server


@pytest.fixture(scope="session")
def tasking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with tools that are slow, that fail, and that ask."""
    path = tmp_path_factory.mktemp("tasking") / "live.db"
    with LiveServer(path, packs=["everything"]) as server:
        yield server
