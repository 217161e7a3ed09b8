"""Server processes: started, timed until the first answer, weighed, and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.wire.answers import WrongAnswerError, check
from bench.wire.load import ask
from bench.wire.requests import Call

ROOT = Path(__file__).parents[2]
SANDBAR = str(Path(sys.executable).with_name("sandbar"))
PORT = "{port}"  # stands in a command where the port comes

_CPU_CLOCK = 2  # Linux makes the number of a process's clock of this and of the process's own
_POLL_S = 0.002
_START_S = 60.0
_END_S = 10.0


class Server:
    """A program that is started on a free port, more than once if its start is measured."""

    def __init__(self, key: str, what: str, command: Sequence[str], probe: Call) -> None:
        self.key = key
        self.what = what
        self.port = 0
        self.starts: list[float] = []  # seconds from the spawn to the first answer
        self._command = command
        self._probe = probe
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self, cores: set[int]) -> None:
        """Start it on these cores, and wait until it has answered a call."""
        self.port = _free_port()
        command = [part.replace(PORT, str(self.port)) for part in self._command]
        begun = time.perf_counter()
        self._process = _spawn(command, cores)
        while not await self._has_answered():
            if self._process.poll() is not None or time.perf_counter() - begun > _START_S:
                raise WrongAnswerError(f"{self.what} did not start: {' '.join(command)}")
            await asyncio.sleep(_POLL_S)
        self.starts.append(time.perf_counter() - begun)

    async def _has_answered(self) -> bool:
        try:
            check(await ask(self.port, self._probe.request), self._probe.expected)
        except ConnectionError:
            return False
        return True

    def cpu_seconds(self) -> float:
        """The processor time that all its threads have used, those that have ended included."""
        assert self._process is not None
        return time.clock_gettime(~self._process.pid << 3 | _CPU_CLOCK)

    def resident_mb(self) -> float:
        """The memory that the process occupies right now."""
        assert self._process is not None
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("the kernel does not say how large the process is")

    def end(self) -> None:
        """End the process, if it runs; one that hangs is killed."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def seconds_of_help() -> float:
    """How long `sandbar --help` takes, from the shell's point of view."""
    begun = time.perf_counter()
    subprocess.run([SANDBAR, "--help"], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return time.perf_counter() - begun


def _spawn(command: Sequence[str], cores: set[int]) -> subprocess.Popen[bytes]:
    """A process on these cores from its first moment: some runtimes count them only once."""
    own = os.sched_getaffinity(0)
    settings = {k: v for k, v in os.environ.items() if not k.startswith("SANDBAR_")}
    os.sched_setaffinity(0, cores)
    try:
        return subprocess.Popen(command, cwd=ROOT, env=settings, stdout=subprocess.DEVNULL)
    finally:
        os.sched_setaffinity(0, own)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
