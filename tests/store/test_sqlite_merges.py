"""However much is searched for, no single write has to merge all of it."""

from __future__ import annotations

import random
from pathlib import Path

import apsw
import pytest

import sandbar
from tests.conftest import Say

WRITES = 280  # sixteen times sixteen, and some
WORDS = 600
_FRAME_BYTES = 4096 + 24


def pages_of_each_write(path: Path, seed: str) -> list[int]:
    """How many pages each of many writes of as much text adds to the log."""
    source = random.Random(seed)
    beside = apsw.Connection(str(path))
    log = Path(f"{path}-wal")
    pages = []
    with sandbar.open(path) as db:
        db.define(
            properties={"a/text": {"dt/range": "db.type/string"}},
            classes={"a/A": {"dt/slots": ["a/text"]}},
        )
        for _ in range(WRITES):
            beside.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            assert log.stat().st_size == 0
            text = " ".join(f"w{source.getrandbits(32):08x}" for _ in range(WORDS))
            db.create("a/A", {"a/text": text})
            pages.append(log.stat().st_size // _FRAME_BYTES)
    beside.close()
    return pages


@pytest.mark.parametrize(("is_broken", "is_bounded"), [(False, True), (True, False)])
def test_a_write_merges_a_bounded_part_of_the_index(
    tmp_path: Path, seed: str, say: Say, is_broken: bool, is_bounded: bool
) -> None:
    path = tmp_path / "a.db"
    sandbar.open(path).close()
    if is_broken:  # as it was: whatever has sixteen parts is merged at once
        connection = apsw.Connection(str(path))
        connection.execute("INSERT INTO search (search, rank) VALUES ('crisismerge', 16)")
        connection.close()
    pages = sorted(pages_of_each_write(path, seed))
    most, usual = pages[-1], pages[len(pages) // 2]
    say(f"{usual} pages per write, {most} at most")
    assert (most < 300) == is_bounded
