"""The life of a watch: one at a time, killed and continued, stopped rather than deleting much."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from pathlib import Path

import pytest

import sandbar
from sandbar.access import local_caller
from sandbar.codecs import base_codecs
from sandbar.model import Standing
from sandbar.projects.sync import Sync
from sandbar.projects.sync.journal import Agreement, Journal, Owner
from sandbar.projects.sync.proving import Proofs
from tests.watch.notes import CLASS, Notes, document

OWNER = Owner("main", "2026-11-16T00:00:00Z", 1, CLASS)


def _journal(folder: Path) -> Journal:
    return Journal(folder, os.open(folder, os.O_DIRECTORY), Proofs(b"secret"))


def test_a_second_watch_of_the_same_folder_is_refused(local_notes: Notes) -> None:
    local_notes.settle()
    other = Notes(local_notes.db, local_notes.folder)
    with pytest.raises(sandbar.Conflict) as refused:
        other.settle()
    assert refused.value.code == "watch.running"
    local_notes.stop()
    other.settle()
    other.stop()


def test_a_folder_that_is_not_there(local_notes: Notes, tmp_path: Path) -> None:
    guarded = local_notes.db.guarded(local_caller(local_notes.db.workspace_name))
    with pytest.raises(sandbar.Incorrect) as refused:
        Sync(
            guarded,
            local_notes.db.workspace.standing,
            base_codecs(),
            tmp_path / "nowhere",
            CLASS,
            print,
            state=local_notes.state,
        )
    assert refused.value.code == "watch.no-folder"


def _many(notes: Notes, count: int) -> None:
    for number in range(count):
        notes.write(f"n{number}.md", document(f"n{number}.md", f"{number}\n"))
    notes.settle()


def test_most_files_gone_at_once_stop_the_watch(notes: Notes) -> None:
    _many(notes, 12)
    for number in range(7):
        (notes.folder / f"n{number}.md").unlink()
    with pytest.raises(sandbar.Conflict) as stopped:
        notes.settle()
    assert stopped.value.code == "watch.mass-disappearance"
    notes.stop()
    with pytest.raises(sandbar.Conflict):
        notes.settle()  # also when it begins again
    assert len(notes.idents()) == 12


def test_many_files_gone_one_after_the_other_stop_the_watch(local_notes: Notes) -> None:
    _many(local_notes, 12)
    for number in range(6):
        (local_notes.folder / f"n{number}.md").unlink()
        local_notes.settle()
    (local_notes.folder / "n6.md").unlink()
    with pytest.raises(sandbar.Conflict) as stopped:
        local_notes.settle()
    assert stopped.value.code == "watch.mass-disappearance"
    assert len(local_notes.idents()) == 6


def test_a_few_files_may_all_be_deleted(local_notes: Notes) -> None:
    _many(local_notes, 3)
    for path in local_notes.folder.glob("*.md"):
        path.unlink()
    assert local_notes.kinds() == ["deleted"] * 3


@pytest.mark.parametrize("how", ["moved", "emptied", "another"])
def test_a_folder_that_goes_stops_the_watch(local_notes: Notes, how: str) -> None:
    local_notes.pair()
    folder = local_notes.folder
    if how == "emptied":
        shutil.rmtree(folder / ".sandbar")
        (folder / "foo.md").unlink()
    else:
        folder.rename(folder.with_name("elsewhere"))
    if how == "another":
        folder.mkdir()
    with pytest.raises(sandbar.Conflict) as stopped:
        local_notes.settle()
    assert stopped.value.code == "watch.folder-gone"
    assert local_notes.idents() == {"mm/foo"}


def test_another_workspace_is_refused(local_notes: Notes, tmp_path: Path) -> None:
    local_notes.pair()
    local_notes.stop()
    with sandbar.open(tmp_path / "other.db") as db:
        db.load_pack("memory")
        other = Notes(db, local_notes.folder)
        with pytest.raises(sandbar.Conflict) as refused:
            other.settle()
        assert refused.value.code == "watch.other-workspace"
    assert local_notes.files() == {"foo.md"}, "nothing is thrown away"


def test_a_watch_that_was_away_continues(notes: Notes) -> None:
    id = notes.pair()
    notes.stop()
    notes.db.update(id, {"memory/body": "theirs\n"})
    notes.write("new.md", "# New\n")
    assert sorted(notes.kinds()) == ["created", "written"]
    assert notes.sync.standing().agreed == 2


def test_what_was_done_but_not_written_down_is_found_to_agree(notes: Notes) -> None:
    """A kill after the commit, or after the file was written, and before the journal knows."""
    id = notes.pair()
    journal = notes.folder / ".sandbar/journal.jsonl"
    before = journal.read_bytes()
    notes.write("foo.md", document("foo.md", "mine\n"))
    notes.write("new.md", document("new.md", "new\n"))
    made = notes.db.create(CLASS, {"db/ident": "mm/x", "memory/name": "X"}).entity_id
    notes.settle()
    notes.db.update(made, {"memory/body": "changed\n"})
    notes.settle()
    notes.stop()
    journal.write_bytes(before)
    t = notes.db.t
    assert notes.settle() == []
    assert (notes.db.t, notes.files()) == (t, {"foo.md", "new.md", "x.md"})
    assert notes.db.get(id)["memory/body"] == "mine\n"


def test_half_a_line_at_the_end_of_the_journal(local_notes: Notes) -> None:
    local_notes.pair()
    local_notes.stop()
    with (local_notes.folder / ".sandbar/journal.jsonl").open("ab") as file:
        file.write(b'{"agreed":{"path":"foo.md","ent')
    assert local_notes.settle() == []
    local_notes.write("foo.md", document("foo.md", "second\n"))
    assert local_notes.kinds() == ["updated"]


def test_a_journal_of_another_version_is_refused(local_notes: Notes) -> None:
    local_notes.settle()
    local_notes.stop()
    (local_notes.folder / ".sandbar/journal.jsonl").write_text('{"version":99}\n', encoding="utf-8")
    with pytest.raises(sandbar.Conflict) as refused:
        local_notes.settle()
    assert refused.value.code == "watch.version"


def test_a_journal_stays_short(tmp_path: Path) -> None:
    journal = _journal(tmp_path)
    journal.begin(OWNER)
    for t in range(10_000):
        journal.agree([Agreement("foo.md", 1001, t, "0" * 64, "mm/foo")])
        if t % 500 == 0:
            journal.flush()
    journal.flush()
    journal.close()
    assert len((tmp_path / "journal.jsonl").read_bytes().splitlines()) < 5000
    again = _journal(tmp_path)
    assert again.agreements["foo.md"].t == 9999
    assert again.owner == OWNER


def test_agreements_of_another_epoch_mean_nothing(tmp_path: Path) -> None:
    journal = _journal(tmp_path)
    journal.begin(OWNER)
    journal.agree([Agreement("foo.md", 1001, 5, "0" * 64)])
    journal.flush()
    journal.close()
    again = _journal(tmp_path)
    assert again.agreements
    again.begin(Owner("main", OWNER.origin, 2, CLASS))
    assert not again.agreements
    again.close()


def test_a_half_written_file_is_not_taken(
    local_notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = local_notes.write("foo.md", "# Half")
    grown: list[bool] = []

    def pause(seconds: float) -> None:
        if not grown:
            grown.append(True)
            path.write_text("# Half and half\n", encoding="utf-8")
        time.sleep(seconds)

    monkeypatch.setattr("sandbar.projects.sync.looking.pause_s", pause)
    local_notes.settle()
    history = local_notes.db.history("mm/foo")
    assert len(history) == 1, "it was taken once, when it was whole"
    assert local_notes.db.get("mm/foo")["memory/name"] == "Half and half"


def test_a_workspace_that_was_restored_meanwhile_stops_the_watch(local_notes: Notes) -> None:
    db = local_notes.db
    epochs = [1]
    guarded = db.guarded(local_caller(db.workspace_name))
    sync = Sync(
        guarded,
        lambda: Standing(db.t, epochs[0]),
        base_codecs(),
        local_notes.folder,
        CLASS,
        local_notes.events.append,
        state=local_notes.state,
    )
    with closing(sync):
        sync.round()
        epochs[0] = 2
        with pytest.raises(sandbar.Conflict) as stopped:
            sync.round()
    assert stopped.value.code == "watch.restored"
