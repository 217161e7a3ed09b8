"""Processes forked from one that has loaded everything: to load it takes half a second of a core.

For what `tests/ready_program.py` does not do: other functions, and the program within limits.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from sandbar.cli.main import main
from tests.cli.program import Answer, environment

CONTEXT = multiprocessing.get_context("forkserver")
# There is one such process for all tests of a worker, whichever of them asks first.
CONTEXT.set_forkserver_preload(
    [
        "sandbar.database",
        __name__,
        "tests.backup.dying",
        "tests.packs.scripts",
        "tests.projects.conftest",
        "tests.watch.writer",
    ]
)


class Forked:
    """A function that runs in a process of its own: what its tests need of `subprocess.Popen`."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        # As a daemon it ends with whoever started it, at the latest.
        self._process = CONTEXT.Process(target=work, args=arguments, daemon=True)
        self._process.start()

    def poll(self) -> int | None:
        """How it ended, if it has."""
        return self._process.exitcode

    def send_signal(self, how: int) -> None:
        """Send a signal, unless it is known to have ended."""
        if self.poll() is None:
            assert self._process.pid is not None
            os.kill(self._process.pid, how)

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, when it has; one that takes longer is ended."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            self._process.join()
            raise subprocess.TimeoutExpired("a function", timeout or 0)
        return code


def be_the_program(
    words: list[str], env: Mapping[str, str], log: str, limits: Mapping[int, int]
) -> None:
    """What runs in the process: all that it says goes to a file."""
    os.environ.clear()
    os.environ.update(env)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(said, stream.fileno())
    for what, most in limits.items():
        resource.setrlimit(what, (most, most))
    sys.argv = ["sandbar", *words]
    main()


def run_within(limits: Mapping[int, int], *words: str) -> Answer:
    """The program's answer, where it may take no more than this; what it says is in one text."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "said"
        code = Forked(be_the_program, list(words), environment(), str(log), limits).wait(60)
        said = log.read_text(encoding="utf-8")
    return Answer(list(words), code, said, said)
