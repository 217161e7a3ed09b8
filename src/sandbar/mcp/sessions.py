"""Which sessions live, whose they are, and which can be told: the SDK keeps that to itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import anyio

from sandbar import clock
from sandbar.access import Caller

SESSIONS_PER_ACCOUNT = 200
IDLE_S = 300.0  # how long the SDK keeps a session that has never opened its own stream
LISTENER_IDLE_S = 1800.0  # and one that has, while it is between two streams

# The SDK ends a session that it has not heard of for a while: let it hear now and then.
_SHOWN_EVERY_S = 60.0
_OPENING_S = 1.0
_LOOK_EVERY_S = 0.005


class Session:
    """A session since its `initialize`; it can be used once a version is agreed upon."""

    __slots__ = ("caller", "has_come", "requests", "shown_s", "used_s", "version")

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.version = ""  # none yet
        self.requests = 0  # that are being served now; an open stream is none
        self.used_s = self.shown_s = clock.monotonic_s()
        self.has_come = anyio.Event()  # for its own stream


class Transports(Protocol):
    """Where sessions have their streams."""

    def is_listening(self, id: str) -> bool:
        """Whether the session's own stream is open, so that what is sent now arrives."""

    def keep(self, id: str, idle_s: float) -> None:
        """Let a session be idle for so long from the end of its present request on."""

    async def end(self, id: str) -> None:
        """End a session: its stream ends, and whoever comes with its id finds nothing."""


class Sessions:
    """The living sessions by their ids."""

    def __init__(self) -> None:
        self._living: dict[str, Session] = {}
        self._transports: Transports | None = None  # standard output has none

    def follow(self, transports: Transports) -> None:
        """Where the sessions have their streams."""
        self._transports = transports

    async def begin(self, id: str, caller: Caller) -> None:
        """A session is asked for; of an account with too many, the longest idle makes room."""
        others = [other for other in self._living if other != id]
        mine = [other for other in others if _is_same(self._living[other].caller, caller)]
        self._living[id] = Session(caller)
        if len(mine) >= SESSIONS_PER_ACCOUNT:
            await self.terminate(min(mine, key=self._worth))

    def _worth(self, id: str) -> tuple[bool, bool, float]:
        session = self._living[id]
        return session.requests > 0, self._hears(id), session.used_s

    def agree(self, id: str, version: str) -> None:
        """Its client and we have agreed upon a version."""
        if id in self._living:
            self._living[id].version = version

    def end(self, id: str) -> None:
        """It is over."""
        self._living.pop(id, None)

    def leave(self, id: str, caller: Caller) -> None:
        """Its client wants it to end: from now on it is not to be used."""
        if self._of(id, caller) is not None:
            self.end(id)

    async def terminate(self, id: str) -> None:
        """End it; its client learns so from the end of its stream, or when it asks next."""
        self.end(id)
        if self._transports is not None:
            await self._transports.end(id)

    def use(self, id: str, caller: Caller) -> Session | None:
        """The session, if it is this caller's, and if the SDK need not hear of this request."""
        session = self._living.get(id)
        if session is None or session.caller != caller or not session.version:
            return None
        session.used_s = now = clock.monotonic_s()
        if now - session.shown_s > _SHOWN_EVERY_S:
            session.shown_s = now
            return None
        return session

    @contextmanager
    def serving(self, id: str, caller: Caller) -> Iterator[None]:
        """While one of its requests is served, it is not idle."""
        session = self._of(id, caller)
        if session is None:
            yield
            return
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.used_s = clock.monotonic_s()

    # --- their own streams -------------------------------------------------------------------

    def listen(self, id: str) -> None:
        """Its client has come for its stream, which will be open in a moment."""
        session = self._living.get(id)
        if session is not None:
            session.has_come.set()
            if self._transports is not None:
                self._transports.keep(id, LISTENER_IDLE_S)

    def is_listening(self, id: str | None) -> bool:
        """Whether what it is told now arrives; over standard output it always does."""
        return id is None or self._hears(id)

    async def until_listening(self, id: str | None) -> None:
        """Wait for its stream; what is due to it can wait as long."""
        while id is not None and not self._hears(id):
            session = self._living.get(id)
            if session is None:  # it is ending, and so will whoever waits
                await anyio.sleep_forever()
                return
            await session.has_come.wait()
            session.has_come = anyio.Event()
            with anyio.move_on_after(_OPENING_S):
                while not self._hears(id):
                    await anyio.sleep(_LOOK_EVERY_S)

    def _hears(self, id: str) -> bool:
        return self._transports is not None and self._transports.is_listening(id)

    def _of(self, id: str, caller: Caller) -> Session | None:
        session = self._living.get(id)
        return session if session is not None and _is_same(session.caller, caller) else None


def _is_same(one: Caller, other: Caller) -> bool:
    """Whether two callers are one account, whatever its role is by now."""
    return (one.workspace, one.principal, one.account_id) == (
        other.workspace,
        other.principal,
        other.account_id,
    )
