"""What a folder of notes takes in memory does not grow with the number of notes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sandbar
from sandbar.access import local_caller
from sandbar.codecs import base_codecs
from sandbar.packs.memory import notes
from sandbar.projects import Item, RootedFolder
from sandbar.scratch import Scratch
from tests.conftest import Say

_FEW, _MANY = 300, 1_500
_PER_NOTE_BYTES = 60


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Folders with as many notes as their number says."""
    return {count: make(tmp_path_factory.mktemp("notes"), count) for count in (1, _FEW, _MANY)}


def make(folder: Path, count: int) -> Path:
    """Notes with aliases, tags and links of every kind; a hundred in each folder."""
    for n in range(count):
        path = folder / str(n // 100) / f"Note {n}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"---\naliases: [also {n}]\ntags: [own-{n}, topic/{n}]\n---\n"
            f"[[Note {n * 7919 % count}]] [[also {n * 31 % count}]] [[none {n}]] ![[{n}.png]]\n",
            encoding="utf-8",
        )
        path.with_name(f"{n}.png").touch()
    return folder


@pytest.fixture
def items(tmp_path: Path) -> Iterator[Callable[[Path], Iterator[Item]]]:
    """Reads the items of a folder of notes."""
    with sandbar.open(str(tmp_path / "memory.db"), "test") as db:
        db.load_pack("memory")
        schema = db.guarded(local_caller(db.workspace_name)).schema()

        def read(path: Path) -> Iterator[Item]:
            with RootedFolder.of(path) as folder:
                yield from notes.NotesSource().items(folder, schema, base_codecs())

        yield read


def growth_of(read: Callable[[Path], Iterator[object]], folders: dict[int, Path]) -> float:
    """How many bytes a note adds to the most that reading a folder takes at once."""
    peaks = []
    for count in (_FEW, _FEW, _MANY):  # the first one is there to fill caches
        tracemalloc.start()
        try:
            assert sum(1 for _ in read(folders[count])) >= 2 * count
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return (peaks[2] - peaks[1]) / (_MANY - _FEW)


def test_a_note_takes_no_memory(
    items: Callable[[Path], Iterator[Item]], folders: dict[int, Path], say: Say
) -> None:
    growth = growth_of(items, folders)
    say(f"notes: {growth:.0f} bytes of memory more per note")
    assert growth < _PER_NOTE_BYTES


def test_what_is_kept_in_memory_is_noticed(folders: dict[int, Path]) -> None:
    """The negative control of the test before: one dictionary of paths, and nothing else."""

    def read(path: Path) -> Iterator[str]:
        with RootedFolder.of(path) as folder:
            yield from {found.path: None for found in folder.files()}

    assert growth_of(read, folders) > 2 * _PER_NOTE_BYTES


def test_the_scratch_is_closed_at_the_end_and_by_whoever_stops_early(
    items: Callable[[Path], Iterator[Item]],
    folders: dict[int, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    class Watched(Scratch):
        def close(self) -> None:
            closed.append(self)
            super().close()

    monkeypatch.setattr(notes, "Scratch", Watched)
    assert len(list(items(folders[1]))) == 5
    assert len(closed) == 1
    reading = items(folders[1])
    next(reading)
    assert len(closed) == 1
    del reading
    assert len(closed) == 2
