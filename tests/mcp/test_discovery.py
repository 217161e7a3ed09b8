"""Bootstrap by discovery: a class is made over MCP and used at once, with no restart."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.mcp.served import Served

pytestmark = pytest.mark.anyio

_QUERY = "?tools=all"


def _definition(ns: str) -> dict[str, Any]:
    return {
        "properties": {f"{ns}/title": {"dt/range": "db.type/string", "dt/required?": True}},
        "classes": {f"{ns}/Note": {"dt/subclass-of": ["dt/Resource"], "dt/slots": [f"{ns}/title"]}},
    }


class _Heard:
    """Notifications by method, as they come."""

    def __init__(self) -> None:
        self.methods: list[tuple[str, Any]] = []

    async def __call__(self, message: Any) -> None:
        root = getattr(message, "root", message)
        if hasattr(root, "method"):
            self.methods.append((root.method, getattr(root, "params", None)))

    async def wait_for(self, method: str) -> Any:
        """Wait until it has come."""
        with anyio.fail_after(5):
            while True:
                for name, params in self.methods:
                    if name == method:
                        return params
                await anyio.sleep(0.005)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_in_a_session(served: Served) -> None:
    heard = _Heard()
    async with served.client("legacy", query=_QUERY, message_handler=heard) as client:
        await _walk(client, "old", heard)


async def test_with_2026_07_28(served: Served) -> None:
    heard = _Heard()
    async with (
        served.client("2026-07-28", query=_QUERY) as client,
        anyio.create_task_group() as tasks,
    ):
        ready = anyio.Event()
        tasks.start_soon(_listen, client, heard, ready)
        await ready.wait()
        await _walk(client, "new", heard, tasks)
        tasks.cancel_scope.cancel()


async def _listen(
    client: Client, heard: _Heard, ready: anyio.Event, uris: list[str] | None = None
) -> None:
    wanted: dict[str, Any] = (
        {"resource_subscriptions": uris} if uris else {"tools_list_changed": True}
    )
    async with client.listen(**wanted) as events:
        ready.set()
        async for event in events:
            name = {
                "ToolsListChanged": "notifications/tools/list_changed",
                "ResourceUpdated": "notifications/resources/updated",
            }[type(event).__name__]
            heard.methods.append((name, event))


async def _walk(client: Client, ns: str, heard: _Heard, tasks: Any = None) -> None:
    before = await _all_tools(client)
    assert f"sandbar_class_{ns}_Note" not in before
    defined = await client.call_tool("sandbar_schema_define", _definition(ns))
    assert not defined.is_error, defined.content
    await heard.wait_for("notifications/tools/list_changed")

    tools = await _all_tools(client)
    assert f"{ns}/Note" in json.dumps(tools["sandbar_entity_create"].input_schema)
    tool = tools[f"sandbar_class_{ns}_Note"]
    assert tool.input_schema["required"] == [f"{ns}.title"]
    slots = {f"{ns}.title": "First", "db.ident": f"{ns}/first"}
    made = await client.call_tool(tool.name, slots)
    assert not made.is_error, made.content

    address = f"mcp://sandbar/{ns}/Note/{ns}/first"
    read = await client.read_resource(address)
    assert json.loads(read.contents[0].text)["slots"][f"{ns}/title"] == "First"  # type: ignore[union-attr]
    if tasks is None:
        await client.subscribe_resource(address)
    else:
        ready = anyio.Event()
        tasks.start_soon(_listen, client, heard, ready, [address])
        await ready.wait()
    changed = await client.call_tool(
        "sandbar_entity_update", {"entity": f"{ns}/first", "set": {f"{ns}/title": "Second"}}
    )
    assert not changed.is_error, changed.content
    told = await heard.wait_for("notifications/resources/updated")
    assert str(told.uri) == address
    read = await client.read_resource(address)
    assert json.loads(read.contents[0].text)["slots"][f"{ns}/title"] == "Second"  # type: ignore[union-attr]


async def _all_tools(client: Client) -> dict[str, Any]:
    tools: dict[str, Any] = {}
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            return tools
