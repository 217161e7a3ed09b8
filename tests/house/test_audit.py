"""`make check` fails on a known vulnerability or a broken audit, and goes on without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.limits import ROOT

FINE = {"name": "fine", "version": "1.0", "vulns": []}
BROKEN = {
    "name": "broken",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["1.1"], "aliases": []}],
}
SKIPPED = {"name": "fine", "skip_reason": "Dependency not found and could not be audited"}


def audited(folder: Path, program: str | None) -> tuple[int, list[str]]:
    """How the audit ends, and what it says, where `pip-audit` is this shell script, or missing."""
    python = folder / "python"
    python.symlink_to(sys.executable)
    if program is not None:
        (folder / "pip-audit").write_text(f"#!/bin/sh\n{program}\n")
        (folder / "pip-audit").chmod(0o755)
    script = (ROOT / "scripts" / "audit.py").read_text().replace("LIMIT_S = 20", "LIMIT_S = 0.4")
    source = f"import sys; sys.executable = {str(python)!r}\n"
    source += f"exec(compile({script!r}, 'audit.py', 'exec'))"
    done = subprocess.run(
        [sys.executable, "-c", source, "requirements.lock"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def says(*packages: object) -> str:
    return f"echo '{json.dumps({'dependencies': packages, 'fixes': []})}'"


def test_nothing_known_is_fine(tmp_path: Path) -> None:
    assert audited(tmp_path, says(FINE)) == (0, ["audited 1 packages, 0 known vulnerabilities"])


def test_a_known_vulnerability_fails(tmp_path: Path) -> None:
    code, lines = audited(tmp_path, says(FINE, BROKEN, SKIPPED) + "; exit 1")
    assert code == 1
    assert lines == [
        "broken 1.0: PYSEC-2026-1, mended in: 1.1",
        "audited 2 packages, 1 known vulnerabilities",
    ]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("echo 'requests.exceptions.ConnectionError: no route' >&2; exit 1", "no route"),
        (
            "echo 'ERROR:Could not connect to the vulnerability feed' >&2;"
            " echo 'ERROR:Tip: your network may be blocking this service.' >&2; exit 1",
            "Could not connect",
        ),
        ("exec sleep 60", "no answer in 0.4 s"),
        (says(SKIPPED), "could not be audited"),
    ],
)
def test_what_cannot_be_known_is_said_in_one_line(tmp_path: Path, program: str, why: str) -> None:
    code, lines = audited(tmp_path, program)
    assert code == 0
    [line] = lines
    assert line.startswith("not audited, the advisories cannot be reached: ")
    assert why in line


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (None, "No such file"),
        ("exit 3", "ended with 3"),
        ("echo '{}'", "ended with 0"),
        ("echo 'ModuleNotFoundError: no pip_audit' >&2; exit 1", "ModuleNotFoundError"),
    ],
)
def test_an_audit_that_does_not_work_fails(tmp_path: Path, program: str | None, why: str) -> None:
    code, lines = audited(tmp_path, program)
    assert code == 1
    [line] = lines
    assert line.startswith("not audited, pip-audit does not work: ")
    assert why in line


def test_it_is_part_of_the_check() -> None:
    makefile = (ROOT / "Makefile").read_text()
    [needs] = [line for line in makefile.splitlines() if line.startswith("check:")]
    assert "audit" in needs.split()
    assert "scripts/audit.py requirements.lock requirements-dev.lock" in makefile
