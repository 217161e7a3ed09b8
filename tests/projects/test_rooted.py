"""Nobody is led out of the folder: paths, links, pipes, and what is swapped meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbar.errors import Problem
from sandbar.projects import RootedFolder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a secret, beside the root."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text("secret")
    return folder


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    """The root, with one honest file."""
    folder = tmp_path / "root"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "a.md").write_text("a")
    return folder


def code_of(act: object, *args: object, **more: object) -> str:
    with pytest.raises(Problem) as caught:
        act(*args, **more)  # type: ignore[operator]
    assert caught.value.hint
    return caught.value.code


@pytest.mark.parametrize(
    "path",
    ["/etc", "..", "../outside", "notes/../..", "notes//a", "./notes", "", "a\0b", "x/" * 3000],
)
def test_a_path_leads_down_and_nowhere_else(root: Path, path: str) -> None:
    with RootedFolder(root) as folder:
        assert code_of(folder.read, path) == "project.path"
        assert code_of(folder.write, path, b"") == "project.path"
    if path:
        assert code_of(RootedFolder, root, path) == "project.path"
        assert code_of(RootedFolder, root, path, is_made=True) == "project.path"


def test_a_link_is_followed_nowhere_on_the_way(root: Path, outside: Path) -> None:
    (root / "folder").symlink_to(outside)
    (root / "notes" / "link.md").symlink_to(outside / "secret.md")
    (root / "notes" / "inner.md").symlink_to(root / "notes" / "a.md")
    assert code_of(RootedFolder, root, "folder") in ("project.link", "project.not-a-folder")
    assert code_of(RootedFolder, root, "folder/secret.md") != ""
    with RootedFolder(root) as folder:
        refused = ("project.link", "project.not-a-folder")
        assert code_of(folder.read, "folder/secret.md") in refused
        assert code_of(folder.read, "notes/link.md") == "project.link"
        assert code_of(folder.read, "notes/inner.md") == "project.link"
        assert code_of(folder.write, "folder/new.md", b"") in refused
        assert code_of(folder.write, "notes/link.md", b"") == "project.link"
        found = {one.path: one.problem and one.problem.code for one in folder.files()}
    assert found == {
        "folder": "project.link",
        "notes/a.md": None,
        "notes/inner.md": "project.link",
        "notes/link.md": "project.link",
    }
    assert (outside / "secret.md").read_text() == "secret"
    assert not (outside / "new.md").exists()


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "to-root").symlink_to(root)
    with RootedFolder(tmp_path / "to-root", "notes") as folder:
        assert folder.read("a.md") == b"a"


def test_only_regular_files_are_read(root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    with RootedFolder(root) as folder:
        assert code_of(folder.read, "pipe.md") == "project.no-file"  # and does not wait for it
        assert code_of(folder.read, "notes") == "project.no-file"
        assert [one.path for one in folder.files() if one.problem is None] == ["notes/a.md"]
    with RootedFolder(Path("/dev")) as devices:
        assert code_of(devices.read, "null") == "project.no-file"
        assert code_of(devices.read, "zero") == "project.no-file"


def test_a_hard_link_is_a_file_like_any_other(root: Path, outside: Path) -> None:
    os.link(outside / "secret.md", root / "hard.md")
    with RootedFolder(root) as folder:
        assert folder.read("hard.md") == b"secret"


def test_a_folder_that_is_swapped_for_a_link_is_not_followed(root: Path, outside: Path) -> None:
    (root / "z").mkdir()
    (root / "z" / "secret.md").write_text("mine")
    with RootedFolder(root) as folder:
        walk = folder.files()
        assert next(walk).path == "notes/a.md"
        os.rename(root / "z", root / "was-z")
        (root / "z").symlink_to(outside)
        rest = list(walk)
        assert [(one.path, one.problem is not None) for one in rest] == [("z", True)]
        assert code_of(folder.read, "z/secret.md") in ("project.link", "project.not-a-folder")


def test_a_file_that_is_swapped_after_the_walk_is_not_followed(root: Path, outside: Path) -> None:
    with RootedFolder(root) as folder:
        assert [one.path for one in folder.files()] == ["notes/a.md"]
        (root / "notes" / "a.md").unlink()
        (root / "notes" / "a.md").symlink_to(outside / "secret.md")
        assert code_of(folder.read, "notes/a.md") == "project.link"
        (root / "notes" / "a.md").unlink()
        assert code_of(folder.read, "notes/a.md") == "project.gone"


def test_what_was_opened_stays_what_it_was(root: Path, outside: Path) -> None:
    with RootedFolder(root, "notes") as folder:
        os.rename(root / "notes", root / "old")
        (root / "notes").symlink_to(outside)
        folder.write("b.md", b"b")
        assert (root / "old" / "b.md").read_bytes() == b"b"
    assert sorted(os.listdir(outside)) == ["secret.md"]


def test_large_files_are_refused_without_being_read_whole(root: Path) -> None:
    with (root / "large.md").open("wb") as file:
        file.truncate(1 << 40)
    with RootedFolder(root) as folder:
        assert code_of(folder.read, "large.md") == "project.too-large"
        assert code_of(folder.read, "notes/a.md", bytes_max=0) == "project.too-large"


def test_a_walk_comes_by_all_paths_in_their_order(root: Path) -> None:
    for path in ("a/b", "a.b", "a-b", "a/a", "A", "ä", "a!/c", ".hidden", ".git/config"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    with RootedFolder(root) as folder:
        paths = [one.path for one in folder.files()]
    assert paths == sorted(paths)
    assert paths == ["A", "a!/c", "a-b", "a.b", "a/a", "a/b", "notes/a.md", "ä"]


def test_a_name_that_is_no_text_is_refused(root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9.md")).write_text("x")
    with RootedFolder(root) as folder:
        [problem] = [one.problem for one in folder.files() if one.problem is not None]
    assert problem.code == "project.name"


def test_one_file_is_a_folder_of_one(root: Path) -> None:
    (root / "rows.jsonl").write_text("{}")
    with RootedFolder(root, "rows.jsonl") as folder:
        assert folder.only == "rows.jsonl"
        assert [one.path for one in folder.files()] == ["rows.jsonl"]


def test_no_open_file_is_left(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with RootedFolder(root, "notes") as folder:
            folder.write("x/y/z.md", b"z")
            assert folder.read("x/y/z.md") == b"z"
            list(folder.files())
            folder.remove("x/y/z.md")
            code_of(folder.read, "nowhere/x.md")
        code_of(RootedFolder, root, "nowhere")
    assert len(os.listdir("/proc/self/fd")) == before
    assert sorted(os.listdir(root / "notes")) == ["a.md"]
