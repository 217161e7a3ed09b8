"""A process that has imported everything and forks: new children in milliseconds, safe to kill.

    with Zygote() as zygote:
        child = zygote.fork("tests.fault.load:run_load", target=…, journal=…, seed=1)
        child.kill()

The zygote has no threads, so forking is safe; it keeps the ended child's number until it is asked
for the exit status, so a signal never hits a stranger. Children die with the zygote.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
_PR_SET_PDEATHSIG = 1
_WAIT_S = 60.0
JOBS = ("load", "lists", "jobs", "powercut", "io_errors", "duties")


class Child:
    """One forked process."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self._zygote = zygote
        self.pid = pid
        self._end = os.pidfd_open(pid)
        self._status: int | None = None

    def send(self, how: signal.Signals) -> None:
        """Send a signal."""
        signal.pidfd_send_signal(self._end, how)

    def ended_within(self, seconds: float) -> bool:
        """Whether it ends in that time."""
        return bool(select.select([self._end], [], [], seconds)[0])

    def kill_after(self, seconds: float) -> None:
        """`kill -9` after so long, or as soon as it ends by itself."""
        self.ended_within(seconds)
        self.kill()

    def kill(self) -> None:
        """`kill -9`, and wait until nothing is left of it."""
        if self._status is None:
            self.send(signal.SIGKILL)
            self.wait()

    def wait(self, seconds: float = _WAIT_S) -> int:
        """The exit status; negative for a signal."""
        if self._status is None:
            assert self.ended_within(seconds), f"process {self.pid} did not end in {seconds} s"
            self._status = self._zygote.reap(self.pid)
            os.close(self._end)
        return self._status


class Zygote:
    """The parent's handle."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fault.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": path},
            text=True,
        )

    def __enter__(self) -> Zygote:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def fork(self, job: str, **arguments: Any) -> Child:
        """Run `module:function(**arguments)` in a new process."""
        return Child(self, self._ask({"job": job, "arguments": arguments}))

    def reap(self, pid: int) -> int:
        """The exit status of a child that has ended."""
        return self._ask({"reap": pid})

    def _ask(self, question: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def serve() -> None:
    """Fork whatever is asked for, until the parent goes away."""
    for name in ("sandbar", *(f"tests.fault.{job}" for job in JOBS)):
        importlib.import_module(name)
    while line := sys.stdin.readline():
        question = json.loads(line)
        if "reap" in question:
            answer = os.waitstatus_to_exitcode(os.waitpid(question["reap"], 0)[1])
        else:
            answer = _fork(question)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _fork(question: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(2, 1)  # the answers belong to the zygote
        module, _, function = question["job"].partition(":")
        getattr(importlib.import_module(module), function)(**question["arguments"])
        status = 0
    except BaseException:  # noqa: BLE001 - the status and the trace are the report
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
