"""A live server with the packs zorp and memory, and the account of seed 000."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live_server import LiveServer
from tests.malformed.verdict import faults_logged
from tests.seeds.caring import Caregiver, minted
from tests.seeds.typing_it import ACCOUNT, KEY


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server for all of these tests."""
    folder = tmp_path_factory.mktemp("server")
    with LiveServer(folder / "seeds.db", packs=["zorp", "memory"]) as running:
        running.sandbar("account", "add", ACCOUNT, "--api-key", KEY)
        yield running
        assert faults_logged(running.log()) == []


@pytest.fixture(scope="package")
def caregiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caregiver]:
    """The owner of a workspace with the pack care, with a key that has no limit."""
    folder = tmp_path_factory.mktemp("sandwich")
    with LiveServer(folder / "sandwich.db", packs=["care"]) as running:
        yield minted(running, "caregiver", "--rate-limit", "0")
        assert faults_logged(running.log()) == []


@pytest.fixture
def address(server: LiveServer) -> str:
    """What replaces the printed `localhost:8080`."""
    return f"127.0.0.1:{server.port}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a shell keeps its notes."""
    return tmp_path
