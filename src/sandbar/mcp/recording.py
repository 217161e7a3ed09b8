"""The audit's side of a request: what it is, how it ended, and that its row is kept in time.

Over HTTP the gate brings a record with every request. Over standard input there is no gate, so the
server makes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import anyio.to_thread

from sandbar.access import Caller
from sandbar.audit import Note, accompanied
from sandbar.database import Database
from sandbar.edge import state_of
from sandbar.edge.asgi import Scope, Send
from sandbar.errors import TooMany
from sandbar.mcp.frames import send_json
from sandbar.mcp.wire import failed, protocol_error
from sandbar.verbs import base_catalogue

T = TypeVar("T")


class Record(Protocol):
    """One request on its way into the audit."""

    note: Note | None

    def open(self, method: str, verb: str | None = None, id: int | str | None = None) -> None:
        """Say what is asked for, and by which id the client knows it."""

    async def is_refused_now(self) -> bool:
        """Whether its caller is let in no more, which is answered already."""

    async def admit(self) -> None:
        """Go on only if the caller has not asked too often."""

    def fail(self, code: str) -> None:
        """Say how it ended, if not well."""

    async def settle(self) -> None:
        """The row is committed when this returns."""

    def working(self, work: Callable[[], T]) -> T:
        """Work in a thread: what it writes takes the row along."""


class OwnRecord:
    """The record of a request that came by no gate."""

    def __init__(self, database: Database, caller: Caller, method: str, verb: str | None) -> None:
        self._journal = database.journal
        self.note: Note | None = database.note(caller, surface="stdio", method=method, verb=verb)

    def open(self, method: str, verb: str | None = None, id: int | str | None = None) -> None:
        """It is open from the start."""

    async def is_refused_now(self) -> bool:
        """Nobody signs in here."""
        return False

    async def admit(self) -> None:
        """Whoever starts us on their own file is not limited."""

    def fail(self, code: str) -> None:
        """Say how it ended; the first word counts."""
        assert self.note is not None
        if self.note.code is None:
            self.note.is_success, self.note.code = False, code

    async def settle(self) -> None:
        """Write the row, unless it rode with a write."""
        if self.note is not None:
            note, self.note = self.note, None
            await anyio.to_thread.run_sync(self._journal.settle, note)

    def working(self, work: Callable[[], T]) -> T:
        """Work in a thread."""
        with accompanied(self.note):
            return work()


OWN: ContextVar[OwnRecord | None] = ContextVar("sandbar-own-record", default=None)


def tool_of(method: str, params: Any) -> str | None:
    """The verb, or else the tool, that a request calls: the only argument that the audit knows."""
    name = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
    if not isinstance(name, str):
        return None
    verb = base_catalogue().find(name)
    return name if verb is None else verb.name


def ignore(scope: Scope, method: str) -> None:
    """A message without an id asks for no answer; only what is a notification went well."""
    record = state_of(scope).record
    if record is not None and not method.startswith("notifications/"):
        record.fail("request.refused")


async def admitted(
    scope: Scope, send: Send, method: str, message: dict[str, Any] | None, version: str
) -> bool:
    """Open the request's row and count it; whoever asks too often is told here."""
    state = state_of(scope)
    record = state.record
    if record is None:
        return True
    if await record.is_refused_now():
        return False
    id = (message or {}).get("id")
    id = id if type(id) in (int, str) else None
    record.open(method, tool_of(method, (message or {}).get("params")), id)
    try:
        await record.admit()
    except TooMany as problem:
        error = protocol_error(problem, version, state.request_id)
        body = failed(id, error)
        wait = str(problem.data["retry-after-s"]).encode()
        await send_json(send, body, 429, (b"retry-after", wait))
        return False
    return True
