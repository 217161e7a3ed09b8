"""A folder of notes that was written by hand: nothing of it is missing after its import."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import sandbar
from tests.memory.importing import imported, last_t
from tests.memory.whereabouts import EXPECTED, NOTES, memories, note_paths, nowhere


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The notes, in a place where they may be changed."""
    return Path(shutil.copytree(NOTES, tmp_path / "vault"))


def test_the_table_is_about_all_notes() -> None:
    assert note_paths(NOTES) == sorted(EXPECTED)
    assert len(EXPECTED) == 30


def test_of_every_note_tag_link_key_and_line_it_is_known_where_it_is(
    memory: sandbar.Database, folder: Path
) -> None:
    report = imported(memory, folder)
    assert (report.source, report.reconciled) == ("notes", True)
    assert report.counts == {
        "create": 30 + len(memory.query("mm/Tag", limit=500).items),
        "ignored": 3,
    }
    assert nowhere(memory, folder, report) == []
    assert memories(memory).keys() == set(EXPECTED), "hidden folders are left out"


def test_what_is_missing_is_noticed(memory: sandbar.Database, folder: Path) -> None:
    """The negative control of the test before."""
    report = imported(memory, folder)
    extra = memory.get("people.team/bo")["memory/extra"]
    body = memory.get("mm/inbox")["memory/body"]
    tags = memory.get("mm/apollo")["memory/tags"]
    links = memory.get("mm/home")["memory/related"]
    memory.update("people.team/bo", {"memory/extra": {**extra, "class": "other"}})
    memory.update("mm/inbox", {"memory/body": body.replace("landlord", "lord")})
    memory.update("mm/apollo", {"memory/tags": tags[1:], "db/doc": None})
    memory.update("mm/home", {"memory/related": links[:-1]})
    memory.delete("daily-notes.2026/2026-02-04")
    report.findings.pop()
    assert nowhere(memory, folder, report) == [
        "Apollo.md: the key description",
        "Apollo.md: tags",
        "Daily Notes/2026/2026-02-04.md: the note",
        "Home.md: links related",
        "Inbox.md: lines of text",
        "people/team/Bo.md: the key class",
        "projects/Beta Launch/index.md: told None, not ['9: note.attachment']",
    ]


def test_a_dry_run_writes_nothing_and_a_second_run_changes_nothing(
    memory: sandbar.Database, folder: Path
) -> None:
    before = last_t(memory)
    planned = imported(memory, folder, is_dry=True)
    assert last_t(memory) == before
    done = imported(memory, folder)
    assert planned.counts == done.counts
    after = last_t(memory)
    again = imported(memory, folder)
    assert set(again.counts) == {"unchanged", "ignored"}
    assert last_t(memory) == after
    assert again.findings == done.findings, "what was told is told again"


def test_tags_are_nested_and_know_how_else_they_are_written(
    memory: sandbar.Database, folder: Path
) -> None:
    imported(memory, folder)
    design = memory.get("tag/people-design")
    assert (design["tag/name"], design["tag/parent"]) == ("PEOPLE/Design", "tag/people")
    people = memory.get({"tag/name": "people"})
    assert people["tag/aliases"] == ["People", "PEOPLE"]
    found = memory.query("mm/Memory", {"memory/tags": {"tag/parent": "tag/area"}}).items
    assert {one.ident for one in found} == {
        "mm/apollo",
        "mm/reading-list",
        "projects.beta-launch/checklist",
    }


def test_a_tag_nested_beyond_all_measure_is_one_tag(
    memory: sandbar.Database, tmp_path: Path
) -> None:
    deep, deepest = "/".join(["a"] * 33), "/".join(["b"] * 5_000)
    (tmp_path / "deep.md").write_text(f"#{deep} #{deepest}\n", encoding="utf-8")
    assert imported(memory, tmp_path, "notes").counts["create"] == 33 + 1 + 1
    found = {one["tag/name"]: one.slots.get("tag/parent") for one in memory.each("mm/Tag")}
    assert found["a/a/a"] == "tag/a-a"
    assert found[deepest] is None


def test_a_change_of_a_file_changes_its_memory_alone(
    memory: sandbar.Database, folder: Path
) -> None:
    imported(memory, folder)
    memory.update("mm/inbox", {"memory/status": "tidied", "memory/cites": ["mm/home"]})
    (folder / "Inbox.md").write_text("All done.\n", encoding="utf-8")
    report = imported(memory, folder)
    assert report.counts["change"] == 1
    (entry,) = [one for one in report.entries if one.action != "ignored"]
    assert (entry.path, entry.entity) == ("Inbox.md", "mm/inbox")
    inbox = memory.get("mm/inbox")
    assert inbox["memory/body"] == "All done.\n"
    assert "memory/tags" not in inbox.slots
    assert "memory/related" not in inbox.slots
    # What the file does not speak of is not its business.
    assert (inbox["memory/status"], inbox["memory/cites"]) == ("tidied", ["mm/home"])


