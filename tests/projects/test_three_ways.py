"""Every cell of the table: file and workspace against what was exported."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbar.projects import Prefer
from tests.projects.conftest import Place, tree, write

FILE = "note/Note/n/moss.md"


@pytest.fixture
def project(notes: Place, tmp_path: Path) -> Path:
    """An export of two notes."""
    slots = {"db/ident": "n/moss", "note/name": "Moss", "note/body": "green\n"}
    notes.db.create("note/Note", slots)
    notes.db.create("note/Note", {"db/ident": "n/fern", "note/name": "Fern"})
    notes.export(tmp_path / "project")
    return tmp_path / "project"


def edit(project: Path, text: str = "brown") -> None:
    file = project / FILE
    file.write_text(file.read_text().replace("green", text))


def outcome(place: Place, folder: Path, prefer: Prefer = "nobody") -> tuple[str, list[str]]:
    """The action on the one file that is not unchanged, and the slots; the plan says the same."""
    planned = place.plan(folder, prefer=prefer)
    t = place.db.t
    applied = place.apply(folder, prefer=prefer)
    assert planned.counts == applied.counts
    assert applied.reconciled
    assert (place.db.t > t) == any(one.action in ("create", "change") for one in applied.entries)
    [entry] = applied.entries
    assert entry.path == FILE
    assert planned.entries == [entry]
    return entry.action, entry.slots


def test_neither_has_changed(notes: Place, project: Path) -> None:
    t = notes.db.t
    assert set(notes.apply(project).counts) == {"unchanged"}
    assert notes.db.t == t


def test_the_file_has_changed(notes: Place, project: Path) -> None:
    edit(project)
    assert outcome(notes, project) == ("change", ["note/body"])
    assert notes.db.get("n/moss")["note/body"] == "brown\n"


def test_the_workspace_has_changed(notes: Place, project: Path) -> None:
    notes.db.update("n/moss", {"note/body": "blue\n", "note/mood": None})
    assert outcome(notes, project) == ("kept", ["note/body", "note/mood"])
    assert notes.db.get("n/moss")["note/body"] == "blue\n"


def test_both_have_changed_to_the_same(notes: Place, project: Path) -> None:
    edit(project)
    notes.db.update("n/moss", {"note/body": "brown\n"})
    assert set(notes.apply(project).counts) == {"unchanged"}


@pytest.mark.parametrize(
    ("prefer", "action", "body"),
    [
        ("nobody", "conflict", "blue\n"),
        ("workspace", "kept", "blue\n"),
        ("files", "change", "brown\n"),
    ],
)
def test_both_have_changed(
    notes: Place, project: Path, prefer: Prefer, action: str, body: str
) -> None:
    edit(project)
    notes.db.update("n/moss", {"note/body": "blue\n"})
    assert outcome(notes, project, prefer) == (action, ["note/body"])
    assert notes.db.get("n/moss")["note/body"] == body


def test_without_a_base_a_difference_is_a_change(notes: Place, project: Path) -> None:
    edit(project)
    notes.db.update("n/moss", {"note/body": "blue\n"})
    (project / "SHA256SUMS").unlink()
    assert outcome(notes, project) == ("change", ["note/body"])
    assert notes.db.get("n/moss")["note/body"] == "brown\n"


def test_a_line_that_two_people_merged_differently_is_no_base(notes: Place, project: Path) -> None:
    sums = project / "SHA256SUMS"
    sums.write_text(sums.read_text() + f"{'0' * 64}  {FILE}\n<<<<<<< HEAD\n")
    notes.db.update("n/moss", {"note/body": "blue\n"})
    assert outcome(notes, project) == ("change", ["note/body"])


def test_it_was_deleted_here(notes: Place, project: Path) -> None:
    notes.db.delete("n/moss")
    assert outcome(notes, project)[0] == "kept"
    edit(project)
    assert outcome(notes, project)[0] == "conflict"
    assert outcome(notes, project, "files")[0] == "create"
    assert notes.db.get("n/moss")["note/body"] == "brown\n"


def test_ends_of_lines_as_on_windows_are_no_change(notes: Place, project: Path) -> None:
    file = project / FILE
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    notes.db.update("n/moss", {"note/mood": "wild"})
    assert outcome(notes, project)[0] == "kept"


def test_the_export_that_follows_an_import_of_changes_has_them(
    notes: Place, project: Path, tmp_path: Path
) -> None:
    edit(project)
    write(project, "note/Note/n/new.md", "---\nname: New\ncites: [n/moss]\n---\nfresh\n")
    applied = notes.apply(project)
    assert applied.counts == {"change": 1, "create": 1, "unchanged": applied.entities - 2}
    assert notes.db.get("n/new")["note/mood"] == "calm"  # a new file has defaults
    notes.export(project)
    notes.export(tmp_path / "again")
    assert tree(project) == tree(tmp_path / "again")
    assert set(notes.apply(project).counts) == {"unchanged"}


def test_a_file_that_is_gone_is_told_and_deletes_nothing(notes: Place, project: Path) -> None:
    (project / FILE).unlink()
    assert outcome(notes, project)[0] == "missing"
    assert notes.db.get("n/moss").ident == "n/moss"


def test_a_file_that_is_gone_deletes_on_demand(notes: Place, project: Path) -> None:
    (project / FILE).unlink()
    assert notes.plan(project, delete_missing=True).counts["delete"] == 1
    applied = notes.apply(project, delete_missing=True)
    assert applied.counts["delete"] == 1
    assert applied.reconciled
    assert notes.guarded().query("note/Note").items[0].ident == "n/fern"
    assert set(notes.apply(project, delete_missing=True).counts) == {"unchanged"}


def test_what_has_changed_here_is_not_deleted_for_a_lost_file(notes: Place, project: Path) -> None:
    (project / FILE).unlink()
    notes.db.update("n/moss", {"note/body": "blue\n"})
    assert notes.apply(project, delete_missing=True).counts["conflict"] == 1
    assert notes.db.get("n/moss")["note/body"] == "blue\n"


def test_what_others_refer_to_is_not_deleted(notes: Place, project: Path) -> None:
    notes.db.update("n/fern", {"note/about": "n/moss"})
    notes.export(project)
    (project / FILE).unlink()
    applied = notes.apply(project, delete_missing=True)
    assert applied.counts["refused"] == 1
    assert applied.findings[0].path == FILE
    (project / "note/Note/n/fern.md").unlink()  # both may go: the one that refers goes first
    assert notes.apply(project, delete_missing=True).counts["delete"] == 2


def test_a_file_that_was_moved_is_not_missing(notes: Place, project: Path) -> None:
    (project / FILE).rename(project / "note/Note/n/renamed.md")
    applied = notes.apply(project, delete_missing=True)
    assert set(applied.counts) == {"unchanged"}


def test_a_workflow_is_compared_by_meaning(notes: Place, tmp_path: Path) -> None:
    states = [
        {"name": "a", "initial?": True},
        {"name": "b", "terminal?": True, "terminal-kind": "success"},
    ]
    spec = {
        "name": "w/w",
        "states": states,
        "transitions": [{"name": "go", "from": "a", "to": "b"}],
    }
    notes.db.workflows.define(spec, principal="test")
    notes.export(tmp_path)
    file = tmp_path / "workflow/Definition/w/w.json"
    t = notes.db.t
    file.write_text(file.read_text().replace("\n  ", "\n     "))
    assert set(notes.apply(tmp_path).counts) == {"unchanged"}
    assert notes.db.t == t
    file.write_text(file.read_text().replace('"go"', '"leave"'))
    applied = notes.apply(tmp_path)
    assert applied.counts["change"] == 1
    machine = notes.db.workflows.find("w/w")
    assert machine.version == 2  # whatever the file says
    assert notes.db.workflows.spec("w/w")["transitions"][0]["name"] == "leave"
