"""Connecting as an MCP client does that was given one of the printed configurations."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from fastmcp import Client

from tests.seeds.printing import replaced
from tests.seeds.typing_it import PRINTED_ADDRESS

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """`${NAME}` and `${NAME:-default}` from the environment, as Claude Code expands them."""

    def value(match: re.Match[str]) -> str:
        found = environment.get(match["name"], match["default"])
        assert found is not None, f"{match['name']} is not set"
        return found

    return _VARIABLE.sub(value, text)


def configuration(text: str, address: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The printed configuration with our address and the variables of this environment."""
    loaded = json.loads(expanded(replaced(text, PRINTED_ADDRESS, address), environment))
    assert isinstance(loaded, dict)
    return loaded


def tools_seen(config: dict[str, Any]) -> list[str]:
    """The tools that a client with this configuration finds; it calls one of them as well."""

    async def look() -> list[str]:
        async with Client(config) as client:
            tools = [tool.name for tool in await client.list_tools()]
            called = await client.call_tool("sandbar_schema_classes", {})
            assert "zorp/SpaceBoot" in str(called.data)
            return tools

    return asyncio.run(look())
