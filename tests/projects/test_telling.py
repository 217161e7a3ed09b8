"""What an import tells: in the same order each time, what was ignored last, and how far it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import pytest

from sandbar.codecs import base_codecs
from sandbar.projects import FolderTarget, RootedFolder, export_project
from sandbar.projects.comparing import facts_of, references
from tests.projects.conftest import Place, tree, write

LETTERS = "hbfdagce"


class Killed(Exception):
    """The end of a process, as far as its files go."""


class KilledTarget(FolderTarget):
    """A folder to which an export does not come to its end."""

    def finish(self, sums: bytes, files: int) -> NoReturn:
        """Killed in the last moment."""
        raise Killed


def test_references_are_told_in_the_order_of_their_slots(place: Place) -> None:
    """With eight of them, an order by chance is this one in one run of 40,320."""
    slots = {f"r/{letter}": {"dt/range": "r/Node"} for letter in LETTERS}
    place.db.define(properties=slots, classes={"r/Node": {"dt/slots": list(slots)}})
    given = dict.fromkeys(slots, "r/nobody")
    found = [slot for slot, _ in references(facts_of(place.db.schema, "r/Node"), given)]
    assert found == sorted(slots)


def test_what_is_ignored_is_listed_after_all_else(notes: Place, tmp_path: Path) -> None:
    for n in range(1_100):
        write(tmp_path, f"a/{n}.jpeg", "")
    write(tmp_path, "note/Note/z.md", "---\nident: n/z\nname: z\n---\n")
    told: list[str] = []
    planned = notes.plan(tmp_path, each=lambda one: told.append(one.path))
    assert planned.counts == {"create": 1, "ignored": 1_100}
    assert len(planned.entries) == 1_000
    assert planned.entries[0].action == "create"
    assert {one.why for one in planned.entries[1:]} == {"no codec reads .jpeg files"}
    assert len(told) == 1_101


def test_progress_counts_files_and_never_goes_back(notes: Place, tmp_path: Path) -> None:
    for n in range(350):
        write(tmp_path, f"note/Note/{n:03}.md", f"---\nident: n/{n}\nname: x\n---\n")
    seen: list[tuple[int, int, str]] = []
    notes.plan(tmp_path, progress=lambda *told: seen.append(told))
    notes_planned = len(seen)
    notes.apply(tmp_path, progress=lambda *told: seen.append(told))
    for run in (seen[:notes_planned], seen[notes_planned:]):
        assert [one[0] for one in run] == sorted(one[0] for one in run)
    words = [message for _, _, message in seen if message != "done"]
    assert {one.partition(":")[0] for one in words} == {"reading", "comparing", "importing"}
    counts = [re.fullmatch(r"\w+: (\d+) of 350 files", one) for one in words]
    assert all(found is not None and int(found[1]) <= 350 for found in counts), words


def test_an_export_of_some_classes_keeps_what_a_killed_one_has_written(
    notes: Place, tmp_path: Path
) -> None:
    """Else these files would be in the way of the next whole export."""
    notes.db.define(classes={"note/Tag": {"dt/slots": ["note/name"]}})
    notes.db.create("note/Note", {"db/ident": "n/a", "note/name": "a"})
    notes.db.create("note/Tag", {"db/ident": "t/a", "note/name": "a"})
    notes.export(tmp_path / "whole")
    expected = tree(tmp_path / "whole")

    folder = tmp_path / "part"
    with RootedFolder(folder, is_made=True) as rooted, pytest.raises(Killed):
        export_project(notes.guarded(), base_codecs(), KilledTarget(rooted))
    assert (folder / ".sandbar-export").is_file()
    notes.export(folder, classes=["note/Tag"])
    assert tree(folder) == expected
    notes.db.update("n/a", {"note/body": "new"})
    assert notes.export(folder).edited == 0
