"""The scratch: like a dictionary, but sorted, elsewhere, and gone when it is closed."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sandbar.errors import Unavailable
from sandbar.scratch import Scratch, Table
from tests.conftest import Say

TEXTS = ["", "a", "a/b", "a/b/c", "a0", "a/", "b", "\0", "ä", "\U0010ffff", "\udce9", "5", "A"]


@pytest.fixture
def scratch() -> Scratch:
    return Scratch()


def test_it_does_what_a_dictionary_does(scratch: Scratch, seed: str) -> None:
    chance = random.Random(seed)
    table: Table[object] = scratch.table()
    known: dict[str, object] = {}
    for _ in range(3_000):
        key = chance.choice(TEXTS) + chance.choice(TEXTS)
        step = chance.choice(["put", "put", "get", "delete", "walk", "below"])
        if step == "put":
            known[key] = table[key] = chance.choice([None, 7, "text", b"bytes"])
        elif step == "get":
            assert (key in table, table.get(key)) == (key in known, known.get(key))
        elif step == "delete":
            del table[key]
            known.pop(key, None)
        elif step == "walk":
            assert list(table.items()) == sorted(known.items(), key=_by_key)
            backwards = sorted(known.items(), key=_by_key, reverse=True)
            assert list(table.items(is_backwards=True)) == backwards
            assert len(table) == len(known)
        else:
            below = [k for k in sorted(known) if k.startswith(f"{key}/") and k != f"{key}/"]
            assert list(table.below(key)) == [known[k] for k in below]


def _by_key(item: tuple[str, object]) -> str:
    return item[0]


@pytest.mark.parametrize("is_backwards", [False, True])
def test_many_are_walked_while_they_are_changed(scratch: Scratch, is_backwards: bool) -> None:
    table: Table[int] = scratch.table()
    for n in range(5_000):
        table[f"k/{n:05}"] = n
    assert list(table.below("k")) == list(range(5_000))
    seen = []
    for key, value in table.items(is_backwards=is_backwards):
        seen.append(value)
        del table[key]
    assert sorted(seen) == list(range(5_000))
    assert len(table) == 0


def test_tables_are_apart_and_can_be_cleared(scratch: Scratch) -> None:
    one, other = scratch.table(), scratch.table()
    one["k"], other["k"] = 1, 2
    one.clear()
    assert (one.get("k"), other.get("k")) == (None, 2)


# Much is noted, and how much memory and how many names of files that took is printed. (What the
# system calls the largest size of a process may have been its parent's: this is its own.)
_NOTING = """
import os, re, resource, sys
from sandbar.errors import Unavailable
from sandbar.scratch import Scratch
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak()
with Scratch() as scratch:
    table = {} if sys.argv[2] == "dict" else scratch.table()
    try:
        for n in range(200_000):
            table[f"some/longer/path/of/a/file/{n}"] = n
    except Unavailable as problem:
        print(problem.code, problem.hint, flush=True)
        os._exit(0)
    assert table.get("some/longer/path/of/a/file/77") == 77
    print((peak() - before) // 1024, os.listdir(os.environ["SQLITE_TMPDIR"]))
"""


def noted(folder: Path, bytes_max: int, into: str = "scratch") -> str:
    done = subprocess.run(
        [sys.executable, "-c", _NOTING, str(bytes_max), into],
        env={"SQLITE_TMPDIR": str(folder)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_it_takes_little_memory_and_leaves_no_file(tmp_path: Path, say: Say) -> None:
    grown_mb, names = noted(tmp_path, 1 << 30).split(" ", 1)
    say(f"200,000 notes: {grown_mb} MB")
    assert int(grown_mb) < 8
    assert names == "[]\n"  # it has none already while it is used
    assert int(noted(tmp_path, 1 << 30, "dict").split()[0]) > 16  # the measure sees what is kept


# What is read may put what was written before out of the cache, and on a disk that has become full.
_READING = """
import resource
from sandbar.errors import Unavailable
from sandbar.scratch import Scratch
with Scratch() as scratch:
    table = scratch.table()
    for n in range(120_000):
        table[f"some/longer/path/of/a/file/{n:06}"] = n
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    for n in range(0, 120_000, 4_000):
        try:
            table[f"some/longer/path/of/a/file/{n:06}"] = 1
            assert list(table.items())
        except Unavailable as problem:
            print(problem.code, flush=True)
            break
"""


def test_a_full_disk_is_told_to_whoever_reads_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _READING],
        env={"SQLITE_TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "scratch.failed\n"


def test_whoever_closes_it_while_another_thread_looks_does_not_mind(scratch: Scratch) -> None:
    table: Table[int] = scratch.table()
    for n in range(2_000):
        table[str(n)] = n
    looked: list[int] = []
    is_closed = threading.Event()

    def look() -> None:
        with suppress(Unavailable):
            while not is_closed.is_set():
                looked.append(sum(1 for _ in table.items()))

    thread = threading.Thread(target=look)
    thread.start()
    while not looked:
        time.sleep(0.001)
    scratch.close()
    is_closed.set()
    thread.join()
    assert looked[0] == 2_000


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    assert noted(tmp_path, 1 << 20).startswith("scratch.failed make room there")
