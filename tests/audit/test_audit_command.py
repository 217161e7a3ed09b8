"""`sandbar audit` as a person uses it, against a real file."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import sandbar
from sandbar.access import local_caller
from sandbar.audit import AuditRow, RowsDigest, Seal, read_head, seal_hash
from sandbar.clock import us_of_text
from sandbar.verbs import Call
from tests.audit.vandal import SqliteVandal
from tests.cli.program import environment, run, run_well
from tests.ready_program import started_with_log

HEAD = re.compile(r"\d+:[0-9a-f]{64}\n")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A database of which something was asked in three runs; the last time in vain."""
    path = str(tmp_path / "asked.db")
    with sandbar.open(path) as db:
        db.load_pack("zorp")
        for _ in range(4):
            db.call("codec.list")
    with sandbar.open(path) as db:
        db.call("codec.list")
    with sandbar.open(path) as db, pytest.raises(sandbar.NotFound):
        db.call("entity.find", entity="zorp/nothing")
    return path


def audit(path: str, *words: str) -> subprocess.CompletedProcess[str]:
    return run("audit", *words, "--database", path)


def exported(path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in audit(path, "export").stdout.splitlines()]


def test_an_untouched_log_is_intact(path: str) -> None:
    answer = audit(path, "verify")
    assert (answer.returncode, answer.stdout) == (0, "intact\n")
    head = audit(path, "head").stdout
    assert HEAD.fullmatch(head)
    assert answer.stderr == f"rows 6, seals 3, unsealed 0, head {head}"


def test_the_list_is_for_people(path: str) -> None:
    run_well("call", "codec.list", "--database", path)
    lines = audit(path, "list").stdout.splitlines()
    assert lines[0].split() == ["at", "who", "surface", "what", "outcome", "ms"]
    assert lines[1].split()[2:6] == ["local", "cli", "codec.list", "ok"]
    assert lines[2].split()[2:6] == ["local", "library", "entity.find", "entity.unknown"]
    assert len(lines) == 8
    assert {len(line) for line in lines} == {len(lines[0])}, "what ends with ms is aligned"


def test_the_list_can_be_narrowed(path: str) -> None:
    def told(*words: str) -> list[tuple[str, str | None]]:
        answer = audit(path, "list", "--json", *words)
        assert answer.returncode == 0
        rows = map(json.loads, answer.stdout.splitlines())
        return [(row["verb"], row["code"]) for row in rows]

    wrong = ("entity.find", "entity.unknown")
    assert told() == [wrong, *[("codec.list", None)] * 5]
    assert told("--failed") == told("--verb", "entity.find") == told("--limit", "1") == [wrong]
    assert len(told("--principal", "local")) == 6
    assert "There are more" in audit(path, "list", "--limit", "5").stderr
    assert audit(path, "list", "--limit", "6").stderr == ""
    nobody = audit(path, "list", "--principal", "nobody")
    assert (nobody.stdout, nobody.stderr) == ("", "No such requests.\n")


@pytest.mark.parametrize("columns", [80, 200])
def test_on_a_terminal_every_id_of_a_request_is_whole(path: str, columns: int) -> None:
    ids = [f"0193a1b2-7c3d-7e4f-8a5b-{number:012}" for number in range(3)]
    with sandbar.open(path) as db:
        caller = local_caller("main")
        for id in ids:
            db.perform(Call(caller, "codec.list", surface="mcp", request_id=id))
    ours, theirs = pty.openpty()
    words = ("audit", "list", "--database", path, "--limit", "5")
    env = environment({"TERM": "xterm-256color", "COLUMNS": str(columns)})
    assert started_with_log(words, env, theirs).wait(60) == 0
    os.close(theirs)
    seen = re.sub(r"\x1b\[[0-9;]*m", "", os.read(ours, 100_000).decode())
    os.close(ours)
    lines = seen.splitlines()
    assert max(map(len, lines)) <= columns
    rows = [line for line in lines if "codec.list" in line or "entity.find" in line]
    assert len(rows) == 5
    if columns == 80:
        assert [line.split() for line in lines if "request" in line] == [
            ["request", id] for id in reversed(ids)
        ]
    else:
        assert [line.split()[-1] for line in rows[:3]] == ids[::-1]


