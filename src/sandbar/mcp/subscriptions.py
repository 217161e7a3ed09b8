"""Streams of the protocol's own: sessions before 2026-07-28, `subscriptions/listen` since."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.abc
import mcp_types as types

from sandbar.edge.streams import (
    PROMPTS,
    RESOURCES,
    TOOLS,
    WATCHED_PER_STREAM,
    Stream,
    Watched,
    too_many,
)
from sandbar.errors import Incorrect, NotFound
from sandbar.faults import log_fault
from sandbar.mcp.client import Connection
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.notices import said
from sandbar.mcp.resources import Resources
from sandbar.mcp.service import Service
from sandbar.mcp.table import Method, Params, Result
from sandbar.mcp.task_asking import ask_session
from sandbar.mcp.task_news import TaskNews, said_in_session, said_to_listener
from sandbar.mcp.tasks import declares_tasks, missing_extension
from sandbar.mcp.wire import INVALID_PARAMS, RefusedError, complete
from sandbar.verbs import Task

_QUIET_S = 15.0
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_WITH_TASKS = "2025-11-25"

_ALL_LISTS = frozenset({TOOLS, PROMPTS, RESOURCES})


class SessionStream(Stream):
    """A session's standing stream: it hears of all lists, and of what it subscribes to."""

    is_limited = False  # sessions are


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

    async def begin_session(self, exchange: Exchange) -> None:
        """A session is asked for: from now on nothing is lost that it might want to hear of."""
        connection, caller = exchange.client.connection, exchange.caller
        begun = connection.stream
        if (begun and not begun.is_closed) or not connection.is_lasting:
            return
        stream = SessionStream(caller, _ALL_LISTS)
        problem = await self._service.streams.open(stream)
        if problem is not None:
            raise exchange.error(problem)
        connection.stream = stream
        connection.on_close(self._service.streams.close, stream)
        if connection.id is not None:
            connection.on_close(self._service.sessions.end, connection.id)
            await self._service.sessions.begin(connection.id, caller)
        assert self._tasks is not None
        self._tasks.start_soon(self._serve_session, stream, connection)

    def agree(self, connection: Connection, version: str) -> None:
        """Client and server speak the same version: the session can be used."""
        if connection.id is not None:
            self._service.sessions.agree(connection.id, version)

    async def _serve_session(self, stream: Stream, connection: Connection) -> None:
        """Tell a session of changes until its stream ends: then it is over, and its client knows.

        Its account has changed, say. Left open it would be deaf, and the client none the wiser.
        """
        async with anyio.create_task_group() as tasks:
            connection.tasks = tasks
            tasks.start_soon(self._tell_session, stream, connection, tasks)
            await stream.ended.wait()
            tasks.cancel_scope.cancel()
        if connection.id is not None:
            await self._service.sessions.terminate(connection.id)

    async def _tell_session(
        self, stream: Stream, connection: Connection, tasks: anyio.abc.TaskGroup
    ) -> None:
        sessions, id = self._service.sessions, connection.id

        def ask(task: Task) -> None:
            tasks.start_soon(ask_session, self._service, connection, stream.caller, task)

        task_words = said_in_session(connection.progress_tokens, connection.begun, ask)
        task_news = TaskNews(self._service, stream, task_words)
        try:
            await connection.until_initialized()
            if connection.version == _WITH_TASKS:
                stream.follow_tasks(None)
            while not stream.is_closed:
                await stream.stirred()
                await sessions.until_listening(id)
                taken = stream.take()
                for method, params in (*said(taken), *await task_news.due()):
                    await connection.notify(method, params)
                if not sessions.is_listening(
                    id
                ):  # it was cut off meanwhile: rather twice than never
                    stream.give_back(taken)
                    task_news.give_back()
        except Exception as error:  # noqa: BLE001 - one session ends, and not the server
            log_fault("mcp.session-failed", error)
            self._service.streams.close(stream)

    def methods(self) -> dict[str, Method]:
        """What the protocol calls them by."""
        return {
            "resources/subscribe": Method(types.SubscribeRequestParams, self.subscribe),
            "resources/unsubscribe": Method(types.UnsubscribeRequestParams, self.unsubscribe),
            "subscriptions/listen": Method(types.SubscriptionsListenRequestParams, self.listen),
        }

    async def subscribe(self, exchange: Exchange, params: Params) -> Result:
        """Tell the session (or the caller's open streams) when a resource changes."""
        uri = params["uri"]
        watched = await self._service.read(exchange, lambda: self._resources.watched(exchange, uri))
        for stream in self._mine(exchange):
            if not stream.watch(uri, watched):
                raise exchange.error(too_many())
        return {}

    async def unsubscribe(self, exchange: Exchange, params: Params) -> Result:
        """Tell them no more."""
        stream = exchange.client.connection.stream
        streams = self._service.streams.of(exchange.caller, OpenStream)
        for each in [stream] if stream is not None else streams:
            each.unwatch(params["uri"])
        return {}

    def _mine(self, exchange: Exchange) -> list[Stream]:
        stream = exchange.client.connection.stream
        if stream is not None:
            return [stream]
        streams = self._service.streams.of(exchange.caller, OpenStream)
        if not streams:
            problem = Incorrect(
                "subscription.no-stream",
                "there is no open stream that could be told",
                hint="open GET /mcp/sse first, or send this with Accept: text/event-stream",
            )
            raise exchange.error(problem)
        return streams

    # --- subscriptions/listen ----------------------------------------------------------------

    async def listen(self, exchange: Exchange, params: Params) -> Result:
        """One call is one stream: acknowledge what is honoured, then tell until it ends."""
        wanted = types.SubscriptionsListenRequestParams.model_validate(
            params, by_name=False
        ).notifications
        stream = Stream(exchange.caller, _wanted_lists(wanted))
        problem = await self._service.streams.open(stream)
        if problem is not None:
            raise exchange.error(problem)
        meta = {_SUBSCRIPTION: exchange.id}
        try:
            honoured = _honoured(wanted)
            if wanted.resource_subscriptions:
                uris = [str(uri) for uri in wanted.resource_subscriptions]
                honoured["resourceSubscriptions"] = await self._watch(exchange, stream, uris)
            if "taskIds" in (wanted.model_extra or {}):
                honoured["taskIds"] = await self._follow(exchange, stream, wanted)
            task_news = TaskNews(self._service, stream, said_to_listener(meta), is_chosen=True)
            if exchange.record is not None:
                await exchange.record.settle()  # its answer begins now, and may last for days
            told = {"_meta": meta, "notifications": honoured}
            await exchange.client.notify("notifications/subscriptions/acknowledged", told)
            while (due := await stream.due(_QUIET_S)) is not None:
                for method, news in said(due):
                    await exchange.client.notify(method, {"_meta": meta, **(news or {})})
                for method, news in await task_news.due():
                    await exchange.client.notify(method, news)
        finally:
            self._service.streams.close(stream)
        return complete(exchange.version, {"_meta": meta})

    async def _follow(
        self, exchange: Exchange, stream: Stream, wanted: types.SubscriptionFilter
    ) -> list[str]:
        """Which of the tasks are followed now; what is not the caller's is left out."""
        if not declares_tasks(exchange.client):
            raise missing_extension()
        given = (wanted.model_extra or {})["taskIds"]
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise RefusedError(INVALID_PARAMS, "taskIds is an array of handles")
        few = list(dict.fromkeys(given))[:WATCHED_PER_STREAM]
        found = await self._service.read(exchange, lambda: _followable(exchange, few))
        stream.follow_tasks(frozenset(found.values()))
        return list(found)

    async def _watch(self, exchange: Exchange, stream: Stream, uris: list[str]) -> list[str]:
        """Which of these are watched now; what is too much or unknown is left out."""
        few = list(dict.fromkeys(uris))[:WATCHED_PER_STREAM]
        found = await self._service.read(exchange, lambda: self._watchable(exchange, few))
        return [uri for uri, watched in found if stream.watch(uri, watched)]

    def _watchable(self, exchange: Exchange, uris: list[str]) -> list[tuple[str, Watched]]:
        found = []
        for uri in uris:
            try:
                found.append((uri, self._resources.watched(exchange, uri)))
            except RefusedError:
                continue  # nothing that this caller may watch
        return found


def _followable(exchange: Exchange, handles: list[str]) -> dict[str, int]:
    tasks = exchange.database.tasks(exchange.caller)
    found = {}
    for handle in handles:
        try:
            found[handle] = tasks.find(handle).process_id
        except NotFound:
            continue
    return found


def _wanted_lists(wanted: types.SubscriptionFilter) -> frozenset[str]:
    flags = {
        TOOLS: wanted.tools_list_changed,
        PROMPTS: wanted.prompts_list_changed,
        RESOURCES: wanted.resources_list_changed,
    }
    return frozenset(kind for kind, is_wanted in flags.items() if is_wanted)


def _honoured(wanted: types.SubscriptionFilter) -> dict[str, Any]:
    honoured: dict[str, Any] = {}
    if wanted.tools_list_changed:
        honoured["toolsListChanged"] = True
    if wanted.prompts_list_changed:
        honoured["promptsListChanged"] = True
    if wanted.resources_list_changed:
        honoured["resourcesListChanged"] = True
    return honoured
