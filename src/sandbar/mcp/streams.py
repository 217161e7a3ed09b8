"""Open streams and what is due to each: news of commits, told to whom they concern.

News arrive on a thread of the hub and are noted here on the event loop. A stream keeps no queue:
it remembers which lists have changed and which of its resources, so that a slow reader costs
nothing and is told everything once.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.to_thread

from sandbar.access import Caller
from sandbar.notify import Hub, News, Subscription

STREAMS_PER_CALLER = 100
WATCHED_PER_STREAM = 1000

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"

_PROMPT_CLASSES = frozenset({"prompt/Prompt", "workflow/Definition"})

Notice = tuple[str, dict[str, Any] | None]


class Stream:
    """One open stream: whose it is, what it wants, and what is due to it."""

    def __init__(self, caller: Caller, lists: frozenset[str]) -> None:
        self.caller = caller
        self.lists = lists
        self.is_closed = False
        self._watched: dict[int, set[str]] = {}
        self._due_lists: dict[str, None] = {}
        self._due_uris: dict[str, None] = {}
        self._wake = anyio.Event()

    def watch(self, id: int | None, uri: str) -> bool:
        """Be told when an entity changes; False if the stream watches too many already."""
        if sum(map(len, self._watched.values())) >= WATCHED_PER_STREAM:
            return False
        if id is not None:
            self._watched.setdefault(id, set()).add(uri)
        return True

    def unwatch(self, uri: str) -> None:
        """Be told no more about this resource."""
        for uris in self._watched.values():
            uris.discard(uri)
        self._watched = {id: uris for id, uris in self._watched.items() if uris}
        self._due_uris.pop(uri, None)

    def note(self, news: News) -> None:
        """Remember what of a commit concerns this stream."""
        changed = _lists_changed(news) & self.lists
        self._due_lists.update(dict.fromkeys(sorted(changed)))
        if news.is_partial:
            changed_ids = set(self._watched)
        else:
            changed_ids = {entity.id for entity in news.entities} & set(self._watched)
        for id in sorted(changed_ids):
            self._due_uris.update(dict.fromkeys(sorted(self._watched[id])))
        if self._due_lists or self._due_uris:
            self._wake.set()

    def close(self) -> None:
        """End the stream; whoever waits for its news is woken."""
        self.is_closed = True
        self._wake.set()

    async def due(self, timeout_s: float) -> list[Notice] | None:
        """Wait for news: what to tell, nothing after a quiet while, None when it has ended."""
        with anyio.move_on_after(timeout_s):
            await self._wake.wait()
        if self.is_closed:
            return None
        self._wake = anyio.Event()
        notices: list[Notice] = [(method, None) for method in self._due_lists]
        notices += [(UPDATED, {"uri": uri}) for uri in self._due_uris]
        self._due_lists, self._due_uris = {}, {}
        return notices


class Streams:
    """All open streams, by workspace. Lives on the event loop."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._open: dict[str, set[Stream]] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._subscribing = anyio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, stream: Stream) -> bool:
        """Begin to tell a stream; False if its caller has too many open."""
        workspace = stream.caller.workspace
        beside = self._open.setdefault(workspace, set())
        mine = [each for each in beside if each.caller.principal == stream.caller.principal]
        if len(mine) >= STREAMS_PER_CALLER:
            return False
        beside.add(stream)
        is_told = False
        try:
            async with self._subscribing:
                if workspace not in self._subscriptions:
                    self._loop = asyncio.get_running_loop()
                    self._subscriptions[workspace] = await anyio.to_thread.run_sync(
                        self._hub.subscribe, workspace, self._hear
                    )
            is_told = not stream.is_closed
        finally:
            if not is_told:  # its client hung up meanwhile
                self.close(stream)
        return True

    def close(self, stream: Stream) -> None:
        """Tell a stream no more; the last one out lets the hub rest."""
        workspace = stream.caller.workspace
        beside = self._open.get(workspace, set())
        beside.discard(stream)
        stream.close()
        if not beside and workspace in self._subscriptions:
            self._subscriptions.pop(workspace).close()
            self._open.pop(workspace, None)

    def of(self, caller: Caller, kind: type[Stream]) -> list[Stream]:
        """The caller's open streams of a kind."""
        return [
            stream
            for stream in self._open.get(caller.workspace, ())
            if isinstance(stream, kind) and stream.caller.principal == caller.principal
        ]

    def close_all(self) -> None:
        """The server is going down."""
        for beside in list(self._open.values()):
            for stream in list(beside):
                self.close(stream)

    def _hear(self, news: News) -> None:
        """On a thread of the hub."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._tell, news)

    def _tell(self, news: News) -> None:
        for stream in list(self._open.get(news.workspace, ())):
            if _ends(stream.caller, news):
                self.close(stream)  # the client signs in again, if it still can
            else:
                stream.note(news)


def _lists_changed(news: News) -> set[str]:
    if news.is_partial:
        return {TOOLS, PROMPTS, RESOURCES}
    changed = {TOOLS} if news.is_schema else set()
    if any(entity.class_ in _PROMPT_CLASSES for entity in news.entities):
        changed.add(PROMPTS)
    if any(entity.ident is not None and entity.kind != "updated" for entity in news.entities):
        changed.add(RESOURCES)
    return changed


def _ends(caller: Caller, news: News) -> bool:
    """Whether the account behind a stream has changed: it may have been revoked."""
    return any(entity.id == caller.account_id for entity in news.entities)
