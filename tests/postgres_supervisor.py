"""Runs one PostgreSQL server in the foreground, for as long as its owner lives.

A program, started by `PostgresServer` in a session of its own:

    python postgres_supervisor.py OWNER_PID DIRECTORY [name=value …]

It drops `initdb` and `postgres` to another user when it is root, and ends the server on SIGTERM or
when the owner's process ends for any reason, `kill -9` included. Should the supervisor itself be
killed, the kernel passes that on to the server. It imports nothing of ours and no driver.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
MAX_CONNECTIONS = 300
SUPERUSER = "postgres"
READY_FILE = "ready"  # appears when the server answers: the supervisor's pid and the port
LOG_FILE = "log"
DATA = "data"
TEMPORARY_PREFIX = "sandbar-pg-"  # directories that are removed when the owner has died
_PR_SET_PDEATHSIG = 1


def supervise(owner: int, directory: Path, settings: list[str]) -> int:
    """Run the server until the owner ends, the server ends, or a signal asks for it."""
    told = _readable_on(signal.SIGTERM, signal.SIGINT)
    owner_end = os.pidfd_open(owner)
    server, port = _start_server(directory, settings)
    try:
        _announce(directory, port)
        _wait_for_any(told, owner_end, os.pidfd_open(server.pid))
    finally:
        _stop_server(server)
        (directory / READY_FILE).unlink(missing_ok=True)
        if select.select([owner_end], [], [], 0)[0] and directory.name.startswith(TEMPORARY_PREFIX):
            shutil.rmtree(directory, ignore_errors=True)
    return 0


def find_program(name: str) -> str:
    """The path of a PostgreSQL program: on PATH, or the newest where Debian puts them."""
    versions = sorted(
        (path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / name).exists()),
        key=lambda path: float(path.parent.name),
    )
    found = shutil.which(name) or (str(versions[-1] / name) if versions else None)
    if found is None:
        raise RuntimeError(
            f"PostgreSQL's {name} was not found; install Debian's package 'postgresql' "
            "(scripts/ensure-postgres does it) or put its programs on PATH."
        )
    return os.path.realpath(found)  # its neighbours and libraries are found from where it really is


def servant() -> pwd.struct_passwd | None:
    """The user to become, or None to stay: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL does not run as root, and there is no user postgres or nobody.")


def _start_server(directory: Path, settings: list[str]) -> tuple[subprocess.Popen[bytes], int]:
    data = directory / DATA
    if not data.exists():
        # The sync that is left out is that of the empty template only; the server itself syncs.
        initdb = [find_program("initdb"), "-k", "--no-locale", "-E", "UTF8", "-A", "trust"]
        _as_servant(directory, [*initdb, "-U", SUPERUSER, "--no-sync", "-D", str(data)]).wait()
    for _ in range(5):  # another process may take the free port before the server does
        port = _free_port()
        server = _as_servant(directory, _server_command(directory, port, settings))
        if _answers(server, data / "postmaster.pid"):
            return server, port
        _stop_server(server)
    raise RuntimeError("PostgreSQL did not start")


def _server_command(directory: Path, port: int, settings: list[str]) -> list[str]:
    fixed = [
        "listen_addresses=127.0.0.1",
        f"port={port}",
        f"unix_socket_directories={directory}",
        f"max_connections={MAX_CONNECTIONS}",
        "fsync=on",
        "synchronous_commit=on",
    ]
    options = [word for setting in [*fixed, *settings] for word in ("-c", setting)]
    return [find_program("postgres"), "-D", str(directory / DATA), *options]


def _as_servant(directory: Path, command: list[str]) -> subprocess.Popen[bytes]:
    """Start a program as the unprivileged user, its output in the log, its life tied to ours."""
    user = servant()
    with (directory / LOG_FILE).open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=directory,
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # runs after the change of user, which would undo it
        )


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _answers(server: subprocess.Popen[bytes], pid_file: Path) -> bool:
    deadline = time.monotonic() + START_TIMEOUT_S
    while server.poll() is None and time.monotonic() < deadline:
        # A killed server leaves its file behind, so the first line must be ours; the last one
        # turns to "ready" when connections are accepted.
        text = pid_file.read_text().strip() if pid_file.exists() else ""
        if text.startswith(f"{server.pid}\n") and text.endswith("ready"):
            return True
        time.sleep(0.02)
    return False


def _announce(directory: Path, port: int) -> None:
    unfinished = directory / (READY_FILE + ".part")
    unfinished.write_text(f"{os.getpid()} {port}")
    unfinished.rename(directory / READY_FILE)  # whoever sees the file sees all of it


def _stop_server(server: subprocess.Popen[bytes]) -> None:
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):  # fast, immediate, never mind
        if server.poll() is None:
            server.send_signal(how)
        try:
            server.wait(STOP_TIMEOUT_S / 3)
        except subprocess.TimeoutExpired:
            continue
        return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _readable_on(*signals: signal.Signals) -> int:
    """A file descriptor that becomes readable when one of the signals has arrived."""
    reader, writer = os.pipe()
    for one in signals:
        signal.signal(one, lambda *_: os.write(writer, b".") and None)
    return reader


def _wait_for_any(*descriptors: int) -> None:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    poll.poll()


if __name__ == "__main__":
    sys.exit(supervise(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
