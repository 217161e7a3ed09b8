"""The server over standard input and output, as desktop clients start it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

import sandbar
from tests.mcp.served import MODERN

pytestmark = pytest.mark.anyio

_SANDBAR = str(Path(sys.executable).parent / "sandbar")


def _command(path: Path) -> StdioServerParameters:
    return StdioServerParameters(command=_SANDBAR, args=["stdio", "--database", str(path)])


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_desktop_client(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "desk.db"
    with await anyio.to_thread.run_sync(sandbar.open, path) as db:
        await anyio.to_thread.run_sync(db.load_pack, "zorp")
        async with Client(_command(path), mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert "sandbar_entity_create" in tools
            slots = {"db/ident": "desk/one", "footwear/name": "One"}
            made = await client.call_tool(
                "sandbar_entity_create", {"class": "zorp/Boot", "attributes": slots}
            )
            assert not made.is_error, made.content
            read = await client.read_resource("mcp://sandbar/zorp/Boot/desk/one")
            assert json.loads(read.contents[0].text)["ident"] == "desk/one"  # type: ignore[union-attr]
            if mode == MODERN:
                await _hears_of_another_process(client, db)
        found = await anyio.to_thread.run_sync(db.get, "desk/one")
        assert found["footwear/name"] == "One"
        rows = db.journal.trail.rows(db.workspace.number, limit=100)
        asked = [(row.verb or row.method, row.is_success) for row in rows if row.surface == "stdio"]
        expected = ["resources/read", "entity.create", "tools/list"]
        assert [one for one in asked if one[0] in expected] == [(one, True) for one in expected]


async def _hears_of_another_process(client: Client, db: sandbar.Database) -> None:
    """What the process of this test commits is news to the program's client."""
    heard = []
    async with client.listen(tools_list_changed=True) as events:
        define = {"news/Thing": {"dt/subclass-of": "dt/Resource"}}
        await anyio.to_thread.run_sync(lambda: db.define(classes=define))
        with anyio.fail_after(5):
            async for event in events:
                heard.append(type(event).__name__)
                break
    assert heard == ["ToolsListChanged"]


async def test_what_was_asked_before_the_end_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "pipe.db"
    with await anyio.to_thread.run_sync(sandbar.open, path) as db:
        await anyio.to_thread.run_sync(db.load_pack, "zorp")
    greeting = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "pipe", "version": "1"}}
    find = {"name": "sandbar_entity_find", "arguments": {"entity": "dt/Class"}}
    search = {"name": "sandbar_search_text", "arguments": {"query": "boot"}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}, **greeting}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": find},
        {"id": 3, "method": "tools/call", "params": search},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)
    command = [_SANDBAR, "stdio", "--database", str(path)]
    with anyio.fail_after(60):
        done = await anyio.run_process(command, input=text.encode())
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["id"]: "result" in one for one in answers if "id" in one} == {
        1: True,
        2: True,
        3: True,
    }
    with await anyio.to_thread.run_sync(sandbar.open, path) as db:
        rows = db.journal.trail.rows(db.workspace.number, limit=100)
    asked = sorted(row.verb or row.method for row in rows if row.surface == "stdio")
    assert asked == ["entity.find", "initialize", "notifications/initialized", "search.text"]
