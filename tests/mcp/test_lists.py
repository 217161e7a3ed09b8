"""The lists never break a client, and keep their budget however many classes there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
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
        _check(_json(schema))
    return found


@cache
def _check(schema: bytes) -> None:
    """Raise if it is no schema; most tools are in several lists."""
    Draft202012Validator.check_schema(msgspec.json.decode(schema))


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


_BUDGETS = {"default": 32_000, "core": 8_000}


def test_every_list_of_every_pack(tmp_path: Path) -> None:
    packs = tuple(pack for pack in built_in_packs() if pack != "everything")
    assert packs
    with serving(tmp_path / "all.db", packs) as served:
        for listing in _LISTINGS:
            tools, size = all_tools(served, f"?tools={listing}&names=portable")
            assert tools
            assert size <= _BUDGETS.get(listing, size)
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


def sizes(path: Path, counts: Sequence[int]) -> dict[int, dict[str, int]]:
    """The bytes of each list with so many classes."""
    found: dict[int, dict[str, int]] = {}
    with open_database(path, server=True) as database, running(database) as served:
        made = 0
        for count in counts:
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


@pytest.mark.parametrize("most", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_lists_keep_their_budget(
    tmp_path: Path,
    most: int,
    record_property: Callable[[str, object], None],
) -> None:
    found = sizes(tmp_path / "classes.db", (10, 100, most))
    for count, by_listing in found.items():
        record_property("figure", f"{count} classes: {by_listing}")
        assert by_listing["default"] <= 32_000
        assert by_listing["core"] <= 8_000
    for listing in ("default", "core", "full"):
        of_all = [by_listing[listing] for by_listing in found.values()]
        assert max(of_all) - min(of_all) <= 2_000, (listing, of_all)


def test_full_is_the_same_list_with_more_of_each_tool(served: Served) -> None:
    usual, full = (all_tools(served, f"?tools={listing}")[0] for listing in ("default", "full"))
    assert [tool["name"] for tool in full] == [tool["name"] for tool in usual]
    for tool, more in zip(usual, full, strict=True):
        assert "outputSchema" not in tool
        assert "outputSchema" in more
        examples = more["inputSchema"].pop("examples", [])
        assert {**more, "outputSchema": None} == {**tool, "outputSchema": None}
        assert all(isinstance(example, dict) for example in examples)


_WRITING = {"sandbar.entity.create", "sandbar.entity.transact"}


def test_a_reader_sees_no_writing_verbs(served: Served) -> None:
    """Whoever has listed before, in the same generation and spelling."""
    for role in ("admin", "reader", "writer", "reader", "admin"):
        tools = served.post("tools/list", role=role, query="?tools=all&names=seed")["result"][
            "tools"
        ]
        names = {tool["name"] for tool in tools}
        assert "sandbar.entity.find" in names
        assert names & _WRITING == (set() if role == "reader" else _WRITING), role
        assert ("sandbar.entity.purge" in names) == (role == "admin")
    answer = served.post(
        "tools/call",
        {"name": "sandbar.entity.create", "arguments": {"class": "zorp/Boot", "attributes": {}}},
        role="reader",
    )
    assert answer["result"]["isError"]
    assert answer["result"]["structuredContent"]["error"] == "verb.forbidden"


def test_a_list_comes_in_pages_and_a_foreign_cursor_is_refused(served: Served) -> None:
    for n in range(120):
        served.db.create("zorp/Boot", {"db/ident": f"paged/b{n}", "footwear/name": f"B{n}"})
    first = served.post("resources/list")["result"]
    assert len(first["resources"]) == 100
    cursor = first["nextCursor"]
    second = served.post("resources/list", {"cursor": cursor})["result"]
    uris = [[one["uri"] for one in page["resources"]] for page in (first, second)]
    assert uris[1]
    assert not set(uris[0]) & set(uris[1])
    assert sum("/paged/b" in uri for page in uris for uri in page) == 120
    for method in ("tools/list", "prompts/list", "resources/templates/list"):
        wrong = served.post(method, {"cursor": cursor})
        assert wrong["error"]["code"] == -32602, method
        assert wrong["error"]["data"]["code"] == "list.cursor"
    children = {f"paged/C{n}": {"dt/subclass-of": ["zorp/Boot"]} for n in range(110)}
    served.db.define(classes=children)
    tools = served.post("tools/list", query="?tools=classes")["result"]["nextCursor"]
    wrong = served.post("prompts/list", {"cursor": tools})  # it has the shape of one of its own
    assert wrong["error"]["data"]["code"] == "list.cursor"
    for forged in ("!!", "", cursor[:-4], "x" * 5000):
        assert served.post("resources/list", {"cursor": forged})["error"]["code"] == -32602, forged
