"""The protocol's words: versions, codes, and how our problems are said in them."""

from __future__ import annotations

from typing import Any

import msgspec
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from sandbar.errors import (
    Conflict,
    Fault,
    Forbidden,
    Incorrect,
    Interrupted,
    NotFound,
    Problem,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unsupported,
    category_of,
)

DEFAULT_VERSION = "2025-11-25"  # what a request without a version header is served as
OLD_VERSIONS = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021

# Category of a problem → code before 2026-07-28, and since (which reserves the range of the old).
CODES: dict[type[Problem], tuple[int, int]] = {
    Incorrect: (INVALID_PARAMS, INVALID_PARAMS),
    NotFound: (INVALID_PARAMS, INVALID_PARAMS),
    Conflict: (INVALID_PARAMS, INVALID_PARAMS),
    Unsupported: (INVALID_PARAMS, INVALID_PARAMS),
    Unauthenticated: (-32001, 401),
    Forbidden: (-32003, 403),
    TooMany: (-32029, 429),
    Unavailable: (INTERNAL_ERROR, INTERNAL_ERROR),
    Interrupted: (INTERNAL_ERROR, INTERNAL_ERROR),
    Fault: (INTERNAL_ERROR, INTERNAL_ERROR),
}

# What the protocol itself refuses, in our words.
_PROTOCOL_ERRORS = {
    METHOD_NOT_FOUND: ("method.unknown", "this method is not of this revision, or not served"),
    INVALID_PARAMS: ("request.params", "look the method up in the protocol's schema"),
    MISSING_CAPABILITY: (
        "client.capability-missing",
        "declare data.requiredCapabilities",
    ),
}

json_encode = msgspec.json.Encoder(decimal_format="string").encode


class RefusedError(Exception):
    """A JSON-RPC error: what a method raises that does not answer with a result."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def word(self) -> str:
        """Our own code of what went wrong, for the audit."""
        data = self.data if isinstance(self.data, dict) else {}
        return str(data.get("code", "request.refused"))


def is_modern(version: str) -> bool:
    """Whether this revision has no handshake and no sessions."""
    return version in MODERN_PROTOCOL_VERSIONS


def knows_tasks(version: str) -> bool:
    """Whether tasks are part of this revision itself; since 2026-07-28 they are an extension."""
    return version == "2025-11-25"


def code_of(problem: Problem, version: str) -> int:
    """The JSON-RPC code of a problem."""
    old, new = CODES[category_of(problem)]
    return new if is_modern(version) else old


def protocol_error(
    problem: Problem, version: str, request_id: str | None, *, code: int | None = None
) -> RefusedError:
    """A problem as a JSON-RPC error; its data says what to try next."""
    data: dict[str, Any] = {**problem.data, "code": problem.code}
    if problem.hint is not None:
        data["hint"] = problem.hint
    if request_id is not None:
        data["request-id"] = request_id
    return RefusedError(code_of(problem, version) if code is None else code, problem.message, data)


def dumped(model: BaseModel) -> dict[str, Any]:
    """One of the SDK's own structures as JSON."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def failed(id: int | str | None, error: RefusedError) -> dict[str, Any]:
    """A whole response that says what went wrong."""
    shown = {"code": error.code, "message": error.message}
    if error.data is not None:
        shown["data"] = error.data
    return {"jsonrpc": "2.0", "id": id, "error": shown}


def notification(method: str, params: dict[str, Any] | None) -> dict[str, Any]:
    """A whole message that asks for no answer."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def completed_error(error: RefusedError, request_id: str | None) -> RefusedError:
    """An error of the protocol with what all of ours carry: a code, a hint, the request's id."""
    given = error.data if isinstance(error.data, dict) else {}
    code, hint = _PROTOCOL_ERRORS.get(error.code, ("request.refused", "see the message"))
    data = {"code": code, "hint": hint, **given}
    if request_id is not None:
        data["request-id"] = request_id
    return RefusedError(error.code, error.message, data)


def explained(problem: Problem) -> dict[str, Any]:
    """A problem as JSON: the payload of a tool's failure."""
    shown: dict[str, Any] = {"error": problem.code, "message": problem.message}
    if problem.hint is not None:
        shown["hint"] = problem.hint
    return {**problem.data, **shown}


def complete(version: str, result: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
    """A result with the members that its revision asks for."""
    if is_modern(version):
        result = {"resultType": "complete", **result}
        if cacheable:
            # Lists depend on who asks and change at any commit.
            result = {**result, "ttlMs": 0, "cacheScope": "private"}
    return result
