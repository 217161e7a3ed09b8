"""The store's contract: rows, snapshots and transactions of one workspace at a time.

The store keeps documents, their index keys and their past. It knows nothing of classes,
properties or validity: those are numbers to it. Both implementations (`sqlite/`, `postgres/`)
pass the same contract tests; what differs is declared nowhere, because nothing may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from sandbar.store.answer import Answer
from sandbar.store.jobs import Claim, JobQueue
from sandbar.store.owed import Duty, Owed
from sandbar.store.plan import Transaction
from sandbar.store.reading import Reads
from sandbar.store.rows import Head, Record, Row, State, Token, TxRow, Version
from sandbar.store.scan import Key, Scan
from sandbar.store.trail import Buckets, KeyUses, Trail
from sandbar.store.usage import Account
from sandbar.store.wanted import NOTHING_WANTED, LookedUp, Wanted
from sandbar.store.watchers import Heard, Watch

T = TypeVar("T")


class Snapshot(Reads, Protocol):
    """A consistent view of one workspace; everything read through it belongs together."""

    state: State

    def look_up(self, wanted: Wanted) -> LookedUp:
        """The rows and holders that are wanted, as few round trips as can be."""

    def entity_as_of(self, id: int, t: int) -> Row | None:
        """The row of an entity as it was right after transaction `t`."""

    def entities_at(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Row]:
        """The rows of entities right after transactions, for pairs (id, t); missing: not there."""

    def find_as_of(self, property: int, key: Key, t: int) -> list[int]:
        """Ids of the entities that held this key right after transaction `t`."""

    def versions(self, id: int, *, after: int, limit: int) -> list[Version]:
        """The versions of an entity with t > `after`, oldest first, the current one included."""

    def last_version(self, id: int) -> Version | None:
        """The last version of an entity that was superseded; a deletion, if it is gone."""

    def former(self, property: int, key: Key) -> int | None:
        """The id of the entity that was the last to hold this key, and no longer does."""

    def unsearched(self) -> int | None:
        """Up to which id older entities can be searched; None, when all of them can."""

    def entities_after(self, id: int, limit: int) -> list[Row]:
        """Entities with greater ids, lowest first."""

    def transactions(self, *, after: int, limit: int) -> list[TxRow]:
        """Transactions with t > `after`, oldest first."""

    def transaction_at(self, instant_us: int) -> int:
        """The last t committed at or before this instant (0 if there was none)."""

    def schema_changes(self) -> list[int]:
        """Every t that changed the metamodel, ascending."""

    def explain(self, scan: Scan) -> str:
        """The database's own plan for this scan, for tests and curious people."""


class Store(Protocol):
    """One database: a file or a PostgreSQL database with many workspaces in it."""

    reads_in_microseconds: bool  # whether an event loop may wait for a point read

    @property
    def jobs(self) -> JobQueue:
        """The jobs of all workspaces, for those who do them."""

    @property
    def trail(self) -> Trail:
        """The audit of all workspaces."""

    @property
    def owed(self) -> Owed:
        """What commits have left to be done."""

    @property
    def buckets(self) -> Buckets:
        """How often somebody may do something."""

    @property
    def key_uses(self) -> KeyUses:
        """When keys were last used."""

    def has_writers(self) -> bool:
        """Whether the threads that write are alive."""

    def workspaces(self) -> list[tuple[int, str]]:
        """Numbers and names of the workspaces that there are, by name."""

    def workspace(self, name: str) -> int | None:
        """The number of the workspace of that name."""

    def create_workspace(self, name: str) -> int:
        """Make an empty workspace; an existing one of that name is simply returned."""

    def account(self, ws: int) -> Account:
        """What a workspace uses, and may use, at this moment."""

    def set_limits(self, ws: int, limits: str) -> None:
        """Set the limits of a workspace, as JSON: they hold from the next write on."""

    def home_of_server(self) -> str | None:
        """The workspace that a server on this database is at home in, where that can be told."""

    def drop_workspace(self, name: str) -> None:
        """Delete a workspace with all that is in it; its number is never given to another.

        Requests that are under way may still note themselves in the audit of nobody.
        """

    def head(self, ws: int) -> Head:
        """Where the workspace stands: the cheapest look there is."""

    def point(self, ws: int, id: int) -> tuple[Head, Row | None]:
        """One entity by id together with the workspace's head, in one statement."""

    def point_by_key(self, ws: int, property: int, key: Key) -> tuple[Head, Row | None]:
        """One entity by the key of a unique slot, likewise."""

    def point_as_of(self, ws: int, id: int, t: int) -> tuple[Head, Row | None]:
        """One entity as of the past, likewise."""

    def secret(self, ws: int, id: int, property: int) -> str | None:
        """The hash kept for a secret slot, in one statement."""

    def token(self, digest: bytes) -> Token | None:
        """The minted key with this digest, in whatever workspace."""

    def snapshot(self, ws: int) -> AbstractContextManager[Snapshot]:
        """A consistent view for several reads."""

    def submit(
        self,
        ws: int,
        work: Callable[[Transaction], T],
        *,
        wanted: Wanted = NOTHING_WANTED,
        alone: bool = False,
        deadline_s: float | None = None,
    ) -> Answer[T]:
        """Queue a transaction; the future resolves after its commit, never before."""

    def open_transaction(self) -> Transaction | None:
        """The transaction that the calling thread is inside of, if any."""

    def watch(self, ws: int, heard: Heard) -> Watch:
        """Call `heard` after commits in the workspace, from any thread; it must only mark."""

    def scrub(self) -> bool:
        """Overwrite what was erased wherever it may linger; False: it is still owed."""

    def close(self) -> None:
        """Finish what is queued, then let go of everything."""


__all__ = [
    "NOTHING_WANTED",
    "Claim",
    "Duty",
    "Head",
    "JobQueue",
    "Owed",
    "Reads",
    "Record",
    "Row",
    "Snapshot",
    "State",
    "Store",
    "Token",
    "Transaction",
    "TxRow",
    "Version",
    "Wanted",
]
