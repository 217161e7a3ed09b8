"""A file that was cut off or changed anywhere is refused, before anything is written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sandbar.database import backup_database, restore_database
from sandbar.errors import Problem
from tests.backup.conftest import Site, Sites
from tests.backup.filling import fill
from tests.backup.forging import Forgery, forged
from tests.conftest import Say

FLIPS = 300
EDGE_BYTES = 64  # of both ends, every byte is tried
REFUSALS = {"backup.damaged", "backup.foreign", "backup.newer"}


@pytest.fixture
def file(sites: Sites, tmp_path: Path) -> Path:
    """A backup with something of everything."""
    source = sites("sqlite")
    fill(source)
    path = tmp_path / "good.backup"
    backup_database(source.address, path)
    return path


def refusal(file: Path, target: Site) -> str:
    """The code with which a file is refused; the target must be as if nothing had been tried."""
    with pytest.raises(Problem) as caught:
        restore_database(file, target.address)
    assert caught.value.hint
    return caught.value.code


def test_every_region_is_covered(sites: Sites, file: Path, seed: str, say: Say) -> None:
    chance, good = random.Random(seed), file.read_bytes()
    size = len(good)
    places = {*range(EDGE_BYTES), *range(size - EDGE_BYTES, size)}
    places |= {chance.randrange(size) for _ in range(FLIPS)}
    bad, target = file.with_suffix(".bad"), sites("sqlite")
    for place in sorted(places):
        changed = bytearray(good)
        changed[place] ^= 1 << chance.randrange(8)
        bad.write_bytes(changed)
        assert refusal(bad, target) in REFUSALS, place
    for length in [0, 1, 31, 32, 33, *(chance.randrange(size) for _ in range(FLIPS)), size - 1]:
        bad.write_bytes(good[:length])
        assert refusal(bad, target) in REFUSALS, length
    bad.write_bytes(good + b"x")
    assert refusal(bad, target) in REFUSALS
    assert target.is_untouched()
    say(f"{len(places)} changes and {FLIPS + 6} cuts of {size} bytes refused")
    restore_database(file, target.address)


def test_postgres_is_not_touched_by_a_damaged_file(sites: Sites, file: Path) -> None:
    target = sites("postgres")
    good = file.read_bytes()
    for bad in (good[:-1], good[: len(good) // 2], good[:-40] + b"x" + good[-39:]):
        file.write_bytes(bad)
        assert refusal(file, target) == "backup.damaged"
    assert target.is_untouched()
    file.write_bytes(good)
    restore_database(file, target.address)


def test_nothing_but_the_digest_stands_against_a_changed_word(own: Site, file: Path) -> None:
    """The negative control: the same change with a right digest is restored."""

    def change(forgery: Forgery) -> None:
        for row in forgery.table("entity").rows:
            row[3] = row[3].replace("Words of", "Lies of")

    lie = forged(file, change)
    signed, honest = lie.read_bytes(), file.read_bytes()
    lie.write_bytes(signed[:-32] + honest[-32:])
    assert refusal(lie, own) == "backup.damaged"
    lie.write_bytes(signed)
    restore_database(lie, own.address)
    with own.open() as db:
        assert "Lies of" in db.query("note/Note").items[0]["note/body"]


def test_a_file_that_changes_while_it_is_read_is_refused(
    own: Site, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was looked at as a whole, and then somebody writes to it."""
    good = file.read_bytes()

    def change(what: str, done: int, total: int) -> None:
        if what == "checking" and done >= total - 32:
            # One letter of a block that can be unpacked: its check sum is not what refuses it.
            other = Forgery(good)
            other.table("entity").rows[-1][3] += " "
            file.write_bytes(other.data()[:-32] + good[-32:])

    with pytest.raises(Problem) as caught:
        restore_database(file, own.address, change)
    assert caught.value.code == "backup.damaged"
    assert own.is_untouched()


@pytest.mark.parametrize("what", ["a folder", "nothing", "a database", "an empty file", "a text"])
def test_what_is_no_backup_is_refused(sites: Sites, tmp_path: Path, what: str) -> None:
    path, target = tmp_path / "it", sites("sqlite")
    if what == "a folder":
        path.mkdir()
    elif what == "a database":
        source = sites("sqlite")
        source.open().close()
        path = Path(source.address)
    elif what != "nothing":
        path.write_text("" if what == "an empty file" else '{"format": "something else"}\n')
    code = "backup.unreadable" if what in ("a folder", "nothing") else "backup.foreign"
    assert refusal(path, target) == code
    assert target.is_untouched()
