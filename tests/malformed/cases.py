"""What a malformed request is, in each of three lanes, and what must be answered.

bare       2025-11-25 as the seeds' curl commands speak it: no session, no version header
session    2025-11-25 after the handshake, as clients of that revision speak it
envelope   2026-07-28: no handshake, every request carries its headers and its `_meta`
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Lane = Literal["bare", "session", "envelope"]
LANES: tuple[Lane, ...] = ("bare", "session", "envelope")

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "malformed", "version": "1"},
}
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass(frozen=True)
class Expect:
    """The answer that is right: its status and, in a JSON-RPC error, its code."""

    status: int
    code: int | None = None
    is_tool_error: bool = False  # a result whose `isError` is true
    data: tuple[str, ...] = ()  # members that the error's `data` must have
    header: str | None = None  # a header that the answer must have


Expected = dict[Lane, Expect]


def everywhere(expect: Expect) -> Expected:
    """The same in all lanes."""
    return dict.fromkeys(LANES, expect)


def by_revision(older: Expect, current: Expect) -> Expected:
    """One answer at 2025-11-25, with and without a session, another at 2026-07-28."""
    return {"bare": older, "session": older, "envelope": current}


OK = everywhere(Expect(200))
ACCEPTED = everywhere(Expect(202))
PARSE_ERROR = everywhere(Expect(400, -32700))
INVALID_REQUEST = everywhere(Expect(400, -32600))
# What a method finds wrong is an HTTP success at 2025-11-25; 2026-07-28 maps codes to statuses.
METHOD_NOT_FOUND = by_revision(Expect(200, -32601), Expect(404, -32601))
INVALID_PARAMS = by_revision(Expect(200, -32602), Expect(400, -32602))
NO_RESOURCE = by_revision(Expect(200, -32002, data=("uri",)), Expect(400, -32602, data=("uri",)))
TOOL_ERROR = everywhere(Expect(200, is_tool_error=True))
NOT_SIGNED_IN = by_revision(
    Expect(401, -32001, header="www-authenticate"), Expect(401, 401, header="www-authenticate")
)
TOO_LARGE = everywhere(Expect(413))
NOT_HTTP = everywhere(Expect(400))  # answered by the HTTP parser, before there is a request
NO_PAGE = everywhere(Expect(404))


def only(lane: Lane, expect: Expect) -> Expected:
    """A request that makes sense in one lane."""
    return {lane: expect}


def older(expect: Expect) -> Expected:
    """A request that makes sense at 2025-11-25, with and without a session."""
    return {"bare": expect, "session": expect}


@dataclass(frozen=True)
class Case:
    """One request. Of `message`, `text`, `body` and `raw` the first that is given counts.

    `message`  a JSON value; the envelope's `_meta` is put into its params
    `text`     JSON text in which `META` stands for the envelope's `_meta` member and a comma
    `body`     the bytes of the body
    `raw`      all bytes of the request; HOST, TOKEN and LANE stand for what fits the lane
    """

    name: str
    expect: Expected
    message: Any = None
    text: str | None = None
    body: bytes | None = None
    raw: bytes | None = None
    verb: str = "POST"
    path: str = "/mcp"
    headers: Mapping[str, str | list[str] | None] = field(default_factory=dict)  # None: left out
    with_meta: bool = True
    method: str = "tools/list"  # for the header Mcp-Method where the message does not tell
    tool: str | None = None  # for the header Mcp-Name where the message does not tell

    def payload(self, lane: Lane) -> bytes:
        """The body in this lane."""
        if self.message is not None:
            return json.dumps(self._message(lane)).encode()
        if self.text is not None:
            meta = f'"_meta":{json.dumps(META)},' if lane == "envelope" else ""
            return self.text.replace("META", meta).encode()
        return self.body or b""

    def _message(self, lane: Lane) -> Any:
        message = self.message
        if lane != "envelope" or not self.with_meta or not isinstance(message, dict):
            return message
        params = message.get("params", {})
        return {**message, "params": {"_meta": META, **params}} if _is_object(params) else message

    def routing(self) -> dict[str, str]:
        """The headers of 2026-07-28 that repeat what the body says."""
        message = self.message if isinstance(self.message, dict) else {}
        method = str(message.get("method", self.method))
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        params = message.get("params", {})
        named = params.get(NAMED_BY.get(method, "")) if _is_object(params) else None
        name = self.tool or (named if isinstance(named, str) else None)
        return headers if name is None else headers | {"Mcp-Name": name}


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def request(method: Any, params: Any = None, id: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request, well-formed unless the arguments are not."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def tool_call(name: Any, arguments: Any = None) -> dict[str, Any]:
    """A tools/call."""
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return request("tools/call", params)
