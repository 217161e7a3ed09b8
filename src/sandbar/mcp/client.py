"""The client of a request: what it has declared, what it can be told before its answer, and asked.

`Client` hears nothing and is asked nothing: a bare request that wants one JSON answer. The SDK's
sessions and streams bring one that can do more (`sandbar.mcp.sdk`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio.abc

from sandbar.edge.streams import Stream
from sandbar.errors import Unavailable
from sandbar.mcp.wire import is_modern, notification

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"

Params = dict[str, Any]
Notify = Callable[[dict[str, Any]], Awaitable[None]]


class Connection:
    """What is remembered between the requests of a connection; a bare request has it to itself."""

    id: str | None = None  # of its session
    is_lasting = False  # whether it can be told things between requests

    def __init__(self) -> None:
        self.log_level = LOG_LEVELS[0]  # the least that the client wants to hear of
        self.stream: Stream | None = None  # of the changes that it is told
        self.progress_tokens: dict[int, Any] = {}  # process to the token of the call that began it
        self.begun: set[int] = set()  # the processes that its calls have begun, or that it follows
        self.asking: set[tuple[int, str]] = set()  # process and key of what it is being asked now
        self.about_to_ask: set[int] = set()  # processes of which it will be asked in a moment
        self.tasks: anyio.abc.TaskGroup | None = None  # what runs as long as it lives

    @property
    def version(self) -> str:
        """The revision that client and server have agreed upon."""
        raise _no_channel()

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the client has declared."""
        return {}

    async def until_initialized(self) -> None:
        """Wait until the client may be told things."""
        raise _no_channel()

    async def notify(self, method: str, params: Params | None) -> None:
        """Tell it something on its own stream."""
        raise _no_channel()

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask it something on its own stream, and wait for the answer."""
        raise _no_channel()

    def on_close(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Call back when it is over."""
        raise _no_channel()


class Client:
    """The client of one request."""

    can_ask = False  # whether a question would reach it, and its answer us

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or Connection()

    @property
    def capabilities(self) -> dict[str, Any]:
        """What it has declared."""
        return self.connection.capabilities

    @property
    def takes_forms(self) -> bool:
        """Whether it has said that it shows its user forms."""
        return declares_forms(self.capabilities)

    def declares(self, extension: str) -> bool:
        """Whether it speaks an extension of the protocol."""
        return extension in (self.capabilities.get("extensions") or {})

    async def notify(self, method: str, params: Params | None) -> None:
        """Tell it something before the answer."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell it how far the work has come, if it gave a token for that."""

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask it something on the stream of this request, and wait for the answer."""
        raise _no_channel()

    async def close_stream(self) -> None:
        """End the stream of this request early: it polls for the rest."""


class BareClient(Client):
    """A client of a bare request, which may hear something before its answer."""

    def __init__(self, notify: Notify, progress_token: Any) -> None:
        super().__init__()
        self._notify = notify
        self._token = progress_token

    async def notify(self, method: str, params: Params | None) -> None:
        """Say it on the stream that will bring the answer, if there is one."""
        await self._notify(notification(method, params))

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Likewise."""
        if self._token is not None:
            told = {"progressToken": self._token, "progress": done}
            told |= {} if total is None else {"total": total}
            told |= {} if message is None else {"message": message}
            await self.notify("notifications/progress", told)


def declares_forms(capabilities: dict[str, Any]) -> bool:
    """Whether these capabilities name forms, or questions of no certain kind, which means forms."""
    declared = capabilities.get("elicitation")
    return declared is not None and (
        declared.get("form") is not None or declared.get("url") is None
    )


def heard_levels(version: str, params: Params) -> tuple[str, ...]:
    """Which log messages a client may be sent: since 2026-07-28 those that its request asks for."""
    if not is_modern(version):
        return LOG_LEVELS
    wanted = (params.get("_meta") or {}).get(LOG_LEVEL_KEY)
    return LOG_LEVELS[LOG_LEVELS.index(wanted) :] if wanted in LOG_LEVELS else ()


def progress_token(params: Params) -> Any:
    """The token under which the client wants to hear of progress."""
    meta = params.get("_meta")
    return meta.get("progressToken") if isinstance(meta, dict) else None


def _no_channel() -> Unavailable:
    return Unavailable(
        "client.refused",
        "the client of this request cannot be asked",
        hint="call it in a session, with Accept: text/event-stream",
    )
