"""The promise of `sandbar watch`: edits on both sides at once, kills, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import sandbar
from tests.conftest import Say
from tests.watch.turmoil import Turmoil

pytestmark = pytest.mark.xdist_group("watch-turmoil")


@pytest.fixture
def db(address: str) -> Iterator[sandbar.Database]:
    """A workspace with the memory pack."""
    with sandbar.open(address, f"turmoil-{uuid4()}") as db:
        db.load_pack("memory")
        yield db


def _run(
    db: sandbar.Database, address: str, folder: Path, seed: str, count: int, pause_ms: int
) -> Turmoil:
    folder.mkdir()
    turmoil = Turmoil(db, address, folder, seed, is_careless=False)
    try:
        turmoil.run(count, pause_ms)
        turmoil.settle()
    finally:
        turmoil.close()
    return turmoil


def _check(turmoil: Turmoil, say: Say) -> None:
    assert turmoil.lost() == set()
    assert turmoil.disagreeing() == []
    conflicts = list(turmoil.folder.glob("*.conflict-*"))
    say(
        f"watch: {turmoil.edits} edits of files, as many of entities, {turmoil.kills} kills:"
        f" {len(turmoil.required)} tokens of files, {len(conflicts)} conflict files, none lost"
    )


def test_nothing_is_lost_in_turmoil(
    db: sandbar.Database, address: str, tmp_path: Path, seed: str, say: Say
) -> None:
    _check(_run(db, address, tmp_path / "notes", seed, 120, 20), say)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("round", range(3))
def test_nothing_is_lost_in_a_thousand_edits(
    db: sandbar.Database, address: str, tmp_path: Path, seed: str, say: Say, round: int
) -> None:
    _check(_run(db, address, tmp_path / "notes", f"{seed}-{round}", 1000, 60), say)


def test_the_oracle_objects_to_a_watch_that_overwrites(tmp_path: Path, seed: str) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    address = str(tmp_path / "test.db")
    with sandbar.open(address) as db:
        db.load_pack("memory")
        turmoil = Turmoil(db, address, folder, seed, is_careless=True)
        try:
            turmoil.run(200, 15)
            turmoil.settle()
        finally:
            turmoil.close()
        assert turmoil.lost(), "what was overwritten is nowhere"
