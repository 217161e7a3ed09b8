"""What is known of very many files takes no memory: it is noted elsewhere."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from sandbar.codecs import Parsed
from sandbar.projects.keys import Keys
from sandbar.projects.moving import Moves
from sandbar.projects.names import LOOKED_UP, Names
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sources import Item
from sandbar.projects.sums import SUMS
from sandbar.scratch import Scratch
from tests.conftest import Say
from tests.projects.conftest import Place

COUNT = 3_000
BEYOND_CACHES = 8_000  # of a workspace, which remembers names
_PER_FILE_BYTES = 8  # not even a pointer


def kept_for_each(work: Callable[[int], object], many: int = COUNT) -> float:
    """The bytes of memory that each further one takes and keeps."""

    def kept(count: int) -> int:
        tracemalloc.start()
        try:
            result = work(count)
            gc.collect()  # what nobody refers to is not kept, only not yet found
            kept = tracemalloc.get_traced_memory()[0]
            assert result is not None
            return kept
        finally:
            tracemalloc.stop()

    work(1_000)  # the first time, others keep what they need for good
    few = kept(many)
    return (kept(2 * many) - few) / many


def test_the_measure_sees_what_is_kept(say: Say) -> None:
    kept = kept_for_each(lambda count: {f"n/{n}" for n in range(count)})
    say(f"a set of names: {kept:.0f} bytes for each")
    assert kept > 5 * _PER_FILE_BYTES


def test_names_are_not_kept(notes: Place, say: Say) -> None:
    def work(count: int) -> Names:
        names = Names(notes.guarded(), scratch)
        names.begin_turn()
        for start in range(0, count, LOOKED_UP):
            some = [f"n/{n}" for n in range(start, start + LOOKED_UP)]
            names.expect(some)
            for name in some:
                assert names.take(name)
                names.made(name)
        return names

    with Scratch() as scratch:
        kept = kept_for_each(work, BEYOND_CACHES)
    say(f"{kept:.1f} bytes for each name")
    assert kept < _PER_FILE_BYTES


def test_items_to_come_back_to_are_not_kept(say: Say) -> None:
    def work(count: int) -> Keys:
        keys = Keys(scratch)
        for n in range(count):
            keys.add(Item(path=f"notes/{n}.md"))
            keys.add(Item(path="bulk.jsonl", parsed=Parsed(class_="n/Note", slots={}, line=n)))
        some, slices = Keys(scratch), 0
        for _ in keys.slices(500, some, is_backwards=True):
            slices += len(some)
        assert slices == len(keys) == 2 * count
        assert sum(1 for _ in keys.left()) == 2 * count
        return keys

    with Scratch() as scratch:
        kept = kept_for_each(work)
    say(f"{kept:.1f} bytes for each item")
    assert kept < _PER_FILE_BYTES


def test_digests_of_an_export_are_not_kept(tmp_path: Path, say: Say) -> None:
    slots = {"db/ident": "n/moved"}
    parsed = Parsed(class_="note/Note", slots=slots, is_ident_derived=True)
    moved = Item(path="note/Note/n/moved.md", parsed=parsed, digest=f"{500:064x}")

    def work(count: int) -> Moves:
        lines = (f"{n:064x}  note/Note/n/{n}.md\n" for n in range(count))
        (tmp_path / SUMS).write_text("".join(lines))
        moves = Moves(folder, scratch)
        named = moves.named(moved)
        assert named.parsed is not None
        assert named.parsed.slots["db/ident"] == "n/500"
        return moves

    with RootedFolder(tmp_path) as folder, Scratch() as scratch:
        kept = kept_for_each(work)
    say(f"{kept:.1f} bytes for each file of the export")
    assert kept < _PER_FILE_BYTES
