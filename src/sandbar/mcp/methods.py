"""The methods of the protocol, in one table; and how one is answered without the SDK.

Each part declares its methods (`Tools`, `Resources`, …) as `{name: Method}`. Bare requests, the
endpoints of packs and point reads are answered right here; for sessions and 2026-07-28 the SDK
calls into the same table (`sandbar.mcp.sdk`).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, NamedTuple, TypeVar

import mcp_types as types
import msgspec
from mcp_types import methods as protocol
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from sandbar import __version__
from sandbar.edge import defect
from sandbar.errors import Incorrect, Problem
from sandbar.faults import log_fault
from sandbar.mcp.completion import Completion
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.instructions import instructions_for
from sandbar.mcp.prompts import Prompts
from sandbar.mcp.resources import Resources
from sandbar.mcp.service import Service
from sandbar.mcp.subscriptions import Subscriptions
from sandbar.mcp.table import Method, Params, Result
from sandbar.mcp.task_words import EXTENSION, seed_envelope
from sandbar.mcp.tasks import TaskMethods
from sandbar.mcp.tools import Tools
from sandbar.mcp.wire import (
    DEFAULT_VERSION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    OLD_VERSIONS,
    RefusedError,
    complete,
    completed_error,
    failed,
    is_modern,
    knows_tasks,
)

T = TypeVar("T")

_METHODS_OF_TOOLS = frozenset({"server/discover", "tools/list", "tools/call"})
_CARRIES_STATE = frozenset({"tools/call", "prompts/get", "resources/read"})
_PLAIN_CALL = frozenset({"name", "arguments"})

_TASKS: Result = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}


class Face(NamedTuple):
    """As what a server shows itself; with `tools` it has those alone, and nothing that changes."""

    name: str
    title: str
    version: str
    tools: frozenset[str] | None = None
    instructions: str | None = None  # None: what the workspace makes of them


OWN_FACE = Face("sandbar", "Sandbar", __version__)


class Methods:
    """All methods that one face of the server has."""

    def __init__(self, service: Service, face: Face = OWN_FACE) -> None:
        self.service = service
        self.face = face
        self.tools = Tools(service, face.tools)
        self.resources = Resources(service)
        self.subscriptions = Subscriptions(service, self.resources)
        own = {
            "ping": Method(types.RequestParams, _ping),
            "server/discover": Method(types.RequestParams, self._discover),
            "logging/setLevel": Method(types.SetLevelRequestParams, _set_level),
        }
        parts = (
            self.tools,
            self.resources,
            self.subscriptions,
            Prompts(service),
            Completion(service),
            TaskMethods(service),
        )
        self.table: dict[str, Method] = own
        for part in parts:
            self.table |= part.methods()
        if face.tools is not None:
            self.table = {
                name: self.table[name] for name in self.table if name in _METHODS_OF_TOOLS
            }

    async def answer(self, exchange: Exchange, message: dict[str, Any]) -> dict[str, Any]:
        """The response to one request of a revision before 2026-07-28, or to a point read."""
        id, name = message["id"], message["method"]
        if name == "notifications/initialized":
            return {"jsonrpc": "2.0", "id": id, "result": {}}  # some clients number these, too
        record = exchange.record
        try:
            result = await translated(exchange, self._called(exchange, name, message.get("params")))
            if record is not None:
                await settled(exchange)
        except RefusedError as error:
            return failed(id, await recorded(exchange, error))
        return {"jsonrpc": "2.0", "id": id, "result": result}

    async def _called(self, exchange: Exchange, name: str, params: Params | None) -> Result:
        method = self._checked(exchange.version, name, params)
        given = params or {}
        if name == "tools/call" and (wish := task_wish(exchange.version, given)) is not None:
            return await self.tools.call_as_task(exchange, wish)
        result = sieved(name, exchange.version, await method.run(exchange, given))
        if name == "tools/call" and exchange.road == "bare":
            return {**result, **seed_envelope(result)}
        return result

    def _checked(self, version: str, name: str, params: Params | None) -> Method:
        """The method, if it is one of this revision and the params are as its schema has them."""
        method = self.table.get(name)
        if name == "tools/call" and method is not None and _is_plain_call(params):
            return method
        if name in _CARRIES_STATE and (params or {}).get("requestState") is not None:
            # Only results of 2026-07-28 carry a state, so there is none to bring back here.
            reason = {"reason": "invalid_request_state"}
            raise RefusedError(INVALID_PARAMS, "Invalid or expired requestState", reason)
        if name in protocol.SPEC_CLIENT_METHODS:
            try:
                protocol.validate_client_request(name, version, params)
            except KeyError:
                method = None
        if method is None:
            raise RefusedError(METHOD_NOT_FOUND, "Method not found", name)
        method.params.model_validate({} if params is None else params, by_name=False)
        return method

    async def greet(self, exchange: Exchange, message: dict[str, Any]) -> dict[str, Any]:
        """`initialize` from a client that cannot hold a session: the answer, and nothing else."""
        params = {"capabilities": {}, **(message.get("params") or {})}
        try:
            asked = types.InitializeRequestParams.model_validate(params, by_name=False)
        except ValidationError:
            error = exchange.error(wrong_params())
            if exchange.record is not None:
                exchange.record.fail(error.word)
            return failed(message["id"], error)
        wish = asked.protocol_version
        result = {
            "protocolVersion": wish if wish in OLD_VERSIONS else DEFAULT_VERSION,
            "capabilities": self.capabilities(DEFAULT_VERSION),
            "serverInfo": self.info,
            "instructions": await self.instructions(exchange),
        }
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def capabilities(self, version: str) -> dict[str, Any]:
        """What we can do, in the words of a revision: in ours all lists change while it runs."""
        if self.face.tools is not None:
            shown: dict[str, Any] = {"tools": {"listChanged": False}}
        else:
            shown = {
                "logging": {},
                "prompts": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "tools": {"listChanged": True},
                "completions": {},
            }
        if knows_tasks(version):
            shown["tasks"] = _TASKS
        elif is_modern(version) and self.face.tools is None:
            shown["extensions"] = {EXTENSION: {}}  # there, tasks are one
        return shown

    @property
    def info(self) -> dict[str, str]:
        """Who we are, as every revision says it."""
        face = self.face
        return {"name": face.name, "title": face.title, "version": face.version}

    async def instructions(self, exchange: Exchange) -> str:
        """What a model reads first."""
        if self.face.instructions is not None:
            return self.face.instructions
        return await self.service.read(exchange, lambda: instructions_for(exchange))

    async def _discover(self, exchange: Exchange, params: Params) -> Result:
        del params
        result = {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": self.capabilities(exchange.version),
            "instructions": await self.instructions(exchange),
        }
        return complete(exchange.version, result, cacheable=True)


# --- around every call ---------------------------------------------------------------------------


async def translated(exchange: Exchange, result: Awaitable[T]) -> T:
    """The result; what went wrong leaves as an error of the protocol, and nothing internal does."""
    try:
        return await result
    except RefusedError as error:
        raise completed_error(error, exchange.request_id) from None
    except ValidationError:
        raise exchange.error(wrong_params()) from None
    except Problem as problem:
        raise exchange.error(problem) from None
    except Exception as error:  # noqa: BLE001 - the door: a defect leaves as a number only
        raise exchange.error(defect("mcp.handler-failed", error)) from None


async def recorded(exchange: Exchange, error: RefusedError) -> RefusedError:
    """The error to answer with, once the row that tells of it is committed."""
    if exchange.record is None:
        return error
    exchange.record.fail(error.word)
    try:
        await settled(exchange)
    except RefusedError as lost:
        return lost
    return error


async def settled(exchange: Exchange) -> None:
    """The row of the request is committed: only then its answer may begin."""
    assert exchange.record is not None
    try:
        await exchange.record.settle()
    except Problem as problem:
        raise exchange.error(problem) from None


def task_wish(version: str, params: Params) -> Params | None:
    """The params of a call that its client wants to be a task; since 2026-07-28 none says so."""
    is_wish = isinstance(params.get("task"), dict) and knows_tasks(version)
    if not is_wish:
        return None
    types.CallToolRequestParams.model_validate(params, by_name=False)
    return params


def sieved(name: str, version: str, result: Result) -> Result:
    """A result as the schema of its revision has it, without what that has no word for."""
    if name not in protocol.SPEC_CLIENT_METHODS:
        return result
    if type(result.get("structuredContent")) is msgspec.Raw:
        return _in_order(result)  # we have encoded it ourselves, in the shape of every revision
    try:
        return protocol.serialize_server_result(name, version, result)
    except ValidationError as error:
        log_fault("mcp.invalid-result", error)
        raise RefusedError(INTERNAL_ERROR, "Handler returned an invalid result") from None


def _in_order(result: Result) -> Result:
    """The members of a tool's result as the schema orders them."""
    (block,) = result["content"]
    ordered: Result = {"content": [{"text": block["text"], "type": "text"}]}
    if result.get("isError"):
        ordered["isError"] = True
    if "resultType" in result:
        ordered["resultType"] = result["resultType"]
    ordered["structuredContent"] = result["structuredContent"]
    return ordered


def _is_plain_call(params: Params | None) -> bool:
    """Whether params are a tool's name and its arguments, and nothing that needs a closer look."""
    return (
        type(params) is dict
        and params.keys() == _PLAIN_CALL
        and type(params["name"]) is str
        and type(params["arguments"]) is dict
    )


def wrong_params() -> Incorrect:
    """Params that the protocol's schema does not allow; what is wrong is not repeated."""
    return Incorrect(
        "request.params",
        "Invalid request parameters",
        hint="look the method up in the protocol's schema of your revision",
    )


async def _ping(exchange: Exchange, params: Params) -> Result:
    del params
    return complete(exchange.version, {})


async def _set_level(exchange: Exchange, params: Params) -> Result:
    exchange.client.connection.log_level = params["level"]
    return {}
