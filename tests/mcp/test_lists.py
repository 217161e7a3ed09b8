"""The lists never break a client, and keep their budget however many classes there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from sandbar.database import open_database
from sandbar.packs import built_in_packs
from tests.mcp.served import Served, running, serving

_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,45}$")
_KEY = re.compile(r"^[a-zA-Z0-9_.-]{1,64}$")
_LISTINGS = ("default", "core", "full", "classes", "all")


def breakages(tool: dict[str, Any]) -> list[str]:
    """What some client would refuse in a tool."""
    found = []
    if not _NAME.match(tool["name"]):
        found.append(f"name {tool['name']}")
    if len(tool["description"]) > 200 and not tool["name"].startswith("sandbar_class_"):
        found.append("description")
    for kind in ("inputSchema", "outputSchema"):
        schema = tool.get(kind)
        if schema is None:
            continue
        found += [f"{kind} {word}" for word in ("oneOf", "anyOf", "allOf") if word in schema]
        found += [f"{kind} $ref" for _ in _places(schema, "$ref")]
        if schema.get("type") != "object":
            found.append(f"{kind} root")
        if kind == "inputSchema":
            found += [f"key {key}" for key in schema.get("properties", {}) if not _KEY.match(key)]
        Draft202012Validator.check_schema(schema)
    return found


def _places(schema: Any, word: str) -> Iterator[Any]:
    if isinstance(schema, dict):
        if word in schema:
            yield schema
        for value in schema.values():
            yield from _places(value, word)
    elif isinstance(schema, list):
        for value in schema:
            yield from _places(value, word)


def all_tools(served: Served, query: str) -> tuple[list[dict[str, Any]], int]:
    """Every page of a list, and the bytes of it."""
    tools: list[dict[str, Any]] = []
    size, cursor = 0, ""
    while True:
        params = {"cursor": cursor} if cursor else {}
        answer = served.post("tools/list", params, query=query)
        size += len(_json(answer["result"]))
        tools += answer["result"]["tools"]
        cursor = answer["result"].get("nextCursor", "")
        if not cursor:
            return tools, size


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def test_every_list_of_every_pack(tmp_path: Path) -> None:
    packs = tuple(pack for pack in built_in_packs() if pack != "everything")
    assert packs
    with serving(tmp_path / "all.db", packs) as served:
        for listing in _LISTINGS:
            tools, _ = all_tools(served, f"?tools={listing}&names=portable")
            assert tools
            assert len({tool["name"] for tool in tools}) == len(tools)
            broken = {tool["name"]: found for tool in tools if (found := breakages(tool))}
            assert not broken


def test_the_checker_sees_what_breaks_clients() -> None:
    tool = {
        "name": "sandbar.entity.create",
        "description": "x" * 201,
        "inputSchema": {
            "type": "object",
            "anyOf": [],
            "properties": {"a/b?": {"$ref": "#/x"}},
        },
    }
    found = breakages({**tool, "inputSchema": {**tool["inputSchema"], "anyOf": [{}]}})  # type: ignore[dict-item]
    assert found == [
        "name sandbar.entity.create",
        "description",
        "inputSchema anyOf",
        "inputSchema $ref",
        "key a/b?",
    ]


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, int]]:
    """The bytes of each list with so many classes."""
    path = tmp_path_factory.mktemp("classes") / "classes.db"
    found: dict[int, dict[str, int]] = {}
    with open_database(path, server=True) as database, running(database) as served:
        made = 0
        for count in (10, 1_000, 10_000):
            while made < count:
                step = min(count - made, 2_000)
                database.define(
                    classes={
                        f"many/Class{n}": {"dt/subclass-of": ["dt/Resource"]}
                        for n in range(made, made + step)
                    }
                )
                made += step
            found[count] = {
                listing: all_tools(served, f"?tools={listing}&names={names}")[1]
                for listing in ("default", "core", "full")
                for names in ("portable",)
            }
    return found


def test_lists_keep_their_budget(
    sizes: dict[int, dict[str, int]],
    record_property: pytest.RecordProperty,  # type: ignore[name-defined]
) -> None:
    for count, by_listing in sizes.items():
        record_property("figure", f"{count} classes: {by_listing}")
        assert by_listing["default"] <= 32_000
        assert by_listing["core"] <= 8_000
    for listing in ("default", "core", "full"):
        of_all = [by_listing[listing] for by_listing in sizes.values()]
        assert max(of_all) - min(of_all) <= 2_000, (listing, of_all)


def test_a_reader_sees_no_writing_verbs(served: Served) -> None:
    names = {tool["name"] for tool in served.post("tools/list", role="reader")["result"]["tools"]}
    assert "sandbar.entity.find" in names
    assert not names & {"sandbar.entity.create", "sandbar.entity.transact", "sandbar.entity.purge"}
    answer = served.post(
        "tools/call",
        {"name": "sandbar.entity.create", "arguments": {"class": "zorp/Boot", "attributes": {}}},
        role="reader",
    )
    assert answer["result"]["isError"]
    assert answer["result"]["structuredContent"]["error"] == "verb.forbidden"


def test_a_list_comes_in_pages_and_a_foreign_cursor_is_refused(served: Served) -> None:
    first = served.post("resources/list")["result"]
    assert first["resources"]
    wrong = served.post("tools/list", {"cursor": first.get("nextCursor", "x")})
    assert wrong["error"]["code"] == -32602
    assert served.post("tools/list", {"cursor": "!!"})["error"]["code"] == -32602
