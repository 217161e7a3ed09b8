"""The protocol's side of a running verb: progress, log messages, questions to the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.from_thread
import mcp_types as types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ValidationError

from sandbar.errors import Unavailable
from sandbar.mcp import task_words as words
from sandbar.mcp.wire import dumped
from sandbar.verbs import NeedsInput, nobody_to_ask
from sandbar.workflow import Question, Reply

ANSWER_S = 120.0  # how long a person may think; a thread waits meanwhile

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_QUESTIONS: dict[str, tuple[type[Any], type[Any]]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}


class Talk:
    """Implements `sandbar.verbs.Channel`; its methods are called on worker threads."""

    def __init__(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: types.CallToolRequestParams | types.GetPromptRequestParams,
        level: str,
    ) -> None:
        self._ctx = ctx
        self._level = level
        self.input_responses = plain_responses(params)
        self.request_state = params.request_state
        self.can_ask = can_ask(ctx)
        declared = ctx.session.client_capabilities
        self.client_capabilities: dict[str, Any] = {} if declared is None else dumped(declared)

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the work has come, if the client gave a token for it."""
        anyio.from_thread.run(self._ctx.session.report_progress, done, total, message)

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Send a log message, unless the client asked for graver ones only."""
        if _LEVELS.index(level) >= _LEVELS.index(self._level):
            anyio.from_thread.run(self._log, level, data, logger)

    async def _log(self, level: Any, data: Any, logger: str | None) -> None:
        if level in allowed_log_levels(self._ctx.protocol_version, self._ctx.meta):
            params = types.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
            await self._ctx.session.send_notification(
                types.LoggingMessageNotification(params=params),
                related_request_id=self._ctx.request_id,
            )

    @property
    def native(self) -> Talk:
        """What the protocol has besides: for the pack that its conformance suite needs."""
        return self

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | None:
        """Ask in the session, or read what the client brings to a call that has asked before."""
        if not takes_forms(self._ctx):
            raise nobody_to_ask()
        requests = words.input_requests(questions)
        if self.can_ask:
            given = {key: self.request(**request) for key, request in requests.items()}
        else:
            given = self.input_responses or {}
        if not given.keys() >= questions.keys():
            return None
        return words.replies_in(given, questions)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send the client a request and wait for its answer."""
        return anyio.from_thread.run(ask_client, self._ctx, method, params)

    def close_stream(self) -> None:
        """End the response stream early; the client polls for the rest."""
        anyio.from_thread.run(self._close_stream)

    async def _close_stream(self) -> None:
        if self._ctx.close_sse_stream is not None:
            await self._ctx.close_sse_stream()


def can_ask(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether a question would reach the client, and its answer us."""
    # An answer that is folded into one JSON object has no room for questions.
    is_folded = ctx.request is not None and ctx.request.scope["state"].get("is_folded", False)
    return ctx.session.can_send_request and not is_folded


async def ask_client(
    ctx: ServerRequestContext[Any, Any], method: str, params: dict[str, Any]
) -> dict[str, Any]:
    """Send the client a request and wait for its answer."""
    request_type, result_type = _QUESTIONS[method]
    request = request_type.model_validate({"method": method, "params": params})
    try:
        with anyio.fail_after(ANSWER_S):
            answer = await ctx.session.send_request(
                request,
                result_type,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
    except (MCPError, TimeoutError, ValidationError) as error:
        raise Unavailable(
            "client.refused",
            "the client did not answer a question of this tool",
            hint="answer it, or call the tool with all that it needs",
        ) from error
    return dumped(answer)


def asked(result: NeedsInput) -> dict[str, Any]:
    """A result that asks the client for input, in the protocol's form."""
    requests = words.input_requests(result.questions)
    shown: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
    if result.state is not None:
        shown["requestState"] = result.state
    return shown


def takes_forms(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client has said that it shows its user forms."""
    return declares_forms(ctx.session.client_capabilities)


def declares_forms(declared: types.ClientCapabilities | None) -> bool:
    """Whether these capabilities name forms; who names no kind of question means forms."""
    elicitation = None if declared is None else declared.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def plain_responses(
    params: types.CallToolRequestParams | types.GetPromptRequestParams,
) -> dict[str, Any] | None:
    """What the client answers with this call, as JSON."""
    given = params.input_responses
    return None if given is None else {key: _plain(value) for key, value in given.items()}


def _plain(value: Any) -> Any:
    """A client's answer as JSON."""
    return dumped(value) if isinstance(value, BaseModel) else value
