"""A batch of transactions, planned in memory before a single row is written.

Each transaction reads the database through the changes of those before it in the batch, and
collects its own changes as rows. One that fails is simply not absorbed, so it needs no savepoint
and cannot hurt its neighbours; the rows of the others are applied together.

A state that held for no time (begun and ended by the same transaction) leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sandbar import clock
from sandbar.errors import Fault
from sandbar.store.begun import Begun
from sandbar.store.jobs import job_lost
from sandbar.store.numbering import Ride
from sandbar.store.pieces import Change, Pair, PastRow, RunAlone
from sandbar.store.reading import Reads
from sandbar.store.rows import Record, Row, State, TxRow, Version
from sandbar.store.scan import Found, Key, Scan, level_of
from sandbar.store.search import Sought, Words
from sandbar.store.tokens import Tokens
from sandbar.store.trail import AuditRow
from sandbar.store.usage import Account, Limits, Tally, Usage
from sandbar.store.wanted import Wanted


class Base(Reads, Protocol):
    """What planning needs of the write session underneath."""

    def prefetch(self, wanted: Wanted) -> None: ...
    def recall(self, principal: str, key: str) -> Record | None: ...
    def job_token(self, id: int) -> int | None: ...
    def transactions(self, *, after: int, limit: int) -> list[TxRow]: ...
    def transaction_at(self, instant_us: int) -> int: ...
    def entity_as_of(self, id: int, t: int) -> Row | None: ...
    def last_version(self, id: int) -> Version | None: ...
    def former(self, property: int, key: Key) -> int | None: ...
    def unsearched(self) -> int | None: ...
    def entities_after(self, id: int, limit: int) -> list[Row]: ...
    def apply(self, plan: Plan) -> None: ...


class Plan:
    """The rows of a batch, and the view of the database that they add up to."""

    def __init__(self, state: State, account: Account | None = None) -> None:
        self.account = account or Account(Usage(), Limits(), 0)
        self.t, self.instant_us = state.t, state.instant_us
        self.generation, self.epoch = state.generation, state.epoch
        self.next_id = state.next_id
        self.rows: dict[int, Row | None] = {}
        self.versions: dict[tuple[int, int], tuple[int, str | None]] = {}
        self.begun = Begun()
        self.ended: dict[Pair, dict[int, int]] = {}
        self.past: list[PastRow] = []
        self.transactions: list[tuple[TxRow, bool]] = []
        self.secrets: dict[tuple[int, int], str | None] = {}
        self.records: dict[tuple[str, str], Record] = {}
        self.tokens: Tokens | None = None
        self.jobs: dict[int, int | None] = {}  # when each is due; None: it has none any more
        self.words: dict[int, Words] = {}
        self.unsearched: tuple[int | None] | None = None  # how far the index was built just now
        self.is_reserving = False  # numbers are set aside, be it that nothing else is written
        self.erased: dict[int, int] = {}  # whom nothing but a mark remembers, since when
        self.first_unstored_id = state.next_id
        self.rides: dict[Ride, AuditRow] = {}  # notes of the audit that come along

    def is_empty(self) -> bool:
        """Whether applying this plan would write anything."""
        has_rows = self.transactions or self.records or self.jobs or self.unsearched
        return not (has_rows or self.is_reserving)

    def absorb(self, tx: Transaction) -> None:
        """Take over a transaction that ran to its end."""
        for change in tx.changes:
            self.take(change, tx.t)
        if tx.secrets or tx.records or tx.jobs or tx.tokens:
            self._keep(tx)
        self.next_id = tx.next_id
        if tx.changed_ids:
            self.t = tx.t
            self.instant_us = tx.instant_us
            row = TxRow(tx.t, tx.instant_us, tx.principal, tx.reason, tuple(sorted(tx.changed_ids)))
            self.transactions.append((row, tx.changes_schema))
            self.generation += tx.changes_schema

    def _keep(self, tx: Transaction) -> None:
        self.secrets.update(tx.secrets)
        self.records.update(tx.records)
        self.jobs.update(tx.jobs)
        self.tokens = tx.tokens or self.tokens  # who has any runs alone

    def flush(self, base: Base) -> None:
        """Write the rows planned so far and forget them; counters and records stay planned."""
        base.apply(self)
        self.account.note_saved()
        self.rows, self.versions, self.begun, self.ended = {}, {}, Begun(), {}
        self.past, self.secrets = [], {}
        self.words, self.first_unstored_id = {}, self.next_id

    def take(self, change: Change, t: int) -> None:
        """Plan the rows of one entity's change."""
        id = change.id
        for pair in change.ended:
            self.end(pair, id, t)
        self.begun.begin(change.begun, id, t)
        if change.words is not None:
            self.words[id] = change.words
        if change.doc is None:
            self.rows[change.id] = None
            self.versions[change.id, t] = (change.cls, None)
            self.words[id] = ()
        else:
            self.rows[change.id] = Row(change.id, change.cls, t, change.doc)

    def supersede(self, row: Row, t: int) -> None:
        """Keep a state that ends at `t` as a version, unless it began there too."""
        if row.t != t:
            self.versions[row.id, row.t] = (row.cls, row.doc)

    def end(self, pair: Pair, id: int, t: int) -> None:
        """Index a value only until `t`."""
        since = self.begun.take_back(pair, id)
        if since is None:
            self.ended.setdefault(pair, {})[id] = t
        elif since != t:
            self.past.append(PastRow(*pair, level_of(since, t), since, id, t))


