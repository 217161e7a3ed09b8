"""Files that cannot be taken: told once with line, key and reason, and tried again."""

from __future__ import annotations

import os

from tests.watch.notes import CLASS, Notes, document, once


def test_a_file_that_cannot_be_read_stays_as_it_is_and_is_told_once(notes: Notes) -> None:
    notes.pair()
    broken = "---\nname: foo\nstatus: [\n---\n"
    notes.write("foo.md", broken)
    event = once(notes.settle(), "refused")
    assert (event.path, event.code) == ("foo.md", "codec.malformed")
    assert str(event.reason).startswith("line 4"), "YAML notices it at the end of the front matter"
    assert event.hint
    assert notes.settle() == []
    assert notes.text("foo.md") == broken
    assert notes.body("mm/foo") == "first\n"
    notes.write("foo.md", document("foo.md", "mended\n"))
    assert notes.kinds() == ["updated"]


def test_what_validation_refuses_is_told_with_line_and_key(notes: Notes) -> None:
    notes.write("a.md", "---\nname: A\n\ncites: [mm/nobody]\n---\n")
    event = once(notes.settle(), "refused")
    assert str(event.reason).startswith("line 4, memory/cites: "), event
    assert "mm/nobody" in str(event.reason)


def test_a_refused_file_is_tried_again_when_what_it_names_has_come(notes: Notes) -> None:
    notes.write("a.md", document("a.md", "", cites="[mm/later]"))
    assert notes.kinds() == ["refused"]
    notes.db.create(CLASS, {"db/ident": "mm/later", "memory/name": "Later"})
    assert sorted(notes.kinds()) == ["created", "written"]


def test_a_refused_file_is_tried_again_when_its_entity_changes(notes: Notes) -> None:
    id = notes.pair()
    notes.write("foo.md", document("foo.md", "mine\n", cites="[mm/nobody]"))
    assert notes.kinds() == ["refused"]
    notes.db.update(id, {"memory/body": "theirs\n"})
    event = once(notes.settle(), "conflict")
    assert event.kept is not None
    assert notes.text(event.kept).endswith("mine\n")
    assert notes.text("foo.md").endswith("theirs\n")


def test_an_unreadable_file_stays_also_if_its_entity_changes(notes: Notes) -> None:
    id = notes.pair()
    notes.write("foo.md", "---\nname: [\n---\nmine\n")
    notes.settle()
    notes.db.update(id, {"memory/body": "theirs\n"})
    notes.settle()
    assert notes.text("foo.md").endswith("mine\n")
    assert notes.files() == {"foo.md"}


def test_one_bad_file_keeps_no_other_back(notes: Notes) -> None:
    for number in range(40):
        cites = f"[mm/n{(number + 1) % 40}]" if number != 7 else "[mm/nobody]"
        notes.write(f"n{number}.md", document(f"n{number}.md", "", cites=cites))
    kinds = notes.kinds()
    # 6 names 7, which is refused, and so on all the way round.
    assert kinds.count("refused") == 40
    notes.write("n7.md", document("n7.md", "", cites="[mm/n8]"))
    assert notes.kinds().count("created") == 40


def test_what_does_not_fit_its_slot_is_kept_as_the_import_keeps_it(notes: Notes) -> None:
    head = "type: meeting\ncreated: last week\naliases: [[x]]\nstatus: open\n"
    notes.write("a.md", f"---\nname: A\n{head}---\nText.\n")
    notes.write("b.md", "---\nname: B\ntype: Decision\ncreated: 2026-01-02 03:04\n---\n")
    assert notes.kinds() == ["created", "created"]
    taken, meant = notes.db.get("mm/a"), notes.db.get("mm/b")
    kept = {"type": "meeting", "created": "last week", "aliases": [["x"]]}
    assert (taken["memory/extra"], taken["memory/status"]) == (kept, "open")
    assert "memory/type" not in taken.slots
    assert meant["memory/type"] == "decision"
    assert str(meant["memory/created"]).startswith("2026-01-02T03:04:00")
    before = notes.db.t
    assert (notes.settle(), notes.db.t) == ([], before)
    notes.db.update("mm/a", {"memory/status": "done"})
    assert notes.kinds() == ["written"]
    assert (notes.settle(), notes.db.get("mm/a")["memory/extra"]) == ([], kept)


def test_other_files_are_written_though_one_is_refused(notes: Notes) -> None:
    for number in range(30):
        notes.write(f"n{number}.md", document(f"n{number}.md", f"{number}\n"))
    notes.write("bad.md", document("bad.md", "", cites="[mm/no-one]"))
    notes.write("bad2.md", document("bad2.md", "", cites="[mm/nobody]"))
    before = notes.db.t
    kinds = notes.kinds()
    assert (kinds.count("created"), kinds.count("refused")) == (30, 2)
    assert notes.db.t - before <= 2, "in few transactions"


def test_what_is_not_utf_8_or_too_large(notes: Notes) -> None:
    (notes.folder / "latin.md").write_bytes(b"# caf\xe9\n")
    (notes.folder / "large.md").write_bytes(b"x" * (9 << 20))
    codes = {event.path: event.code for event in notes.settle()}
    assert codes == {"latin.md": "project.encoding", "large.md": "codec.too-large"}


def test_a_file_without_the_right_to_read_it(local_notes: Notes) -> None:
    path = local_notes.write("secret.md", "# Secret\n")
    path.chmod(0)
    try:
        if os.access(path, os.R_OK):  # root may read everything
            assert local_notes.kinds() == ["created"]
        else:
            assert once(local_notes.settle(), "refused").code == "watch.disk"
    finally:
        path.chmod(0o600)


def test_another_class_is_refused(notes: Notes) -> None:
    notes.db.define(classes={"mm/Idea": {"dt/subclass-of": [CLASS]}})
    notes.pair()
    notes.write("foo.md", document("foo.md", "", **{"class": "mm/Idea"}))
    assert once(notes.settle(), "refused").code == "watch.other-class"
    notes.write("new.md", document("new.md", "", **{"class": "mm/Idea"}))
    assert notes.kinds() == ["created"]
    notes.db.update("mm/new", {"memory/body": "theirs\n"})
    assert notes.kinds() == ["written"]
    assert "class: mm/Idea\n" in notes.text("new.md")
    assert notes.settle() == []


def test_a_path_that_is_too_long_for_an_ident_is_cut(notes: Notes) -> None:
    for end in "ab":
        notes.write(f"{'f' * 120}/{'n' * 200}{end}.md", f"# Long {end}\n")
    assert notes.kinds() == ["created", "created"]
    assert len(notes.idents()) == 2
    assert notes.settle() == []
