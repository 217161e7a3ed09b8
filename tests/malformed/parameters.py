"""Known methods with parameters that they cannot take."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.malformed.cases import (
    INVALID_PARAMS,
    NO_RESOURCE,
    OK,
    TOOL_ERROR,
    Case,
    Expect,
    by_revision,
    older,
    only,
    request,
    tool_call,
)

UNKNOWN_TOOL = by_revision(
    Expect(200, -32602, data=("available-tools",)), Expect(400, -32602, data=("available-tools",))
)

CALLS: dict[str, Any] = {
    "without a name": {"arguments": {}},
    "with the name null": {"name": None},
    "with arguments in a string": {"name": "sandbar.schema.classes", "arguments": "{}"},
    "with arguments in an array": {"name": "sandbar.schema.classes", "arguments": []},
    "with a number for arguments": {"name": "sandbar.schema.classes", "arguments": 1},
    "with true for arguments": {"name": "sandbar.schema.classes", "arguments": True},
}

UNKNOWN_TOOLS = [
    "foo.bar.baz",
    "sandbar.entity.nothing",
    "sandbar",
    "SANDBAR.SCHEMA.CLASSES",
    "sandbar.class.zorp.Nothing",
    "sandbar.class.",
    "../../etc/passwd",
    "x" * 5_000,
]

WRONG_ARGUMENTS: dict[str, tuple[str, Any]] = {
    "an unknown class": ("sandbar.class.describe", {"class": "no/Such"}),
    "no class": ("sandbar.class.describe", {}),
    "a class that is a number": ("sandbar.class.describe", {"class": 5}),
    "a class that is null": ("sandbar.class.describe", {"class": None}),
    "a class that is an object": ("sandbar.class.describe", {"class": {"a": 1}}),
    "a class with NUL in it": ("sandbar.class.describe", {"class": "a\x00/b"}),
    "a class of 100,000 characters": ("sandbar.class.describe", {"class": "x/" + "y" * 100_000}),
    "an argument nobody knows": ("sandbar.schema.classes", {"no-such": 1}),
    "an empty argument name": ("sandbar.schema.classes", {"": 1}),
    "an unknown slot": (
        "sandbar.entity.create",
        {"class": "zorp/SpaceBoot", "attributes": {"footwear/name": "x", "no/such": 1}},
    ),
    "attributes in a string": (
        "sandbar.entity.create",
        {"class": "zorp/SpaceBoot", "attributes": "{}"},
    ),
    "attributes and slots": (
        "sandbar.entity.create",
        {"class": "zorp/SpaceBoot", "attributes": {}, "slots": {}},
    ),
    "an abstract class": (
        "sandbar.entity.create",
        {"class": "zorp/Footwear", "attributes": {"footwear/name": "x"}},
    ),
    "a negative limit": ("sandbar.class.instances", {"class": "zorp/Boot", "limit": -1}),
    "a limit with a fraction": ("sandbar.class.instances", {"class": "zorp/Boot", "limit": 1.5}),
    "a limit beyond 64 bits": ("sandbar.class.instances", {"class": "zorp/Boot", "limit": 10**30}),
    "a cursor of somebody else": ("sandbar.class.instances", {"class": "zorp/Boot", "cursor": "x"}),
    "a filter that is an array": ("sandbar.entity.query", {"class": "zorp/Boot", "where": [1]}),
    "an operator nobody knows": (
        "sandbar.entity.query",
        {"class": "zorp/Boot", "where": {"footwear/name": {"$where": "1"}}},
    ),
    "an entity with a huge id": ("sandbar.entity.update", {"entity": 2**63, "attributes": {}}),
    "a search without words": ("sandbar.search.text", {"query": ""}),
    "a search that is a number": ("sandbar.search.text", {"query": 5}),
    "an empty transaction": ("sandbar.entity.transact", {"operations": "none"}),
    "a class tool without what it needs": ("sandbar.class.zorp.SpaceBoot", {}),
    "a class tool with an unknown slot": (
        "sandbar.class.zorp.SpaceBoot",
        {"footwear/name": "x", "no/such": 1},
    ),
    "a class tool with the wrong type": ("sandbar.class.zorp.SpaceBoot", {"footwear/name": 5}),
    "the tool of an abstract class": ("sandbar.class.zorp.Footwear", {"footwear/name": "x"}),
}


def _nested(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"footwear/name": "x"}
    for _ in range(depth):
        where = {"not": where}
    return {"class": "zorp/Boot", "where": where}


WRONG_ARGUMENTS["a filter 100 deep"] = ("sandbar.entity.query", _nested(100))

NO_RESOURCES = [
    "mcp://sandbar/zorp/SpaceBoot/no/such",
    "mcp://sandbar/no/Such/zorp/thing",
    "mcp://sandbar/zorp/SpaceBoot/999999999999",
    "mcp://sandbar/zorp/SpaceBoot/99999999999999999999999999",
    "mcp://sandbar/zorp/SpaceBoot/-1",
    "mcp://sandbar/zorp/Sandal/product/moon-boot-pro",
    "mcp://sandbar/",
    "mcp://sandbar",
    "mcp://",
    "mcp://elsewhere/dt/Class/dt/Class",
    "mcp://sandbar/dt/Class",
    "mcp://sandbar/dt/Class/dt/Class/more/of/it",
    "mcp://sandbar/../../etc/passwd",
    "mcp://sandbar/auth/ServiceAccount/claude",
    "file:///etc/passwd",
    "http://127.0.0.1/",
    "not a URI",
    "",
    "mcp://sandbar/dt/Class/" + "x" * 10_000,
    "mcp://sandbar/dt/Class/%00",
    "mcp://sandbar/dt/Class/%ff%fe",
]

READS: dict[str, Any] = {
    "without a URI": {},
    "with the URI null": {"uri": None},
}

LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
CURSORS: dict[str, Any] = {
    "of somebody else": "bm9ib2R5",
    "no base64": "%%%",
    "empty": "",
    "long": "A" * 10_000,
    "with NUL": "a\x00b",
    "a number": 5,
    "an object": {"offset": 5},
    "true": True,
}


def forged(*parts: Any) -> str:
    """A cursor in our own form, written by somebody else."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


