"""What all methods share: the workspaces, the threads, the open streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sandbar.access import Caller, local_caller
from sandbar.database import Database
from sandbar.edge.runner import Runner
from sandbar.edge.streams import Streams
from sandbar.mcp.exchange import Exchange, Listing
from sandbar.mcp.left_open import LeftOpen
from sandbar.mcp.sessions import Sessions

T = TypeVar("T")


class Service:
    """The house behind the methods."""

    def __init__(self, database: Database, runner: Runner, listing: Listing = "default") -> None:
        self._database = database
        self.listing = listing  # what `tools/list` shows unless the URL asks for more or less
        self.local_caller: Caller = local_caller(database.workspace_name)
        self.runner = runner
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

    async def read(self, exchange: Exchange, work: Callable[[], T]) -> T:
        """Do something that may take a while; what it writes takes the row of the audit along."""
        record = exchange.record
        if record is None:
            return await self.runner.run(exchange.caller, work)
        return await self.runner.run(exchange.caller, lambda: record.working(work))
