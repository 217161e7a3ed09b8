"""The real program `sandbar`, run as a person runs it: no variable of the tests' own reaches it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

from sandbar.cli.main import main
from tests.ready_program import Started, answered, started

PROGRAM = Path(sys.executable).parent / "sandbar"
Answer = subprocess.CompletedProcess[str]

_READY = re.compile(r"Sandbar is ready at (http://\S+/mcp)\n")
_READY_S_MAX = 30
_STATE = Path(tempfile.gettempdir()) / f"sandbar-tests-state-{os.getuid()}"


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without settings of Sandbar but these; its state is kept apart from ours."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("SANDBAR_")}
    return plain | {"COLUMNS": "100", "XDG_STATE_HOME": str(_STATE)} | dict(extra or {})


def run(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Answer:
    """The program's answer to a command line."""
    return answered(words, cwd, environment(env), timeout_s=60)


def run_well(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """What the program prints, if all goes well."""
    return _well(run(*words, cwd=cwd, env=env))


def run_well_here(
    *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """The same without a process of its own."""
    return _well(run_here(*words, cwd=cwd, env=env))


def _well(answer: Answer) -> str:
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def run_here(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Answer:
    """The same without a process of its own, in a quarter of the time: for dozens of commands."""
    told, wrong = _captured(), _captured()
    before = (Path.cwd(), dict(os.environ), sys.argv, sys.stdin)
    code: int | str | None = 0
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        try:
            os.chdir(cwd or before[0])
            os.environ.clear()
            os.environ.update(environment(env))
            sys.argv, sys.stdin = [str(PROGRAM), *words], nothing
            with redirect_stdout(told), redirect_stderr(wrong):
                main()
        except SystemExit as end:
            code = end.code
        finally:
            os.chdir(before[0])
            os.environ.clear()
            os.environ.update(before[1])
            sys.argv, sys.stdin = before[2:]
    return Answer(list(words), int(code or 0), _text(told), _text(wrong))


def _captured() -> TextIOWrapper:
    return TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True)


def _text(captured: TextIOWrapper) -> str:
    buffer = captured.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue().decode("utf-8")


class Running:
    """A server that is ready."""

    def __init__(self, process: Started) -> None:
        self.process = process
        self.said = ""
        self._lines = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.wait_for(_READY)[1]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._lines:
                self.said += line
                self._lines.notify_all()
        with self._lines:
            self.said += "\n<end>\n"
            self._lines.notify_all()

    def wait_for(self, wanted: re.Pattern[str]) -> re.Match[str]:
        """The first match in what the server says on stdout."""
        with self._lines:
            self._lines.wait_for(
                lambda: wanted.search(self.said) or "<end>" in self.said, _READY_S_MAX
            )
            found = wanted.search(self.said)
        if found is None:
            self.process.kill()
            raise AssertionError(f"{wanted.pattern!r} is not in {self.said!r}; {self._errors()}")
        return found

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        """Ask the server to end and wait; returns its log."""
        self.process.send_signal(how)
        self.process.wait(timeout=30)
        return self._errors()

    def _errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def serving(
    *words: str, cwd: Path | None = None, command: str = "serve", port: str = "0"
) -> Iterator[Running]:
    """A server on a free port, ended afterwards."""
    process = started([command, "--port", port, *words], cwd, environment())
    try:
        yield Running(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
