"""A real PostgreSQL server on a free port, in a temporary directory, that cannot outlive its owner.

    with PostgresServer() as server:
        connection = psycopg.connect(server.create_database())

The supervisor beside this file runs it. fsync stays on: what the tests say about durability must be
true. Nobody is asked for a password: only loopback and a private socket lead here, and the data are
made up.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import LiteralString
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql

from tests.postgres_supervisor import (
    DATA,
    LOG_FILE,
    READY_FILE,
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    SUPERUSER,
    TEMPORARY_PREFIX,
    find_program,
    servant,
)
from tests.set_up import SetUpFailed

_SUPERVISOR = Path(__file__).with_name("postgres_supervisor.py")


class PostgresServer:
    """One server. Without a directory it makes one and removes it at the end.

    A directory that is given (see `new_directory`) is kept, so that `start` after `stop` or `kill`
    finds the same data. `owner` is the process whose end must be the server's end too.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        owner: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._keep = directory is not None
        self.directory = directory or new_directory()
        self.supervisor = 0
        self.port = 0
        self._owner = owner or os.getpid()
        self._settings = dict(settings or {})
        self._names = count(1)
        self._child = 0  # the supervisor again, if it is a child of this very process

    def __enter__(self) -> PostgresServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> PostgresServer:
        """Return when the server answers."""
        assert not self.supervisor, "the server is running"
        try:
            find_program("initdb")  # says its one clear sentence before anything is begun
        except RuntimeError as error:
            raise SetUpFailed("PostgreSQL", str(error)) from error
        (self.directory / READY_FILE).unlink(missing_ok=True)
        settings = [f"{name}={value}" for name, value in self._settings.items()]
        self._child = _spawn(
            [sys.executable, str(_SUPERVISOR), str(self._owner), str(self.directory), *settings]
        )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not (self.directory / READY_FILE).exists():
            if _ended_within(self._child, 0) or time.monotonic() > deadline:
                _send(self._child, signal.SIGKILL)
                raise RuntimeError(f"PostgreSQL did not start:\n{self.log()[-2000:]}")
            time.sleep(0.02)
        return self.attach()

    def attach(self) -> PostgresServer:
        """Use, and be able to stop, the server that another process started in the directory."""
        supervisor, port = (self.directory / READY_FILE).read_text().split()
        self.supervisor, self.port = int(supervisor), int(port)
        return self

    def stop(self) -> None:
        """Shut down cleanly; on a server that is not running it only tidies up."""
        if self.supervisor:
            _send(self.supervisor, signal.SIGTERM)
            assert _ended_within(self.supervisor, STOP_TIMEOUT_S + 5), "PostgreSQL did not stop"
        if self._child:
            os.waitpid(self._child, 0)
        self.supervisor = self.port = self._child = 0
        if not self._keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def kill(self) -> None:
        """The power cut: SIGKILL for every process of the server; nothing more is flushed."""
        _send(self.pids()[0], signal.SIGSTOP)  # it would start others meanwhile, and they stay
        for pid in self.pids():
            _send(pid, signal.SIGKILL)
        self.stop()

    def pids(self) -> list[int]:
        """The server's processes, its first one first."""
        first = int((self.directory / DATA / "postmaster.pid").read_text().split("\n", 1)[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def log(self) -> str:
        """What the server has written so far."""
        path = self.directory / LOG_FILE
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def url(self) -> str:
        """The superuser's address of the maintenance database, over TCP."""
        return self.url_of("postgres")

    @property
    def socket_url(self) -> str:
        """The same address over the Unix socket."""
        folder = quote(str(self.directory), safe="")
        return f"postgresql://{SUPERUSER}@{folder}:{self.port}/postgres"

    def url_of(self, database: str, user: str = SUPERUSER) -> str:
        """The address of one database, as any role."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str | None = None, *, template: str | None = None) -> str:
        """Make a database, empty or like that at an address; return its superuser address.

        Nobody may be connected to a template while it is copied.
        """
        name = name or f"fresh_{os.getpid()}_{next(self._names)}"
        source = "template0" if template is None else _database_of(template)
        self._execute("CREATE DATABASE {} TEMPLATE {}", name, source)
        return self.url_of(name)

    def drop_database(self, url: str) -> None:
        """Remove a database at once, whoever is still connected to it."""
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", _database_of(url))

    def _execute(self, statement: LiteralString, *names: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def new_directory(parent: Path = Path("/tmp")) -> Path:
    """A directory for a server: its user may write there, and the path is short (sockets)."""
    directory = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=parent))
    user = servant()
    if user is not None:
        os.chown(directory, user.pw_uid, user.pw_gid)
    return directory


def _database_of(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def _spawn(command: list[str]) -> int:
    """Start a program that may outlive this process, deaf to the terminal's Ctrl-C."""
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
    return os.posix_spawn(command[0], command, os.environ, file_actions=quiet, setsid=True)


def _ended_within(pid: int, seconds: float) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def _send(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass
