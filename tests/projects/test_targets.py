"""Where exports go: again into the same folder, over edits, and after a kill."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from sandbar.codecs import base_codecs
from sandbar.errors import Problem
from sandbar.projects import FolderTarget, RootedFolder, export_project
from tests.projects.conftest import Place, tree, write

FILE = "note/Note/n/moss.md"


@pytest.fixture
def project(notes: Place, tmp_path: Path) -> Path:
    """An export of two notes."""
    notes.db.create("note/Note", {"db/ident": "n/moss", "note/name": "Moss", "note/body": "green"})
    notes.db.create("note/Note", {"db/ident": "n/fern", "note/name": "Fern"})
    notes.export(tmp_path / "project")
    return tmp_path / "project"


def test_an_export_says_nothing_about_when_and_who(
    notes: Place, project: Path, tmp_path: Path
) -> None:
    manifest = json.loads((project / "manifest.json").read_text())
    assert set(manifest) == {"format", "version", "files", "digest"}
    assert (manifest["format"], manifest["version"]) == ("sandbar-project", 1)
    assert manifest["files"] == len(tree(project)) - 2
    notes.db.update("n/moss", {"note/body": "x"})
    notes.db.update("n/moss", {"note/body": "green"})  # t is another now
    notes.export(tmp_path / "later")
    assert tree(tmp_path / "later") == tree(project)


def test_only_the_owner_reads_an_export(project: Path) -> None:
    modes = {stat.S_IMODE(path.stat().st_mode) for path in project.rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_a_second_export_touches_what_has_changed_only(notes: Place, project: Path) -> None:
    before = {path: path.stat().st_ino for path in project.rglob("*.md")}
    notes.db.update("n/moss", {"note/body": "blue"})
    notes.db.delete("n/fern")
    exported = notes.export(project)
    assert (exported.removed, exported.edited) == (1, 0)
    after = {path: path.stat().st_ino for path in project.rglob("*.md")}
    assert before.keys() - after.keys() == {project / "note/Note/n/fern.md"}
    assert "blue" in (project / FILE).read_text()
    same = notes.export(project)
    assert {path: path.stat().st_ino for path in project.rglob("*.md")} == after
    assert same.digest == exported.digest


def test_what_somebody_has_edited_is_not_overwritten(notes: Place, project: Path) -> None:
    file = project / FILE
    file.write_text(file.read_text().replace("green", "brown"))
    notes.db.update("n/moss", {"note/body": "blue"})
    exported = notes.export(project)
    assert (exported.edited, exported.edited_paths) == (1, [FILE])
    assert "brown" in file.read_text()
    assert notes.apply(project).counts["conflict"] == 1  # nothing of that was forgotten
    assert notes.apply(project, prefer="files").counts["change"] == 1
    assert notes.export(project).edited == 0
    assert set(notes.apply(project).counts) == {"unchanged"}


def test_what_somebody_has_edited_is_not_removed(notes: Place, project: Path) -> None:
    file = project / FILE
    file.write_text(file.read_text().replace("green", "brown"))
    notes.db.delete("n/moss")
    exported = notes.export(project)
    assert (exported.removed, exported.edited) == (0, 1)
    assert file.exists()
    assert notes.apply(project).counts["conflict"] == 1


def test_a_file_that_no_export_has_written_is_in_the_way(notes: Place, tmp_path: Path) -> None:
    notes.db.create("note/Note", {"db/ident": "n/moss", "note/name": "Moss"})
    mine = write(tmp_path, FILE, "my own notes\n")
    write(tmp_path, "README.md", "mine, too\n")
    with pytest.raises(Problem) as caught:
        notes.export(tmp_path)
    assert caught.value.code == "project.in-the-way"
    assert FILE in caught.value.message
    assert mine.read_text() == "my own notes\n"
    mine.unlink()
    notes.export(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine, too\n"


def test_a_file_that_says_the_same_in_other_words_is_written_anew(
    notes: Place, tmp_path: Path
) -> None:
    mine = write(tmp_path, FILE, "---\nname:    Moss\n---\n")
    notes.apply(tmp_path)
    notes.export(tmp_path)
    assert mine.read_text() == "---\nmood: calm\nname: Moss\n---\n"


def test_an_export_that_was_stopped_is_finished_by_the_next(notes: Place, tmp_path: Path) -> None:
    for n in range(250):
        slots = {"db/ident": f"n/{n}", "note/name": f"{n}", "note/body": "one"}
        notes.db.create("note/Note", slots)

    class Stop(Exception):
        pass

    def stop(done: int, total: int, message: str) -> None:
        if done >= 200:
            raise Stop

    with RootedFolder(tmp_path / "a", is_made=True) as folder, pytest.raises(Stop):
        export_project(notes.guarded(), base_codecs(), FolderTarget(folder), progress=stop)
    assert not (tmp_path / "a/manifest.json").exists()
    for n in range(250):
        notes.db.update(f"n/{n}", {"note/body": "two"})
    notes.db.delete("n/0")  # its file was written, and is to go
    notes.export(tmp_path / "a")
    notes.export(tmp_path / "b")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_two_exports_to_one_folder_take_turns(notes: Place, tmp_path: Path) -> None:
    for n in range(150):
        notes.db.create("note/Note", {"db/ident": f"n/{n}", "note/name": f"{n}"})
    refused: list[str] = []

    def meddle(done: int, total: int, message: str) -> None:
        if message.startswith("exporting"):
            with pytest.raises(Problem) as caught:
                notes.export(tmp_path)
            refused.append(caught.value.code)

    with RootedFolder(tmp_path) as folder:
        export_project(notes.guarded(), base_codecs(), FolderTarget(folder), progress=meddle)
    assert set(refused) == {"project.busy"}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_link_in_the_target_is_not_followed(notes: Place, project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    notes.db.create("note/Note", {"db/ident": "m/new", "note/name": "New"})
    (project / "note/Note/m").symlink_to(outside)
    with pytest.raises(Problem) as caught:
        notes.export(project)
    assert caught.value.code in ("project.link", "project.not-a-folder")
    assert os.listdir(outside) == []


def test_a_newer_project_is_refused(notes: Place, project: Path) -> None:
    manifest = json.loads((project / "manifest.json").read_text())
    (project / "manifest.json").write_text(json.dumps({**manifest, "version": 2}))
    with pytest.raises(Problem) as caught:
        notes.plan(project)
    assert caught.value.code == "project.version"


def test_a_scoped_caller_exports_what_they_see(notes: Place, tmp_path: Path) -> None:
    exported = notes.export(tmp_path, role="reader")
    assert "dt/Class" in exported.classes
    assert not any(path.startswith("auth") for path in tree(tmp_path))
