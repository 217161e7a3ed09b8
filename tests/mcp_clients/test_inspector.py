"""Inspector's command line in its three eras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.minimal import MinimalServer
from tests.live_server import LiveServer
from tests.mcp_clients import node
from tests.mcp_clients.scene import BOOT, BOOT_NAME, BOOT_URI, FIND

pytestmark = pytest.mark.xdist_group("mcp-clients")

ERAS = ("legacy", "auto", "modern")
_PORTABILITY_ERROR = 6


@pytest.mark.parametrize(
    ("era", "view"),
    [
        *((era, "") for era in ERAS),
        *(("legacy", f"?tools={name}") for name in ("core", "full", "all")),
    ],
)
def test_it_lists_portable_tools(era: str, view: str, live: LiveServer, tmp_path: Path) -> None:
    listed = _inspect(live, era, tmp_path, view, "--method", "tools/list", "--strict")
    assert FIND in [tool["name"] for tool in listed["tools"]]


@pytest.mark.parametrize("era", ERAS)
def test_it_calls(era: str, live: LiveServer, tmp_path: Path) -> None:
    words = ["--tool-name", FIND, "--tool-args-json", json.dumps({"entity": BOOT})]
    result = _inspect(live, era, tmp_path, "", "--method", "tools/call", *words)
    assert result["structuredContent"]["entity"]["ident"] == BOOT


@pytest.mark.parametrize("era", ERAS)
def test_it_reads(era: str, live: LiveServer, tmp_path: Path) -> None:
    result = _inspect(live, era, tmp_path, "", "--method", "resources/read", "--uri", BOOT_URI)
    assert BOOT_NAME in result["contents"][0]["text"]


def test_strict_objects_to_a_schema_that_some_clients_refuse(tmp_path: Path) -> None:
    with MinimalServer({"anything": True}) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        done = _run(url, "", "legacy", tmp_path, "--method", "tools/list", "--strict")
    assert done.returncode == _PORTABILITY_ERROR, done.stdout + done.stderr


def _inspect(live: LiveServer, era: str, home: Path, view: str, *words: str) -> dict[str, Any]:
    done = _run(f"{live.url}{view}", live.token, era, home, *words)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr}"
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return result


def _run(url: str, token: str, era: str, home: Path, *words: str) -> Any:
    program = node.package("@modelcontextprotocol/inspector") / "clients/launcher/build/index.js"
    return node.run(
        program,
        *("--cli", url, "--transport", "http", "--protocol-era", era),
        *("--header", f"Authorization: Bearer {token}", "--stored-auth-only", "--format", "json"),
        *words,
        variables={"HOME": str(home)},
    )