FORGED: dict[str, tuple[Any, ...]] = {
    "without a place": (),
    "with a word for a place": ("x", "y"),
    "with an empty place": ("", ""),
    "with a negative place": (-1, ""),
    "with too many parts": (1, 2, 3, 4),
}

PROMPTS: dict[str, Any] = {
    "without a name": {},
    "that is unknown": {"name": "no-such-prompt"},
    "with arguments in an array": {"name": "no-such-prompt", "arguments": []},
    "with a number for an argument": {"name": "no-such-prompt", "arguments": {"a": 1}},
}

_REFERENCE = {"type": "ref/resource", "uri": "mcp://sandbar/{ns}/{class}/{+ident}"}
COMPLETIONS: dict[str, Any] = {
    "without anything": {},
    "without an argument": {"ref": _REFERENCE},
    "without a reference": {"argument": {"name": "ns", "value": ""}},
    "with an unknown kind of reference": {
        "ref": {"type": "ref/tool", "name": "x"},
        "argument": {"name": "ns", "value": ""},
    },
    "with a number for a value": {"ref": _REFERENCE, "argument": {"name": "ns", "value": 5}},
    "of an unknown prompt": {
        "ref": {"type": "ref/prompt", "name": "no-such-prompt"},
        "argument": {"name": "a", "value": ""},
    },
}

# No header can repeat what is no string, so at 2026-07-28 it is the header that is wrong.
NO_STRINGS: dict[str, tuple[str, Any]] = {
    "a number for a tool": ("tools/call", {"name": 5}),
    "an array for a tool": ("tools/call", {"name": ["sandbar.schema.classes"]}),
    "a number for a URI": ("resources/read", {"uri": 5}),
    "an array for a URI": ("resources/read", {"uri": ["mcp://sandbar/dt/Class/dt/Class"]}),
    "a number for a prompt": ("prompts/get", {"name": 5}),
}

STREAMED: dict[str, tuple[dict[str, Any], int]] = {
    "what there is not": ({"uri": "mcp://sandbar/zorp/Boot/no/such"}, -32002),
    "nothing": ({}, -32602),
    "null": ({"uri": None}, -32602),
    "a number": ({"uri": 5}, -32602),
    "an array": ({"uri": ["mcp://sandbar/dt/Class/dt/Class"]}, -32602),
}

