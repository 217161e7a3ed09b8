"""Doing what a reader of the seeds does: running the printed commands in a shell, with real curl.

The command stays as printed except for the address. What curl should tell us besides (headers,
progress) stands in a configuration file, where it changes no command.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx

from tests.mcp.without_tls import WITHOUT_TLS
from tests.seeds.printing import replaced

PRINTED_ADDRESS = "localhost:8080"
ACCOUNT = "claude"
KEY = "super-secret-mcp-key"
TOKEN = f"{ACCOUNT}:{KEY}"
PATIENCE_S = 10.0
LISTEN = 'curl -N http://localhost:8080/mcp/sse -H "Authorization: Bearer $SANDBAR_TOKEN"'


class Answer:
    """An HTTP answer, however it was got."""

    def __init__(self, status: int, headers: dict[str, str], body: str) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        """The body, which must be JSON and be called so."""
        assert self.headers["content-type"].split(";")[0] == "application/json", self.headers
        return json.loads(self.body)

    def result(self) -> Any:
        """The result of a JSON-RPC answer that is no error."""
        assert self.status == 200, (self.status, self.body)
        message = self.json()
        assert message["jsonrpc"] == "2.0"
        assert "error" not in message, message
        return message["result"]

    def error(self) -> Any:
        """The error of a JSON-RPC answer."""
        message = self.json()
        assert message["jsonrpc"] == "2.0"
        assert "result" not in message, message
        return message["error"]


def payload(result: dict[str, Any]) -> Any:
    """What a tool answered: the JSON in `content[0].text`, the same as the structured content."""
    assert result["content"][0]["type"] == "text"
    inner = json.loads(result["content"][0]["text"])
    assert inner == result["structuredContent"]
    return inner


def rpc(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """A request as a small script writes it."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    return message if params is None else message | {"params": params}


def post(address: str, body: Any, *, token: str | None = TOKEN, path: str = "/mcp") -> Answer:
    """Post a JSON-RPC message as a small script would: no session, no Accept, no version."""
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    content = body if isinstance(body, str) else json.dumps(body)
    response = httpx.post(
        f"http://{address}{path}",
        content=content,
        headers=headers,
        timeout=PATIENCE_S,
        verify=WITHOUT_TLS,
    )
    return Answer(response.status_code, dict(response.headers), response.text)


def call(address: str, tool: str, arguments: dict[str, Any], *, token: str = TOKEN) -> Any:
    """The result of a tool call."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params}
    return post(address, body, token=token).result()


def shell(command: str, address: str, folder: Path, *, token: str | None = TOKEN) -> Answer:
    """Run a printed command with bash; the token stands in the environment, as the seed says."""
    headers = folder / "headers.txt"
    process = subprocess.run(
        ["bash", "-c", replaced(command, PRINTED_ADDRESS, address)],
        env=_environment(folder, headers, token),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    status, fields = _read_headers(headers)
    return Answer(status, fields, process.stdout)


def _environment(folder: Path, headers: Path, token: str | None) -> dict[str, str]:
    (folder / ".curlrc").write_text(f'silent\nshow-error\ndump-header = "{headers}"\n')
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "CURL_HOME": str(folder)}
    return environment if token is None else environment | {"SANDBAR_TOKEN": token}


def _read_headers(path: Path) -> tuple[int, dict[str, str]]:
    first, *lines = path.read_text().split("\n\n")[0].splitlines()
    pairs = (line.split(":", 1) for line in lines if line)
    return int(first.split()[1]), {name.lower(): value.strip() for name, value in pairs}


class ShellStream:
    """A printed command that does not end: its server-sent events, as they come."""

    def __init__(self, command: str, address: str, folder: Path) -> None:
        self._headers = folder / "stream-headers.txt"
        self._process = subprocess.Popen(
            ["bash", "-c", replaced(command, PRINTED_ADDRESS, address)],
            env=_environment(folder, self._headers, TOKEN),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._messages: queue.Queue[Any] = queue.Queue()
        self._opened = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._opened.set()
            if line.startswith("data:") and line.removeprefix("data:").strip():
                self._messages.put(json.loads(line.removeprefix("data:")))
        self._messages.put(None)

    def next(self, timeout_s: float = PATIENCE_S) -> Any:
        """The next message; `queue.Empty` if none comes."""
        message = self._messages.get(timeout=timeout_s)
        assert message is not None, "the stream has ended"
        return message

    def until(self, method: str, timeout_s: float = PATIENCE_S) -> Any:
        """The next notification of this method; others are passed over."""
        while True:
            message = self.next(timeout_s)
            if message.get("method") == method:
                return message

    def wait_until_open(self) -> None:
        """Return when the server has begun to stream: from then on nothing is missed."""
        assert self._opened.wait(PATIENCE_S), "the stream was not opened"
        assert self.headers()[0] == 200

    def headers(self) -> tuple[int, dict[str, str]]:
        """Status and headers; only once something has come."""
        return _read_headers(self._headers)

    def close(self) -> None:
        """End the command."""
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> ShellStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
