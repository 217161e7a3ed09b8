"""`sandbar project`: files into a workspace and back, as the real program says it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.errors import NotFound
from tests.cli.program import (
    PROGRAM,
    environment,
    run,
    run_here,
    run_well,
    run_well_here,
    serving,
)

ROWS = (8_000, 40_000)  # the more only if the machine stood still until the fewer were in
TEXT = {"dt/range": "db.type/string"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a database of plants, and an export of it."""
    with sandbar.open(tmp_path / "sandbar.db") as db:
        db.define(
            properties={
                "plant/name": {**TEXT, "dt/required?": True},
                "plant/text": TEXT,
                "plant/height": {"dt/range": "db.type/long"},
            },
            classes={
                "bed/Plant": {
                    "dt/slots": ["plant/name", "plant/text", "plant/height"],
                    "dt/native-codec": "markdown",
                    "dt/document": {
                        "body": "plant/text",
                        "ident": {"from": "plant/name", "in": "plant"},
                    },
                },
                "bed/Tool": {"dt/slots": ["plant/name"]},
            },
        )
        db.create("bed/Plant", {"db/ident": "plant/moss", "plant/name": "Moss"})
        db.create("bed/Tool", {"db/ident": "tool/rake", "plant/name": "Rake"})
    run_well_here("project", "export", "garden", cwd=tmp_path)
    return tmp_path


def plant(home: Path, name: str, text: str) -> None:
    """Write the file of a plant."""
    (home / f"garden/bed/Plant/plant/{name}.md").write_text(text, encoding="utf-8")


def slots(home: Path, ident: str) -> dict[str, Any] | None:
    """What the workspace holds of an entity."""
    with sandbar.open(home / "sandbar.db") as db:
        try:
            return dict(db.get(ident).slots)
        except NotFound:
            return None


# --- a plan, and what was done -------------------------------------------------------------------


def test_a_plan_writes_nothing_and_apply_tells_what_was_done(home: Path) -> None:
    plant(home, "ivy", "---\nname: Ivy\n---\n")
    planned = run_well_here("project", "import", "garden", cwd=home)
    assert re.search(r"^ +create  bed/Plant/plant/ivy\.md  plant/ivy$", planned, re.M), planned
    assert planned.endswith("Nothing was written. To do it, repeat the command with --apply.\n")
    assert slots(home, "plant/ivy") is None
    done = run_well_here("project", "import", "garden", "--apply", cwd=home)
    assert re.search(r"^ +created  bed/Plant/plant/ivy\.md", done, re.M), done
    last = r"project: 1 created, \d+ unchanged in \d+\.\d s \([\d,]+ files/s\), t = \d+\.\n$"
    assert re.search(last, done), done
    assert slots(home, "plant/ivy") is not None
    again = run_well_here("project", "import", "garden", cwd=home)
    assert again.endswith("Nothing was written, and there is nothing to write.\n")


def test_a_conflict_is_told_and_not_written(home: Path) -> None:
    with sandbar.open(home / "sandbar.db") as db:
        db.update("plant/moss", {"plant/text": "Likes fog.\n"})
    plant(home, "moss", "---\nname: Moss\n---\nLikes dew.\n")
    answer = run_here("project", "import", "garden", "--apply", cwd=home)
    assert answer.returncode == 1
    assert "in conflict  bed/Plant/plant/moss.md  plant/moss  (plant/text)" in answer.stdout
    assert "both changed since the export" in answer.stdout
    run_well_here("project", "import", "garden", "--apply", "--prefer", "files", cwd=home)
    assert (slots(home, "plant/moss") or {})["plant/text"] == "Likes dew.\n"


def test_json_is_the_whole_answer(home: Path) -> None:
    plant(home, "yew", "---\nname: Yew\ncolour: green\n---\n")
    (home / "garden/README.md").write_text("# Mine\n", encoding="utf-8")
    answer = run_here("project", "import", "garden", "--json", cwd=home)
    assert answer.returncode == 1
    told = json.loads(answer.stdout)
    assert (told["applied"], told["reconciled"]) == (False, True)
    assert {(one["path"], one["action"]) for one in told["entries"]} == {
        ("bed/Plant/plant/yew.md", "refused"),
        ("README.md", "ignored"),
    }