class Transaction:
    """One atomic write: reads see everything before it, changes wait for the commit."""

    def __init__(self, plan: Plan, base: Base, *, alone: bool, ride: Ride | None = None) -> None:
        self.ride = ride  # the note that comes along
        self._plan = plan
        self._base = base
        self.alone = alone
        self.t = plan.t + 1
        self.next_id = plan.next_id
        self.last_instant_us = plan.instant_us  # of the transaction before this one
        self.instant_us = max(clock.now_us(), plan.instant_us + 1)
        self.generation = plan.generation
        self.epoch = plan.epoch
        self.principal = ""
        self.reason: str | None = None
        self.changes: list[Change] = []
        self.changed_ids: set[int] = set()
        self.changes_schema = False
        self.secrets: dict[tuple[int, int], str | None] = {}
        self.records: dict[tuple[str, str], Record] = {}
        self.tokens: Tokens | None = None
        self.jobs: dict[int, int | None] = {}
        self.tally = Tally(plan.account)
        self._superseded: list[Row] = []
        self._reindexed = False
        self.is_refused = False  # be it that somebody has swallowed the refusal

    # --- reads -----------------------------------------------------------------------------

    def prefetch(self, wanted: Wanted) -> None:
        """Fetch together what will probably be read next, where that is quicker."""
        self._base.prefetch(wanted)

    def entity(self, id: int) -> Row | None:
        """The row of an entity as earlier transactions left it."""
        rows = self._plan.rows
        return rows[id] if id in rows else self._base.entity(id)

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities, as of now only: a transaction stands at the end of time."""
        assert as_of is None
        self._base.prefetch(Wanted(ids=tuple(id for id in ids if id not in self._plan.rows)))
        rows = [self.entity(id) for id in ids]
        return [row for row in rows if row is not None]

    def find(self, property: int, key: Key) -> list[int]:
        """Ids of the entities that hold this key."""
        ids = self._base.find(property, key)
        pair = (property, key)
        ended = self._plan.ended.get(pair)
        begun = self._plan.begun.holders(pair)
        if not ended and not begun:
            return ids
        return sorted((set(ids) - set(ended or ())).union(begun))

    def count(self, property: int, key: Key) -> int:
        """How many entities hold this key, after this transaction's own changes."""
        self.require_alone()
        self.flush()
        return self._base.count(property, key)

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it, after this transaction's own changes."""
        self.require_alone()
        self.flush()
        return self._base.holders(property, keys, limit, as_of)

    def referrers(self, key: Key, properties: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """(property, id) pairs that hold this key in any of the properties."""
        found = set(self._base.referrers(key, properties, limit + self._ended_count(key)))
        for property in properties:
            pair = (property, key)
            found.difference_update((property, id) for id in self._plan.ended.get(pair, ()))
            found.update((property, id) for id in self._plan.begun.holders(pair))
        return sorted(found)[:limit]

    def secret(self, id: int, property: int) -> str | None:
        """The hash kept for a secret slot."""
        for secrets in (self.secrets, self._plan.secrets):
            if (id, property) in secrets:
                return secrets[id, property]
        return self._base.secret(id, property)

    def recall(self, principal: str, key: str) -> Record | None:
        """What is remembered of a request with this idempotency key."""
        known = self.records.get((principal, key)) or self._plan.records.get((principal, key))
        return known or self._base.recall(principal, key)

    def require_job(self, id: int, token: int) -> None:
        """Go on only if the entity's job is held under this token; it stays so until the end."""
        if id in self._plan.jobs or self._base.job_token(id) != token:
            raise job_lost(id)
        self.tally.begin_background()

    def require_free_job(self, id: int) -> None:
        """Go on only if nobody holds the entity's job; nobody will until the end."""
        if id not in self._plan.jobs and self._base.job_token(id) is not None:
            raise job_lost(id)

    def scan(self, scan: Scan) -> list[Found]:
        """One page of an index walk that sees this transaction's own changes."""
        self.require_alone()
        self.flush()
        return self._base.scan(scan)

    def search(self, sought: Sought) -> list[list[int]]:
        """Searches for words that see this transaction's own changes."""
        self.require_alone()
        self.flush()
        return self._base.search(sought)

    def hindsight(self) -> Base:
        """Reads of all that came before this transaction, its past included."""
        self.require_alone()
        return self._base

    def changed_since(self, t: int) -> list[int]:
        """Ids of the entities that transactions after `t` have changed, before this one."""
        ids: set[int] = set()
        while page := self._base.transactions(after=t, limit=1000):
            ids.update(*(tx.ids for tx in page))
            t = page[-1].t
        return sorted(ids)

    # --- writes ----------------------------------------------------------------------------

    def new_id(self) -> int:
        """A number that no entity of this workspace has ever had."""
        id = self.next_id
        self.next_id += 1
        return id

    def was_used(self, id: int) -> bool:
        """Whether this is, or was, the number of an entity."""
        if id in self._plan.rows:
            return True
        if id >= self._plan.first_unstored_id:
            return False
        return self._base.entity(id) is not None or self._base.last_version(id) is not None

    def reserve_ids(self, up_to: int) -> None:
        """Give new entities greater numbers from now on."""
        if up_to >= self.next_id:
            self.next_id = up_to + 1

    def keep_reserved(self) -> None:
        """Have the numbers set aside even if nothing else is written."""
        self._plan.is_reserving = True

    def change(self, change: Change, before: Row | None) -> None:
        """Plan one entity's change; `before` is its row as `entity` gave it."""
        if change.doc is None and before is None:
            raise Fault("store.absent", f"entity {change.id} cannot be deleted: it is not there")
        if before is not None:
            self._superseded.append(before)
        self.tally.change(change.doc, before, self.t)
        self.changes.append(change)
        self.changed_ids.add(change.id)

    def reindex(self, id: int, begun: Sequence[Pair], ended: Sequence[Pair]) -> None:
        """Change how an unchanged entity is found, because its property's rules have changed."""
        self.require_alone()
        self._reindexed = True
        for pair in ended:
            self._plan.end(pair, id, self.t)
        self._plan.begun.begin(begun, id, self.t)

    def index_words(self, id: int, words: Words) -> None:
        """Change what an unchanged entity is searched by."""
        self.require_alone()
        self._reindexed = True
        self._plan.words[id] = words

    def indexed_up_to(self, id: int | None) -> None:
        """Note how far the search has caught up with older entities (None: with all)."""
        self.require_alone()
        self._plan.unsearched = (id,)

    def erase(self, id: int) -> None:
        """Let nothing be left of an entity that is gone, in all its past, but a mark of that."""
        self.require_alone()
        self.tally.is_erasing = True
        self._plan.erased[id] = self.t
        self.changed_ids.add(id)
        self.schedule(id, None)

    def keep_secret(self, id: int, property: int, hashed: str | None) -> None:
        """Set or clear the hash of a secret slot; that it changed is attributed to someone."""
        self.secrets[id, property] = hashed
        self.changed_ids.add(id)

    def forget_secret(self, id: int, property: int) -> None:
        """Drop a hash along with its slot, which is what has changed: not the entity."""
        self.secrets[id, property] = None

    def keep_token(self, id: int, digest: bytes) -> None:
        """Let whoever shows what this is the digest of sign in as the entity."""
        self._tokens_of(id).minted.append((digest, id))

    def revoke_token(self, id: int, digest: bytes) -> None:
        """Let one minted key of the entity count no more."""
        self._tokens_of(id).revoked.append(digest)

    def revoke_tokens(self, id: int) -> None:
        """Let no key that was minted for the entity before this transaction count any more."""
        self._tokens_of(id).revoked_ids.append(id)

    def _tokens_of(self, id: int) -> Tokens:
        self.require_alone()
        self.tally.uses_reserve = True  # who may sign in is changed in a full workspace, too
        self.changed_ids.add(id)
        if self.tokens is None:
            self.tokens = Tokens()
        return self.tokens

    def schedule(self, id: int, due_us: int | None) -> None:
        """Have the entity's job be due then, and nobody's; None: it has none any more."""
        self.jobs[id] = due_us

    def remember(self, principal: str, key: str, digest: str, receipt: str) -> None:
        """Keep the receipt of a request, also of one that changed nothing."""
        self.records[principal, key] = Record(digest, receipt, self.instant_us)

    def attribute(self, principal: str, reason: str | None) -> None:
        """Say who writes, and why."""
        self.principal, self.reason = principal, reason

    def bump_schema(self) -> None:
        """Declare that this transaction changes the metamodel."""
        self.require_alone()
        self.changes_schema = True

    def require_alone(self) -> None:
        """Go on only if no other transaction shares the batch."""
        if not self.alone:
            self.is_refused = True
            raise RunAlone

    def finish(self) -> None:
        """Hand the collected changes to the plan."""
        if self.is_refused:
            raise RunAlone
        self.tally.finish()
        for row in self._superseded:
            self._plan.supersede(row, self.t)
        self._plan.absorb(self)

    def flush(self) -> None:
        """Write the rows planned so far, so that this transaction's own scans see them."""
        if not (self.changes or self.secrets or self._reindexed):
            return
        for row in self._superseded:
            self._plan.supersede(row, self.t)
        for change in self.changes:
            self._plan.take(change, self.t)
        self._plan.secrets.update(self.secrets)
        self._plan.next_id = self.next_id
        self.tally.flush()
        self._plan.flush(self._base)
        self.changes, self._superseded, self.secrets = [], [], {}
        self._reindexed = False

    def _ended_count(self, key: Key) -> int:
        return sum(len(ids) for (_, ended), ids in self._plan.ended.items() if ended == key)
