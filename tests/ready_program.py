"""The program, ready to run: a process that has loaded everything forks another for each command.

Loading takes half a second of a core, for commands that take a hundredth; and there are hundreds of
them. What runs is the program's own `main`, in a process of its own, with its own environment,
folder, standard streams and signals; `tests/cli/test_program.py` starts it from its file as well.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import typer.main

ROOT = Path(__file__).parents[1]

_REQUEST_BYTES_MAX = 1 << 17
_LOADED = (
    "sandbar.database", "sandbar.app", "sandbar.cli.main", "sandbar.cli.serving",
    "sandbar.cli.checks", "sandbar.cli.problems", "sandbar.cli.showing", "typer._adapters",
    "typer.rich_utils", "rich._emoji_codes", "rich.progress",
)  # fmt: skip
_ASKING_S_MAX = 10.0
_HOW_OFTEN_S = 1.0  # the nursery looks whether those whom it serves are there


class Started:
    """A running program: what its tests need of `subprocess.Popen`."""

    def __init__(
        self, channel: socket.socket, stdout: IO[str] | None = None, stderr: IO[str] | None = None
    ) -> None:
        self._channel = channel
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None
        self.pid = int(channel.recv(100))
        self._lock = threading.Lock()

    def send_signal(self, how: int) -> None:
        """Send a signal, unless it is known to have ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, how)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """How it ended, if it has."""
        try:
            return self.wait(timeout=0.001)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, when it has."""
        with self._lock:
            if self.returncode is None:
                self._channel.settimeout(timeout)
                try:
                    self.returncode = int(self._channel.recv(100))
                except TimeoutError:
                    raise subprocess.TimeoutExpired("sandbar", timeout or 0) from None
                self._channel.close()
        return self.returncode


def started(words: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> Started:
    """Run a command; its standard output and error are pipes."""
    told, told_end = os.pipe()
    wrong, wrong_end = os.pipe()
    channel = _asked(words, cwd, env, told_end, wrong_end)
    return Started(channel, _text(told), _text(wrong))


def started_with_log(words: Sequence[str], env: Mapping[str, str], log: int) -> Started:
    """Run a command; all that it says goes to a file."""
    return Started(_asked(words, None, env, os.dup(log), os.dup(log)))


def answered(
    words: Sequence[str], cwd: Path | None, env: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+b") as told, tempfile.TemporaryFile("w+b") as wrong:
        ends = os.dup(told.fileno()), os.dup(wrong.fileno())
        process = Started(_asked(words, cwd, env, *ends))
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        texts = []
        for file in (told, wrong):
            file.seek(0)
            texts.append(file.read().decode("utf-8").replace("\r\n", "\n"))
    return subprocess.CompletedProcess(list(words), code, *texts)


def _text(end: int) -> IO[str]:
    return cast(IO[str], os.fdopen(end, encoding="utf-8"))


def _asked(
    words: Sequence[str], cwd: Path | None, env: Mapping[str, str], told: int, wrong: int
) -> socket.socket:
    """Ask the nursery for a process; what it tells comes by the channel: its number, its end."""
    request = json.dumps([list(words), str(cwd or Path.cwd()), dict(env)]).encode()
    assert len(request) < _REQUEST_BYTES_MAX
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(_nursery())
    socket.send_fds(channel, [request], [told, wrong])
    os.close(told)
    os.close(wrong)
    return channel


@cache
def _nursery() -> str:
    """The address of this process's nursery, which is made when it is first needed."""
    folder = Path(tempfile.mkdtemp(prefix="sandbar-ready-"))
    address = str(folder / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(64)
        nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.ready_program", str(listener.fileno())],
            cwd=ROOT,
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def end() -> None:
        nursery.kill()
        nursery.wait()
        Path(address).unlink(missing_ok=True)
        folder.rmdir()

    atexit.register(end)
    return address


# --- the nursery ---------------------------------------------------------------------------------


def _serve(listener: socket.socket) -> None:
    _make_ready()
    parent = os.getppid()
    with selectors.DefaultSelector() as watched:
        watched.register(listener, selectors.EVENT_READ)
        while os.getppid() == parent:
            for key, _ in watched.select(_HOW_OFTEN_S):
                if key.fileobj is listener:
                    _begin(watched, listener.accept()[0])
                else:
                    _say_how_it_ended(watched, key)


def _make_ready() -> None:
    """Load the program and build its commands; what is there is garbage to nobody who follows.

    A look through it for garbage would copy it for each of them.
    """
    for name in _LOADED:
        import_module(name)
    typer.main.get_command = cache(typer.main.get_command)
    main = import_module("sandbar.cli.main")
    for word in ("", *main.COMMANDS):
        typer.main.get_command(main.program(word))
    gc.collect()
    gc.freeze()


def _begin(watched: selectors.BaseSelector, channel: socket.socket) -> None:
    """Start a process and say which one it is."""
    channel.settimeout(_ASKING_S_MAX)
    try:
        request, ends, _, _ = socket.recv_fds(channel, _REQUEST_BYTES_MAX, 2)
    except OSError:
        request, ends = b"", []
    if not request:  # whoever asked has gone before saying for what
        channel.close()
        return
    pid = os.fork()
    if pid == 0:
        _let_go(watched)
        channel.close()
        _become(*json.loads(request), *ends)
    for end in ends:
        os.close(end)
    _told(channel, str(pid))
    watched.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, channel))


def _let_go(watched: selectors.BaseSelector) -> None:
    """Close, in a new process, what belongs to the nursery and to the others."""
    for key in list(watched.get_map().values()):
        os.close(key.fd)
        if key.data is not None:
            key.data[1].close()
    watched.close()


def _say_how_it_ended(watched: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, channel = key.data
    watched.unregister(key.fileobj)
    os.close(key.fd)
    _, status = os.waitpid(pid, 0)
    _told(channel, str(os.waitstatus_to_exitcode(status)))
    channel.close()


def _told(channel: socket.socket, text: str) -> None:
    try:
        channel.send(text.encode())
    except OSError:
        pass  # whoever asked has gone


def _become(words: list[str], cwd: str, env: dict[str, str], told: int, wrong: int) -> NoReturn:
    """What the interpreter does around `main`."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[1:1] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    os.dup2(told, 1)
    os.dup2(wrong, 2)
    for end in (told, wrong):
        os.close(end)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    sys.argv = [str(Path(sys.executable).with_name("sandbar")), *words]
    sys.modules["__main__"].__package__ = ""  # or else help would be on `python -m …`
    code = _exit_code_of(import_module("sandbar.cli.main").main)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _exit_code_of(main: Any) -> int:
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return int(end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)  # noqa: T201
        return 1
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
