"""Running the benchmark: as it is run from a shell, or a much smaller one in this process."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

import bench.__main__ as program
from bench.results import Result
from bench.settings import QUICK, Settings

ROOT = Path(__file__).parents[2]
# Every line of the benchmark is gone through. Latencies need two rounds: some have but one each.
TINY: Settings = QUICK._replace(
    rounds=1,
    read_seconds=0.002,
    flat_rounds=1,
    flat_seconds=0.01,
    inputs=50,
    creates_per_round=5,
    creates_per_thread=1,
    past_small=30,
    past_operations=30,
    wire_seconds=0.02,
    workflow_seconds=0.1,
)


def run_apart(file: Path, *words: str) -> tuple[list[Result], str]:
    """A quick run in a process of its own: its results, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", *words, "--json", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return _results(file), done.stdout


def run_here(
    file: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch, *words: str
) -> tuple[list[Result], str]:
    """A tiny run in this process, its files beside those of the test.

    Garbage is left where it is: the rounds, whose speeds nobody looks at, would take half as long.
    """
    patch.setattr(tempfile, "tempdir", str(file.parent))
    patch.setattr(gc, "collect", lambda: 0)
    patch.setattr(program, "QUICK", TINY)
    patch.setattr(sys, "argv", ["bench", "--quick", *words, "--json", str(file)])
    program.main()
    return _results(file), capsys.readouterr().out


def _results(file: Path) -> list[Result]:
    return msgspec.json.decode(file.read_bytes(), type=list[Result])