def test_search_finds_what_was_imported(memory: sandbar.Database, folder: Path) -> None:
    imported(memory, folder)
    for words, ident in (
        ("landlord", "mm/inbox"),
        ("Lisbon", "people.team/ana-lima"),
        ("Projekt Apollo", "mm/apollo"),
        ("333メートル", "日本/東京"),
    ):
        hits = memory.search(words, class_="mm/Memory").items
        assert [hit.entity.ident for hit in hits] == [ident], words


HOSTILE = [
    "Cafe\u0301 in NFD.md",
    "home.md",
    "quote\"s and 'apostrophes'.md",
    "new\nline.md",
    "tab\tname.md",
    "#hash [brackets] ^caret |pipe.md",
    "percent%20%2Fescape.md",
    "$(rm -rf ~) `x` \\back\\slash.md",
    "trailing dot..md",
    "UPPER.MD",
    "x" * 240 + ".md",
    "é" * 120 + ".md",
    "same/x y.md",
    "same/x-y.md",
    "same/X_y!.md",
    "same/x  y.md",
    "auth/User.md",
    "dt/Class.md",
    "mm/Home.md",
    "pack/memory.md",
    "1984/note.md",
    "!!!/???.md",
    "a.b/c.md",
    "a/b/c.md",
    "a-b/c.md",
    "🎉/🎉.md",
    "🎉/🥳.md",
    "/".join(["deep" * 10] * 8) + "/down.md",
    "مرحبا/שלום.md",
    "ⅷ/²³.md",
]


def test_hostile_names_are_imported_each_under_a_name_of_its_own(
    memory: sandbar.Database, folder: Path
) -> None:
    for number, name in enumerate(HOSTILE):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text number {number} [[Café in NFD]]\n", encoding="utf-8")
    report = imported(memory, folder)
    assert "refused" not in report.counts, report.findings
    found = memories(memory)
    for number, name in enumerate(HOSTILE):
        one = found[name]
        assert one["memory/body"] == f"text number {number} [[Café in NFD]]\n"
        if number:
            assert one["memory/related"] == [found[HOSTILE[0]].ident]
    idents = [one.ident for one in found.values()]
    assert len(set(idents)) == len(idents) == 30 + len(HOSTILE)
    assert found["Home.md"].ident == "mm/home", "who comes first has the plain name"
    assert found["auth/User.md"].ident == "notes.auth/user"
    before = last_t(memory)
    assert set(imported(memory, folder).counts) == {"unchanged", "ignored"}
    assert last_t(memory) == before


def test_line_ends_and_marks_stay_as_they_are(memory: sandbar.Database, tmp_path: Path) -> None:
    folder = tmp_path / "ends"
    folder.mkdir()
    (folder / "crlf.md").write_bytes(
        b"---\r\ntype: idea\r\ntags: [a]\r\n---\r\n# T\r\n\r\nx  \r\n[[bom]]\r\n"
    )
    (folder / "bom.md").write_bytes(b"\xef\xbb\xbf---\nname: B\n---\n\n\n  text\t\n\n\n")
    (folder / "cr.md").write_bytes(b"one\rtwo\r")
    imported(memory, folder, "notes")
    crlf = memory.get("mm/crlf")
    assert crlf["memory/body"] == "# T\r\n\r\nx  \r\n[[bom]]\r\n"
    assert (crlf["memory/type"], crlf["memory/name"], crlf["memory/related"]) == (
        "idea",
        "T",
        ["mm/bom"],
    )
    assert memory.get("mm/bom")["memory/body"] == "\n\n  text\t\n\n\n"
    assert memory.get("mm/cr")["memory/body"] == "one\rtwo\r"


def test_what_cannot_be_read_is_refused_and_the_rest_goes_on(
    memory: sandbar.Database, folder: Path, tmp_path: Path
) -> None:
    (folder / "latin.md").write_bytes("# Grüße\n\nzählt\n".encode("latin-1"))
    (folder / "nul.md").write_bytes(b"a\0b\n")
    (tmp_path / "secret.md").write_text("secret\n", encoding="utf-8")
    os.symlink(tmp_path / "secret.md", folder / "link.md")
    os.symlink(tmp_path, folder / "linked folder")
    os.mkfifo(folder / "pipe.md")
    (folder / "Links.md").write_text("[[latin]] [[link]]\n", encoding="utf-8")
    report = imported(memory, folder)
    assert report.counts["refused"] == 5
    refused = {one.path: one.findings[0].code for one in report.entries if one.action == "refused"}
    assert refused == {
        "latin.md": "note.encoding",
        "nul.md": "value.nul",
        "link.md": "project.link",
        "linked folder": "project.link",
        "pipe.md": "project.no-file",
    }
    assert nowhere(memory, NOTES, report) == []
    assert memory.get("mm/links").get("memory/related") is None
    told = [one.code for one in report.findings if one.path == "Links.md"]
    assert told == ["note.unresolved-link"] * 2


