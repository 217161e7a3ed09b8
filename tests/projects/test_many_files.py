"""Very many Markdown files, through the real program: killed, stopped, run again, all there."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sandbar
from tests.cli.program import environment
from tests.conftest import Say
from tests.ready_program import answered, started

EVERYDAY, MANY = 1_200, 100_000
WORDS = ("project", "import", "notes", "--class", "mm/Memory", "--apply")
IMPORTED_S_MAX = 1_500


def write_notes(folder: Path, count: int) -> None:
    """Notes in folders of a thousand, each with links to three others and two tags."""
    for n in range(count):
        home = folder / f"n{n // 1000:03}"
        home.mkdir(parents=True, exist_ok=True)
        links = ", ".join(f"n{m // 1000:03}/m{m:06}" for m in _linked(n, count))
        text = (
            f"---\nident: n{n // 1000:03}/m{n:06}\nname: Note {n}\ntype: observation\n"
            f"tags: [tag{n % 50}, common]\nrelated: [{links}]\n---\n# Heading {n}\n\nText {n}.\n"
        )
        (home / f"m{n:06}.md").write_text(text, encoding="utf-8")


def _linked(n: int, count: int) -> list[int]:
    return [(n * 7 + 1) % count, (n + count // 2) % count, (n * 31 + 17) % count]


def imported(place: Path) -> str:
    """Import to the end; what is said."""
    answer = answered(WORDS, place, environment(), IMPORTED_S_MAX)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def interrupted(place: Path, number: signal.Signals, entities: int) -> int:
    """Begin, and end it by a signal once there are so many more entities; how many there are."""
    with sandbar.open(place / "sandbar.db") as db:
        wanted = db.workspace.validity.count("mm/Memory") + entities
        process = started(WORDS, place, environment())
        while process.poll() is None and db.workspace.validity.count("mm/Memory") < wanted:
            time.sleep(0.02)
        process.send_signal(number)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.read()
            pipe.close()
        assert process.wait() == (130 if number == signal.SIGINT else -number)
        return db.workspace.validity.count("mm/Memory")


def import_them_all(place: Path, count: int, say: Say) -> None:
    with sandbar.open(place / "sandbar.db") as db:
        db.load_pack("memory")
    write_notes(place / "notes", count)
    killed = interrupted(place, signal.SIGKILL, count // 10)
    stopped = interrupted(place, signal.SIGINT, count // 10)
    began = time.monotonic()
    imported(place)
    took_s = time.monotonic() - began
    say(
        f"{count:,} files: killed at {killed:,}, stopped at {stopped:,}, rest in {took_s:.0f} s:"
        f" {(count - stopped) / took_s:,.0f} a second"
    )
    assert 0 < killed <= stopped <= count
    check_all_are_there(place, count)
    again = imported(place)
    assert re.search(rf"{count:,} unchanged", again), again


def check_all_are_there(place: Path, count: int) -> None:
    with sandbar.open(place / "sandbar.db") as db:
        found = {one.ident: one for one in db.each("mm/Memory")}
        assert len(found) == count
        for n in range(0, count, max(count // 2_000, 1)):
            memory = found[f"n{n // 1000:03}/m{n:06}"]
            assert memory["memory/body"] == f"# Heading {n}\n\nText {n}.\n"
            linked = dict.fromkeys(f"n{m // 1000:03}/m{m:06}" for m in _linked(n, count))
            assert memory["memory/related"] == list(linked)
            assert memory["memory/tags"] == [f"tag/tag{n % 50}", "tag/common"]
        assert db.workspace.validity.count("mm/Tag") == min(count, 50) + 1


def test_many_files_are_imported_whatever_comes_between(tmp_path: Path, say: Say) -> None:
    import_them_all(tmp_path, EVERYDAY, say)


# The program, with so small a cache for pages of the database that it is soon full. As it is, such
# caches may grow to 104 MB, however large the database: that is apart from what is asked here.
_WITH_A_SMALL_CACHE = """
from sandbar.store.sqlite import connection
connection._READER_CACHE_KIB = connection._WRITER_CACHE_KIB = 8_000
from sandbar.cli import main
try:
    main()
finally:  # its own size: what the system reports may have been its parent's
    print([line for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""


def peak_mb(place: Path, count: int) -> float:
    """The most that an import of so many files takes."""
    place.mkdir()
    with sandbar.open(place / "sandbar.db") as db:
        db.load_pack("memory")
    write_notes(place / "notes", count)
    told = subprocess.run(
        [sys.executable, "-c", _WITH_A_SMALL_CACHE, *WORDS],
        capture_output=True, stdin=subprocess.DEVNULL, text=True, cwd=place, env=environment(),
        check=True,
    )  # fmt: skip
    (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", told.stdout)
    return int(kib) / 1024


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_very_many_files_take_no_more_memory_than_many(tmp_path: Path, say: Say) -> None:
    many = peak_mb(tmp_path / "many", MANY // 5)
    very_many = peak_mb(tmp_path / "very-many", MANY)
    say(f"{MANY // 5:,} files: {many:.0f} MB at most; {MANY:,} files: {very_many:.0f} MB")
    assert very_many < many + 5


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_very_many_files_are_imported_whatever_comes_between(tmp_path: Path, say: Say) -> None:
    import_them_all(tmp_path, MANY, say)
