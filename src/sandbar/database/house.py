"""The database as its users hold it: one workspace, with methods that read like the verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sandbar.access import Authority, Caller, Guarded, HouseGuard, give_leads, local_caller
from sandbar.database.calling import call_activity
from sandbar.database.calls import Calls
from sandbar.database.family import Family
from sandbar.database.offers import Offer, WorkspaceCatalogue, offer_of
from sandbar.errors import Incorrect, Problem, Unauthenticated
from sandbar.model import (
    Create,
    Delete,
    DeleteMode,
    Entity,
    HistoryEntry,
    Introspection,
    Moment,
    Page,
    Purged,
    PurgeMode,
    Restore,
    SearchPage,
    SlotChange,
    TransactionEntry,
    Update,
    Workspace,
    Written,
)
from sandbar.notify import StoreHub
from sandbar.packs import PackReport, Progress, load_pack
from sandbar.store import Store
from sandbar.verbs import Permission
from sandbar.workflow import CALL, Workflows

T = TypeVar("T")

_HOUSE_RULES = HouseGuard(None)  # they hold even for the owner of the file


class Database(Calls):
    """One workspace, open for reading and writing."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        principal: str,
        name: str,
        family: Family[Database] | None = None,
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._principal = principal
        self._offer: Offer | None = None
        self._workflows: Workflows | None = None
        self._activities = {CALL: call_activity(workspace, name, self.perform)}
        self._family: Family[Database] = (
            Family(store, name, workspace) if family is None else family
        )
        self.workspace_name = name
        self.catalogue = WorkspaceCatalogue(workspace, lambda: self.offer.catalogue)
        self.reads_in_microseconds = store.reads_in_microseconds

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Problem):
            error.settle()  # while the database can still be asked what was meant
        self.close()

    def close(self) -> None:
        """Finish what is queued, then let go of the database."""
        if self._store.open_transaction() is not None:
            raise Incorrect(
                "store.inside",
                "the database cannot be closed inside a transaction, which it is to finish first",
                hint="close it after run has returned",
            )
        self._family.close()

    def workspace_now(self, name: str) -> Workspace:
        """A workspace as it is there at this moment, for signing in to it."""
        if name != self.workspace_name:
            self._family.look_again(name)
        return self.in_workspace(name).workspace

    def of(self, caller: Caller) -> Database:
        """The workspace that a caller has signed in to, and no other that has its name by now."""
        found = self.in_workspace(caller.workspace)
        if caller.number is not None and caller.number != found.workspace.number:
            raise Unauthenticated(
                "auth.changed", "invalid token", hint="the workspace has changed: send it again"
            )
        return found

    def in_workspace(self, name: str) -> Database:
        """Another workspace of the same database; it is closed with this one."""
        if name == self.workspace_name:
            return self
        family = self._family
        with family.lock:
            if name not in family.members:
                workspace = family.workspace(name)
                family.members[name] = Database(
                    self._store, workspace, self._principal, name, family
                )
            return family.members[name]

    @property
    def workspace(self) -> Workspace:
        """The workspace itself, for the services of the house."""
        return self._workspace

    @property
    def workflows(self) -> Workflows:
        """The workflows of this workspace and their processes."""
        if self._workflows is None:
            self._workflows = Workflows(
                self._workspace,
                lambda: self.offer.handlers,
                Authority(self._workspace, self.workspace_name),
                self._family.wake_worker,
            )
        return self._workflows

    def start_worker(self) -> None:
        """Look after processes that have something to do by themselves, and seal the audit."""
        self._family.start_worker(self._store.jobs, lambda name: self.in_workspace(name).workflows)
        self.journal.start_sealing()

    def allow_projects(self, root: str | Path | None) -> None:
        """Let callers from outside export to folders below this one, and import from them."""
        if root is not None and not Path(root).is_dir():
            hint = "name a folder that exists: agents may write to it and read all that is in it"
            raise Incorrect("project.no-root", f"{root} is no folder", hint=hint)
        self._family.projects = None if root is None else Path(root).resolve()

    def count_streams_by(self, count: Callable[[str], int]) -> None:
        """How to find out how many streams of a workspace are open at this server."""
        self._family.count_streams = count

    def is_well(self) -> bool:
        """Whether the workspace is there, and what goes on in the background goes on."""
        return not any(self.ailments().values())

    def ailments(self) -> dict[str, str | None]:
        """By part of what serves this database, what ails it; None if nothing does."""
        return self._family.ailments()

    @property
    def hub(self) -> StoreHub:
        """Where to hear of commits, in this workspace and its neighbours."""
        return self._family.hub()

    def guarded(self, caller: Caller, permission: Permission | None = None) -> Guarded:
        """The workspace as this caller may see and change it, under a permission or without."""
        assert caller.workspace == self.workspace_name, "a caller belongs to one workspace"
        assert caller.number in (None, self._workspace.number), "and that is there no more"
        if permission is None:
            return Guarded(self._workspace, caller)
        return Guarded(self._workspace, caller, permission.group, permission.name)

    @property
    def offer(self) -> Offer:
        """The verbs and the packs of this workspace, as they are now."""
        generation = self._workspace.schema().generation
        if self._offer is None or self._offer.generation != generation:
            self._offer = offer_of(self._workspace, generation, self._activities)
        return self._offer

    # --- schema ------------------------------------------------------------------------------

    @property
    def schema(self) -> Introspection:
        """The metamodel as it is now: classes, properties, slots, hierarchy, JSON Schema."""
        return self._workspace.schema()

    def schema_as_of(self, moment: Moment) -> Introspection:
        """The metamodel as it was."""
        return self._workspace.schema(moment)

    def define(
        self,
        *,
        properties: dict[str, dict[str, Any]] | None = None,
        classes: dict[str, dict[str, Any]] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Define properties and classes in one transaction; they may refer to each other.

        Keys are idents; values are slots of `dt/Property` and `dt/Class`. What exists is updated.
        """
        return self._workspace.define(
            properties or {},
            classes or {},
            principal=self._principal,
            reason=reason,
            idempotency_key=idempotency_key,
        )

    def load_pack(self, pack: str | Path, *, progress: Progress | None = None) -> PackReport:
        """Load a pack into the workspace: a built-in one by name, or any folder by its path."""
        return load_pack(self._workspace, pack, progress)

    def instance_of(self, entity: Any, cls: str) -> bool:
        """Whether an entity is an instance of a class or of one of its subclasses."""
        return self.schema.is_kind(self.get(entity).class_, cls)

    # --- reading -----------------------------------------------------------------------------

    def get(self, entity: Any, *, as_of: Moment | None = None) -> Entity:
        """One entity by id, ident or `{unique slot: value}`, now or as of the past."""
        try:
            return self._workspace.get(entity, as_of=as_of)
        except Problem as problem:
            self._give_leads(problem)
            raise

    def query(
        self,
        class_: Any,
        where: dict[str, Any] | None = None,
        *,
        order_by: str | None = None,
        fields: Sequence[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        as_of: Moment | None = None,
    ) -> Page:
        """One page of the instances of a class that satisfy a filter; see `docs/queries.md`."""
        try:
            return self._workspace.query(
                class_,
                where,
                order_by=order_by,
                fields=fields,
                limit=limit,
                cursor=cursor,
                as_of=as_of,
            )
        except Problem as problem:
            self._give_leads(problem)
            raise

    def each(
        self, class_: Any, where: dict[str, Any] | None = None, *, page_size: int = 500, **more: Any
    ) -> Iterator[Entity]:
        """All results of a query, page by page, as they were when the first page was read."""
        cursor = None
        while True:
            page = self.query(class_, where, limit=page_size, cursor=cursor, **more)
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    def search(
        self, query: str, *, class_: Any = None, limit: int = 20, cursor: str | None = None
    ) -> SearchPage:
        """One page of what is found by words or a question, best first; see `docs/search.md`."""
        return self._workspace.search(query, class_=class_, limit=limit, cursor=cursor)

    def history(self, entity: Any, *, after: int = 0, limit: int = 1000) -> list[HistoryEntry]:
        """What happened to an entity: when, who, why and which slots; oldest first."""
        return self._workspace.history(entity, after=after, limit=limit)

    def diff(self, entity: Any, before: Moment, after: Moment | None = None) -> list[SlotChange]:
        """The slots in which an entity differs between two moments (the second: now)."""
        return self._workspace.diff(entity, before, after)

    def changes(self, *, since: int = 0, limit: int = 100) -> list[TransactionEntry]:
        """The transactions after `since`, oldest first."""
        return self._workspace.changes(since=since, limit=limit)

    @property
    def t(self) -> int:
        """The number of the last transaction."""
        return self._workspace.last_t()

    def explain(
        self, class_: Any, where: dict[str, Any] | None = None, *, order_by: str | None = None
    ) -> str:
        """How the database would find the results of a query."""
        return self._workspace.explain(class_, where, order_by=order_by)

    def secret_matches(self, entity: Any, slot: str, candidate: str) -> bool:
        """Whether the candidate is the value of a secret slot."""
        return self._workspace.secret_matches(entity, slot, candidate)

    # --- writing -----------------------------------------------------------------------------

    def create(
        self,
        class_: Any,
        slots: dict[str, Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Make an entity. If its ident exists nothing changes, and `differs` says what would."""
        operation = Create(class_=class_, slots=slots)
        return self.transact([operation], reason=reason, idempotency_key=idempotency_key)

    def update(
        self,
        entity: Any,
        set: dict[str, Any] | None = None,
        *,
        add: dict[str, Any] | None = None,
        remove: dict[str, Any] | None = None,
        expect: int | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Change slots: `set` replaces (None clears), `add` and `remove` change many-valued ones.

        With `expect` (the t last seen) the update is refused if the entity has changed since.
        """
        operation = Update(
            entity=entity, set=set or {}, add=add or {}, remove=remove or {}, expect=expect
        )
        return self.transact([operation], reason=reason, idempotency_key=idempotency_key)

    def delete(
        self,
        entity: Any,
        *,
        mode: DeleteMode = "refuse",
        expect: int | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """End an entity; while others refer to it, only by `cascade` or `detach`."""
        operation = Delete(entity=entity, mode=mode, expect=expect)
        return self.transact([operation], reason=reason, idempotency_key=idempotency_key)

    def restore(
        self,
        entity: Any,
        to: int | str | None = None,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Bring a deleted entity back, or a living one to how it was at a moment."""
        operation = Restore(entity=entity, to=to)
        return self.transact([operation], reason=reason, idempotency_key=idempotency_key)

    def purge(
        self, entity: Any, *, reason: str | None = None, mode: PurgeMode = "refuse"
    ) -> Purged:
        """Erase every version of an entity; its history only says that it was purged."""
        return self._guarded_here().purge(entity, reason=reason, mode=mode)

    def transact(
        self,
        operations: Sequence[Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Run several operations as one transaction: all of them or none.

        Operations are JSON objects (`{"op": "create", "class": …, "slots": …, "temp": "x"}`);
        they may refer to each other by temporary id or ident, also forwards.
        """
        try:
            return self._workspace.transact(
                operations,
                principal=self._principal,
                reason=reason,
                idempotency_key=idempotency_key,
                guard=_HOUSE_RULES,
            )
        except Problem as problem:
            self._give_leads(problem)
            raise

    def _give_leads(self, problem: Problem) -> None:
        """Let a refusal say what was probably meant: whoever holds the file is shown all of it."""
        if not self._workspace.former_names.is_inside:  # where there is no past
            problem.better_when_read(lambda: give_leads(self._guarded_here(), problem))

    def _guarded_here(self) -> Guarded:
        return self.guarded(local_caller(self.workspace_name, self._principal))

    def run(self, work: Callable[[], T], *, reason: str | None = None) -> T:
        """Run a function as one transaction: every call that it makes to this database joins in.

        The function may be run more than once before its transaction commits.
        """
        return self._workspace.run(work, principal=self._principal, reason=reason)
