"""A real `sandbar serve` in a process of its own, for whoever wants to talk to it over HTTP.

    with LiveServer(tmp_path / "live.db", packs=["zorp"]) as server:
        httpx.post(server.url, headers=server.headers, json={…})

It listens on a free port of loopback and has an administrator's account. Its log is kept, and an
error in it fails whoever stops the server, unless something worse has happened already.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.ready_program import Started, answered, started_with_log

SANDBAR = Path(sys.executable).with_name("sandbar")
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 15
COMMAND_TIMEOUT_S = 60

# Nothing that is caught is written as a traceback; it is a line of the log at this level.
_DEFECT = re.compile(r'Traceback|"level": "(error|critical)"')
_ADDRESS = re.compile(r"https?://[\w.\[\]:]+?:(\d+)/mcp")


class LiveServer:
    """One server on one database: a path or a postgresql:// URL.

    `options` are further words for `sandbar serve`. With `--public-url` give the port as well: the
    address that the server prints may then be the proxy's.
    """

    def __init__(
        self,
        database: str | Path,
        *,
        packs: Sequence[str] = (),
        options: Sequence[str] = (),
        port: int = 0,
        account: str = "tests",
    ) -> None:
        self.database = str(database)
        self.port = port
        self.token = ""
        self.program = [str(SANDBAR)]  # another one has a defect, to be caught
        self._account = account
        self._packs = list(packs)
        self._options = list(options)
        self._process: Started | subprocess.Popen[bytes] | None = None
        self._log = Path(tempfile.gettempdir()) / f"sandbar-serve-{secrets.token_hex(8)}.log"
        self._log_of_the_past = ""  # of earlier runs of this server

    def __enter__(self) -> LiveServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop(is_lenient=kind is not None)

    @property
    def base_url(self) -> str:
        """The server's address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The MCP endpoint."""
        return f"{self.base_url}/mcp"

    @property
    def headers(self) -> dict[str, str]:
        """What signs a request in as the administrator."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self) -> LiveServer:
        """Return when the server answers."""
        assert self._process is None, "the server is running"
        if not self.token:
            self.token = self.add_account(self._account, "admin")
        words = ["serve", "--database", self.database, "--port", str(self.port)]
        for pack in self._packs:
            words += ["--pack", pack]
        with self._log.open("ab") as log:
            self._process = self._started([*words, *self._options], log.fileno())
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop(is_lenient=True)
                raise AssertionError(f"the server did not start:\n{self.log()[-4000:]}")
            time.sleep(0.02)
        return self

    def _started(self, words: list[str], log: int) -> Started | subprocess.Popen[bytes]:
        if self.program == [str(SANDBAR)]:
            return started_with_log(words, environment(), log)
        return subprocess.Popen(
            [*self.program, *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(),
        )

    def stop(self, *, is_lenient: bool = False) -> None:
        """End the process; object to errors in its log, unless lenient."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        has_stopped = True
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            has_stopped = False
            process.kill()
            process.wait()
        self._log_of_the_past = self.log()
        self._log.unlink()
        if not is_lenient:
            assert has_stopped, f"the server did not stop:\n{self.log()[-4000:]}"
            self.check_log()

    def log(self) -> str:
        """What the server has written so far."""
        now = self._log.read_text(errors="replace") if self._log.exists() else ""
        return self._log_of_the_past + now

    def check_log(self) -> None:
        """An error in the log is a defect, whatever the clients were told."""
        log = self.log()
        defects = [line for line in log.splitlines() if _DEFECT.search(line)]
        assert not defects, "the server logged errors:\n" + "\n".join(defects)[-8000:]

    def add_account(self, name: str, role: str) -> str:
        """Make an account beside the running server; its token."""
        key = secrets.token_hex(16)
        self.sandbar("account", "add", name, "--api-key", key, "--role", role)
        return f"{name}:{key}"

    def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Call a verb as another process does: with the command line, on the database itself."""
        return json.loads(self.sandbar("call", verb, "--json", json.dumps(arguments)))

    def sandbar(self, *words: str) -> str:
        """Run a command on this database; what it printed."""
        return sandbar(*words, "--database", self.database)

    def _is_ready(self) -> bool:
        if not self.port:
            found = _ADDRESS.search(self._log.read_text(errors="replace"))
            if found is None:
                return False
            self.port = int(found[1])
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_TIMEOUT_S)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status > 0
        except ConnectionRefusedError:
            return False
        finally:
            connection.close()


def sandbar(*words: str) -> str:
    """Run a command to its end; what it printed."""
    done = answered(words, None, environment(), COMMAND_TIMEOUT_S)
    assert done.returncode == 0, f"sandbar {' '.join(words)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def environment() -> dict[str, str]:
    """The variables of this process, without settings that somebody has made for themselves."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SANDBAR_")}
