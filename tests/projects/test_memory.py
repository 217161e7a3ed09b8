"""What grows with the number of files are names and paths, never texts. The rate is printed."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from tests.conftest import Say
from tests.projects.conftest import Place, write

_TEXT_BYTES = 4_000
_PER_FILE_BYTES = 1_500


def make(folder: Path, count: int) -> None:
    body = "Lorem ipsum dolor sit amet.\n" * (_TEXT_BYTES // 28)
    for n in range(count):
        cites = f"cites: [n/{n * 7919 % count}, n/{n * 104729 % count}]\n"
        text = f"---\nident: n/{n}\nname: Note {n}\n{cites}---\n{body}"
        write(folder, f"note/Note/{n % 100}/{n}.md", text)


def peak_of(place: Place, folder: Path, count: int, say: Say) -> int:
    """The most that importing, planning again and exporting took at once."""
    make(folder / "in", count)
    tracemalloc.start()
    try:
        began = time.monotonic()
        assert place.apply(folder / "in").counts == {"create": count}
        took = time.monotonic() - began
        assert place.plan(folder / "in").counts == {"unchanged": count}
        place.export(folder / "out")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    say(f"{count} files: {peak / 1e6:.1f} MB at most, {count / took:.0f} files/s while measured")
    return peak


def test_texts_are_not_kept(notes: Place, tmp_path: Path, say: Say, new_notes: Place) -> None:
    less = peak_of(notes, tmp_path / "few", 300, say)
    more = peak_of(new_notes, tmp_path / "many", 2_000, say)
    assert more - less < 1_700 * _PER_FILE_BYTES < 1_700 * _TEXT_BYTES


@pytest.mark.long
@pytest.mark.timeout(900)
def test_texts_are_not_kept_of_many(
    notes: Place, tmp_path: Path, say: Say, new_notes: Place
) -> None:
    less = peak_of(notes, tmp_path / "few", 2_000, say)
    more = peak_of(new_notes, tmp_path / "many", 20_000, say)
    assert more - less < 18_000 * _PER_FILE_BYTES
