"""What to do with a file: compared with the workspace, and both with what was exported.

    file = export, workspace = export    unchanged
    file ≠ export, workspace = export    change
    file = export, workspace ≠ export    kept: the workspace is ahead
    both differ from it and each other   conflict

A file that was never exported has no such base: where it differs, it is a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from sandbar.access import is_protected, protected_classes
from sandbar.codecs import Parsed
from sandbar.errors import Forbidden, Incorrect, Problem
from sandbar.findings import Finding, data_of
from sandbar.model import Entity, Introspection
from sandbar.projects.comparing import IDENT, Comparison, Name, facts_of, references
from sandbar.projects.documents import SPEC, Documents
from sandbar.projects.findings import REFUSALS, findings_of, told
from sandbar.projects.names import LOOKED_UP, Names
from sandbar.projects.results import Action, Planned, Prefer
from sandbar.projects.sources import Item
from sandbar.projects.sums import composed, digest_of
from sandbar.scratch import Table
from sandbar.workflow import DEFINITION, OWN_DEFINITIONS, read_spec


class Verdict(msgspec.Struct, kw_only=True):
    """What is to be done with an item, and why."""

    item: Item
    action: Action
    name: Name | None = None
    entity: Entity | None = None  # as it is in the workspace
    changes: dict[str, Any] = {}  # for a new one: all slots
    why: str | None = None
    findings: list[Finding] = []

    @property
    def is_write(self) -> bool:
        """Whether there is something to write."""
        return self.action in ("create", "change")

    def planned(self) -> Planned:
        """The same as it is told."""
        parsed = self.item.parsed
        is_row = parsed is not None and self.item.digest is None
        return Planned(
            path=self.item.path,
            action=self.action,
            entity=self.name,
            class_=parsed.class_ if parsed is not None else None,
            line=parsed.line if parsed is not None and is_row else None,
            slots=sorted(self.changes) if self.action in ("change", "conflict", "kept") else [],
            why=self.why,
            findings=self.findings,
        )

    def refuse(self, problem: Problem) -> None:
        """Make it a refusal."""
        self.action, self.findings = "refused", findings_of(self.item, problem)
        self.why = problem.message

    def refuse_for(self, found: list[dict[str, Any]]) -> None:
        """Make it a refusal, for these findings of the model."""
        self.action, self.findings = "refused", told(self.item, found)
        self.why = self.findings[0].message


class Judge:
    """Judges items one by one, in the order of their paths."""

    def __init__(
        self,
        schema: Introspection,
        documents: Documents,
        names: Names,
        base: Table[str],
        prefer: Prefer,
        why_ignored: Callable[[str], str],
    ) -> None:
        self._schema = schema
        self._documents = documents
        self._names = names
        self._base = base
        self._prefer = prefer
        self._why_ignored = why_ignored
        self._comparison = Comparison(schema, names.find)
        self.is_linking = False  # whether items are such as this import has left half made
        names.begin_turn()

    def judge_all(self, items: Iterable[Item]) -> Iterator[Verdict]:
        """The verdicts on items, in their order; entities are looked up many at a time."""
        rest = iter(items)
        while some := list(islice(rest, LOOKED_UP)):
            self._names.look([name for item in some if (name := self.name_if_any(item))])
            for item in some:
                yield self.judge(item)

    def judge(self, item: Item) -> Verdict:
        """The verdict on an item; one about the same entity as an earlier item is refused."""
        verdict = Verdict(item=item, action="ignored", findings=[*item.notes])
        try:
            if item.problem is not None:
                raise item.problem
            if item.parsed is not None:
                self._judge(verdict, item.parsed)
            else:
                verdict.why = self._why_ignored(item.path)
        except Problem as problem:
            if not isinstance(problem, REFUSALS) and problem is not item.problem:
                raise
            verdict.refuse(problem)
        return verdict

    def _refuse_accounts(self, parsed: Parsed) -> None:
        """Who may sign in is nobody's file: it would let whoever wrote the file come in."""
        is_one = parsed.class_ in protected_classes(self._schema)
        if is_one or is_protected(str(parsed.slots.get(IDENT) or "")):
            raise Forbidden(
                "project.accounts",
                "accounts, keys, roles and permissions are not imported",
                hint="`sandbar account` and `sandbar key` make them; a backup holds them",
            )

    def _judge(self, verdict: Verdict, parsed: Parsed) -> None:
        self._refuse_accounts(parsed)
        verdict.name = name = self.name_of(parsed)
        if not self._names.take(name):
            raise Incorrect(
                "project.twice",
                f"{name} is stated by an earlier file already",
                hint="state another ident in one of them",
            )
        found = self._names.find(self._lookup(parsed) or name)
        if found is not None:
            verdict.entity = found
            verdict.name = found.ident or found.entity_id
            self._check_identity(parsed, found)
            self._compare(verdict, parsed, found)
        else:
            self._judge_new(verdict, parsed)
        if verdict.is_write:
            self._check_references(verdict, parsed)

    def name_of(self, parsed: Parsed) -> Name:
        """The name that a file states, by which the same file is known the next time."""
        ident = parsed.slots.get(IDENT)
        if isinstance(ident, str):
            return str(self._schema.stored(IDENT, ident))
        if parsed.id is not None:
            return parsed.id
        lookup = self._lookup(parsed)
        if lookup is not None:
            return f"{lookup}"
        raise Incorrect(
            "project.nameless",
            "nothing tells this entity from others, so a second import would double it",
            hint="state an ident, or the value of a unique slot",
        )

    def name_if_any(self, item: Item) -> Name | None:
        """The same; nothing for a file that is wrong."""
        try:
            return None if item.parsed is None else self.name_of(item.parsed)
        except REFUSALS:
            return None

    def _lookup(self, parsed: Parsed) -> dict[str, Any] | None:
        """How to find one that has no name, by the value of a unique slot."""
        is_named = parsed.slots.get(IDENT) is not None or parsed.id is not None
        if is_named or parsed.class_ == DEFINITION:
            return None
        for slot in facts_of(self._schema, parsed.class_).unique:
            if parsed.slots.get(slot) is not None:
                return {slot: parsed.slots[slot]}
        return None

    def _check_identity(self, parsed: Parsed, found: Entity) -> None:
        if parsed.id is not None and found.ident is not None:
            raise Incorrect(
                "project.number-taken",
                f"here, {parsed.id} is the number of {found.ident}",
                hint="give the entity of the file an ident instead of _id",
            )
        if found.class_ != parsed.class_:
            raise Incorrect(
                "project.other-class",
                f"here, {found.ident or found.entity_id} is a {found.class_}, not a "
                f"{parsed.class_}",
                hint="the class of an entity never changes: delete it first, or state another name",
            )

    # --- three ways --------------------------------------------------------------------------

    def _compare(self, verdict: Verdict, parsed: Parsed, found: Entity) -> None:
        item = verdict.item
        base = self._base.get(composed(item.path))
        if found.class_ == DEFINITION:
            is_same = is_same_workflow(parsed.slots[SPEC], found[SPEC])
            verdict.changes = {} if is_same else {SPEC: parsed.slots[SPEC]}
        else:
            verdict.changes = self._comparison.differences(
                parsed, found, is_exact=base is not None, is_whole=item.is_whole
            )
        if not verdict.changes:
            verdict.action = "unchanged"
        elif base is None:
            verdict.action = "change"
        elif item.digest == base or item.plain_digest == base:
            verdict.action, verdict.why = "kept", "the workspace has changed since the export"
            self._complete(verdict, parsed, found)
        elif digest_of(self._documents.of(found).data) == base:
            verdict.action = "change"
        else:
            self._conflict(verdict, "file and workspace have both changed since the export")
            self._complete(verdict, parsed, found)

    def _conflict(self, verdict: Verdict, why: str) -> None:
        if self._prefer == "files":
            verdict.action = "change" if verdict.entity is not None else "create"
        else:
            verdict.action = "conflict" if self._prefer == "nobody" else "kept"
        verdict.why = why

    def _complete(self, verdict: Verdict, parsed: Parsed, found: Entity) -> None:
        """What an import left half made is finished, whoever is ahead."""
        if verdict.action == "change" or found.class_ == DEFINITION:
            return
        refs = facts_of(self._schema, parsed.class_).refs & verdict.changes.keys()
        stated = {slot for slot in refs if verdict.changes[slot] is not None}
        if self.is_linking:
            lacking = stated - found.slots.keys()
        else:
            lacking = self._names.half_made(found, stated) if stated else set()
        if lacking:
            verdict.action = "change"
            verdict.why = "an earlier import was interrupted before it set these"
            verdict.changes = {slot: verdict.changes[slot] for slot in sorted(lacking)}

    def _judge_new(self, verdict: Verdict, parsed: Parsed) -> None:
        item = verdict.item
        base = self._base.get(composed(item.path))
        verdict.action = "create"
        verdict.changes = dict(parsed.slots)
        if base is None:
            return
        if parsed.class_ != DEFINITION:
            # An export states what there was: a slot without value gets no default.
            facts = facts_of(self._schema, parsed.class_)
            verdict.changes = {**dict.fromkeys(facts.defaults), **verdict.changes}
        if verdict.name is None or not self._names.was_there(verdict.name):
            return
        if item.digest == base or item.plain_digest == base:
            verdict.action, verdict.why = "kept", "it was deleted since the export"
        else:
            self._conflict(verdict, "it was deleted since the export, and the file has changed")

    def _check_references(self, verdict: Verdict, parsed: Parsed) -> None:
        if parsed.class_ == DEFINITION:
            return
        facts = facts_of(self._schema, parsed.class_)
        found = [
            dangling(slot, name)
            for slot, name in references(facts, verdict.changes)
            if not self._is_known(name, is_definition=verdict.item.is_definition)
        ]
        if found:
            verdict.refuse_for(found)

    def _is_known(self, name: Name, *, is_definition: bool) -> bool:
        if self._names.is_coming(name) or self._names.is_there(name):
            return True
        # The classes of access and workflows come in when a definition builds upon them.
        is_ours = isinstance(name, str) and (is_protected(name) or name in OWN_DEFINITIONS)
        return is_definition and is_ours


def dangling(slot: str, name: Name) -> dict[str, Any]:
    """The finding about a reference to nobody."""
    found = Finding(
        code="project.dangling",
        message=f"there is no entity {name}, neither here nor among the files",
        slot=slot,
        hint="import or create it, or take the reference out",
    )
    return data_of([found])[0]


def is_same_workflow(given: Any, kept: Any) -> bool:
    """Whether two specs say the same; a version that is not above the current one says nothing."""
    ours, theirs = read_spec(given), read_spec(kept)
    is_newer = ours.version is not None and ours.version > (theirs.version or 0)
    plain = msgspec.structs.replace(ours, version=None)
    return not is_newer and plain == msgspec.structs.replace(theirs, version=None)
