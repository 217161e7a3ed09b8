"""HTTP itself: verbs, paths, framing. Much of this no HTTP library would send."""

from __future__ import annotations

from sandbar.edge import BODY_BYTES_MAX
from tests.malformed.cases import (
    NO_PAGE,
    NOT_HTTP,
    OK,
    TOO_LARGE,
    Case,
    Expect,
    Expected,
    everywhere,
    only,
    request,
)

LIST = request("tools/list")
# LANE stands for the headers of the lane, each with its line end, BODY for a tools/list of it.
HEAD = b"Host: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nLANE"
JSON_HEAD = HEAD + b"Content-Length: LENGTH\r\n\r\nBODY"
TOO_MUCH = b"%x\r\n" % (BODY_BYTES_MAX + 16) + b" " * (BODY_BYTES_MAX + 16) + b"\r\n0\r\n\r\n"

NOT_ALLOWED = everywhere(Expect(405, header="allow"))


def _verb(verb: str, expect: Expected, path: str = "/mcp") -> Case:
    return Case(f"{verb} {path}", expect, verb=verb, path=path, message=LIST)


VERBS = [
    *(_verb(verb, NOT_ALLOWED) for verb in ("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE")),
    *(_verb(verb, NOT_ALLOWED, "/mcp/sse") for verb in ("POST", "PUT", "DELETE")),
    _verb("PROPFIND", NOT_ALLOWED),
    _verb("POST", OK, "/mcp/"),
    Case("GET", only("envelope", Expect(405, header="allow")), verb="GET"),
    Case("DELETE", only("envelope", Expect(405, header="allow")), verb="DELETE"),
    Case("GET without a session", only("bare", Expect(400, -32600)), verb="GET",
         headers={"Accept": "text/event-stream"}),
    Case("GET of a page", only("bare", Expect(406)), verb="GET", headers={"Accept": "text/html"}),
    Case("GET of a session for a page", only("session", Expect(406)), verb="GET",
         headers={"Accept": "text/html"}),
    Case("DELETE without a session", only("bare", Expect(400, -32600)), verb="DELETE"),
]  # fmt: skip

PATHS = [
    _verb("POST", NO_PAGE, path)
    for path in (
        "/",
        "/MCP",
        "/mcpx",
        "/mcp/tools",
        "/mcp/sse/more",
        "//mcp",
        "/%6dcp/x",
        "/mcp/..",
        "/mcp/%00",
        "/api/v1/mcp",
        "/.well-known/../mcp/x",
        "/" + "x" * 5_000,
    )
]

UNKNOWN_SESSIONS = {
    "unknown": "0123456789abcdef0123456789abcdef",
    "short": "x",
    "long": "x" * 6_000,
    "with spaces": "a b",
    "Latin-1": "séance",
    "a path": "../../x",
}

SESSIONS = [
    *(
        Case(
            f"session: {name}",
            only("session", Expect(404, -32600)),
            message=LIST,
            headers={"Mcp-Session-Id": id},
        )
        for name, id in UNKNOWN_SESSIONS.items()
    ),
    *(
        Case(
            f"session: unknown, {verb}",
            only("session", Expect(404, -32600)),
            verb=verb,
            headers={"Mcp-Session-Id": "no-such-session", "Accept": "text/event-stream"},
        )
        for verb in ("GET", "DELETE")
    ),
    Case(
        "session: unknown, with a notification",
        only("session", Expect(404, -32600)),
        message={"jsonrpc": "2.0", "method": "notifications/initialized"},
        headers={"Mcp-Session-Id": "no-such-session"},
    ),
]


def _raw(name: str, expect: Expected, raw: bytes) -> Case:
    return Case(f"framing: {name}", expect, raw=raw)


FRAMING = [
    _raw("HTTP/1.0", OK, b"POST /mcp HTTP/1.0\r\n" + JSON_HEAD),
    _raw("absolute target", OK, b"POST http://HOST/mcp HTTP/1.1\r\n" + JSON_HEAD),
    _raw("expect-continue", OK, b"POST /mcp HTTP/1.1\r\nExpect: 100-continue\r\n" + JSON_HEAD),
    _raw("a blank line first", OK, b"\r\nPOST /mcp HTTP/1.1\r\n" + JSON_HEAD),
    _raw(
        "chunked",
        OK,
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
        + HEAD
        + b"\r\nSIZE\r\nBODY\r\n0\r\n\r\n",
    ),
    _raw(
        "chunked with a trailer",
        OK,
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n"
        + HEAD
        + b"\r\nSIZE;a=b\r\nBODY\r\n0\r\nX-T: 1\r\n\r\n",
    ),
    _raw(
        "chunks over the limit",
        TOO_LARGE,
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HEAD + b"\r\n" + TOO_MUCH,
    ),
    _raw(
        "a chunk size that is no number",
        NOT_HTTP,
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HEAD + b"\r\nzz\r\nBODY\r\n",
    ),
    _raw(
        "a negative chunk size",
        NOT_HTTP,
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HEAD + b"\r\n-1\r\nBODY\r\n",
    ),
    _raw(
        "chunked and a length",
        NOT_HTTP,
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + JSON_HEAD,
    ),
    _raw(
        "two different lengths",
        NOT_HTTP,
        b"POST /mcp HTTP/1.1\r\nContent-Length: 3\r\n" + JSON_HEAD,
    ),
    _raw(
        "a negative length",
        NOT_HTTP,
        b"POST /mcp HTTP/1.1\r\n" + HEAD + b"Content-Length: -1\r\n\r\nBODY",
    ),
    _raw(
        "a length that is no number",
        NOT_HTTP,
        b"POST /mcp HTTP/1.1\r\n" + HEAD + b"Content-Length: ten\r\n\r\nBODY",
    ),
    _raw(
        "a length that ends too early",
        NOT_HTTP,
        b"POST /mcp HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\n\r\nBODY",
    ),
    _raw("small letters", NOT_HTTP, b"post /mcp HTTP/1.1\r\n" + JSON_HEAD),
    _raw("a verb nobody knows", NOT_HTTP, b"BREW /mcp HTTP/1.1\r\n" + JSON_HEAD),
    _raw("HTTP/2's opening", NOT_HTTP, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    _raw("HTTP/9.9", NOT_HTTP, b"POST /mcp HTTP/9.9\r\n" + JSON_HEAD),
    _raw("TLS", NOT_HTTP, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 32),
    _raw("noise", NOT_HTTP, bytes(range(256))),
    _raw("a header without a colon", NOT_HTTP, b"POST /mcp HTTP/1.1\r\nbad\r\n" + JSON_HEAD),
    _raw("a space in a name", NOT_HTTP, b"POST /mcp HTTP/1.1\r\nX Y: 1\r\n" + JSON_HEAD),
    _raw("a space before the colon", NOT_HTTP, b"POST /mcp HTTP/1.1\r\nX : 1\r\n" + JSON_HEAD),
    _raw("NUL in a value", NOT_HTTP, b"POST /mcp HTTP/1.1\r\nX: a\x00b\r\n" + JSON_HEAD),
    _raw("a space in the target", NOT_HTTP, b"POST /m cp HTTP/1.1\r\n" + JSON_HEAD),
    _raw("JSON without HTTP", NOT_HTTP, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\r\n\r\n'),
]  # fmt: skip

TRANSPORT = [*VERBS, *PATHS, *SESSIONS, *FRAMING]
