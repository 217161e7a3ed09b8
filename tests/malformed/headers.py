"""Headers that are wrong, missing, doubled or at odds with the body, and who may ask from where."""

from __future__ import annotations

import base64
from typing import Any

from tests.malformed.cases import (
    META,
    OK,
    Case,
    Expect,
    Expected,
    by_revision,
    everywhere,
    older,
    only,
    request,
    tool_call,
)

LIST = request("tools/list")
CALL = tool_call("sandbar.schema.datatypes", {})
READ = request("resources/read", {"uri": "mcp://sandbar/dt/Class/dt/Class"})
MISMATCH = Expect(400, -32020)
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INFO = "io.modelcontextprotocol/clientInfo"


def _ignored_but(envelope: Expect) -> Expected:
    """Headers of 2026-07-28 mean nothing to the older revision."""
    return by_revision(Expect(200), envelope)


def _base64(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


# What the body is called and what the answer may be is not held against anybody.
ACCEPTS: dict[str, Any] = {
    "none": None,
    "empty": "",
    "anything": "*/*",
    "any application": "application/*",
    "JSON only": "application/json",
    "JSON with a parameter": "application/json; charset=utf-8",
    "upper case": "APPLICATION/JSON, TEXT/EVENT-STREAM",
    "weights": "application/json;q=0.5, text/event-stream;q=0.1",
    "in two lines": ["application/json", "text/event-stream"],
    "events only": "text/event-stream",
    "a page": "text/html",
    "a picture": "image/png, image/*;q=0.8",
}

TYPES: dict[str, Any] = {
    "none": None,
    "what curl -d says": "application/x-www-form-urlencoded",
    "a character set": "application/json; charset=utf-8",
    "upper case": "Application/JSON",
    "spaces": "  application/json  ",
    "XML": "application/xml",
    "plain text": "text/plain",
    "a form with files": "multipart/form-data; boundary=x",
    "bytes": "application/octet-stream",
}
ROUTING: list[tuple[str, Any, dict[str, Any], Expect]] = [
    ("no Mcp-Method", LIST, {"Mcp-Method": None}, MISMATCH),
    ("an empty Mcp-Method", LIST, {"Mcp-Method": ""}, MISMATCH),
    ("another Mcp-Method", LIST, {"Mcp-Method": "prompts/list"}, MISMATCH),
    ("Mcp-Method in capitals", LIST, {"Mcp-Method": "TOOLS/LIST"}, MISMATCH),
    ("two methods in one line", LIST, {"Mcp-Method": "tools/list, tools/list"}, MISMATCH),
    ("Mcp-Method twice", LIST, {"Mcp-Method": ["tools/list", "tools/list"]}, MISMATCH),
    ("two different Mcp-Methods", LIST, {"Mcp-Method": ["tools/list", "tools/call"]}, MISMATCH),
    ("spaces around Mcp-Method", LIST, {"Mcp-Method": "  tools/list \t"}, Expect(200)),
    ("no Mcp-Name", CALL, {"Mcp-Name": None}, MISMATCH),
    ("an empty Mcp-Name", CALL, {"Mcp-Name": ""}, MISMATCH),
    ("another Mcp-Name", CALL, {"Mcp-Name": "sandbar.schema.classes"}, MISMATCH),
    ("the other spelling in Mcp-Name", CALL, {"Mcp-Name": "sandbar_schema_datatypes"}, MISMATCH),
    ("Mcp-Name in capitals", CALL, {"Mcp-Name": "SANDBAR.SCHEMA.DATATYPES"}, MISMATCH),
    ("Mcp-Name twice", CALL, {"Mcp-Name": ["sandbar.schema.datatypes"] * 2}, MISMATCH),
    ("Mcp-Name in base64", CALL, {"Mcp-Name": _base64("sandbar.schema.datatypes")}, Expect(200)),
    ("another name in base64", CALL, {"Mcp-Name": _base64("x")}, MISMATCH),
    ("bad base64", CALL, {"Mcp-Name": "=?base64?%%%?="}, MISMATCH),
    ("base64 without its end", CALL, {"Mcp-Name": "=?base64?c2FuZGJhcg=="}, MISMATCH),
    ("base64 of bad UTF-8", CALL, {"Mcp-Name": "=?base64?//79?="}, MISMATCH),
    ("spaces around Mcp-Name", CALL, {"Mcp-Name": " sandbar.schema.datatypes "}, Expect(200)),
    ("no URI in Mcp-Name", READ, {"Mcp-Name": None}, MISMATCH),
    ("another URI", READ, {"Mcp-Name": "mcp://sandbar/dt/Class/dt/Property"}, MISMATCH),
    ("a name for what has none", LIST, {"Mcp-Name": "tools"}, Expect(200)),
]

METAS: list[tuple[str, Any, Expect]] = [
    ("no params", request("tools/list"), Expect(400, -32602)),
    ("no _meta", request("tools/list", {}), Expect(400, -32602)),
    ("_meta null", request("tools/list", {"_meta": None}), Expect(400, -32602)),
    ("_meta an array", request("tools/list", {"_meta": []}), Expect(400, -32602)),
    ("_meta a string", request("tools/list", {"_meta": "x"}), Expect(400, -32602)),
    ("_meta empty", request("tools/list", {"_meta": {}}), Expect(400, -32602)),
    (
        "no version",
        request("tools/list", {"_meta": {CAPABILITIES: {}}}),
        Expect(400, -32602),
    ),
    (
        "no capabilities",
        request("tools/list", {"_meta": {VERSION: "2026-07-28"}}),
        Expect(400, -32602),
    ),
    ("another version", request("tools/list", {"_meta": META | {VERSION: "2025-11-25"}}), MISMATCH),
    ("version a number", request("tools/list", {"_meta": META | {VERSION: 2026}}), MISMATCH),
    ("version null", request("tools/list", {"_meta": META | {VERSION: None}}), MISMATCH),
    (
        "capabilities a string",
        request("tools/list", {"_meta": META | {CAPABILITIES: "all"}}),
        Expect(400, -32602),
    ),
    (
        "capabilities null",
        request("tools/list", {"_meta": META | {CAPABILITIES: None}}),
        Expect(400, -32602),
    ),
    (
        "client info a string",
        request("tools/list", {"_meta": META | {INFO: "me"}}),
        Expect(400, -32602),
    ),
    (
        "the method comes first in the ladder of no envelope",
        request("no/such", {}),
        Expect(400, -32602),
    ),
]


def _unsupported(version: str) -> Case:
    return Case(
        f"version {version[:20]!r}",
        only("envelope", Expect(400, -32022, data=("supported", "requested"))),
        message=request("tools/list", {"_meta": META | {VERSION: version}}),
        headers={"MCP-Protocol-Version": version},
    )


def _foreign(name: str, headers: dict[str, Any], status: int) -> Case:
    return Case(name, everywhere(Expect(status)), message=LIST, headers=headers)


HEADERS = [
    *(
        Case(f"Accept: {name}", OK, message=LIST, headers={"Accept": value})
        for name, value in ACCEPTS.items()
    ),
    *(
        Case(f"Content-Type: {name}", OK, message=LIST, headers={"Content-Type": value})
        for name, value in TYPES.items()
    ),
    *(
        Case(f"routing: {name}", _ignored_but(expect), message=message, headers=headers)
        for name, message, headers, expect in ROUTING
    ),
    *(
        Case(f"envelope: {name}", only("envelope", expect), message=message, with_meta=False)
        for name, message, expect in METAS
    ),
    *(_unsupported(version) for version in ("2026-07-29", "1999-01-01", "latest", "2026-7-28")),
    *(
        Case(
            f"version {version} is served",
            {"bare": Expect(200)},
            message=LIST,
            headers={"MCP-Protocol-Version": version},
        )
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
    ),
    *(
        Case(
            f"version header {version!r} without an envelope",
            older(Expect(400, -32602)),
            message=LIST,
            headers={"MCP-Protocol-Version": version},
        )
        for version in ("1999-01-01", "2026-07-28", "latest")
    ),
    Case(
        "version header twice",
        only("envelope", MISMATCH),
        message=LIST,
        headers={"MCP-Protocol-Version": ["2026-07-28", "2026-07-28"]},
    ),
    Case(
        "version header twice, at odds",
        only("envelope", MISMATCH),
        message=LIST,
        headers={"MCP-Protocol-Version": ["2026-07-28", "2025-11-25"]},
    ),
    Case(
        "spaces around the version",
        older(Expect(200)),
        message=LIST,
        headers={"MCP-Protocol-Version": " 2025-11-25 "},
    ),
    Case(
        "spaces around the current version",
        only("envelope", Expect(200)),
        message=LIST,
        headers={"MCP-Protocol-Version": " 2026-07-28 "},
    ),
    Case(
        "keys twice, the header names the first",
        only("envelope", MISMATCH),
        text='{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"prompts/list","params":{META"a":1}}',
    ),
    _foreign("Host: elsewhere", {"Host": "evil.example"}, 421),
    _foreign("Host: elsewhere, with our port", {"Host": "evil.example:8080"}, 421),
    _foreign("Host: ours as a prefix", {"Host": "localhost.evil.example"}, 421),
    _foreign("Host: ours after an at sign", {"Host": "evil.example@127.0.0.1"}, 421),
    _foreign("Host: empty", {"Host": ""}, 421),
    _foreign("Host: none", {"Host": None}, 421),
    _foreign("Origin: elsewhere", {"Origin": "http://evil.example"}, 403),
    _foreign("Origin: elsewhere, with TLS", {"Origin": "https://evil.example"}, 403),
    _foreign("Origin: null", {"Origin": "null"}, 403),
    _foreign("Origin: ours as a prefix", {"Origin": "http://localhost.evil.example"}, 403),
    _foreign("Origin: no URL", {"Origin": "evil"}, 403),
    Case("Origin: ours", OK, message=LIST, headers={"Origin": "http://localhost:8080"}),
    Case(
        "a session id at 2026-07-28 is ignored",
        only("envelope", Expect(200)),
        message=LIST,
        headers={"Mcp-Session-Id": "no-such-session"},
    ),
    _foreign("Origin: empty", {"Origin": ""}, 403),
]
