"""Files are replaced while others write: whatever comes out is kept unless it was agreed on."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sandbar.projects.sync import placing
from sandbar.projects.sync.exchange import NotOffered, is_open_for_writing
from sandbar.projects.sync.journal import Swap
from tests.watch.notes import Notes, document, once


@pytest.fixture(params=["exchange", "two steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How files change places: in one step, or where the kernel has no such move, in two."""
    if request.param == "two steps":

        def not_offered(one: Path, other: Path) -> None:
            raise NotOffered

        monkeypatch.setattr(placing, "exchange", not_offered)
    return str(request.param)


def _between(
    monkeypatch: pytest.MonkeyPatch, notes: Notes, act: Any, name: str = "_prepare"
) -> None:
    """Let something happen after the watch has looked and before it writes, once."""
    files = notes.sync._files
    whole = getattr(files, name)
    done: list[bool] = []

    def hurried(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(True)
            act()
        return whole(*args, **kwargs)

    monkeypatch.setattr(files, name, hurried)


@pytest.mark.usefixtures("way")
def test_an_edit_at_the_last_moment_is_kept(
    local_notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = local_notes
    id = notes.pair()
    notes.db.update(id, {"memory/body": "theirs\n"})
    _between(monkeypatch, notes, lambda: notes.write("foo.md", document("foo.md", "mine\n")))
    event = once(notes.settle(), "conflict")
    assert event.kept is not None
    assert notes.text(event.kept).endswith("mine\n")
    assert notes.text("foo.md").endswith("theirs\n")
    assert notes.settle() == []


@pytest.mark.usefixtures("way")
def test_a_file_that_goes_at_the_last_moment(
    local_notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = local_notes
    id = notes.pair()
    notes.db.update(id, {"memory/body": "theirs\n"})
    _between(monkeypatch, notes, (notes.folder / "foo.md").unlink)
    assert notes.kinds() == ["survived"]
    assert notes.text("foo.md").endswith("theirs\n")


@pytest.mark.usefixtures("way")
def test_who_still_writes_to_the_replaced_file_loses_nothing(local_notes: Notes) -> None:
    notes = local_notes
    id = notes.pair()
    with (notes.folder / "foo.md").open("a", encoding="utf-8") as editor:
        notes.db.update(id, {"memory/body": "theirs\n"})
        assert notes.kinds() == ["written"]
        notes.sync._files._late = dict.fromkeys(notes.sync._files._late, 0.0)
        notes.settle()
        assert notes.files() == {"foo.md"}, "it is not judged while it is open"
        editor.write("late\n")
    event = once(notes.settle(), "conflict")
    assert event.kept is not None
    assert notes.text(event.kept).endswith("late\n")


def test_whether_a_file_is_open_for_writing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("x", encoding="utf-8")
    assert not is_open_for_writing(path)
    with path.open("a", encoding="utf-8"):
        assert is_open_for_writing(path)
    with path.open(encoding="utf-8"):
        assert not is_open_for_writing(path)


def test_a_new_file_at_the_last_moment_is_not_overwritten(
    local_notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = local_notes
    notes.db.create("mm/Memory", {"db/ident": "mm/foo", "memory/name": "foo"})
    _between(monkeypatch, notes, lambda: notes.write("foo.md", document("foo.md", "mine\n")))
    event = once(notes.settle(), "conflict")
    assert event.kept is not None
    assert notes.text(event.kept).endswith("mine\n")


def test_a_file_that_changes_while_it_is_thrown_away_comes_back(
    local_notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = local_notes
    id = notes.pair()
    notes.db.delete(id)
    _between(
        monkeypatch,
        notes,
        lambda: notes.write("foo.md", document("foo.md", "mine\n")),
        "throw_away",
    )
    assert notes.kinds() == ["survived"]
    assert notes.body("mm/foo") == "mine\n"
    assert notes.trash() == []


def test_an_entity_that_changes_at_the_last_moment_is_not_overwritten(
    local_notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = local_notes
    id = notes.pair()
    notes.write("foo.md", document("foo.md", "mine\n"))
    guarded = notes.sync._desk.db
    transact = guarded.transact
    done: list[bool] = []

    def late(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(True)
            notes.db.update(id, {"memory/body": "theirs\n"})
        return transact(*args, **kwargs)

    monkeypatch.setattr(guarded, "transact", late)
    event = once(notes.settle(), "conflict")
    assert event.kept is not None
    assert notes.text(event.kept).endswith("mine\n")
    assert notes.body("mm/foo") == "theirs\n"


def test_conflict_files_are_never_overwritten(local_notes: Notes) -> None:
    notes = local_notes
    id = notes.pair()
    mine = document("foo.md", "mine\n")
    notes.db.update(id, {"memory/body": "theirs\n"})
    t = notes.db.get(id).t
    name = f"foo.conflict-{t}-{sha256(mine.encode()).hexdigest()[:6]}"
    notes.write(f"{name}.md", "something else")
    notes.write("foo.md", mine)
    assert once(notes.settle(), "conflict").kept == f"{name}-1.md"
    assert notes.text(f"{name}.md") == "something else"


@pytest.mark.parametrize("content", ["agreed", "ours", "theirs", "unknown"])
def test_what_a_killed_watch_left_in_the_middle_of_a_swap(local_notes: Notes, content: str) -> None:
    notes = local_notes
    notes.pair()
    old, new = notes.text("foo.md"), "the new version"
    texts = {"agreed": old, "ours": new, "theirs": "an edit", "unknown": "an edit"}
    home = notes.sync._home
    if content != "unknown":
        hashes = [sha256(text.encode()).hexdigest() for text in (old, new)]
        home.journal.swap(Swap("abc", "foo.md", *hashes))
    (home.swap / "abc").write_text(texts[content], encoding="utf-8")
    notes.stop()
    notes.settle()
    kept = [notes.text(path) for path in notes.files() if "conflict" in path]
    kept += [path.read_text(encoding="utf-8") for path in notes.trash()]
    assert kept == (["an edit"] if content in ("theirs", "unknown") else [])
    assert [event.kind for event in notes.events[-1:] if event.kind == "conflict"] == (
        ["conflict"] if content == "theirs" else []
    )
    assert not list(home.swap.iterdir())
