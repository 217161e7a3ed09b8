"""The protocol's side of a running verb: progress, log messages, questions to the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio.from_thread
import mcp_types as types

from sandbar.mcp import task_words as words
from sandbar.mcp.client import LOG_LEVELS, heard_levels
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.table import Params, Result
from sandbar.mcp.wire import dumped
from sandbar.verbs import NeedsInput, nobody_to_ask, replies_in
from sandbar.workflow import Question, Reply


class Talk:
    """Implements `sandbar.verbs.Channel`; its methods are called on worker threads."""

    def __init__(self, exchange: Exchange, params: Params) -> None:
        self._client = client = exchange.client
        wanted = LOG_LEVELS.index(client.connection.log_level)
        heard = heard_levels(exchange.version, params)
        self._levels = [one for one in heard if LOG_LEVELS.index(one) >= wanted]
        self.input_responses = plain_responses(params)
        self.request_state: str | None = params.get("requestState")
        self.can_ask = client.can_ask
        self.client_capabilities = client.capabilities

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the work has come, if the client gave a token for it."""
        anyio.from_thread.run(self._client.progress, done, total, message)

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Send a log message, unless the client asked for graver ones only."""
        if level in self._levels:
            told = {"level": level} | ({} if logger is None else {"logger": logger})
            told |= {} if data is None else {"data": data}
            anyio.from_thread.run(self._client.notify, "notifications/message", told)

    @property
    def native(self) -> Talk:
        """What the protocol has besides: for the pack that its conformance suite needs."""
        return self

    def ask(self, questions: Mapping[str, Question]) -> dict[str, Reply] | None:
        """Ask in the session, or read what the client brings to a call that has asked before."""
        if not self._client.takes_forms:
            raise nobody_to_ask()
        requests = words.input_requests(questions)
        if self.can_ask:
            given = {key: self.request(**request) for key, request in requests.items()}
        else:
            given = self.input_responses or {}
        if not given.keys() >= questions.keys():
            return None
        return replies_in(given, questions)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send the client a request and wait for its answer."""
        return anyio.from_thread.run(self._client.ask, method, params)

    def close_stream(self) -> None:
        """End the response stream early; the client polls for the rest."""
        anyio.from_thread.run(self._client.close_stream)


def asked(result: NeedsInput) -> Result:
    """A result that asks the client for input, in the protocol's form."""
    requests = words.input_requests(result.questions)
    shown: Result = {"resultType": "input_required", "inputRequests": requests}
    if result.state is not None:
        shown["requestState"] = result.state
    return shown


def plain_responses(params: Params) -> dict[str, Any] | None:
    """What the client answers with this call, as JSON in the shape that the protocol has for it."""
    if params.get("inputResponses") is None:
        return None
    given = types.InputResponseRequestParams.model_validate(params, by_name=False).input_responses
    return None if given is None else {key: dumped(value) for key, value in given.items()}
