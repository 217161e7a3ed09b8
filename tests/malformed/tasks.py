"""Methods of tasks with handles, answers and wishes that nobody can use."""

from __future__ import annotations

from typing import Any

from tests.malformed.cases import (
    INVALID_PARAMS,
    META,
    METHOD_NOT_FOUND,
    Case,
    Expect,
    Expected,
    by_revision,
    older,
    only,
    request,
)

_EXTENSION = "io.modelcontextprotocol/tasks"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_KNOWS_TASKS = {**META, _CAPABILITIES: {"extensions": {_EXTENSION: {}}}}
_UNKNOWN = "1118-" + "0" * 32

HANDLES: dict[str, Any] = {
    "that is null": None,
    "that is true": True,
    "that is a number": 1118,
    "that is a huge number": 10**30,
    "that is a fraction": 1.5,
    "that is an array": [_UNKNOWN],
    "that is an object": {"taskId": _UNKNOWN},
    "that is empty": "",
    "of one character": "x",
    "that is forged": _UNKNOWN,
    "without a digest": "1118",
    "with a short digest": "1118-0",
    "with a capital digest": "1118-" + "A" * 32,
    "of process 0": "0-" + "0" * 32,
    "of a huge process": "9" * 40 + "-" + "0" * 32,
    "of the greatest process": "9" * 15 + "-" + "0" * 32,
    "of a later run": "1118.2-" + "0" * 32,
    "of a huge run": "1118." + "9" * 30 + "-" + "0" * 32,
    "of 100,000 characters": "1" * 100_000,
    "with a line after it": _UNKNOWN + "\n",
    "with NUL": "1118\x00-" + "0" * 32,
    "in full-width digits": "１１１８-" + "０" * 32,
    "in Arabic digits": "١١١٨-" + "0" * 32,
    "with an emoji": "🏖️" * 20,
    "that climbs": "../../etc/passwd",
    "that quotes": "1' OR '1'='1",
}

ANSWERS: dict[str, Any] = {
    "null": None,
    "an array": [],
    "a string": "yes",
    "a number": 5,
}

CURSORS: dict[str, Any] = {
    "of somebody else": "bm9ib2R5",
    "no base64": "%%%",
    "long": "A" * 10_000,
    "with NUL": "a\x00b",
    "a number": 5,
    "an object": {"offset": 5},
}

WISHES: dict[str, Any] = {
    "a number": 5,
    "a string": "yes",
    "an array": [],
    "true": True,
    "with a string for a time to live": {"ttl": "soon"},
}

FOLLOWED: dict[str, Any] = {
    "a string": _UNKNOWN,
    "an object": {"taskId": _UNKNOWN},
    "a number": 5,
    "null": None,
    "numbers": [1118],
    "null in an array": [None],
}

_NOT_DECLARED = only("envelope", Expect(400, -32021, data=("requiredCapabilities",)))


def _known(params: dict[str, Any]) -> dict[str, Any]:
    """The same from a client that has declared the extension."""
    return {**params, "_meta": _KNOWS_TASKS}


def _both(name: str, method: str, params: dict[str, Any], expect: Expected) -> list[Case]:
    """A request in the lanes of 2025-11-25, and as the extension's."""
    cases = []
    before: Expected = {lane: wanted for lane, wanted in expect.items() if lane != "envelope"}
    if before:
        cases.append(Case(name, before, message=request(method, params)))
    if "envelope" in expect:
        message = request(method, _known(params))
        cases.append(Case(f"{name} (extension)", only("envelope", expect["envelope"]), message))
    return cases


_ONLY_BEFORE = by_revision(Expect(200, -32602), Expect(404, -32601))
_ONLY_SINCE = by_revision(Expect(200, -32601), Expect(400, -32602))
_METHODS: dict[str, Expected] = {
    "tasks/get": INVALID_PARAMS,
    "tasks/cancel": INVALID_PARAMS,
    "tasks/result": _ONLY_BEFORE,
    "tasks/update": _ONLY_SINCE,
}

TASKS = [
    *(
        case
        for method, expect in _METHODS.items()
        for name, handle in HANDLES.items()
        for case in _both(
            f"{method} of a handle {name}",
            method,
            {"taskId": handle} | ({"inputResponses": {}} if method == "tasks/update" else {}),
            expect,
        )
    ),
    *(
        case
        for method, expect in _METHODS.items()
        for case in _both(f"{method} of nothing", method, {}, expect)
    ),
    *(
        case
        for name, given in ANSWERS.items()
        for case in _both(
            f"tasks/update with {name} for answers",
            "tasks/update",
            {"taskId": _UNKNOWN, "inputResponses": given},
            _ONLY_SINCE,
        )
    ),
    *(
        case
        for name, cursor in CURSORS.items()
        for case in _both(
            f"tasks/list with a cursor {name}",
            "tasks/list",
            {"cursor": cursor},
            _ONLY_BEFORE if isinstance(cursor, str) else INVALID_PARAMS,
        )
    ),
    *(
        Case(
            f"{method} from a client that has not declared the extension",
            _NOT_DECLARED,
            message=request(method, {"taskId": _UNKNOWN}),
        )
        for method in ("tasks/get", "tasks/update", "tasks/cancel")
    ),
    Case(
        "following tasks without the extension",
        _NOT_DECLARED,
        message=request("subscriptions/listen", {"notifications": {"taskIds": [_UNKNOWN]}}),
    ),
    *(
        Case(
            f"following tasks by {name}",
            only("envelope", Expect(400, -32602)),
            message=request("subscriptions/listen", _known({"notifications": {"taskIds": given}})),
        )
        for name, given in FOLLOWED.items()
    ),
    Case(
        "another handle in the header",
        only("envelope", Expect(400, -32020)),
        message=request("tasks/get", _known({"taskId": _UNKNOWN})),
        headers={"Mcp-Name": "1119-" + "0" * 32},
    ),
    *(
        Case(
            f"a wish for a task that is {name}",
            older(Expect(200, -32602)),
            message=request(
                "tools/call",
                {"name": "sandbar.class.validate-all-instances", "arguments": {}, "task": wish},
            ),
        )
        for name, wish in WISHES.items()
    ),
    Case(
        "a wish for a task where there is none",
        older(Expect(200, -32601)),
        message=request(
            "tools/call", {"name": "sandbar.schema.classes", "arguments": {}, "task": {}}
        ),
    ),
    Case(
        "a method of tasks that nobody knows",
        METHOD_NOT_FOUND,
        message=request("tasks/forget", {"taskId": _UNKNOWN}),
    ),
]
