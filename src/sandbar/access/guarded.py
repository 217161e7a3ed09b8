"""A workspace as one caller may see and change it: every verb works through this."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from sandbar.access.callers import Access, Caller
from sandbar.access.guard import RightsGuard, refuse_writing, speaking_classes
from sandbar.access.handing_out import GuardedAccounts, GuardedKeys
from sandbar.access.metamodel import install_access
from sandbar.access.principals import is_known_name
from sandbar.access.processes import HouseGuard, refuse_purge
from sandbar.access.protected import protected_classes
from sandbar.access.rights import rights_of_role
from sandbar.access.scope import Reach, classes_within, is_within, reach_of
from sandbar.access.sight import Sight
from sandbar.errors import Forbidden, Incorrect, NotFound
from sandbar.findings import data_of, finding_of
from sandbar.model import (
    Answer,
    Askable,
    Entity,
    Former,
    HistoryEntry,
    Introspection,
    Judged,
    Moment,
    Page,
    Preview,
    Purged,
    PurgeMode,
    Question,
    Search,
    SearchPage,
    SlotChange,
    TransactionEntry,
    Walk,
    Workspace,
    Written,
)

T = TypeVar("T")


class Guarded(Askable):
    """The calls of a workspace, each checked against what the caller may see and do."""

    def __init__(
        self,
        workspace: Workspace,
        caller: Caller,
        group: str = "entity",
        verb: str | None = None,
        bounds: Iterable[Reach] = (),
    ) -> None:
        """For a verb of a group; without a verb, for a door that shows entities by itself.

        `bounds`: how far others reach who must be allowed to do all this, too.
        """
        self._workspace = workspace
        self.number = workspace.number
        self.caller = caller
        self.door = (group, verb or group)
        self._reach = reach_of(caller.rights, *self.door)
        is_full = caller.may("admin")
        for bound in bounds:
            self._reach, is_full = self._reach.within(bound), False
        # An admin of everything is kept from nothing; whoever is limited in any way is none.
        self._guard = None if is_full else RightsGuard(self._reach)
        self._write_guard = HouseGuard(self._guard)
        self._sight = Sight(workspace, self._reach, is_full=self._guard is None)

    def schema(self, as_of: Moment | None = None) -> Introspection:
        """The metamodel, now or as of the past."""
        return self._workspace.schema(as_of)

    def schema_at_hand(self) -> Introspection:
        """The metamodel as it was when last looked at, without a look."""
        return self._workspace.schema_at_hand()

    def get(self, entity: Any, *, as_of: Moment | None = None) -> Entity:
        """One entity, by id, ident or `{slot: value}`."""
        if self._guard is None:
            return self._workspace.get(entity, as_of=as_of)
        self._sight.admit_named(entity, as_of)
        found = self._workspace.get(entity, as_of=as_of)
        if as_of is None:
            self._sight.admit_found(found, entity)
        else:
            self._sight.admit(found.entity_id)  # its class may have been another's heir then
        return found

    def own_account(self) -> Entity | None:
        """Who the caller is, as the workspace knows them: everybody may know that of themselves."""
        id = self.caller.account_id
        return None if id is None else self._workspace.get(id)

    def ask(self, question: Question) -> Page:
        """One page of the instances of a class that satisfy a filter, as far as they are shown."""
        order_by, fields = question.order_by, question.fields
        named = [order_by.removeprefix("-")] if isinstance(order_by, str) else []
        named += fields if isinstance(fields, list | tuple | set | frozenset) else ()
        self._sight.admit_filter(question.where, named, question.as_of)
        hidden = self._sight.left_out(question.class_, question.hidden, question.as_of)
        return self._workspace.ask(question._replace(hidden=hidden))

    def look_for(self, search: Search) -> SearchPage:
        """One page of what is found by words or a question, as far as it is shown."""
        hidden = self._sight.left_out(search.class_, search.hidden)
        return self._workspace.look_for(search._replace(hidden=hidden))

    def history(self, entity: Any, *, after: int = 0, limit: int = 1000) -> list[HistoryEntry]:
        """What happened to an entity, oldest first."""
        self._sight.admit(entity)
        return self._workspace.history(entity, after=after, limit=limit)

    def diff(self, entity: Any, before: Moment, after: Moment | None = None) -> list[SlotChange]:
        """The slots in which an entity differs between two moments."""
        self._sight.admit(entity)
        return self._workspace.diff(entity, before, after)

    def changes(self, *, since: int = 0, limit: int = 100) -> list[TransactionEntry]:
        """The transactions after `since`, oldest first."""
        found = self._workspace.changes(since=since, limit=limit)
        return found if self._guard is None else self._sight.without_kept(found)

    def last_t(self) -> int:
        """The number of the last transaction."""
        return self._workspace.last_t()

    def run(self, work: Callable[[], T], *, reason: str | None = None) -> T:
        """Run a function as one transaction: every call that it makes to this one joins in."""
        self._require("write")
        return self._workspace.run(work, principal=self.caller.principal, reason=reason)

    def preview(self) -> Preview:
        """What writes of the caller would do: it takes the right to make them."""
        self._require("write")
        return self._workspace.preview(guard=self._write_guard, admit=self._sight.admit_operations)

    def transact(
        self,
        operations: Sequence[Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Run several operations as one transaction, in the caller's name."""
        self._require("write")
        self._sight.admit_operations(operations)
        return self._workspace.transact(
            operations,
            principal=self.caller.principal,
            reason=reason,
            idempotency_key=idempotency_key,
            guard=self._write_guard,
        )

    def submit(
        self,
        operations: Sequence[Any],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[Written] | None:
        """Queue a transaction, for who is called back; None if `transact` has to take its time."""
        self._require("write")
        self._sight.admit_operations(operations)
        return self._workspace.submit(
            operations,
            principal=self.caller.principal,
            reason=reason,
            idempotency_key=idempotency_key,
            guard=self._write_guard,
        )

    def define(
        self,
        properties: dict[str, dict[str, Any]],
        classes: dict[str, dict[str, Any]],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Define properties and classes in one transaction."""
        self._require("write")
        named = [*properties, *classes]
        self._sight.admit_operations([{"slots": {"db/ident": ident}} for ident in named])
        return self._workspace.define(
            properties,
            classes,
            principal=self.caller.principal,
            reason=reason,
            idempotency_key=idempotency_key,
            guard=self._write_guard,
        )

    def reserve_ids(self, up_to: int) -> None:
        """Keep the numbers up to this one for entities that had them elsewhere."""
        self._require("write")
        self._workspace.reserve_ids(up_to)

    def purge(
        self, entity: Any, *, reason: str | None = None, mode: PurgeMode = "refuse"
    ) -> Purged:
        """Erase every version of an entity, in the caller's name."""
        self._require("admin")
        if isinstance(entity, dict):
            self._sight.admit(entity)
        self._sight.admit_named(entity)
        for kinds in self._workspace.kinds([entity]):
            refuse_purge(kinds)
            if self._guard is not None:
                self._guard.admit(kinds)
        # What it owns goes with it, and what refers to it changes: the guard looks at those too.
        return self._workspace.purge(
            entity,
            principal=self.caller.principal,
            reason=reason,
            mode=mode,
            guard=self._guard,
        )

    def validate(self, operations: Sequence[Any]) -> list[dict[str, Any]]:
        """What `transact` would find wrong with these operations, by what the caller sees."""
        try:
            self._sight.admit_operations(operations)
        except Forbidden as problem:
            if problem.code != "entity.protected":
                raise
            return data_of([finding_of(problem)])
        guard = self._guard
        if guard is not None and not self._reach.may_write:
            # A reader may ask what is wrong with data, too, if not about accounts.
            writers = reach_of(rights_of_role("writer"), "entity", "entity")
            scopes = self._sight.scopes
            guard = RightsGuard(writers._replace(read=scopes, write=scopes))
        return self._workspace.preview(guard=HouseGuard(guard)).findings(operations)

    def admit_subject(self, entity: Any) -> None:
        """Refuse to begin a process, about an entity that is kept from the caller or not theirs."""
        self._require("write")
        if entity is not None:
            class_ = self.get(entity).class_
            kinds = [class_, *self._workspace.schema().ancestors(class_)]
            self._write_guard.admit(frozenset(kinds))

    def instance_count(self, class_: Any, *, hidden: Collection[str] = ()) -> int:
        """How many instances of a class the caller is shown, by the index alone."""
        hidden = self._sight.left_out(class_, hidden)
        return self._workspace.validity.count(class_, hidden=hidden)

    def judged(
        self, class_: Any, walk: Walk | None, *, limit: int, hidden: Collection[str] = ()
    ) -> Judged:
        """Which of the next instances of a class are not valid today, `hidden` ones left out."""
        hidden = self._sight.left_out(class_, hidden)
        return self._workspace.validity.page(class_, walk, limit=limit, hidden=hidden)

    def sees(self, class_: str) -> bool:
        """Whether the caller is shown instances of a class: for lists and news made elsewhere."""
        return self._sight.sees(class_)

    def sees_entity(self, entity: Any, *, is_changed: bool = False) -> bool:
        """Whether the caller may see an entity (or work on it), also if it is gone by now."""
        try:
            self._sight.admit(entity)
            if is_changed and self._guard is not None:
                kinds = self._workspace.kinds([entity])
                return all(is_within(one, self._reach.write) for one in kinds)
        except (Forbidden, NotFound):
            return False
        return True

    @property
    def is_inside(self) -> bool:
        """Whether the call is part of a transaction that is under way."""
        return self._workspace.former_names.is_inside

    def former(self, given: Any) -> Former | None:
        """Who had a name that nobody has any more, if the caller is shown it.

        Classes and properties are shown to everybody.
        """
        found = self._workspace.former_names.holder(given)
        if found is None or found.is_definition:
            return found
        return found if self.sees_entity(given) and self.sees_entity(found.id) else None

    def has(self, entity: Any) -> bool:
        """Whether something has a name now, be it kept from the caller: the name is taken."""
        try:
            self._workspace.locate(entity)
        except (NotFound, Incorrect):
            return False
        return True

    def shows_any(self, class_: str) -> bool:
        """Whether the caller is shown instances of a class or of any below it."""
        return self._sight.sees_any(class_)

    @property
    def may_create(self) -> bool:
        """Whether the caller may make anything at all."""
        return self._guard is None or self._reach.may_write

    def is_made(self, class_: str) -> bool:
        """Whether the caller may make instances of a class (or, a reader, ask about them)."""
        if self._guard is None:
            return True
        schema = self._workspace.schema_at_hand()
        if self._sight.keeps_access and class_ in protected_classes(schema):
            return False
        if not self._reach.governs_packs and class_ in speaking_classes(schema):
            return False
        scopes = self._reach.write if self._reach.may_write else self._reach.read
        return not scopes or class_ in classes_within(schema, scopes)

    @property
    def is_scoped(self) -> bool:
        """Whether there are classes that the caller is kept from besides those of access."""
        return bool(self._sight.scopes)

    # --- for admins ------------------------------------------------------------------------------

    @property
    def keys(self) -> GuardedKeys:
        """The keys of the workspace."""
        self._require("admin")
        return GuardedKeys(self._workspace, self.caller)

    @property
    def accounts(self) -> GuardedAccounts:
        """The accounts of the workspace."""
        self._require("admin")
        return GuardedAccounts(self._workspace, self.caller)

    def is_known_name(self, name: str) -> bool:
        """Whether a role or an account has exactly this name."""
        self._require("admin")
        return is_known_name(self._workspace, name)

    def install_access(self) -> None:
        """Bring the classes of access, the built-in roles and the owner, if they are missing."""
        self._require("admin")
        install_access(self._workspace)

    # --- what is kept from others than admins --------------------------------------------------

    def _require(self, access: Access) -> None:
        if self._guard is None:
            return
        if access == "write" and not self._reach.may_write:
            raise refuse_writing()
        if access == "admin" and not self._reach.may_purge:
            raise _admins_only()


def _admins_only() -> Forbidden:
    return Forbidden(
        "access.admin-only", "only admins may do this", hint="ask an admin of this workspace"
    )
