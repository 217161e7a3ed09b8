"""`sandbar watch` as a person runs it."""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sandbar
from tests.cli.program import environment, run, serving
from tests.conftest import Say
from tests.ready_program import Started, started
from tests.watch.notes import CLASS, document, wait_for


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with sandbar.db, which has the memory pack, and an empty folder `notes`."""
    with sandbar.open(tmp_path / "sandbar.db") as db:
        db.load_pack("memory")
    (tmp_path / "notes").mkdir()
    return tmp_path


@contextmanager
def watching(place: Path, *words: str) -> Iterator[Started]:
    """A watch that has begun."""
    process = started(["watch", "notes", *words], place, environment())
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_once_brings_both_sides_in_step(place: Path) -> None:
    notes = place / "notes"
    (notes / "foo.md").write_text(document("foo.md", "hello\n"), encoding="utf-8")
    answer = run("watch", "notes", "--once", cwd=place)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[0] == "notes: 1 file; mm/Memory in workspace main: 0 entities."
    assert lines[1] == "To do: 1 new file."
    assert lines[2].endswith("→ foo.md  created mm/foo")
    assert lines[3] == "1 to the workspace, 0 to files, 0 conflicts, 0 refused."
    again = run("watch", "notes", "--once", cwd=place)
    assert "Both sides agree." in again.stdout


def test_conflicts_and_refusals_are_an_exit_code(place: Path) -> None:
    notes = place / "notes"
    (notes / "bad.md").write_text("---\nname: Bad\ncites: [mm/nobody]\n---\n", encoding="utf-8")
    answer = run("watch", "notes", "--once", cwd=place)
    assert answer.returncode == 1
    assert "! bad.md  REFUSED: line 3, memory/cites: " in answer.stdout
    assert "try: " in answer.stdout
    (notes / "bad.md").write_text(document("bad.md", "good\n"), encoding="utf-8")
    assert run("watch", "notes", "--once", cwd=place).returncode == 0
    with sandbar.open(place / "sandbar.db") as db:
        db.update("mm/bad", {"memory/body": "theirs\n"})
    (notes / "bad.md").write_text(document("bad.md", "mine\n"), encoding="utf-8")
    answer = run("watch", "notes", "--once", cwd=place)
    assert answer.returncode == 1
    assert "! bad.md  CONFLICT: both sides have changed; the file's version is in" in answer.stdout
    answer = run("watch", "notes", "--once", cwd=place)
    assert (answer.returncode, "1 conflict file is still there" in answer.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nowhere",), "watch.no-folder"),
        (("notes", "--workspace", "mian"), "workspace.unknown"),
        (("notes", "--database", "other.db"), "store.no-database"),
        (("notes", "--class", "mm/Memroy"), "class.unknown"),
    ],
)
def test_a_typing_error_makes_nothing(place: Path, words: tuple[str, ...], code: str) -> None:
    before = sorted(place.iterdir())
    answer = run("watch", *words, cwd=place)
    assert answer.returncode == 1
    assert f"({code})" in answer.stderr, answer.stderr
    assert sorted(place.iterdir()) == before


def test_without_the_pack_it_says_what_is_missing(tmp_path: Path) -> None:
    sandbar.open(tmp_path / "sandbar.db").close()
    (tmp_path / "notes").mkdir()
    answer = run("watch", "notes", cwd=tmp_path)
    assert "(watch.no-memory)" in answer.stderr
    assert "sandbar pack add memory" in answer.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order(place: Path, how: signal.Signals) -> None:
    with watching(place) as process:
        (place / "notes/foo.md").write_text("# Foo\n", encoding="utf-8")
        assert process.stdout is not None
        assert "→ foo.md  created mm/foo" in process.stdout.readline()
        process.send_signal(how)
        assert process.wait(timeout=5) == 0
        assert "1 to the workspace" in process.stdout.read()


def test_a_second_one_is_refused(place: Path) -> None:
    with watching(place):
        answer = run("watch", "notes", "--once", cwd=place)
        assert (answer.returncode, "(watch.running)" in answer.stderr) == (1, True)


def test_beside_a_server_edits_reach_the_other_side_quickly(place: Path, say: Say) -> None:
    taken: dict[str, list[float]] = {"file to entity": [], "entity to file": []}
    with serving(cwd=place), watching(place), sandbar.open(place / "sandbar.db") as db:
        for number in range(4):
            path = place / f"notes/n{number % 2}.md"
            begun = time.monotonic()
            path.write_text(document(path.name, f"mine {number}\n"), encoding="utf-8")
            _wait_for_body(db, f"mm/{path.stem}", f"mine {number}\n")
            taken["file to entity"].append(time.monotonic() - begun)
            time.sleep(0.2)  # as a person would: the next edit comes when both agree
            begun = time.monotonic()
            db.update(f"mm/{path.stem}", {"memory/body": f"theirs {number}\n"})
            _wait_for_text(path, f"theirs {number}\n")
            taken["entity to file"].append(time.monotonic() - begun)
            time.sleep(0.2)
    for what, found in taken.items():
        p50, p95 = statistics.median(found), sorted(found)[int(len(found) * 0.95) - 1]
        say(f"watch, {what}: p50 {p50 * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms")
        assert p50 < 2.0
    assert not list((place / "notes").glob("*.conflict-*"))


def _wait_for_body(db: sandbar.Database, ident: str, body: str) -> None:
    wait_for(lambda: _body(db, ident) == body)


def _wait_for_text(path: Path, end: str) -> None:
    wait_for(lambda: path.read_text(encoding="utf-8").endswith(end))


def _body(db: sandbar.Database, ident: str) -> str | None:
    try:
        return str(db.get(ident).get("memory/body"))
    except sandbar.NotFound:
        return None


def test_a_thousand_files_and_little_to_do(place: Path, say: Say) -> None:
    notes = place / "notes"
    for number in range(1000):
        (notes / f"n{number}.md").write_text(document(f"n{number}.md", "x\n"), encoding="utf-8")
    begun = time.monotonic()
    answer = run("watch", "notes", "--once", cwd=place)
    say(f"watch: 1,000 new files in {time.monotonic() - begun:.1f} s, with the program's start")
    assert "1,000 to the workspace" in answer.stdout
    with sandbar.open(place / "sandbar.db") as db:
        assert len(list(db.each(CLASS))) == 1000
        assert db.t < 20, "in few transactions"
    with watching(place) as process:
        time.sleep(0.5)
        before, at = _cpu_s(process.pid), time.monotonic()
        time.sleep(2.0)
        share = (_cpu_s(process.pid) - before) / (time.monotonic() - at)
        say(f"watch, idle with 1,000 files: {share * 100:.1f} % of a core")
        assert share < 0.25


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_what_it_writes_is_in_the_audit(place: Path) -> None:
    (place / "notes" / "foo.md").write_text(document("foo.md", "hello\n"), encoding="utf-8")
    run("watch", "notes", "--once", cwd=place)
    with sandbar.open(place / "sandbar.db") as db:
        rows = [row for row in db.call("audit.list", {}).entries if row.verb == "watch"]
        assert [(row.surface, row.success) for row in rows] == [("cli", True)]
