"""Streams of the protocol's own: sessions before 2026-07-28, `subscriptions/listen` since."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.abc
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from sandbar.errors import Incorrect, TooMany
from sandbar.mcp.exchange import Exchange, exchange_of
from sandbar.mcp.resources import Resources
from sandbar.mcp.service import Service, connection_of
from sandbar.mcp.sessions import Session
from sandbar.mcp.streams import PROMPTS, RESOURCES, TOOLS, Notice, Stream
from sandbar.mcp.wire import complete, protocol_error

_QUIET_S = 15.0
_STREAM = "stream"

_ALL_LISTS = frozenset({TOOLS, PROMPTS, RESOURCES})
_NOTIFICATIONS: dict[str, Any] = {
    TOOLS: types.ToolListChangedNotification,
    PROMPTS: types.PromptListChangedNotification,
    RESOURCES: types.ResourceListChangedNotification,
}


class SessionStream(Stream):
    """A session's standing stream: it hears of all lists, and of what it subscribes to."""


class OpenStream(Stream):
    """A stream of `GET /mcp/sse`, which plain sessionless subscriptions belong to."""


class Subscriptions:
    """Who is to be told what."""

    def __init__(self, service: Service, resources: Resources) -> None:
        self._service = service
        self._resources = resources
        self._tasks: anyio.abc.TaskGroup | None = None

    def serve_in(self, tasks: anyio.abc.TaskGroup) -> None:
        """Where the tasks of sessions run."""
        self._tasks = tasks

    # --- sessions ----------------------------------------------------------------------------

    async def begin_session(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """A session is ready: tell it of changes until it ends."""
        connection = connection_of(ctx)
        if _STREAM in connection.state or not connection.has_standalone_channel:
            return
        caller = exchange_of(ctx, self._service).caller
        if connection.session_id is not None:
            session = Session(caller, connection.protocol_version)
            self._service.sessions.begin(connection.session_id, session)
            connection.exit_stack.callback(self._service.sessions.end, connection.session_id)
        stream = SessionStream(caller, _ALL_LISTS)
        if await self._service.streams.open(stream):
            assert self._tasks is not None
            connection.state[_STREAM] = stream
            connection.exit_stack.callback(self._service.streams.close, stream)
            self._tasks.start_soon(self._serve_session, stream, connection)

    async def _serve_session(self, stream: Stream, connection: Any) -> None:
        while (notices := await stream.due(_QUIET_S)) is not None:
            for method, params in notices:
                await connection.notify(method, params)

    async def subscribe(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscribeRequestParams
    ) -> dict[str, Any]:
        """Tell the session (or the caller's open streams) when a resource changes."""
        exchange = exchange_of(ctx, self._service)
        uri = str(params.uri)
        id = await self._service.read(exchange, lambda: self._resources.watched(exchange, uri))
        for stream in self._mine(ctx, exchange):
            if not stream.watch(id, uri):
                raise protocol_error(too_many(), exchange.version, exchange.request_id)
        return {}

    async def unsubscribe(
        self, ctx: ServerRequestContext[Any, Any], params: types.UnsubscribeRequestParams
    ) -> dict[str, Any]:
        """Tell them no more."""
        exchange = exchange_of(ctx, self._service)
        stream = connection_of(ctx).state.get(_STREAM)
        streams = self._service.streams.of(exchange.caller, OpenStream)
        for each in [stream] if stream is not None else streams:
            each.unwatch(str(params.uri))
        return {}

    def _mine(self, ctx: ServerRequestContext[Any, Any], exchange: Exchange) -> list[Stream]:
        stream = connection_of(ctx).state.get(_STREAM)
        if stream is not None:
            return [stream]
        streams = self._service.streams.of(exchange.caller, OpenStream)
        if not streams:
            problem = Incorrect(
                "subscription.no-stream",
                "there is no open stream that could be told",
                hint="open GET /mcp/sse first, or send this with Accept: text/event-stream",
            )
            raise protocol_error(problem, exchange.version, exchange.request_id)
        return streams

    # --- subscriptions/listen ----------------------------------------------------------------

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> dict[str, Any]:
        """One call is one stream: acknowledge what is honoured, then tell until it ends."""
        exchange = exchange_of(ctx, self._service)
        wanted = params.notifications
        stream = Stream(exchange.caller, _wanted_lists(wanted))
        honoured = _honoured(wanted)
        for uri in honoured.get("resourceSubscriptions", ())[:]:
            if not await self._watch(exchange, stream, uri):
                honoured["resourceSubscriptions"].remove(uri)
        if not await self._service.streams.open(stream):
            raise protocol_error(too_many(), exchange.version, exchange.request_id)
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        try:
            await self._acknowledge(ctx, honoured, meta)
            while (notices := await stream.due(_QUIET_S)) is not None:
                for notice in notices:
                    await _send(ctx, notice, meta)
        finally:
            self._service.streams.close(stream)
        return complete(exchange.version, {"_meta": meta})

    async def _watch(self, exchange: Exchange, stream: Stream, uri: str) -> bool:
        """Whether the caller may watch this resource; others are left out of the answer."""
        try:
            id = await self._service.read(exchange, lambda: self._resources.watched(exchange, uri))
        except MCPError:
            return False
        return stream.watch(id, uri)

    async def _acknowledge(
        self, ctx: ServerRequestContext[Any, Any], honoured: dict[str, Any], meta: dict[str, Any]
    ) -> None:
        body = {"notifications": honoured, "_meta": meta}
        params = types.SubscriptionsAcknowledgedNotificationParams.model_validate(body)
        await ctx.session.send_notification(
            types.SubscriptionsAcknowledgedNotification(params=params),
            related_request_id=ctx.request_id,
        )


async def _send(ctx: ServerRequestContext[Any, Any], notice: Notice, meta: dict[str, Any]) -> None:
    method, params = notice
    if params is not None:
        body = types.ResourceUpdatedNotificationParams.model_validate({**params, "_meta": meta})
        notification: Any = types.ResourceUpdatedNotification(params=body)
    else:
        plain = types.NotificationParams.model_validate({"_meta": meta})
        notification = _NOTIFICATIONS[method](params=plain)
    await ctx.session.send_notification(notification, related_request_id=ctx.request_id)


def _wanted_lists(wanted: types.SubscriptionFilter) -> frozenset[str]:
    flags = {
        TOOLS: wanted.tools_list_changed,
        PROMPTS: wanted.prompts_list_changed,
        RESOURCES: wanted.resources_list_changed,
    }
    return frozenset(method for method, is_wanted in flags.items() if is_wanted)


def _honoured(wanted: types.SubscriptionFilter) -> dict[str, Any]:
    honoured: dict[str, Any] = {}
    if wanted.tools_list_changed:
        honoured["toolsListChanged"] = True
    if wanted.prompts_list_changed:
        honoured["promptsListChanged"] = True
    if wanted.resources_list_changed:
        honoured["resourcesListChanged"] = True
    if wanted.resource_subscriptions:
        honoured["resourceSubscriptions"] = [str(uri) for uri in wanted.resource_subscriptions]
    return honoured


def too_many() -> TooMany:
    """Streams and subscriptions cost memory: there is an end to them."""
    return TooMany(
        "subscription.too-many",
        "too many streams or subscriptions are open",
        hint="close some, or unsubscribe from what is no longer needed",
    )
