"""Folders that somebody else has prepared: a clone, or what came out of an archive.

Whatever lies in `.sandbar`, nothing outside of the folder is touched, and nothing is deleted.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.keywords import looks_like_ident
from sandbar.projects.sync.paths import Paths
from sandbar.settings import state_folder
from tests.cli.program import run
from tests.watch.notes import CLASS, Notes, document, once

PRECIOUS = "precious\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of somebody's beside the one that is watched."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "bashrc").write_text(PRECIOUS, encoding="utf-8")
    return folder


def _home(notes: Notes) -> Path:
    home = notes.folder / ".sandbar"
    home.mkdir(exist_ok=True)
    return home


def _plant(notes: Notes, *lines: object) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (_home(notes) / "journal.jsonl").write_text(text, encoding="utf-8")


def _is_whole(victim: Path) -> bool:
    files = [path.name for path in victim.iterdir()]
    return files == ["bashrc"] and (victim / "bashrc").read_text(encoding="utf-8") == PRECIOUS


def _refused(notes: Notes) -> str:
    with pytest.raises(sandbar.Problem) as refused:
        notes.settle()
    return refused.value.code


@pytest.mark.parametrize("name", ["new", "swap", "trash"])
def test_links_in_place_of_our_folders_are_refused(
    local_notes: Notes, victim: Path, name: str
) -> None:
    (_home(local_notes) / name).symlink_to("../../victim")
    assert _refused(local_notes) == "watch.planted"
    assert _is_whole(victim)
    (_home(local_notes) / name).unlink()
    assert local_notes.settle() == []


def test_a_link_in_place_of_the_whole_home_is_refused(local_notes: Notes, victim: Path) -> None:
    (local_notes.folder / ".sandbar").symlink_to("../victim")
    assert _refused(local_notes) == "watch.planted"
    assert _is_whole(victim)


@pytest.mark.parametrize("name", ["lock", "journal.jsonl"])
@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder"])
def test_what_is_no_file_in_place_of_our_files_is_refused(
    local_notes: Notes, victim: Path, name: str, kind: str
) -> None:
    place = _home(local_notes) / name
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(victim / ("bashrc" if kind == "link" else "made"))
    assert _refused(local_notes) == "watch.planted"
    assert _is_whole(victim)


def test_a_link_in_place_of_the_next_journal_is_not_written_through(
    local_notes: Notes, victim: Path
) -> None:
    (_home(local_notes) / "journal.new").symlink_to("../../victim/bashrc")
    local_notes.pair()
    assert _is_whole(victim)
    journal = local_notes.folder / ".sandbar/journal.jsonl"
    assert not journal.is_symlink()
    assert journal.read_text(encoding="utf-8").startswith('{"version":1')


def test_links_among_what_we_left_are_not_followed(local_notes: Notes, victim: Path) -> None:
    notes = local_notes
    for name in ("new", "swap", "trash"):
        (_home(notes) / name).mkdir()
    (_home(notes) / "new/a").symlink_to(victim / "bashrc")
    (_home(notes) / "new/b").mkdir()
    (_home(notes) / "swap/aa").symlink_to(victim / "bashrc")
    os.mkfifo(_home(notes) / "swap/bb")
    (_home(notes) / "swap" / ("c" * 250)).mkdir()
    (_home(notes) / "trash/decisions").symlink_to(victim)
    id = notes.pair("decisions/foo.md", "decisions/foo")
    notes.db.delete(id)
    assert notes.kinds() == ["thrown-away"]
    assert _is_whole(victim)
    kept = (_home(notes) / "trash").iterdir()
    assert any("decisions%2Ffoo" in path.name for path in kept)


@pytest.mark.parametrize("name", ["_prepare", "throw_away"])
def test_a_folder_that_becomes_a_link_at_the_last_moment_is_not_followed(
    local_notes: Notes, victim: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    notes = local_notes
    id = notes.pair("d/bashrc.md", "d/bashrc")
    (victim / "bashrc.md").write_text(notes.text("d/bashrc.md"), encoding="utf-8")
    files = notes.sync._files
    whole = getattr(files, name)

    def late(*args: Any, **kwargs: Any) -> Any:
        if not (notes.folder / "d").is_symlink():
            (notes.folder / "d").rename(notes.folder / "e")
            (notes.folder / "d").symlink_to(victim)
        return whole(*args, **kwargs)

    monkeypatch.setattr(files, name, late)
    if name == "throw_away":
        notes.db.delete(id)
    else:
        notes.db.update(id, {"memory/body": "theirs\n"})
    notes.settle()
    assert (notes.folder / "d").is_symlink()
    assert document("bashrc.md", "first\n") == (victim / "bashrc.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in victim.iterdir()) == ["bashrc", "bashrc.md"]


@pytest.mark.parametrize("path", ["../victim/evil.sh", "{victim}/evil.sh", "a/../../victim/e.sh"])
@pytest.mark.parametrize("has_owner", [False, True])
def test_a_planted_swap_writes_nothing_outside(
    local_notes: Notes, victim: Path, path: str, has_owner: bool
) -> None:
    notes = local_notes
    if has_owner:
        notes.settle()
        notes.stop()
    lines = (_home(notes) / "journal.jsonl").read_text().splitlines() if has_owner else []
    path = path.format(victim=victim)
    (_home(notes) / "swap").mkdir(exist_ok=True)
    (_home(notes) / "swap/aa").write_text("evil", encoding="utf-8")
    swap = {"swap": {"name": "aa", "path": path, "old": "00", "new": "11"}}
    _plant(notes, *map(json.loads, lines), swap)
    notes.settle()
    assert _is_whole(victim)
    assert [file.read_text(encoding="utf-8") for file in notes.trash()] == ["evil"]


def _planted_owner(notes: Notes) -> dict[str, object]:
    """What an attacker could write who knows all about the workspace but the secret."""
    owner = {
        "workspace": notes.db.workspace_name,
        "origin": notes.db.changes(since=0, limit=1)[0].instant,
        "epoch": notes.db.workspace.standing().epoch,
        "class_": CLASS,
    }
    return {"version": 1, "owner": owner}


@pytest.mark.parametrize("how", ["no owner", "owner", "owner and proof", "added to ours"])
def test_a_planted_agreement_deletes_no_entity(local_notes: Notes, how: str) -> None:
    notes = local_notes
    id = notes.db.create(CLASS, {"db/ident": "mm/zzz", "memory/name": "Z"}).entity_id
    t = notes.db.get(id).t
    agreed = {"agreed": {"path": "other.md", "entity": id, "t": t, "sha": "00", "ident": "mm/zzz"}}
    owner = _planted_owner(notes)
    if how == "no owner":
        _plant(notes, agreed)
    elif how == "added to ours":
        notes.settle()
        notes.stop()
        ours = (_home(notes) / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        _plant(notes, *map(json.loads, ours), agreed, {"forgotten": "zzz.md"})
    else:
        proof = {"proof": "0" * 64} if how == "owner and proof" else {}
        _plant(notes, owner | proof, agreed | proof)
    assert set(notes.kinds()) <= {"written"}
    assert notes.db.get(id)["memory/name"] == "Z"
    assert notes.files() == {"zzz.md"}


def test_a_planted_agreement_throws_no_file_away(local_notes: Notes) -> None:
    notes = local_notes
    text = document("foo.md", "mine\n")
    notes.write("foo.md", text)
    sha = sha256(text.encode()).hexdigest()
    _plant(
        notes,
        _planted_owner(notes),
        {"agreed": {"path": "foo.md", "entity": 999_999, "t": 3, "sha": sha}},
    )
    assert notes.kinds() == ["created"]
    assert (notes.files(), notes.trash()) == ({"foo.md"}, [])


@pytest.mark.parametrize("how", ["lost", "another", "elsewhere"])
def test_without_the_secret_both_sides_are_compared_and_nothing_is_deleted(
    local_notes: Notes, how: str
) -> None:
    """Also the control of the test below: the same journal with its secret is believed."""
    notes = local_notes
    notes.pair()
    notes.pair("bar.md", "mm/bar")
    notes.stop()
    secrets = [path for path in notes.state.iterdir() if path.is_file()]
    assert [path.stat().st_mode & 0o777 for path in secrets] == [0o600]
    if how == "lost":
        secrets[0].unlink()
    elif how == "another":
        secrets[0].write_bytes(os.urandom(32))
    else:
        shutil.copytree(notes.folder, notes.folder.with_name("copy"))
        notes.folder = notes.folder.with_name("copy")
    (notes.folder / "foo.md").unlink()
    notes.db.delete("mm/bar")
    assert sorted(notes.kinds()) == ["created", "written"]
    assert (notes.idents(), notes.trash()) == ({"mm/foo", "mm/bar"}, [])


def test_with_the_secret_the_journal_is_believed(local_notes: Notes) -> None:
    notes = local_notes
    notes.pair()
    notes.pair("bar.md", "mm/bar")
    notes.stop()
    (notes.folder / "foo.md").unlink()
    notes.db.delete("mm/bar")
    assert sorted(notes.kinds()) == ["deleted", "thrown-away"]


def test_an_endless_journal_is_not_read(local_notes: Notes) -> None:
    with (_home(local_notes) / "journal.jsonl").open("wb") as file:
        file.truncate(3 << 30)
    begun = time.monotonic()
    assert local_notes.settle() == []
    assert time.monotonic() - begun < 3


def test_a_state_folder_that_cannot_be_used_is_told(local_notes: Notes) -> None:
    local_notes.state.write_text("a file", encoding="utf-8")
    assert _refused(local_notes) == "watch.state"


def test_where_the_state_is(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert state_folder(home) == tmp_path / ".local/state/sandbar"
    assert state_folder(home | {"XDG_STATE_HOME": "relative"}) == tmp_path / ".local/state/sandbar"
    assert state_folder(home | {"XDG_STATE_HOME": "/s"}) == Path("/s/sandbar")


@pytest.mark.parametrize(
    "ident",
    [
        *(f"{space}/x" for space in ("_x110000_", "_xD800_", "_xDFFF_", "_xFFFFFF_", "_x0000_")),
        *("_x002E__x002E_/x", "a_x002F_b/x", "a/_xD800_", "a/%2E%2E%2Fx", "a/%ED%A0%80", "a/%00"),
    ],
)
def test_hostile_idents_do_not_end_the_watch(local_notes: Notes, ident: str) -> None:
    notes = local_notes
    notes.db.create(CLASS, {"db/ident": ident, "memory/name": "X"})
    assert notes.kinds() == ["written"]
    assert {path.name for path in notes.folder.parent.glob("*.md")} == set()
    notes.stop()
    (notes.folder / ".sandbar/journal.jsonl").unlink()
    assert notes.settle() == [], "the file leads back to its entity"
    assert notes.idents() == {ident}


@pytest.mark.parametrize("tries", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_whatever_an_ident_is_it_has_a_path_inside(seed: str, tries: int) -> None:
    rng = random.Random(seed)
    paths = Paths("mm", (".md", ".markdown"))
    bits = ["_x", "_", "%", "%2F", "%00", "..", ".", "D800", "002F", "002E", "110000", "FFFFFF"]
    bits += ["a", "con", "_x002E_", "_xD800_", "_x002F_", "é", "\u0301", "-", "1", "\U0001f600"]
    tried = 0
    for _ in range(tries):
        space, name = (
            "".join(rng.choice(bits) for _ in range(rng.randint(1, 6))) for _ in range(2)
        )
        ident = f"{space}/{name}"
        if not looks_like_ident(ident):
            continue
        tried += 1
        for is_strict in (False, True):
            path = paths.path(ident, 1042, is_strict=is_strict)
            assert not any(part == "" or part.startswith(".") for part in path.split("/")), ident
            assert looks_like_ident(paths.ident(path)), "whose it is can be told of every file"
            path.encode()
    assert tried > 1000


def test_a_huge_file_takes_no_time(local_notes: Notes) -> None:
    with (local_notes.folder / "huge.md").open("wb") as file:
        file.truncate(3 << 30)
    begun = time.monotonic()
    assert once(local_notes.settle(), "refused").path == "huge.md"
    assert time.monotonic() - begun < 3
    with (local_notes.folder / "huge.md").open("wb") as file:
        file.write(document("huge.md", "small\n").encode())
    assert local_notes.kinds() == ["created"]


def test_names_of_files_are_not_orders_to_the_terminal(local_notes: Notes, tmp_path: Path) -> None:
    name = "a\x1b]0;evil\x07\n12:00:00 ! b\x9b2J\u202e.md"
    local_notes.write(name, "---\ncites: [mm/nobody]\nname: A\n---\n")
    event = once(local_notes.settle(), "refused")
    assert event.path == r"a\x1b]0;evil\x07\n12:00:00 ! b\x9b2J\u202e.md"
    local_notes.stop()
    answer = run("watch", "notes", "--database", "test.db", "--once", cwd=tmp_path)
    assert r"a\x1b]0;evil" in answer.stdout
    assert not any(char in answer.stdout + answer.stderr for char in "\x1b\x07\x9b\u202e")
