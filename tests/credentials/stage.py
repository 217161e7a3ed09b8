"""A server at its most talkative, with a pack that breaks, and everything it says kept."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from sandbar.cli.main import main
from tests.credentials.canaries import Haystack
from tests.credentials.knocking import Answer, Door, Knock, Lane, bearer, knock
from tests.live_server import (
    COMMAND_TIMEOUT_S,
    SANDBAR,
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    environment,
)
from tests.ready_program import answered

TOLD_TIMEOUT_S = 20
_READY = re.compile(r"http://127\.0\.0\.1:(\d+)/mcp")

# A pack as a third party would bring it: installed, with an entry point of its own.
_CODE = """
import logging
import msgspec
from sandbar.verbs import Content, Verb

class Given(msgspec.Struct, frozen=True):
    text: str

def _break(context, arguments):
    logging.getLogger("broken.pack").error("somebody said %s", arguments.text)
    raise RuntimeError(f"no {arguments.text} here")

VERBS = (
    Verb(name="broken_tool", title="Broken", description="Always breaks.", access="read",
         arguments=Given, result=Content, run=_break, is_exact=True,
         input_schema={"type": "object", "properties": {"text": {"type": "string"}}}),
)
"""


def install_broken_pack(folder: Path) -> Path:
    """What to put on PYTHONPATH."""
    (folder / "broken_pack").mkdir(parents=True)
    (folder / "broken_pack" / "__init__.py").write_text("")
    (folder / "broken_pack" / "code.py").write_text(_CODE)
    pack = {"name": "broken", "title": "Broken", "version": "1.0.0", "description": "Breaks."}
    (folder / "broken_pack" / "pack.json").write_text(json.dumps(pack))
    told = folder / "broken_pack-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-pack\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[sandbar.packs]\nbroken = broken_pack.code\n")
    return folder


class Stage:
    """One database, its server, the command line; all outputs go to the haystack."""

    def __init__(self, folder: Path, database: str) -> None:
        self.hay = Haystack()
        self.folder = folder
        self._log = folder / "server.log"
        packs = install_broken_pack(folder / "site")
        paths = [str(packs), *filter(None, [os.environ.get("PYTHONPATH")])]
        # Not as an argument: those are for everybody on the machine to see.
        self.variables = {
            **environment(),
            "PYTHONPATH": os.pathsep.join(paths),
            "SANDBAR_DATABASE": database,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.door = Door(0)

    def run(self, *words: str, place: str | None = None, **variables: str) -> str:
        """A command, to its end, whatever that is; in this process, which saves a second each."""
        said = io.TextIOWrapper(io.BytesIO(), write_through=True)
        kept = dict(os.environ), sys.argv
        sys.argv = [str(SANDBAR), *words]
        try:
            os.environ.clear()
            os.environ.update(self.variables | variables)
            with redirect_stdout(said), redirect_stderr(said), suppress(SystemExit):
                main()
        finally:
            os.environ.clear()
            os.environ.update(kept[0])
            sys.argv = kept[1]
        said.seek(0)
        return self._keep(words, place, said.read())

    def run_apart(self, *words: str, place: str | None = None, **variables: str) -> str:
        """The same in a process of its own."""
        done = answered(words, None, self.variables | variables, COMMAND_TIMEOUT_S)
        return self._keep(words, place, done.stdout + done.stderr)

    def _keep(self, words: tuple[str, ...], place: str | None, said: str) -> str:
        self.hay.add(place or f"output of sandbar {' '.join(words[:2])}", said)
        return said

    def serve(self) -> None:
        """Start the server, its log at its longest."""
        words = ["serve", "--port", "0", "--log-level", "debug", "--pack", "broken"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(SANDBAR), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.variables,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while (found := _READY.search(self._log.read_text())) is None:
            assert self._process.poll() is None, self._log.read_text()[-4000:]
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.02)
        self.door = Door(int(found[1]))
        for name in ("cmdline", "comm", "status"):
            said = Path(f"/proc/{self._process.pid}/{name}").read_bytes()
            self.hay.add(f"/proc of the server: {name}", said)

    def stop(self) -> None:
        """Stop it, and keep its log."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None
            self.hay.add("the server's log", self._log.read_bytes())

    @property
    def log(self) -> str:
        """What the server has logged so far."""
        return self._log.read_text()

    def knock(self, one: Knock, lane: Lane = "bare", place: str = "HTTP") -> Answer:
        """A request; its answer is kept, headers included."""
        answer = knock(self.door, lane, one)
        self.hay.add(f"{place}: headers", repr(answer.headers))
        self.hay.add(f"{place}: body", answer.body)
        return answer

    def call(self, token: str, tool: str, arguments: Any, place: str | None = None) -> Any:
        """Call a tool; its answer."""
        params = {"name": tool, "arguments": arguments}
        return self.ask(token, "tools/call", params, place or f"answer of {tool}")

    def ask(self, token: str, method: str, params: Any, place: str | None = None) -> Any:
        """Any request; its answer."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        one = Knock((bearer(token),), message=message)
        answer = self.knock(one, place=place or f"answer of {method}")
        return answer.json()

    @contextmanager
    def listening(self, token: str) -> Iterator[None]:
        """Keep what everybody is told meanwhile; there is something, and it has come by then."""
        connection = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=60)
        connection.request("GET", "/mcp/sse", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        is_told = threading.Event()

        def read() -> None:
            with suppress(OSError, http.client.HTTPException):  # until it is hung up
                while piece := response.read1():
                    self.hay.add("the stream", piece)
                    if b"list_changed" in self.hay.places["the stream"]:
                        is_told.set()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
            assert is_told.wait(TOLD_TIMEOUT_S), "the stream was told nothing"
        finally:
            connection.sock.shutdown(socket.SHUT_RDWR)
            reader.join()
            response.close()
            connection.close()
