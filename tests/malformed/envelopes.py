"""JSON that is no JSON-RPC message, messages that are no requests, and ids of all kinds."""

from __future__ import annotations

from typing import Any

from tests.malformed.cases import (
    ACCEPTED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    OK,
    Case,
    Expect,
    older,
    only,
    request,
    tool_call,
)

LIST = request("tools/list")

NO_MESSAGES: dict[str, Any] = {
    "a string": "tools/list",
    "a number": 1,
    "a big number": 10**30,
    "true": True,
    "an empty array": [],
    "an empty object": {},
    "a batch of one": [LIST],
    "a batch of two": [LIST, request("tools/list", id=2)],
    "a batch of notifications": [{"jsonrpc": "2.0", "method": "notifications/initialized"}],
    "an array of arrays": [[LIST]],
    "nested in another object": {"message": LIST},
}

BAD_ENVELOPES: dict[str, Any] = {
    "no jsonrpc": {"id": 1, "method": "tools/list"},
    "jsonrpc 1.0": LIST | {"jsonrpc": "1.0"},
    "jsonrpc 2": LIST | {"jsonrpc": "2"},
    "jsonrpc as a number": LIST | {"jsonrpc": 2.0},
    "jsonrpc null": LIST | {"jsonrpc": None},
    "jsonrpc with a space": LIST | {"jsonrpc": "2.0 "},
    "no method": {"jsonrpc": "2.0", "id": 1},
    "no method but params": {"jsonrpc": "2.0", "id": 1, "params": {}},
    "no method and no id": {"jsonrpc": "2.0"},
    "method null": request(None),
    "method a number": request(7),
    "method an array": request(["tools/list"]),
    "method an object": request({"name": "tools/list"}),
    "method true": request(True),
    "Method with a capital": {"jsonrpc": "2.0", "id": 1, "Method": "tools/list"},
    "id null": request("tools/list", id=None),
    "id with a fraction": request("tools/list", id=1.5),
    "id a whole number with a point": request("tools/list", id=1.0),
    "id true": request("tools/list", id=True),
    "id false": request("tools/list", id=False),
    "id an object": request("tools/list", id={}),
    "id an array": request("tools/list", id=[1]),
    "params a string": request("tools/list", "cursor"),
    "params a number": request("tools/list", 3),
    "params true": request("tools/list", True),
    "params an array": request("tools/call", ["sandbar.schema.classes"]),
    "params an empty array": request("tools/list", []),
    "a notification with params in an array": {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": [1],
    },
    "a notification without jsonrpc": {"method": "notifications/initialized"},
    "a notification whose method is null": {"jsonrpc": "2.0", "method": None},
}

RESPONSES: dict[str, Any] = {
    "a result": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "a result for a string": {"jsonrpc": "2.0", "id": "nobody-asked", "result": {"a": 1}},
    "an error": {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
}

BAD_RESPONSES: dict[str, Any] = {
    "a result that is a string": {"jsonrpc": "2.0", "id": 1, "result": "x"},
    "a result that is null": {"jsonrpc": "2.0", "id": 1, "result": None},
    "an error that is a string": {"jsonrpc": "2.0", "id": 1, "error": "x"},
    "an error without a code": {"jsonrpc": "2.0", "id": 1, "error": {"message": "x"}},
    "an error without a message": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}},
    "a result with the id null": {"jsonrpc": "2.0", "id": None, "result": {}},
}

GOOD_IDS: dict[str, Any] = {
    "zero": 0,
    "negative": -1,
    "beyond 53 bits": 2**53 + 1,
    "beyond 64 bits": 10**30,
    "an empty string": "",
    "a long string": "x" * 60_000,
    "a string of digits": "1",
    "a string with NUL": "a\x00b",
    "a string beyond the basic plane": "🥿",
    "a string with a line break": "a\r\nb",
}

NOTIFICATIONS: dict[str, Any] = {
    "nobody knows it": {"jsonrpc": "2.0", "method": "notifications/no/such"},
    "of a request's method": {"jsonrpc": "2.0", "method": "tools/list"},
    "with an empty method": {"jsonrpc": "2.0", "method": ""},
    "cancels what never was": {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 99},
    },
    "cancels without saying what": {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {},
    },
    "progress of nothing": {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "none", "progress": "much"},
    },
}

UNKNOWN_METHODS = [
    "no/such",
    "",
    " tools/list",
    "tools/list ",
    "TOOLS/LIST",
    "tools\x00list",
    "tools/list\n",
    "rpc.discover",
    "tools",
    "tools/list/",
    "../tools/list",
    "__init__",
    "x" * 5_000,
    "sampling/createMessage",
    "roots/list",
    "elicitation/create",
    "notifications/no/such",
]


def _unknown(method: str) -> Case:
    """In the header a name that is no plain token is left to the parser, so it is encoded."""
    name = f"unknown method {method[:30]!r}"
    if method.isprintable() and method.strip() == method and method:
        return Case(name, METHOD_NOT_FOUND, message=request(method))
    return Case(name, older(Expect(200, -32601)), message=request(method))


ENVELOPES = [
    *(Case(f"no message: {name}", INVALID_REQUEST, message=m) for name, m in NO_MESSAGES.items()),
    Case("no message: null", INVALID_REQUEST, body=b"null"),
    *(
        Case(f"bad envelope: {name}", INVALID_REQUEST, message=m)
        for name, m in BAD_ENVELOPES.items()
    ),
    *(
        Case(
            f"a client's answer: {name}",
            # Only a session can have asked something.
            {**INVALID_REQUEST, "session": Expect(202)},
            message=m,
            with_meta=False,
        )
        for name, m in RESPONSES.items()
    ),
    *(
        Case(f"a client's answer: {name}", INVALID_REQUEST, message=m, with_meta=False)
        for name, m in BAD_RESPONSES.items()
    ),
    *(
        Case(f"id: {name}", OK, message=tool_call("sandbar.schema.datatypes") | {"id": id})
        for name, id in GOOD_IDS.items()
    ),
    *(Case(f"notification {name}", ACCEPTED, message=m) for name, m in NOTIFICATIONS.items()),
    *(_unknown(method) for method in UNKNOWN_METHODS),
    Case(
        "params null",
        {**OK, "envelope": Expect(400, -32602)},
        body=b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}',
    ),
    Case("members nobody knows", OK, message=LIST | {"extra": [1], "auth": "x"}),
    Case(
        "initialized with an id is answered",
        only("bare", Expect(200)),
        message=request("notifications/initialized"),
    ),
    Case("initialize", only("envelope", Expect(404, -32601)), message=request("initialize", {})),
    Case("ping", only("envelope", Expect(404, -32601)), message=request("ping")),
    Case(
        "logging/setLevel",
        only("envelope", Expect(404, -32601)),
        message=request("logging/setLevel", {"level": "info"}),
    ),
    Case(
        "resources/subscribe",
        only("envelope", Expect(404, -32601)),
        message=request("resources/subscribe", {"uri": "mcp://sandbar/dt/Class/dt/Class"}),
    ),
    Case("server/discover", older(Expect(200, -32601)), message=request("server/discover")),
    Case(
        "subscriptions/listen",
        older(Expect(200, -32601)),
        message=request("subscriptions/listen", {"notifications": {}}),
    ),
]
