"""The real @modelcontextprotocol/server-memory, spoken to over stdio."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.mcp_clients.node import NODE, environment, package


class MemoryServer:
    """A running server that keeps its memory in a file; use it in a `with` statement."""

    def __init__(self, file: Path) -> None:
        program = package("@modelcontextprotocol/server-memory") / "dist" / "index.js"
        self._process = subprocess.Popen(
            [str(NODE), str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment({"MEMORY_FILE_PATH": str(file)}),
        )
        self._id = 0
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self._ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> MemoryServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; its structured answer."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._id:
                assert "result" in message, message
                return message["result"]
        raise AssertionError("the server has gone")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
