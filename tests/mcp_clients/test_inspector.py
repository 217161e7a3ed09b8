"""Inspector's command line in its three eras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.minimal import MinimalServer
from tests.live_server import LiveServer
from tests.mcp_clients import node
from tests.mcp_clients.inspector import CLI, Ready
from tests.mcp_clients.scene import BOOT, BOOT_NAME, BOOT_URI, FIND

pytestmark = pytest.mark.xdist_group("mcp-clients")

ERAS = ("legacy", "auto", "modern")
_PORTABILITY_ERROR = 6


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    """The command line, loaded once for all tests of this file."""
    with Ready(CLI, {"HOME": str(tmp_path_factory.mktemp("inspector"))}) as ready:
        yield ready


@pytest.mark.parametrize(
    ("era", "view"),
    [
        *((era, "") for era in ERAS),
        *(("legacy", f"?tools={name}") for name in ("core", "full", "all")),
    ],
)
def test_it_lists_portable_tools(era: str, view: str, live: LiveServer, inspector: Ready) -> None:
    listed = _inspect(live, era, inspector, view, "--method", "tools/list", "--strict")
    assert FIND in [tool["name"] for tool in listed["tools"]]


@pytest.mark.parametrize("era", ERAS)
def test_it_calls(era: str, live: LiveServer, inspector: Ready) -> None:
    words = ["--tool-name", FIND, "--tool-args-json", json.dumps({"entity": BOOT})]
    result = _inspect(live, era, inspector, "", "--method", "tools/call", *words)
    assert result["structuredContent"]["entity"]["ident"] == BOOT


@pytest.mark.parametrize("era", ERAS)
def test_it_reads(era: str, live: LiveServer, inspector: Ready) -> None:
    result = _inspect(live, era, inspector, "", "--method", "resources/read", "--uri", BOOT_URI)
    assert BOOT_NAME in result["contents"][0]["text"]


def test_strict_objects_to_a_schema_that_some_clients_refuse(
    inspector: Ready, tmp_path: Path
) -> None:
    """Also when the program is started as a person does."""
    with MinimalServer({"anything": True}) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        words = _words(url, "", "legacy", "--method", "tools/list", "--strict")
        launcher = CLI.path.parents[2] / "launcher" / "build" / "index.js"
        started = node.run(launcher, "--cli", *words, variables={"HOME": str(tmp_path)})
        for done in (inspector.run(*words), started):
            assert done.returncode == _PORTABILITY_ERROR, done.stdout + done.stderr


def _inspect(
    live: LiveServer, era: str, inspector: Ready, view: str, *words: str
) -> dict[str, Any]:
    done = inspector.run(*_words(f"{live.url}{view}", live.token, era, *words))
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr}"
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return result


def _words(url: str, token: str, era: str, *words: str) -> list[str]:
    return [
        *(url, "--transport", "http", "--protocol-era", era),
        *("--header", f"Authorization: Bearer {token}", "--stored-auth-only", "--format", "json"),
        *words,
    ]
