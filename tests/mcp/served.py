"""A server in this process, on a real port, with a real database; and clients for it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from sandbar.access import Role as Role
from sandbar.access import add_account, install_access
from sandbar.app import make_app
from sandbar.database import Database, open_database
from sandbar.model import Update
from sandbar.serving import Serving
from tests.edge.live import PromptServer, Speaking
from tests.mcp.without_tls import WITHOUT_TLS

MODERN = "2026-07-28"
OLD = "2025-11-25"


class Served:
    """A running server and its database."""

    def __init__(self, database: Database, port: int, path: Path | str = "") -> None:
        self.db = database
        self.path = path
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._tokens: dict[tuple[str, str], str] = {}

    def token(self, role: Role = "admin", workspace: str = "main") -> str:
        """The key of an account with this role, made when it is first wanted."""
        if (role, workspace) not in self._tokens:
            home = self.db.in_workspace(workspace).workspace
            install_access(home)
            made = add_account(home, f"test-{role}", role=role)
            unlimited = Update(entity=made.account.entity_id, set={"auth/rate-limit": 0})
            home.transact([unlimited], principal="tests")
            self._tokens[role, workspace] = made.token
        return self._tokens[role, workspace]

    def keep_token(self, role: Role, token: str) -> None:
        """Sign in with a key that is known from before."""
        self._tokens[role, "main"] = token

    def post(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        role: Role = "admin",
        query: str = "",
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """A bare request, as the seeds' scripts send it."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
        if params is not None:
            body["params"] = params
        sent = {"Authorization": f"Bearer {self.token(role)}", **(headers or {})}
        with httpx2.Client(verify=WITHOUT_TLS) as client:
            answer = client.post(self.url + query, headers=sent, json=body, timeout=30)
        found: dict[str, Any] = answer.json()
        return found

    def call(self, name: str, arguments: dict[str, Any], **more: Any) -> Any:
        """A bare tool call; its payload."""
        answer = self.post("tools/call", {"name": name, "arguments": arguments}, **more)
        assert "result" in answer, answer
        assert not answer["result"].get("isError"), answer
        return json.loads(answer["result"]["content"][0]["text"])

    def modern(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        role: Role = "admin",
        query: str = "",
    ) -> tuple[int, dict[str, Any]]:
        """A 2026-07-28 request: its status and its answer."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**(params or {}), "_meta": meta},
        }
        headers = {
            "Authorization": f"Bearer {self.token(role)}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
        }
        name = (params or {}).get("name") or (params or {}).get("uri")
        if method in ("tools/call", "prompts/get", "resources/read") and name is not None:
            headers["Mcp-Name"] = name
        with httpx2.Client(verify=WITHOUT_TLS) as client:
            answer = client.post(self.url + query, headers=headers, json=body, timeout=30)
        return answer.status_code, answer.json()

    @asynccontextmanager
    async def client(
        self,
        mode: str,
        *,
        role: Role = "admin",
        workspace: str = "main",
        query: str = "",
        **more: Any,
    ) -> AsyncIterator[Client]:
        """The SDK's own client, signed in; `mode` is auto, legacy or a revision."""
        token = await anyio.to_thread.run_sync(self.token, role, workspace)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(verify=WITHOUT_TLS, headers=headers, timeout=30) as http:
            transport = streamable_http_client(self.url + query, http_client=http)
            async with Client(transport, mode=mode, **more) as client:
                yield client


@contextmanager
def serving(path_or_url: Path | str, packs: tuple[str, ...] = ("zorp",)) -> Iterator[Served]:
    """Serve a database until the context ends."""
    with open_database(path_or_url, server=True) as database:
        install_access(database.workspace)
        for pack in packs:
            database.load_pack(pack)
        with running(database) as served:
            served.path = path_or_url
            yield served


@contextmanager
def running(database: Database) -> Iterator[Served]:
    """Serve an open database."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        make_app(database, Serving()),
        http=Speaking,
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    server = PromptServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    try:
        yield Served(database, listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(15)
        listener.close()
        assert not thread.is_alive(), "the server did not stop"
