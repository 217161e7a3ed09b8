"""Scripts in processes of their own, which have distributions of their own installed."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

from tests.forked import Forked

_SCRIPT_S_MAX = 60


def run_script(site: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script's text in a process whose path begins with this folder."""
    told, wrong = site / "told.txt", site / "wrong.txt"
    process = Forked(_be_a_script, str(site), script, list(words), str(told), str(wrong))
    code = process.wait(_SCRIPT_S_MAX)
    return subprocess.CompletedProcess(words, code, told.read_text(), wrong.read_text())


def _be_a_script(site: str, script: str, words: list[str], told: str, wrong: str) -> None:
    """What the interpreter does with `-W error -c`."""
    for number, path in ((1, told), (2, wrong)):
        end = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(end, number)
        os.close(end)
    warnings.simplefilter("error")
    sys.path[1:1] = [site]
    sys.argv = ["-c", *words]
    exec(compile(script, "<string>", "exec"), {"__name__": "__main__"})