def test_the_export_can_be_verified_without_us(path: str) -> None:
    """Rows and seals in the order of the chain: whoever has the file can follow it."""
    *lines, last = exported(path)
    ws = int(str(last["workspace-number"]))
    previous, digest, seals = bytes(32), RowsDigest(), 0
    for line in lines:
        at_us = us_of_text(str(line["at"]))
        if "seal" not in line:
            told: list[Any] = [at_us if name == "at" else one for name, one in line.items()]
            digest.add([AuditRow(*told)])
            continue
        values = list(line.values())
        seal = Seal._make([*values[:5], at_us, bytes.fromhex(str(line["hash"]))])
        assert seal_hash(ws, previous, seal, digest) == seal.hash
        previous, digest, seals = seal.hash, RowsDigest(), seals + 1
    assert last == {
        "head": f"{seals}:{previous.hex()}",
        "workspace": "main",
        "workspace-number": 1,
        "rows": 6,
        "seals": 3,
        "unsealed": 0,
    }


def test_a_head_that_was_kept_elsewhere(path: str) -> None:
    last_line = audit(path, "export").stdout.splitlines()[-1]
    with sandbar.open(path) as db:
        db.call("codec.list")  # a log may grow
    assert audit(path, "verify", "--head", last_line).stdout == "intact\n"
    vandal = SqliteVandal(path)
    log = vandal.read([1])
    vandal.write([1], log._replace(rows=log.rows[:4], seals=log.seals[:1]))
    vandal.close()
    answer = audit(path, "verify", "--head", last_line)
    assert answer.returncode == 1
    assert answer.stdout.startswith("broken: head-missing: seal 3: the chain ends with seal 1")


def test_what_is_broken_is_said_in_words(path: str) -> None:
    file = apsw.Connection(path)
    file.execute("DROP TRIGGER audit_is_not_changed; UPDATE audit SET principal = 'x' WHERE n = 3")
    file.close()
    (row,) = [row for row in exported(path) if row.get("n") == 3]
    answer = audit(path, "verify")
    assert answer.returncode == 1
    (said,) = answer.stdout.splitlines()
    assert said.startswith(f"broken: rows-changed: run {row['run']}, n 1 to 4, 20")
    assert "(seal 1, made 20" in said
    assert "try: keep a copy of the database" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_what_a_killed_process_left_is_said_to_be_unsealed(path: str) -> None:
    script = "import os, sandbar; sandbar.open({!r}).call('codec.list'); os._exit(1)"
    subprocess.run([sys.executable, "-c", script.format(path)], check=False, env=environment())
    answer = audit(path, "verify")
    assert answer.stdout == "intact\n"
    assert "rows 7, seals 3, unsealed 1, head" in answer.stderr
    assert "unsealed rows are not protected yet; the oldest is from 20" in answer.stderr
    assert exported(path)[-1]["unsealed"] == 1


def test_a_process_that_forgets_to_close_seals_all_the_same(path: str) -> None:
    script = "import sandbar; sandbar.open({!r}).call('codec.list')"
    subprocess.run([sys.executable, "-c", script.format(path)], check=True, env=environment())
    assert "rows 7, seals 4, unsealed 0, head" in audit(path, "verify").stderr


def test_what_goes_wrong(tmp_path: Path) -> None:
    new = str(tmp_path / "new.db")
    for command in ("verify", "list", "head", "export"):
        answer = audit(new, command)
        assert (answer.returncode, answer.stdout) == (1, "")
        assert "store.no-database" in answer.stderr
    assert list(tmp_path.iterdir()) == []
    sandbar.open(new).close()
    for command in ("verify", "list", "head", "export"):
        answer = audit(new, command, "--workspace", "mian")
        assert (answer.returncode, answer.stdout) == (1, "")
        assert "did you mean main?" in answer.stderr
    with sandbar.open(new) as db:
        assert db.neighbours.names() == ["main"]
    assert audit(new, "verify").stdout == "intact\n"
    assert audit(new, "list").stderr == "No requests yet.\n"
    answer = audit(new, "head")
    assert answer.returncode == 1
    assert "audit.nothing-sealed" in answer.stderr
    answer = audit(new, "verify", "--head", "1:ab")
    assert answer.returncode == 1
    assert "audit.head-malformed" in answer.stderr
    assert "try:" in answer.stderr


def test_a_head_in_any_of_its_forms() -> None:
    text = f"12:{'0f' * 32}"
    for form in (text, f" {text}\n", json.dumps({"head": text, "rows": 3})):
        assert read_head(form) == (12, b"\x0f" * 32)


@pytest.mark.parametrize(
    "wrong", ["", "1", "1:ab", "x:" + "0" * 64, "0:" + "0" * 64, "{}", '{"head": null}', "{"]
)
def test_what_is_no_head(wrong: str) -> None:
    with pytest.raises(sandbar.Incorrect) as refused:
        read_head(wrong)
    assert refused.value.code == "audit.head-malformed"
