"""SHA256SUMS as people leave it: merged, with other ends of lines, with nonsense in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbar.errors import Problem
from sandbar.projects import sums
from sandbar.projects.rooted import RootedFolder
from sandbar.projects.sums import SUMS, read_sums
from sandbar.scratch import Scratch

A, B = "a" * 64, "b" * 64


def read(folder: Path, data: bytes) -> dict[str, str]:
    """What is read, which is the same in memory and elsewhere."""
    (folder / SUMS).write_bytes(data)
    kept: dict[str, str] = {}
    with RootedFolder(folder) as rooted, Scratch() as scratch:
        table = scratch.table()
        read_sums(rooted, kept)
        read_sums(rooted, table)
        assert dict(table.items()) == kept
    return kept


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (f"{A}  x.md\n{B} *y.md", {"x.md": A, "y.md": B}),
        (f"{A}  x.md\r\n{B}  y.md\r\r\n", {"x.md": A, "y.md": B}),
        (f"<<<<<<< ours\n{A}  x.md\n=======\n{B}  x.md\n>>>>>>> theirs\n{B}  y.md\n", {"y.md": B}),
        (f"{A}  x.md\n{A}  x.md\n", {"x.md": A}),
        (f"{A}  {'long/' * 3_000}x.md\n{B}  y.md\n", {"y.md": B}),
        (f"{A}  {'x' * 7_900}\n{B}  y.md\n", {"x" * 7_900: A, "y.md": B}),
        (f"{A}  {'x' * 20_000}{B}  z.md", {}),
        ("\0" * 50_000, {}),
        ("", {}),
    ],
    ids=["plain", "ends", "merged", "twice", "too long", "long", "no end", "zeros", "empty"],
)
def test_lines_that_say_something_else_are_left_out(
    tmp_path: Path, data: str, expected: dict[str, str]
) -> None:
    assert read(tmp_path, data.encode()) == expected


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    kept: dict[str, str] = {}
    with RootedFolder(tmp_path) as rooted:
        read_sums(rooted, kept)
    assert kept == {}


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    with (tmp_path / SUMS).open("wb") as file:
        file.truncate(257 << 20)  # it takes no room on the disk
    with RootedFolder(tmp_path) as rooted, pytest.raises(Problem) as caught:
        read_sums(rooted, {})
    assert caught.value.code == "project.too-large"


def test_more_contradictions_than_a_merge_makes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "_DOUBTFUL_MAX", 2)
    lines = [f"{digest}  {n}.md\n" for n in range(3) for digest in (A, B)]
    with pytest.raises(Problem) as caught:
        read(tmp_path, "".join(lines).encode())
    assert caught.value.code == "project.too-large"
    assert read(tmp_path, "".join(lines[:4]).encode()) == {}
