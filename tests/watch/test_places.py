"""Which file is whose: paths and idents, moved files, stated idents, names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sandbar.codecs import ident_for_path
from sandbar.keywords import looks_like_ident
from sandbar.projects.sync.paths import Paths
from tests.watch.notes import CLASS, Notes, document, once

PATHS = Paths("mm", (".md", ".markdown"))


@pytest.mark.parametrize(
    ("path", "ident"),
    [
        ("foo.md", "mm/foo"),
        ("foo.markdown", "mm/foo"),
        ("decisions/foo.md", "decisions/foo"),
        ("a/b/c.md", "a.b/c"),
        ("My note.md", "mm/my-note"),
        ("100% sure.md", "mm/100-sure"),
        ("Über uns/Größe.md", "über-uns/größe"),
        ("2026/jan.md", "_2026/jan"),
        ("v1.2/x.md", "v1-2/x"),
        ("tag/x.md", "notes.tag/x"),
        ("mm/x.md", "notes.mm/x"),
    ],
)
def test_a_path_stands_for_an_ident(path: str, ident: str) -> None:
    assert PATHS.ident(path) == ident == ident_for_path(path, "mm")
    assert PATHS.ident(PATHS.path(ident, 1042)) == ident
    if path == path.lower() and " " not in path and path.endswith(".md"):
        assert PATHS.path(ident, 1042) in (path, f"_{path}", f"notes/{path}", "v1-2/x.md")


@pytest.mark.parametrize(
    "ident", ["mm/con", "mm/2026", "mm/.x", "mm/a?b", "mm/a.", "x/" + "n" * 200]
)
def test_names_that_some_file_system_cannot_carry_are_escaped(ident: str) -> None:
    path = PATHS.path(ident, 1042)
    assert path != "1042.md"
    assert path != f"{ident.partition('/')[2]}.md" or ident == "mm/a."
    assert all(len(part.encode()) <= 143 for part in path.split("/"))


@pytest.mark.parametrize("tries", [2_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_whatever_an_ident_is_it_has_a_file_of_its_own(seed: str, tries: int) -> None:
    rng = random.Random(seed)
    letters = "abAB01_-.%?*<>'#&=!+$é日x2F~"
    known: dict[str, str] = {}
    for _ in range(tries):
        space = rng.choice(["mm", "a", "a.b", "A-b", "a.", "_x0020_a", "con", "a.1.-b", "auth"])
        name = "".join(rng.choice(letters) for _ in range(rng.randint(1, 8)))
        ident = f"{space}/{name}"
        if not looks_like_ident(ident):
            continue
        for is_strict in (False, True):
            path = PATHS.path(ident, 1042, is_strict=is_strict)
            assert PATHS.is_ours(path.rpartition("/")[2]), ident
            assert PATHS.number(path) is None, "a named one never lies under its number"
        path = PATHS.path(ident, 1042)
        assert known.setdefault(path, ident) == ident


@pytest.mark.parametrize(
    "name",
    [
        ".foo.md",
        "foo.md~",
        "#foo.md#",
        "foo.txt",
        "foo.conflict-12-abcdef.md",
        "~foo.md",
        "x.tmp.md",
        "foo.conflict-12-abcdef-1.md",
        ".md",
    ],
)
def test_what_is_not_ours_is_left_alone(local_notes: Notes, name: str) -> None:
    local_notes.write(name, "# Something\n")
    for folder in (".git", ".obsidian", ".trash", "deep/.hidden"):
        local_notes.write(f"{folder}/note.md", "# Hidden\n")
    assert local_notes.settle() == []
    assert local_notes.idents() == set()


def test_links_are_not_followed(local_notes: Notes, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n", encoding="utf-8")
    (local_notes.folder / "link.md").symlink_to(outside / "secret.md")
    (local_notes.folder / "there").symlink_to(outside)
    local_notes.db.create(CLASS, {"db/ident": "there/x", "memory/name": "X"})
    event = once(local_notes.settle(), "refused")
    assert event.code == "watch.no-place"
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


def test_names_of_files_without_one(notes: Notes) -> None:
    notes.write("a.md", "```\n# no heading\n```\n\n## The *heading*\n\n# Later\n")
    notes.write("My note.md", "only text")
    notes.write("empty.md", "")
    notes.settle()
    names = {entity.ident: entity["memory/name"] for entity in notes.db.each(CLASS)}
    assert names["mm/a"] == "The *heading*"
    assert (names["mm/my-note"], names["mm/empty"]) == ("My note", "empty")
    assert (notes.text("empty.md"), notes.settle()) == ("", [])


def test_a_renamed_file_keeps_its_entity_and_takes_its_ident_along(notes: Notes) -> None:
    id = notes.pair()
    notes.write("other.md", document("other.md", "", cites="[mm/foo]"))
    notes.settle()
    (notes.folder / "done").mkdir()
    (notes.folder / "foo.md").rename(notes.folder / "done/bar.md")
    event = once(notes.settle(), "renamed")
    assert (event.kept, event.entity) == ("foo.md", "done/bar")
    assert notes.db.get("done/bar").entity_id == id
    assert "done/bar" in notes.text("other.md"), "what refers to it names it as it is called now"
    assert notes.settle() == []


def test_a_renamed_folder_keeps_its_entities(notes: Notes) -> None:
    for number in range(12):
        notes.write(f"old/n{number}.md", document(f"n{number}.md", f"text {number}\n"))
    notes.settle()
    ids = {entity.entity_id for entity in notes.db.each(CLASS)}
    (notes.folder / "old").rename(notes.folder / "new")
    assert notes.kinds() == ["renamed"] * 12
    assert {entity.entity_id for entity in notes.db.each(CLASS)} == ids
    assert "new/n3" in notes.idents()


def test_a_file_that_states_an_ident_is_that_entitys_wherever_it_lies(notes: Notes) -> None:
    notes.write("x/y.md", document("y.md", "first\n", ident="decisions/foo"))
    notes.settle()
    id = notes.db.get("decisions/foo").entity_id
    (notes.folder / "x/y.md").rename(notes.folder / "z.md")
    assert notes.kinds() == ["renamed"]
    notes.db.update("decisions/foo", {"memory/body": "theirs\n"})
    assert notes.kinds() == ["written"]
    assert "ident: decisions/foo\n" in notes.text("z.md")
    notes.stop()
    (notes.folder / ".sandbar/journal.jsonl").unlink()
    assert notes.settle() == []
    assert notes.db.get("decisions/foo").entity_id == id


def test_an_ident_that_is_made_of_the_name_is_stated_where_the_path_says_another(
    notes: Notes,
) -> None:
    notes.write("x/y.md", document("y.md", "first\n", name="Foo", ident="mm/foo"))
    notes.settle()
    notes.db.update("mm/foo", {"memory/body": "theirs\n"})
    notes.settle()
    assert 'ident: "mm/foo"\n' in notes.text("x/y.md")
    assert notes.settle() == []


def test_files_that_change_places_stay_with_their_entities(notes: Notes) -> None:
    for name in ("a", "b"):
        notes.write(f"n/{name}.md", document(f"{name}.md", f"{name}\n", ident=f"n/{name}"))
    notes.settle()
    ids = {name: notes.db.get(f"n/{name}").entity_id for name in ("a", "b")}
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        (notes.folder / f"n/{old}.md").rename(notes.folder / f"n/{new}.md")
    notes.settle()
    assert {name: notes.db.get(f"n/{name}").entity_id for name in ("a", "b")} == ids
    assert (notes.body("n/a"), notes.body("n/b")) == ("a\n", "b\n")


def test_two_files_of_one_entity_are_refused(notes: Notes) -> None:
    notes.pair()
    notes.write("bar.md", document("bar.md", "another\n", ident="mm/foo"))
    event = once(notes.settle(), "refused")
    assert (event.path, event.code) == ("bar.md", "watch.two-files")
    assert "foo.md" in str(event.reason)


def test_an_entity_whose_ident_changes_takes_its_file_along(notes: Notes) -> None:
    id = notes.pair()
    notes.db.update(id, {"db/ident": "decisions/foo"})
    assert notes.kinds() == ["moved"]
    assert notes.files() == {"decisions/foo.md"}
    assert notes.settle() == []


def test_entities_without_ident_lie_under_their_number(notes: Notes) -> None:
    id = notes.db.create(CLASS, {"memory/name": "Nobody", "memory/body": "x\n"}).entity_id
    notes.settle()
    assert notes.files() == {f"{id}.md"}
    notes.write(f"{id}.md", notes.text(f"{id}.md") + "more\n")
    assert notes.kinds() == ["updated"]
    assert (notes.db.get(id).ident, notes.db.get(id)["memory/body"]) == (None, "x\nmore\n")
    notes.stop()
    (notes.folder / ".sandbar/journal.jsonl").unlink()
    assert notes.settle() == []


def test_names_that_differ_in_case_only_are_two_files_everywhere(notes: Notes) -> None:
    for ident in ("mm/foo", "mm/Foo"):
        notes.db.create(CLASS, {"db/ident": ident, "memory/name": ident, "memory/body": ident})
    notes.settle()
    assert len({path.casefold() for path in notes.files()}) == 2
    assert notes.settle() == []


def test_tags_are_made_and_named_by_their_words(notes: Notes) -> None:
    notes.write("a.md", document("a.md", "", tags="[python, Two Words]", related="[B Side]"))
    notes.write("b-side.md", document("b-side.md", "", tags="[python]"))
    assert notes.kinds() == ["created", "created"]
    assert notes.db.get("mm/a")["memory/tags"] == ["tag/python", "tag/two-words"]
    assert notes.db.get("mm/a")["memory/related"] == ["mm/b-side"]
    assert notes.db.get("tag/two-words")["tag/name"] == "Two Words"
    assert notes.settle() == []


def test_the_name_of_something_else_is_refused(notes: Notes) -> None:
    notes.write("x.md", document("x.md", "", ident="mm/Memory"))
    assert once(notes.settle(), "refused").code == "ident.taken"


def test_files_whose_paths_make_the_same_ident_are_two_entities(notes: Notes) -> None:
    for name in ("My note.md", "my-note.md", "my_note!.md"):
        notes.write(name, document(name, f"{name}\n"))
    notes.write("z.md", document("z.md", "", ident="mm/my-note"))
    assert notes.kinds() == ["created"] * 4
    bodies = {entity.get("memory/body"): entity.ident for entity in notes.db.each(CLASS)}
    assert bodies[None] == "mm/my-note", "what is stated goes first"
    assert bodies["my-note.md\n"] == PATHS.other_ident("my-note.md")
    assert len(set(bodies.values())) == 4
    before = notes.idents()
    notes.write("my-note.md", document("my-note.md", "changed\n"))
    assert notes.kinds() == ["updated"]
    notes.stop()
    (notes.folder / ".sandbar/journal.jsonl").unlink()
    assert (notes.settle(), notes.idents()) == ([], before)