# --- what is wrong -------------------------------------------------------------------------------


def test_every_finding_names_file_line_key_and_reason(home: Path) -> None:
    plant(home, "yew", "---\nname: Yew\ncolour: green\nheight: tall\n---\n")
    (home / "more.csv").write_text(
        "ident,name,height\nplant/oak,Oak,30\nplant/elm,Elm,high\n", encoding="utf-8"
    )
    answer = run_here("project", "import", "garden", cwd=home)
    assert answer.returncode == 1
    for line, key in ((3, "colour"), (4, "height")):
        said = rf"^ +bed/Plant/plant/yew\.md, line {line}, {key}: .{{10,}}$"
        assert re.search(said, answer.stdout, re.M), answer.stdout
    rows = run_here("project", "import", "more.csv", "--class", "bed/Plant", "--apply", cwd=home)
    assert rows.returncode == 1
    assert re.search(r"^ +more\.csv, line 3, height: .{10,}$", rows.stdout, re.M), rows.stdout
    assert re.search(r"1 created, 1 refused in .* rows/s", rows.stdout), rows.stdout


def test_call_names_line_and_key_of_every_finding(home: Path) -> None:
    text = "---\nname: Yew\ncolour: green\nheight: tall\n---\n"
    given = json.dumps({"class": "bed/Plant", "source": text, "format": "markdown"})
    answer = run_here("call", "entity.create", "--json", given, cwd=home)
    assert answer.returncode == 1, answer.stdout
    for line, key in ((3, "colour"), (4, "height")):
        assert re.search(rf"^  line {line}, {key}: ", answer.stderr, re.M), answer.stderr


def test_atomic_says_that_and_why_nothing_was_written(home: Path) -> None:
    plant(home, "yew", "---\nname: Yew\ncolour: green\n---\n")
    words = ("project", "import", "garden", "--apply", "--atomic")
    for is_more in (False, True):
        if is_more:
            plant(home, "ivy", "---\nname: Ivy\n---\n")
        answer = run_here(*words, cwd=home)
        assert answer.returncode == 1
        assert "Nothing was written: --atomic takes all or nothing, and 1 refused" in answer.stdout
        assert "leave --atomic out" in answer.stdout
        assert "with --apply" not in answer.stdout
        assert slots(home, "plant/ivy") is None
    plant(home, "yew", "---\nname: Yew\n---\n")
    assert "2 created" in run_well_here(*words, cwd=home)


def test_files_that_are_ignored_are_named_with_the_reason(home: Path) -> None:
    extra = {"_class": "bed/Tool", "db/ident": "tool/hoe", "plant/name": "Hoe"}
    (home / "garden/bed/extra.json").write_text(json.dumps(extra), encoding="utf-8")
    (home / "garden/photo.jpeg").write_bytes(b"\xff")
    told = run_well_here("project", "import", "garden", cwd=home)
    assert re.search(r"ignored  bed/extra\.json\n +in a project, an entity is at CLASS/", told)
    assert re.search(r"ignored  photo\.jpeg\n +no codec reads \.jpeg files", told)
    assert "more (--json" not in told


def test_a_source_of_a_pack_names_the_pack(home: Path) -> None:
    answer = run_here("project", "import", "garden", "--source", "notes", cwd=home)
    assert answer.returncode == 1
    assert "sandbar pack add memory" in answer.stderr


# --- what is not there ---------------------------------------------------------------------------


def test_a_typing_error_makes_no_database(home: Path) -> None:
    answer = run_here("project", "import", "garden", "--database", "typo.db", cwd=home)
    assert (answer.returncode, "store.no-database" in answer.stderr) == (1, True)
    words = ("project", "import", "gardn", "--database", "typo.db", "--apply")
    answer = run_here(*words, cwd=home)
    assert answer.returncode == 1
    assert re.search(r"there is no folder or file \S+/gardn \(project\.gone\)", answer.stderr)
    assert "removed or renamed" not in answer.stderr
    assert not (home / "typo.db").exists()
    run_well_here("project", "import", "garden", "--database", "new.db", "--apply", cwd=home)
    assert (home / "new.db").exists()