METAS: dict[str, Any] = {
    "a number": 5,
    "an array": [],
    "with an object for a progress token": {"progressToken": {}},
}


def _case(name: str, method: str, params: Any) -> Case:
    return Case(name, INVALID_PARAMS, message=request(method, params))


PARAMETERS = [
    *(_case(f"tools/call {name}", "tools/call", params) for name, params in CALLS.items()),
    *(
        Case(f"unknown tool {tool[:30]!r}", UNKNOWN_TOOL, message=tool_call(tool, {}))
        for tool in UNKNOWN_TOOLS
    ),
    Case("an empty tool name", UNKNOWN_TOOL, message=tool_call("", {}), headers={"Mcp-Name": ""}),
    Case(
        "null for arguments",
        OK,
        message=request("tools/call", {"name": "sandbar.schema.classes", "arguments": None}),
    ),
    *(
        Case(f"a call with {name}", TOOL_ERROR, message=tool_call(tool, arguments))
        for name, (tool, arguments) in WRONG_ARGUMENTS.items()
    ),
    *(
        Case(
            f"no resource {uri[:60]!r}",
            NO_RESOURCE,
            message=request("resources/read", {"uri": uri}),
        )
        for uri in NO_RESOURCES
    ),
    *(_case(f"resources/read {name}", "resources/read", params) for name, params in READS.items()),
    *(
        _case(f"{method} with a cursor {name}", method, {"cursor": cursor})
        for method in LISTS
        for name, cursor in CURSORS.items()
    ),
    *(
        _case(f"{method} with a cursor forged {name}", method, {"cursor": forged(kind, *parts)})
        for method, kind in zip(LISTS, ("tools", "resources", "templates", "prompts"), strict=True)
        for name, parts in FORGED.items()
    ),
    *(_case(f"a prompt {name}", "prompts/get", params) for name, params in PROMPTS.items()),
    *(
        _case(f"completion {name}", "completion/complete", params)
        for name, params in COMPLETIONS.items()
    ),
    *(
        Case(
            name,
            by_revision(Expect(200, -32602), Expect(400, -32020)),
            message=request(method, params),
        )
        for name, (method, params) in NO_STRINGS.items()
    ),
    *(
        Case(
            f"a streaming subscription to {name}",
            only("bare", Expect(200, code)),
            message=request("resources/subscribe", params),
            headers={"Accept": "text/event-stream"},
        )
        for name, (params, code) in STREAMED.items()
    ),
    *(
        Case(
            f"a subscription {name}",
            older(Expect(200, code)),
            message=request("resources/subscribe", params),
        )
        for name, (params, code) in STREAMED.items()
    ),
    *(
        Case(
            f"_meta {name}",
            older(Expect(200, -32602)),
            message=request("tools/list", {"_meta": meta}),
        )
        for name, meta in METAS.items()
    ),
    *(
        Case(
            f"a log level {level!r}",
            older(Expect(200, -32602)),
            message=request("logging/setLevel", {"level": level}),
        )
        for level in ("loud", "INFO", 3, None, "")
    ),
    *(
        Case(
            f"subscriptions/listen with {name}",
            only("envelope", Expect(400, -32602)),
            message=request("subscriptions/listen", params),
        )
        for name, params in {
            "a string for a filter": {"notifications": "all"},
            "a string for URIs": {"notifications": {"resourceSubscriptions": "mcp://sandbar"}},
            "a number for a wish": {"notifications": {"toolsListChanged": {}}},
            "no filter": {},
        }.items()
    ),
    *(
        Case(
            f"initialize with {name}",
            older(Expect(200, -32602)),
            message=request("initialize", params),
        )
        for name, params in {
            "a number for the version": {
                "protocolVersion": 5,
                "clientInfo": {"name": "a", "version": "1"},
            },
            "an array for the version": {
                "protocolVersion": ["2025-11-25"],
                "clientInfo": {"name": "a", "version": "1"},
            },
            "a string for the client": {"protocolVersion": "2025-11-25", "clientInfo": "a"},
            "an array for capabilities": {
                "protocolVersion": "2025-11-25",
                "clientInfo": {"name": "a", "version": "1"},
                "capabilities": [],
            },
            "nothing": {},
        }.items()
    ),
]
