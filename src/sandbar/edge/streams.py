"""Open streams and what is due to each: news of commits, told to whom they concern.

News arrive on a thread of the hub and are noted here on the event loop. A stream keeps no queue:
it remembers which lists have changed and which of its resources, so that a slow reader costs
nothing and is told everything once. It ends when anything changes that let its caller sign in: the
account, the key, a role.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any, ClassVar, NamedTuple

import anyio
import anyio.to_thread

from sandbar import clock
from sandbar.access import Caller
from sandbar.errors import Problem, TooMany
from sandbar.model import over_budget
from sandbar.notify import Hub, News, Subscription
from sandbar.workflow import PROCESSES

STREAMS_PER_CALLER = 100
WATCHED_PER_STREAM = 1000

# What a stream may hear of: a list that has changed, or one resource that has.
TOOLS, PROMPTS, RESOURCES = "tools", "prompts", "resources"
UPDATED = "updated"

_PROMPT_CLASSES = frozenset({"prompt/Prompt", "workflow/Definition"})
_CLOCK_MAY_STEP_S = 60.0  # look again at whether an account has expired

# The entity behind a URI, and its ident if the URI names that: the next to bear it is meant, too.
Watched = tuple[int | None, str | None]


class Due(NamedTuple):
    """One thing to tell: a list has changed, or the resource of this URI was updated."""

    kind: str
    uri: str | None = None


class Stream:
    """One open stream: whose it is, what it wants, and what is due to it."""

    is_limited: ClassVar[bool] = True  # a caller has only so many of these

    def __init__(self, caller: Caller, lists: frozenset[str]) -> None:
        self.caller = caller
        self.lists = lists
        self.ended = anyio.Event()
        self._uris: set[str] = set()
        self._by_id: dict[int, set[str]] = {}
        self._by_ident: dict[str, set[str]] = {}
        self._due_lists: dict[str, None] = {}
        self._due_uris: dict[str, None] = {}
        self._due_tasks: dict[int, None] = {}
        self._tasks: Collection[int] | None = ()  # processes; None: all of this workspace
        self._wake = anyio.Event()

    def watch(self, uri: str, watched: Watched) -> bool:
        """Be told when a resource changes; False if the stream watches too many already."""
        id, ident = watched
        if id is None:
            return True  # it never changes
        if uri not in self._uris and len(self._uris) >= WATCHED_PER_STREAM:
            return False
        self._uris.add(uri)
        self._by_id.setdefault(id, set()).add(uri)
        if ident is not None:
            self._by_ident.setdefault(ident, set()).add(uri)
        return True

    def unwatch(self, uri: str) -> None:
        """Be told no more about this resource."""
        self._uris.discard(uri)
        self._by_id = _without(self._by_id, uri)
        self._by_ident = _without(self._by_ident, uri)
        self._due_uris.pop(uri, None)

    def follow_tasks(self, process_ids: Collection[int] | None) -> None:
        """Be told of these processes, or of any; whose they are is looked at when they are told."""
        self._tasks = process_ids

    def take_tasks(self) -> list[int]:
        """The processes that have changed; they are due no longer."""
        due, self._due_tasks = list(self._due_tasks), {}
        return due

    def note_tasks(self, process_ids: list[int]) -> None:
        """These are to be told."""
        self._due_tasks.update(dict.fromkeys(process_ids))
        self._stir()

    def note(self, news: News) -> None:
        """Remember what of a commit concerns this stream."""
        changed = _lists_changed(news) & self.lists
        self._due_lists.update(dict.fromkeys(sorted(changed)))
        uris = set(self._uris) if news.is_partial else set()
        for entity in news.entities if self._uris else ():
            uris |= self._by_id.get(entity.id, set())
            if entity.ident is not None:
                uris |= self._by_ident.get(entity.ident, set())
        self._due_uris.update(dict.fromkeys(sorted(uris)))
        self._note_tasks(news)
        self._stir()

    def _note_tasks(self, news: News) -> None:
        followed = self._tasks
        if followed is None:
            changed = [entity.id for entity in news.entities if entity.class_ in PROCESSES]
        elif news.is_partial:
            changed = list(followed)
        else:
            changed = [entity.id for entity in news.entities if entity.id in followed]
        self._due_tasks.update(dict.fromkeys(changed))

    def give_back(self, taken: list[Due]) -> None:
        """These could not be told: they are due still."""
        self._due_lists.update((one.kind, None) for one in taken if one.uri is None)
        self._due_uris.update((one.uri, None) for one in taken if one.uri in self._uris)
        self._stir()

    def close(self) -> None:
        """End the stream; whoever waits for its news is woken."""
        self.ended.set()
        self._wake.set()

    @property
    def is_closed(self) -> bool:
        """Whether it has ended."""
        return self.ended.is_set()

    async def stirred(self) -> None:
        """Wait until something is due, or the stream has ended."""
        await self._wake.wait()

    def take(self) -> list[Due]:
        """What to tell now; it is due no longer."""
        if not self.is_closed:
            self._wake = anyio.Event()
        due = [Due(kind) for kind in self._due_lists]
        due += [Due(UPDATED, uri) for uri in self._due_uris]
        self._due_lists, self._due_uris = {}, {}
        return due

    async def due(self, timeout_s: float) -> list[Due] | None:
        """Wait for news: what to tell, nothing after a quiet while, None when it has ended."""
        with anyio.move_on_after(timeout_s):
            await self.stirred()
        return None if self.is_closed else self.take()

    def _stir(self) -> None:
        if self._due_lists or self._due_uris or self._due_tasks:
            self._wake.set()


class Streams:
    """All open streams, by workspace. Lives on the event loop."""

    def __init__(
        self, hub: Hub, changed_at: Callable[[str, int], int], budget_of: Callable[[str], int]
    ) -> None:
        """`changed_at` says when an entity of a workspace last changed, `budget_of` how many
        streams a workspace may have open here (0: any number); both may block."""
        self._hub = hub
        self._changed_at = changed_at
        self._budget_of = budget_of
        self._open: dict[str, set[Stream]] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._subscribing = anyio.Lock()
        self._expiring: dict[Stream, asyncio.TimerHandle] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, stream: Stream) -> TooMany | None:
        """Begin to tell a stream; or why not: its caller, or the workspace, has too many open."""
        workspace = stream.caller.workspace
        most = await anyio.to_thread.run_sync(self._budget_of, workspace)
        if most and self.count(workspace) >= most:
            return over_budget("streams", self.count(workspace) + 1, most)
        beside = self._open.setdefault(workspace, set())
        if stream.is_limited and len(self._limited(stream.caller)) >= STREAMS_PER_CALLER:
            return too_many()
        beside.add(stream)
        is_told = False
        try:
            async with self._subscribing:
                if workspace not in self._subscriptions:
                    self._loop = asyncio.get_running_loop()
                    self._subscriptions[workspace] = await anyio.to_thread.run_sync(
                        self._hub.subscribe, workspace, self._hear
                    )
            # Whatever ended the caller's right before there was anybody to hear of it.
            is_told = not stream.is_closed and await anyio.to_thread.run_sync(
                self._still_holds, stream.caller
            )
        finally:
            if not is_told:  # its client hung up meanwhile, or may not listen any more
                self.close(stream)
        if is_told:
            self._expire(stream)
        return None

    def count(self, workspace: str) -> int:
        """How many streams of a workspace are open here; from any thread."""
        return len(self._open.get(workspace, ()))

    def _still_holds(self, caller: Caller) -> bool:
        try:
            return all(self._changed_at(caller.workspace, id) == t for id, t in caller.rests_on)
        except Problem:
            return False

    def close(self, stream: Stream) -> None:
        """Tell a stream no more; the last one out lets the hub rest."""
        workspace = stream.caller.workspace
        beside = self._open.get(workspace, set())
        beside.discard(stream)
        stream.close()
        if (timer := self._expiring.pop(stream, None)) is not None:
            timer.cancel()
        if not beside and workspace in self._subscriptions:
            self._subscriptions.pop(workspace).close()
            self._open.pop(workspace, None)

    def of(self, caller: Caller, kind: type[Stream]) -> list[Stream]:
        """The caller's open streams of a kind."""
        return [
            stream
            for stream in self._open.get(caller.workspace, ())
            if isinstance(stream, kind) and _is_same(stream.caller, caller)
        ]

    def _limited(self, caller: Caller) -> list[Stream]:
        return [stream for stream in self.of(caller, Stream) if stream.is_limited]

    def close_all(self) -> None:
        """The server is going down."""
        for beside in list(self._open.values()):
            for stream in list(beside):
                self.close(stream)

    def _expire(self, stream: Stream) -> None:
        """End a stream when its account does."""
        expires_us = stream.caller.expires_us
        if expires_us is None:
            return
        left_s = (expires_us - clock.now_us()) / 1e6
        if left_s <= 0:
            self.close(stream)
        else:
            self._expiring[stream] = asyncio.get_running_loop().call_later(
                min(left_s, _CLOCK_MAY_STEP_S), self._expire, stream
            )

    # --- news --------------------------------------------------------------------------------

    def _hear(self, news: News) -> None:
        """On a thread of the hub."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._check, news)

    def _check(self, news: News) -> None:
        """Find out which accounts the news have touched, in a thread if they do not say it."""
        if not news.is_partial:
            # Whoever has a stream had an account before: news of its making come late.
            changed = {entity.id for entity in news.entities if entity.kind != "created"}
            self._tell(news, changed)
            return
        callers = [stream.caller for stream in self._open.get(news.workspace, ())]
        accounts = {id for one in callers for id, _ in one.rests_on}
        if _may_be_anything(news):
            self._tell(news, accounts)
            return
        assert self._loop is not None
        touched = self._loop.run_in_executor(None, self._touched, news, accounts)
        touched.add_done_callback(lambda found: self._tell(news, found.result()))

    def _touched(self, news: News, accounts: set[int]) -> set[int]:
        return {account for account in accounts if self._is_touched(news, account)}

    def _is_touched(self, news: News, account: int) -> bool:
        try:
            return self._changed_at(news.workspace, account) >= news.t
        except Problem:
            return True  # it is gone, or nobody can tell

    def _tell(self, news: News, touched: set[int]) -> None:
        for stream in list(self._open.get(news.workspace, ())):
            # What its caller knew when signing in is no news, however late it comes; only who
            # cannot be sure (a backup may have been restored) ends more streams than it must.
            if any(
                id in touched and (news.is_partial or since_t < news.t)
                for id, since_t in stream.caller.rests_on
            ):
                self.close(stream)  # the client signs in again, if it still can
            else:
                stream.note(news)


def too_many() -> TooMany:
    """Streams and subscriptions cost memory: there is an end to them."""
    return TooMany(
        "subscription.too-many",
        "too many streams or subscriptions are open",
        hint="close some, or unsubscribe from what is no longer needed",
    )


def _is_same(one: Caller, other: Caller) -> bool:
    """Whether it is the same key of the same principal: others may see other things."""
    return (one.principal, one.key_id) == (other.principal, other.key_id)


def _without(watched: dict[Any, set[str]], uri: str) -> dict[Any, set[str]]:
    return {key: rest for key, uris in watched.items() if (rest := uris - {uri})}


def _may_be_anything(news: News) -> bool:
    """Whether a backup was restored, or what was committed could not be read."""
    return news.is_partial and news.is_schema and not news.entities


def _lists_changed(news: News) -> set[str]:
    if news.is_partial:
        return {TOOLS, PROMPTS, RESOURCES}
    changed = {TOOLS} if news.is_schema else set()
    if any(entity.class_ in _PROMPT_CLASSES for entity in news.entities):
        changed.add(PROMPTS)
    if any(entity.ident is not None and entity.kind != "updated" for entity in news.entities):
        changed.add(RESOURCES)
    return changed
