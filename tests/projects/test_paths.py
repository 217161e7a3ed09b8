"""A file that states no ident is known by its path, and so is what refers to it, on every road."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.codecs import ident_for_path
from sandbar.projects import Imported
from sandbar.projects.layout import below_class
from tests.memory.importing import imported
from tests.projects.conftest import NewPlace, Place, tree, write
from tests.watch.notes import Notes

MEMORY = "mm/Memory"
VAULT = Path(__file__).parents[1] / "memory/notes"
FILES = {
    "decisions/sqlite.md": "---\nname: Use SQLite everywhere\n---\n",
    "decisions/follow.md": "---\nname: Follow\nrefines: sqlite.md\n---\n",
    "third.md": "---\nname: The third\ncites: [decisions/sqlite.md, ./a/b/Deep%20One.md]\n---\n",
    "a/b/Deep One.md": "---\nname: Deep\nrefines: ../../third.md\nrelated: [stated.md]\n---\n",
    "a/b/stated.md": "---\nname: Stated\nident: else/where\ncites: [decisions/sqlite.md]\n---\n",
}
IDENTS = {
    "decisions/sqlite": {},
    "decisions/follow": {"memory/refines": ["decisions/sqlite"]},
    "mm/third": {"memory/cites": ["decisions/sqlite", "a.b/deep-one"]},
    "a.b/deep-one": {"memory/refines": ["mm/third"], "memory/related": ["else/where"]},
    "else/where": {"memory/cites": ["decisions/sqlite"]},
}


@pytest.fixture
def memories(place: Place) -> Place:
    """A workspace with memories."""
    place.db.load_pack("memory")
    return place


def by_files(place: Place, folder: Path) -> None:
    assert place.apply(folder, source="files", class_=MEMORY).counts == {"create": len(FILES)}


def by_folders_of_the_class(place: Place, folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "classed" / MEMORY)
    assert place.apply(folder.parent / "classed").counts == {"create": len(FILES)}


def by_project(place: Place, folder: Path) -> None:
    place.export(folder.parent / "project")
    shutil.copytree(folder, folder.parent / "project" / MEMORY)
    assert place.apply(folder.parent / "project").counts["create"] == len(FILES)


def by_notes(place: Place, folder: Path) -> None:
    assert imported(place.db, folder, "notes").counts == {"create": len(FILES)}


def by_watch(place: Place, folder: Path) -> None:
    with Notes(place.db, folder) as notes:
        assert notes.kinds() == ["created"] * len(FILES)
        assert notes.settle() == []


ROADS = [by_files, by_folders_of_the_class, by_project, by_notes, by_watch]


def links(db: sandbar.Database) -> dict[str | None, dict[str, Any]]:
    """Every memory with what it refers to."""
    slots = ("memory/refines", "memory/cites", "memory/related")
    return {
        one.ident: {slot: one[slot] for slot in slots if slot in one.slots}
        for one in db.each(MEMORY)
    }


@pytest.mark.parametrize("road", ROADS)
def test_every_road_gives_the_same_names_and_links(
    memories: Place, tmp_path: Path, road: Callable[[Place, Path], None]
) -> None:
    for path, text in FILES.items():
        write(tmp_path / "folder", path, text)
    road(memories, tmp_path / "folder")
    assert links(memories.db) == IDENTS


def counts(result: Imported) -> set[str]:
    return set(result.counts)


def test_files_that_are_added_to_an_export_end_in_one_file_each(
    memories: Place, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    memories.db.create(MEMORY, {"db/ident": "mm/old", "memory/name": "Old"})
    memories.export(project)
    for path, text in FILES.items():
        write(project / MEMORY, path, text)
    assert memories.apply(project).counts["create"] == len(FILES)
    again = memories.export(project)
    assert again.edited == 0
    assert again.removed == 3, "those that lay elsewhere are at their own places now"
    files = [path for path in tree(project) if path.startswith(MEMORY)]
    assert len(files) == len(FILES) + 1
    assert counts(memories.apply(project)) == {"unchanged"}
    before = tree(project)
    memories.export(project)
    assert tree(project) == before


def test_a_file_that_was_changed_after_it_was_imported_is_in_the_way(
    memories: Place, tmp_path: Path
) -> None:
    memories.db.create(MEMORY, {"db/ident": "mm/old", "memory/name": "Old"})
    memories.export(tmp_path)
    stray = write(tmp_path, f"{MEMORY}/third.md", "---\nname: Third\n---\n")
    memories.apply(tmp_path)
    stray.write_text("---\nname: Changed\n---\n")
    with pytest.raises(sandbar.Conflict) as caught:
        memories.export(tmp_path)
    assert caught.value.code == "project.in-the-way"
    assert stray.read_text() == "---\nname: Changed\n---\n"
    memories.apply(tmp_path)
    memories.export(tmp_path)
    assert not stray.exists()
    assert counts(memories.apply(tmp_path)) == {"unchanged"}


def test_another_name_in_an_exported_file_is_no_other_entity(notes: Place, tmp_path: Path) -> None:
    id = notes.db.create("note/Note", {"db/ident": "n/moss", "note/name": "Moss"}).entity_id
    notes.export(tmp_path)
    file = tmp_path / "note/Note/n/moss.md"
    file.write_text(file.read_text().replace("Moss", "Lichen"))
    assert notes.apply(tmp_path).counts["change"] == 1
    assert (notes.db.get(id).ident, notes.db.get(id)["note/name"]) == ("n/moss", "Lichen")
    notes.export(tmp_path)
    assert counts(notes.apply(tmp_path)) == {"unchanged"}


@pytest.mark.parametrize("path", ["../out.md", "../../../out.md"])
def test_a_path_that_leads_out_of_the_folder_is_refused(
    memories: Place, tmp_path: Path, path: str
) -> None:
    write(tmp_path, "third.md", f"---\nname: Third\ncites: [{path}]\n---\n")
    (finding,) = memories.plan(tmp_path, source="files", class_=MEMORY).findings
    assert (finding.code, finding.line) == ("reference.malformed", 3)


def test_paths_in_json_lead_from_the_file_unless_they_could_be_idents(
    notes: Place, tmp_path: Path
) -> None:
    notes.db.create("note/Note", {"db/ident": "d/x.md", "note/name": "An ident like a path"})
    write(tmp_path, "note/Note/d/x.json", '{"name": "X"}')
    write(tmp_path, "note/Note/d/y.json", '{"name": "Y", "cites": ["./x.json", "d/x.md"]}')
    assert notes.apply(tmp_path).counts == {"create": 2}
    assert notes.db.get("d/y")["note/cites"] == ["d/x", "d/x.md"]


def test_the_folders_of_a_class() -> None:
    assert below_class("mm/Memory/third.md") == ("mm/Memory", "third.md")
    assert below_class("mm/Memory/a/b/c.md") == ("mm/Memory", "a/b/c.md")
    assert below_class("mm/third.md") is None
    assert ident_for_path("third.md", "mm") == "mm/third"


def test_a_vault_that_was_imported_and_is_watched_has_nothing_twice(
    new_place: NewPlace, tmp_path: Path
) -> None:
    place, folder = new_place(), tmp_path / "vault"
    place.db.load_pack("memory")
    shutil.copytree(VAULT, folder)
    (folder / "same").mkdir()
    for name in ("x y.md", "x-y.md"):
        (folder / "same" / name).write_text(f"{name}\n", encoding="utf-8")
    imported(place.db, folder, "notes")
    before, t = tree(folder), place.db.t
    entities = {one.entity_id: one.slots for one in place.db.each(MEMORY)}
    with Notes(place.db, folder) as notes:
        events = notes.settle()
        assert {event.kind for event in events} <= {"refused"}, events
        assert (notes.settle(), place.db.t) == ([], t)
    after = {path: data for path, data in tree(folder).items() if ".sandbar" not in path}
    assert after == before
    assert {one.entity_id: one.slots for one in place.db.each(MEMORY)} == entities
    refused = {event.path for event in events}
    assert len(refused) < len(entities) / 3, "most notes are taken as they are"
