"""Asking a client of MCP: live where there is a session, by the result where there is none.

Only what the client has declared is asked for. Answers come from outside: one that does not have
the shape that was asked for counts as missing, and is asked for again.
"""

from __future__ import annotations

from typing import Any, Protocol

from sandbar.errors import Incorrect, Unsupported
from sandbar.verbs import Context, Verbatim

Request = dict[str, Any]
Answers = dict[str, dict[str, Any]]

_CAPABILITY = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
_PYTHON_TYPE: dict[str, type | tuple[type, ...]] = {"string": str, "boolean": bool}


class McpClient(Protocol):
    """What MCP brings as the native side of a channel."""

    client_capabilities: dict[str, Any]
    input_responses: dict[str, Any] | None
    request_state: str | None
    can_ask: bool

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send the client a request and wait for its answer; only if `can_ask`."""

    def close_stream(self) -> None:
        """End the response stream early; the client polls for the rest."""


def client_of(context: Context) -> McpClient | None:
    """The client, if it speaks MCP and somebody listens."""
    return None if context.channel is None else context.channel.native


def input_required(requests: dict[str, Request], state: str | None) -> Verbatim:
    """The result that asks first."""
    asked: Request = {"resultType": "input_required", "inputRequests": requests}
    return Verbatim(asked if state is None else {**asked, "requestState": state})


def elicitation(message: str, properties: dict[str, Any], required: list[str]) -> Request:
    """Asks the user to fill in a form."""
    schema = {"type": "object", "properties": properties, "required": required}
    params = {"message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def question(message: str, field: str, kind: str = "string") -> Request:
    """Asks the user for one value."""
    return elicitation(message, {field: {"type": kind}}, [field])


def sampling(prompt: str, max_tokens: int) -> Request:
    """Asks the client's model."""
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    params = {"messages": [message], "maxTokens": max_tokens}
    return {"method": "sampling/createMessage", "params": params}


def roots() -> Request:
    """Asks which folders the client works in."""
    return {"method": "roots/list", "params": {}}


def is_declared(context: Context, request: Request) -> bool:
    """Whether the client has said that it can answer this."""
    client = client_of(context)
    declared = {} if client is None else client.client_capabilities
    return declared.get(_CAPABILITY[request["method"]]) is not None


def ask(
    context: Context, requests: dict[str, Request], state: str | None = None
) -> Answers | Verbatim:
    """The client's answers by key, or what the verb must return to get them.

    `state` comes back with the answers; those that come with another one are refused.
    """
    missing = [request for request in requests.values() if not is_declared(context, request)]
    client = client_of(context)
    if missing or client is None:
        needed: dict[str, Any] = {_CAPABILITY[one["method"]]: {} for one in missing}
        raise Unsupported(
            "client.capability-missing",
            f"this needs a client that declares {', '.join(needed)}",
            hint="call it from such a client",
            data={"requiredCapabilities": needed},
        )
    if client.can_ask:
        return {
            key: client.request(request["method"], request["params"])
            for key, request in requests.items()
        }
    given = client.input_responses or {}
    if given and client.request_state not in (None, state):
        raise Incorrect(
            "client.state-unknown",
            "the request state does not belong to this step",
            hint="call the tool again without it",
        )
    is_complete = all(_is_answer(request, given.get(key)) for key, request in requests.items())
    if not is_complete or (state is not None and client.request_state is None):
        return input_required(requests, state)
    return {key: given[key] for key in requests}


def is_accepted(answer: dict[str, Any]) -> bool:
    """Whether the user has filled in the form."""
    return answer.get("action") == "accept"


def _is_answer(request: Request, answer: Any) -> bool:
    if not isinstance(answer, dict):
        return False
    if request["method"] == "sampling/createMessage":
        return isinstance(answer.get("content"), dict | list)
    if request["method"] == "roots/list":
        return isinstance(answer.get("roots"), list)
    if answer.get("action") in ("decline", "cancel"):
        return True
    return is_accepted(answer) and _fits(request["params"]["requestedSchema"], answer)


def _fits(schema: dict[str, Any], answer: dict[str, Any]) -> bool:
    content = answer.get("content")
    if not isinstance(content, dict):
        return False
    return all(
        isinstance(content.get(name), _PYTHON_TYPE[schema["properties"][name]["type"]])
        for name in schema["required"]
    )
