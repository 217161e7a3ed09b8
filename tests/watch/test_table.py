"""Every cell of the table: what becomes of a file and an entity, by what happened to each."""

from __future__ import annotations

import pytest

import sandbar
from sandbar.projects.sync.table import State, state_of, step_for
from tests.watch.notes import CLASS, Notes, document, once


def test_the_table_has_a_step_for_every_pair_of_states() -> None:
    states: tuple[State, ...] = ("absent", "same", "changed")
    steps = {step_for(file, entity, have_agreed=True) for file in states for entity in states}
    assert len(steps) == 9, "each is another thing to do"
    assert [state_of(now, 1) for now in (None, 1, 2)] == list(states)
    assert state_of(1, None) == "changed"


def test_nothing_on_either_side(notes: Notes) -> None:
    assert notes.settle() == []


def test_both_the_same(notes: Notes) -> None:
    notes.pair()
    t = notes.db.t
    assert notes.settle() == []
    assert notes.db.t == t


def test_a_new_file_makes_an_entity(notes: Notes) -> None:
    notes.write("decisions/foo.md", "# Context\n\nhello\n")
    assert notes.kinds() == ["created"]
    found = notes.db.get("decisions/foo")
    assert (found["memory/name"], found["memory/body"]) == ("Context", "# Context\n\nhello\n")
    assert notes.text("decisions/foo.md") == "# Context\n\nhello\n", "it is not written over"


def test_a_new_entity_gets_a_file(notes: Notes) -> None:
    notes.db.create(CLASS, {"db/ident": "a.b/c", "memory/name": "C", "memory/body": "x\n"})
    assert notes.kinds() == ["written"]
    assert notes.text("a/b/c.md") == "---\nident: a.b/c\nname: C\n---\nx\n"
    assert notes.settle() == []


def test_a_changed_file_updates_the_entity(notes: Notes) -> None:
    id = notes.pair()
    notes.write("foo.md", document("foo.md", "second\n", status="open"))
    assert notes.kinds() == ["updated"]
    assert (notes.body("mm/foo"), notes.db.get(id)["memory/status"]) == ("second\n", "open")
    notes.write("foo.md", document("foo.md", "second\n"))
    assert notes.kinds() == ["updated"]
    assert "memory/status" not in notes.db.get(id).slots, "what a file no longer says is gone"


def test_a_changed_entity_is_written(notes: Notes) -> None:
    id = notes.pair()
    notes.db.update(id, {"memory/body": "theirs\n"})
    assert notes.kinds() == ["written"]
    assert notes.text("foo.md").endswith("theirs\n")
    assert notes.settle() == []


def test_both_changed_to_the_same(notes: Notes) -> None:
    id = notes.pair()
    notes.db.update(id, {"memory/body": "second\n"})
    notes.write("foo.md", document("foo.md", "second\n"))
    t = notes.db.t
    assert notes.settle() == []
    assert (notes.db.t, notes.files()) == (t, {"foo.md"})


def test_both_changed_is_a_conflict(notes: Notes) -> None:
    id = notes.pair()
    notes.db.update(id, {"memory/body": "theirs\n"})
    notes.write("foo.md", document("foo.md", "mine\n"))
    event = once(notes.settle(), "conflict")
    assert notes.text("foo.md").endswith("theirs\n")
    assert event.kept is not None
    assert notes.text(event.kept).endswith("mine\n")
    assert event.kept.startswith(f"foo.conflict-{notes.db.get(id).t}-")
    assert notes.settle() == [], "a conflict file is nobody's"
    assert len(notes.idents()) == 1


def test_a_deleted_file_deletes_the_entity(notes: Notes) -> None:
    id = notes.pair()
    (notes.folder / "foo.md").unlink()
    assert notes.kinds() == ["deleted"]
    with pytest.raises(sandbar.NotFound):
        notes.db.get(id)


def test_a_deleted_file_comes_back_if_others_refer_to_the_entity(notes: Notes) -> None:
    notes.pair()
    notes.write("other.md", document("other.md", "", cites="[mm/foo]"))
    notes.settle()
    (notes.folder / "foo.md").unlink()
    event = once(notes.settle(), "returned")
    assert event.code == "entity.referenced", event
    assert notes.text("foo.md").endswith("first\n")
    assert notes.settle() == []


def test_files_that_refer_to_each_other_can_be_deleted_together(notes: Notes) -> None:
    notes.write("a.md", document("a.md", "", cites="[mm/b]"))
    notes.write("b.md", document("b.md", "", cites="[mm/a]"))
    assert notes.kinds() == ["created", "created"]
    for path in ("a.md", "b.md"):
        (notes.folder / path).unlink()
    assert notes.kinds() == ["deleted", "deleted"]


def test_the_file_of_a_deleted_entity_goes_to_the_trash(notes: Notes) -> None:
    id = notes.pair()
    notes.db.delete(id)
    event = once(notes.settle(), "thrown-away")
    assert notes.files() == set()
    assert event.kept is not None
    assert (notes.folder / event.kept).read_text(encoding="utf-8").endswith("first\n")


def test_a_deleted_file_whose_entity_has_changed_is_written_again(notes: Notes) -> None:
    id = notes.pair()
    notes.db.update(id, {"memory/body": "theirs\n"})
    (notes.folder / "foo.md").unlink()
    assert notes.kinds() == ["survived"]
    assert notes.text("foo.md").endswith("theirs\n")
    assert notes.settle() == []


def test_a_changed_file_whose_entity_was_deleted_brings_it_back(notes: Notes) -> None:
    id = notes.pair()
    notes.db.update(id, {"memory/status": "open"})
    notes.db.delete(id)
    notes.write("foo.md", document("foo.md", "mine\n"))
    assert notes.kinds() == ["survived"]
    found = notes.db.get("mm/foo")
    assert (found.entity_id, found["memory/body"]) == (id, "mine\n")
    assert "memory/status" not in found.slots, "the file is what counts"
    assert notes.settle() == []


def test_a_changed_file_of_a_purged_entity_makes_a_new_one(notes: Notes) -> None:
    id = notes.pair()
    notes.db.purge(id)
    notes.write("foo.md", document("foo.md", "mine\n"))
    assert notes.kinds() == ["survived"]
    assert notes.db.get("mm/foo").entity_id != id


def test_both_deleted(notes: Notes) -> None:
    id = notes.pair()
    notes.db.delete(id)
    (notes.folder / "foo.md").unlink()
    assert notes.settle() == []


@pytest.mark.parametrize("is_equal", [True, False])
def test_both_are_new(notes: Notes, is_equal: bool) -> None:
    notes.db.create(CLASS, {"db/ident": "mm/foo", "memory/name": "foo", "memory/body": "same\n"})
    notes.write("foo.md", document("foo.md", "same\n" if is_equal else "other\n"))
    assert notes.kinds() == ([] if is_equal else ["conflict"])
    assert notes.text("foo.md").endswith("same\n")
    assert len(notes.files()) == (1 if is_equal else 2)


@pytest.mark.parametrize("is_equal", [True, False])
def test_a_lost_state_means_that_both_are_compared(notes: Notes, is_equal: bool) -> None:
    id = notes.pair()
    notes.stop()
    (notes.folder / ".sandbar/journal.jsonl").unlink()
    if not is_equal:
        notes.db.update(id, {"memory/body": "theirs\n"})
    assert notes.kinds() == ([] if is_equal else ["conflict"])
