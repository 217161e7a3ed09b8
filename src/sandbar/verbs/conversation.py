"""What a running verb may say to its caller, and ask: each door brings its own."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec


class Conversation(Protocol):
    """The door's side of a running call. Methods may be called from worker threads."""

    client_capabilities: dict[str, Any]
    input_responses: dict[str, Any] | None
    request_state: str | None
    can_ask: bool

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the work has come."""

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Tell what is going on."""

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the client and wait for its answer; only if `can_ask`."""

    def close_stream(self) -> None:
        """End the response stream early; the client polls for the rest."""


class Content(msgspec.Struct, frozen=True):
    """A result made of content blocks in the protocol's own JSON, for what is no plain object."""

    blocks: list[dict[str, Any]]
    structured: Any = None
    is_error: bool = False


class InputRequired(msgspec.Struct, frozen=True):
    """A result that asks for input first: requests by key, each `{"method": …, "params": …}`."""

    requests: dict[str, dict[str, Any]] = {}
    state: str | None = None
