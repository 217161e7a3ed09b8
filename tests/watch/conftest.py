"""A workspace with the memory pack, SQLite and PostgreSQL in turn, and a folder beside it.

`address`  where the database is
`notes`    a folder and the workspace, with a watch that goes round by round
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import sandbar
from sandbar.projects.sync import engine, looking
from tests.kept_postgres import open_for_tests
from tests.watch.notes import Notes


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database of each kind in turn."""
    if request.param == "sqlite":
        return str(tmp_path / "test.db")
    return str(request.getfixturevalue("shared_postgres"))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else writes while these watches look: the second look may follow at once."""
    monkeypatch.setattr(looking, "STABLE_S", 0.002)
    monkeypatch.setattr(engine, "_GONE_S", 0.02)


@pytest.fixture
def notes(address: str, tmp_path: Path, hasty: None) -> Iterator[Notes]:
    """A folder and a new workspace."""
    with open_for_tests(address, f"watch-{uuid4()}") as db:
        db.load_pack("memory")
        with Notes(db, tmp_path / "notes") as notes:
            yield notes


@pytest.fixture
def local_notes(tmp_path: Path, hasty: None) -> Iterator[Notes]:
    """The same on SQLite alone, for what no store has a part in."""
    with sandbar.open(tmp_path / "test.db") as db:
        db.load_pack("memory")
        with Notes(db, tmp_path / "notes") as notes:
            yield notes