@pytest.mark.parametrize(
    ("said", "slots"),
    [
        ("tags: [a, b]", {"memory/tags": ["tag/a", "tag/b"]}),
        ("tags: a, b", {"memory/tags": ["tag/a", "tag/b"]}),
        ("tags: a b", {"memory/tags": ["tag/a", "tag/b"]}),
        ("tags: '#a'", {"memory/tags": ["tag/a"]}),
        ("tag: a", {"memory/tags": ["tag/a"]}),
        ("tags: two words, one", {"memory/tags": ["tag/two-words", "tag/one"]}),
        ("tags:\n- [x]", {"memory/extra": {"tags": [["x"]]}}),
        ("tags: {a: 1}", {"memory/extra": {"tags": {"a": 1}}}),
        ("name: no", {"memory/name": "no"}),
        ("name: 1.10", {"memory/name": "1.10"}),
        ("name: [a, b]", {"memory/name": "N", "memory/extra": {"name": ["a", "b"]}}),
        ("name: ''\ntitle: T", {"memory/name": "T", "memory/extra": {"name": ""}}),
        ("title:", {"memory/name": "N", "memory/extra": {"title": None}}),
        ("created: 2026-01-01", {"memory/created": "2026-01-01T00:00:00Z"}),
        ("created: 2026-01-01 10:00", {"memory/created": "2026-01-01T10:00:00Z"}),
        ("created: 2026-13-01", {"memory/extra": {"created": "2026-13-01"}}),
        (
            "date: 2026-01-01",
            {"memory/created": "2026-01-01T00:00:00Z", "memory/extra": {"date": "2026-01-01"}},
        ),
        ("created: [2026-01-01]", {"memory/created": "2026-01-01T00:00:00Z"}),
        ("type: IDEA", {"memory/type": "idea"}),
        ("type: memory", {"memory/extra": {"type": "memory"}}),
        ("type: [idea, plan]", {"memory/extra": {"type": ["idea", "plan"]}}),
        ("class: mm/Tag", {"memory/extra": {"class": "mm/Tag"}}),
        ("ident: dt/Class", {"memory/extra": {"ident": "dt/Class"}}),
        ("db/ident: dt/Class", {"memory/extra": {"db/ident": "dt/Class"}}),
        ("memory/body: x", {"memory/extra": {"memory/body": "x"}}),
        ("extra: {a: 1}", {"memory/extra": {"extra": {"a": 1}}}),
        ("sections: [1]", {"memory/extra": {"sections": [1]}}),
        ("imported-from: x", {"memory/extra": {"imported-from": "x"}}),
        ("related: N", {"memory/related": ["mm/n"]}),
        ("cites: [N.md, '[[N]]', mm/n]", {"memory/cites": ["mm/n"]}),
        ("cites: []", {"memory/extra": {"cites": []}}),
        (
            "up: '[[O]] and [[N]]'",
            {"memory/related": ["mm/o"], "memory/extra": {"up": "[[O]] and [[N]]"}},
        ),
        ("up: [[O]]", {"memory/related": ["mm/o"], "memory/extra": {"up": [["O"]]}}),
        ("aliases: [a, a]", {"memory/aliases": ["a"], "memory/extra": {"aliases": ["a", "a"]}}),
    ],
)
def test_what_front_matter_says(
    memory: sandbar.Database, tmp_path: Path, said: str, slots: dict[str, Any]
) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    (folder / "N.md").write_text(f"---\n{said}\n---\n", encoding="utf-8")
    (folder / "O.md").write_text("Other.\n", encoding="utf-8")
    report = imported(memory, folder, "notes")
    assert "refused" not in report.counts
    found = dict(memory.get("mm/n").slots)
    del found["memory/imported-from"], found["db/ident"]
    assert found == {"memory/name": "N", **slots}


def test_an_opened_vault_is_recognised(memory: sandbar.Database, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.md").write_text("---\ntype: memory\nname: A\n---\n", encoding="utf-8")
    assert imported(memory, folder, is_dry=True).source == "files"
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "app.json").write_text("{}", encoding="utf-8")
    assert imported(memory, folder, is_dry=True).source == "notes"
