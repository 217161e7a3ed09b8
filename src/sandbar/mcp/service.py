"""What all methods share: the workspaces, the threads, the open streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from sandbar.access import Caller, local_caller
from sandbar.database import Database
from sandbar.edge.runner import Runner
from sandbar.edge.streams import Streams
from sandbar.errors import Problem
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.left_open import LeftOpen
from sandbar.mcp.sessions import Sessions
from sandbar.model import Answer, SecretNotHashed, Written
from sandbar.patience import Patience
from sandbar.serving import Serving
from sandbar.verbs import Begun, Call

T = TypeVar("T")


class Service:
    """The house behind the methods."""

    def __init__(self, database: Database, serving: Serving) -> None:
        self._database = database
        self.listing = serving.tools
        self.local_caller: Caller = local_caller(database.workspace_name)
        self.runner = Runner()
        self.streams = Streams(database.hub, self._changed_at, self._streams_of)
        database.count_streams_by(self.streams.count)
        self.sessions = Sessions()
        self.left_open = LeftOpen()
        self.reads_inline = database.reads_in_microseconds

    def shared_key(self) -> bytes:
        """What seals the state that clients carry for us, on every server of this database."""
        return self._database.workspace.credentials.shared_key()

    def database(self, caller: Caller) -> Database:
        """The workspace of an identified caller."""
        return self._database.of(caller)

    def _changed_at(self, workspace: str, id: int) -> int:
        return self._database.in_workspace(workspace).workspace.get(id).t

    def _streams_of(self, workspace: str) -> int:
        return self._database.in_workspace(workspace).workspace.budgets.account().limits.streams

    async def perform(self, exchange: Exchange, call: Call) -> Any:
        """Perform a call: on the loop while that takes microseconds, else in a thread."""
        is_begun_here = self.reads_inline and exchange.is_small and call.note is not None
        if is_begun_here and call.verb is not None and call.verb.is_point_write:
            return await self._write(exchange, call)
        return await self.read(exchange, lambda: exchange.database.perform(call))

    async def _write(self, exchange: Exchange, call: Call) -> Any:
        """Begin a point write on the loop, and let the writer call back."""
        database, record, patience = exchange.database, exchange.record, self.runner.patience()
        call = msgspec.structs.replace(call, deadline=patience)
        assert record is not None, "its note is kept by somebody"
        begun: Begun | None = None

        def begin() -> Answer[Written] | None:
            nonlocal begun
            begun = database.begin(call)
            return None if begun is None else begun.written

        error: BaseException | None = None
        try:
            async with self.runner.turn(exchange.caller):
                record.writing(begin)
                if begun is not None:
                    error = await self.runner.committed(begun.written, patience)
            if begun is not None and error is None:
                return begun.answer(begun.written.result())
        except Problem as problem:
            error = problem
        if error is not None and not isinstance(error, SecretNotHashed):
            raise await self.runner.run(exchange.caller, lambda: database.explained(call, error))
        return await self.read(exchange, lambda: database.perform(call), patience)

    async def read(
        self, exchange: Exchange, work: Callable[[], T], patience: Patience | None = None
    ) -> T:
        """Do something that may take a while; what it writes takes the row of the audit along."""
        record = exchange.record
        if record is None:
            return await self.runner.run(exchange.caller, work, patience)
        return await self.runner.run(exchange.caller, lambda: record.working(work), patience)
