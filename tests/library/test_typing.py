"""Type checkers know the public names and types: what is right passes, and nothing else does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sandbar

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("typed.py")
_COMMENT = re.compile(r"  # (type|pyright): ignore.*")


def without_comments(folder: Path) -> tuple[Path, list[int]]:
    """The program as a user might write it, and the lines that are wrong."""
    lines = PROGRAM.read_text().splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if _COMMENT.search(line)]
    copy = folder / "program.py"
    copy.write_text("\n".join(_COMMENT.sub("", line) for line in lines) + "\n")
    return copy, wrong


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=110
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_mypy_refuses_each_wrong_line_and_no_other(tmp_path: Path) -> None:
    copy, wrong = without_comments(tmp_path)
    said = run("mypy", "--strict", "--no-error-summary", str(copy))
    assert sorted({int(n) for n in re.findall(r"program\.py:(\d+): error", said)}) == wrong, said


def test_pyright_refuses_each_wrong_line_and_no_other(tmp_path: Path) -> None:
    copy, wrong = without_comments(tmp_path)
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(json.dumps({"include": [str(copy)], "typeCheckingMode": "standard"}))
    said = run(
        "basedpyright", "--pythonpath", sys.executable, "--outputjson", "--project", str(settings)
    )
    found = json.loads(said)["generalDiagnostics"]
    errors = [one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"]
    assert sorted(set(errors)) == wrong, found


def test_every_public_name_is_there_and_no_other() -> None:
    assert sorted(sandbar.__all__, key=str) == sandbar.__all__
    assert set(sandbar.__all__) <= set(dir(sandbar))
    assert all(getattr(sandbar, name) is not None for name in sandbar.__all__)
    with pytest.raises(AttributeError):
        sandbar.__getattr__("NonsenseName")