@pytest.mark.parametrize(
    "command", ["backup", "watch", "project export", "project import", "audit list", "key list"]
)
def test_help_does_not_promise_to_make_a_database(command: str) -> None:
    told = re.sub(r"[\s│]+", " ", run_well_here(*command.split(), "--help"))
    assert "A SQLite file, made if need be" not in told
    assert ("not made here" in told) != (command == "project import"), told


def test_an_export_of_some_classes_leaves_the_others_alone(home: Path) -> None:
    sums = home / "garden/SHA256SUMS"
    before = sums.read_text(encoding="utf-8")
    with sandbar.open(home / "sandbar.db") as db:
        db.delete("tool/rake")
        db.create("bed/Tool", {"db/ident": "tool/hoe", "plant/name": "Hoe"})
    told = run_well_here("project", "export", "garden", "--class", "bed/Tool", cwd=home)
    assert "1 file of an earlier export removed." in told
    assert (home / "garden/bed/Plant/plant/moss.md").is_file()
    assert (home / "garden/dt/Class/bed/Plant.json").is_file()
    after = sums.read_text(encoding="utf-8")
    assert {line for line in before.splitlines() if "/Tool/" not in line} == {
        line for line in after.splitlines() if "/Tool/" not in line
    }
    checked = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(checked, cwd=home / "garden", check=False).returncode == 0
    whole = run_well_here("project", "import", "garden", cwd=home)
    assert "nothing to write" in whole
    assert "missing" not in whole


def test_a_folder_that_is_kept_in_step_with_another_class_says_so(home: Path) -> None:
    (home / "kept").mkdir()
    run_well("watch", "kept", "--class", "bed/Plant", "--once", cwd=home)
    answer = run("watch", "kept", "--class", "bed/Tool", "--once", cwd=home)
    assert (answer.returncode, "watch.other-workspace" in answer.stderr) == (1, True)
    assert "is kept in step with bed/Plant of this workspace (main)" in answer.stderr


def test_a_server_makes_the_folder_that_agents_call_theirs(home: Path) -> None:
    root = home / "shared"
    root.mkdir()
    with serving("--projects", str(root), cwd=home) as running:
        assert [one.name for one in root.iterdir()] == ["main-1"]
        assert str(root / "main-1") in running.stop()


# --- Ctrl-C --------------------------------------------------------------------------------------


def plants_in(db: sandbar.Database) -> int:
    """How many plants the workspace holds."""
    return db.workspace.validity.count("bed/Plant")


def interrupted(db: sandbar.Database, words: tuple[str, ...], home: Path) -> str | None:
    """Send Ctrl-C as soon as something is there; what was said, None if it was too late."""
    before = plants_in(db)
    process = subprocess.Popen(
        [str(PROGRAM), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=environment(),
    )
    end = time.monotonic() + 60
    while plants_in(db) == before and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode == 0:
        return None
    assert process.returncode == 130, said
    return said


def test_ctrl_c_leaves_what_was_written_and_the_next_run_goes_on(home: Path) -> None:
    words = ("project", "import", "many.jsonl", "--class", "bed/Plant", "--apply")
    with sandbar.open(home / "sandbar.db") as db:
        for count in ROWS:
            rows = (json.dumps({"ident": f"p{count}/n{n}", "name": f"P{n}"}) for n in range(count))
            (home / "many.jsonl").write_text("\n".join(rows), encoding="utf-8")
            before = plants_in(db)
            said = interrupted(db, words, home)
            if said is not None:
                break
        assert said is not None
        assert "Run the same command again, and it goes on from there." in said
        assert "Traceback" not in said
        there = plants_in(db) - before
        assert 0 < there < count
        done = run_well(*words, cwd=home)
        assert f"{count - there:,} created, {there:,} unchanged" in done
        assert plants_in(db) == before + count
