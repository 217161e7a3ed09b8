"""Definitions: making them, their versions, finding them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sandbar.errors import Conflict, Incorrect, NotFound
from sandbar.keywords import looks_like_ident, parse_ident
from sandbar.model import Create, Entity, Operation, Update, Workspace
from sandbar.suggestions import Suggestion
from sandbar.workflow import metamodel as mm
from sandbar.workflow.acting import Acting, Named
from sandbar.workflow.built_in import built_in_workflows
from sandbar.workflow.lacking import Warned
from sandbar.workflow.machines import Machine, machine_of
from sandbar.workflow.records import Records
from sandbar.workflow.shapes import Spec
from sandbar.workflow.specs import canonical, fingerprint, with_version

_PAGE = 1000
_PACKS = "pack/"  # how the name begins under which a pack writes

# Refuses a new version of the workflow of this name, which these principals have made.
Admit = Callable[[str, frozenset[str]], None]


class Defined(msgspec.Struct, frozen=True, rename="kebab"):
    """A definition as it stands, whether it was made just now, and what it still lacks."""

    definition_id: int
    workflow: str
    version: int
    created: bool
    warnings: tuple[Warned, ...] = ()


class Defining:
    """The definitions of one workspace."""

    def __init__(self, workspace: Workspace, records: Records, acting: Acting) -> None:
        self._workspace = workspace
        self._records = records
        self._acting = acting

    def define(
        self,
        spec: Spec,
        by: Named,
        *,
        reason: str | None = None,
        key: str | None = None,
        admit: Admit | None = None,
    ) -> Defined:
        """Make a definition, or a new version of one; the same once more changes nothing.

        `admit` is asked before anything changes, in the same transaction: no definition that
        another caller makes meanwhile escapes it.
        """

        def work() -> Defined:
            if key is not None and self._workspace.once(by.principal, key, canonical(spec)):
                current = self.find(spec.name)
                return Defined(current.entity_id, spec.name, current[mm.VERSION], created=False)
            return self._define(spec, by, admit)

        return self._workspace.run(work, principal=by.principal, reason=reason)

    def _define(self, spec: Spec, by: Named, admit: Admit | None) -> Defined:
        current = self._current(spec.name)
        digest = fingerprint(spec)
        known = 0 if current is None else int(current[mm.VERSION])
        is_same = current is not None and current[mm.FINGERPRINT] == digest
        if current is not None and is_same and spec.version in (None, known):
            return Defined(current.entity_id, spec.name, known, created=False)
        if admit is not None:
            admit(spec.name, self.makers(spec.name))
        version = spec.version or known + 1
        if current is not None:
            if version <= known:
                raise _older(spec, known)
            # The name passes on; processes that run keep what they follow.
            unnamed = Update(entity=current.entity_id, set={"db/ident": None})
            self._workspace.transact([unnamed], principal=by.principal)
        spec = with_version(spec, version)
        id = self._write(spec, digest, by.principal)
        self._acting.note_definer(id, by)
        return Defined(id, spec.name, version, created=True)

    def _write(self, spec: Spec, digest: str, principal: str) -> int:
        operations = [*_states(spec), *_transitions(spec)]
        definition = {
            "db/ident": spec.name,
            "db/doc": spec.description,
            mm.NAME: spec.name,
            mm.VERSION: spec.version,
            mm.FINGERPRINT: digest,
            mm.SPEC: msgspec.json.decode(canonical(spec)),
            mm.STATES: [f"state-{n}" for n in range(len(spec.states))],
            mm.TRANSITIONS: [f"transition-{n}" for n in range(len(spec.transitions))] or None,
        }
        operations.append(Create(class_=mm.DEFINITION, slots=_given(definition), temp="definition"))
        written = self._workspace.transact(operations, principal=principal)
        return written.temps["definition"]

    # --- finding -----------------------------------------------------------------------------

    def find(self, workflow: str, version: int | None = None) -> Entity:
        """The definition of that name: the current version, or the one asked for."""
        name = workflow.removeprefix(":")
        current = self._current(name) if self.is_known(name) else None
        if current is None:
            raise self._unknown(name)  # also of what is no workflow: that may be a secret
        if version is None or current[mm.VERSION] == version:
            return current
        page = self._workspace.query(mm.DEFINITION, {mm.NAME: name}, limit=_PAGE)
        for entity in page.items:
            if entity[mm.VERSION] == version:
                return entity
        raise NotFound(
            "workflow.unknown",
            f"workflow {name} has no version {version}",
            hint=f"its current version is {current[mm.VERSION]}",
        )

    def machine(self, workflow: str, version: int | None = None) -> Machine:
        """The same, compiled."""
        ours = self._not_stored(workflow, version)
        if ours is not None:
            return machine_of(canonical(ours))
        return self._records.known_from(self.find(workflow, version)).machine

    def spec(self, workflow: str, version: int | None = None) -> dict[str, Any]:
        """The same as `define` takes it."""
        ours = self._not_stored(workflow, version)
        if ours is not None:
            return dict(msgspec.json.decode(canonical(ours)))
        return dict(self.find(workflow, version)[mm.SPEC])

    def _not_stored(self, workflow: str, version: int | None) -> Spec | None:
        """One of our own workflows, where nobody has needed it yet: looking writes nothing."""
        ours = built_in_workflows().get(workflow.removeprefix(":"))
        if ours is None or version not in (None, 1) or mm.is_installed(self._workspace):
            return None
        return with_version(ours, 1)

    def was_defined(self, spec: Spec) -> bool:
        """Whether a version of the workflow is, or has been, just like this."""
        digest = fingerprint(spec)
        page = self._workspace.query(mm.DEFINITION, {mm.NAME: spec.name}, limit=_PAGE)
        return any(entity[mm.FINGERPRINT] == digest for entity in page.items)

    def makers(self, name: str) -> frozenset[str]:
        """The principals who have made the current version of the workflow, and of those whose
        prompts are named alike: `a.b/c` and `a/b.c` are both `sandbar.workflow.a.b.c`.

        A pack stays one of them, whoever has made a new version since.
        """
        found: set[str] = set()
        if not mm.is_installed(self._workspace):
            return frozenset()
        try:
            parts = parse_ident(name).replace("/", ".").split(".")
        except Incorrect:
            return frozenset()  # defining it will say what is wrong
        alike = [f"{'.'.join(parts[:n])}/{'.'.join(parts[n:])}" for n in range(1, len(parts))]
        where = {mm.NAME: {"in": [spelled for spelled in alike if looks_like_ident(spelled)]}}
        cursor = None
        while True:
            page = self._workspace.query(mm.DEFINITION, where, limit=_PAGE, cursor=cursor)
            for one in page.items:
                maker = self._workspace.history(one.entity_id, limit=1)[0].principal
                if one.ident is not None or maker.startswith(_PACKS):
                    found.add(maker)
            cursor = page.cursor
            if cursor is None:
                return frozenset(found)

    def is_known(self, name: str) -> bool:
        """Whether there is a workflow of that name now."""
        try:
            return self._current(name) is not None
        except Conflict:
            return False

    def definitions(self) -> list[Entity]:
        """The current version of every workflow, by name."""
        if not mm.is_installed(self._workspace):
            return []
        found: list[Entity] = []
        cursor = None
        while True:
            page = self._workspace.query(mm.DEFINITION, limit=_PAGE, cursor=cursor)
            found += [entity for entity in page.items if entity.ident is not None]
            cursor = page.cursor
            if cursor is None:
                return sorted(found, key=lambda entity: entity.ident or "")

    def _current(self, name: str) -> Entity | None:
        try:
            found = self._workspace.get(name)
        except NotFound:
            return None
        if found.class_ != mm.DEFINITION:
            raise Conflict(
                "workflow.name-taken",
                f"{name} is a {found.class_}, not a workflow",
                hint="choose another name",
            )
        return found

    def _unknown(self, name: str) -> NotFound:
        names = [entity.ident or "" for entity in self.definitions()]
        known = ", ".join(names[:20])
        return NotFound(
            "workflow.unknown",
            f"there is no workflow {name[:80]}",
            hint=Suggestion(
                name, names, f"there are: {known}" if known else "workflow.define makes one"
            ),
        )


def _states(spec: Spec) -> list[Operation]:
    return [
        Create(
            class_=mm.STATE,
            slots=_given(
                {
                    mm.NAME: state.name,
                    "dt/label": state.label,
                    mm.INITIAL: state.is_initial or None,
                    mm.TERMINAL: state.is_terminal or None,
                    mm.TERMINAL_KIND: state.kind,
                    mm.ACTIVITY: state.activity,
                }
            ),
            temp=f"state-{n}",
        )
        for n, state in enumerate(spec.states)
    ]


def _transitions(spec: Spec) -> list[Operation]:
    places = {state.name: f"state-{n}" for n, state in enumerate(spec.states)}
    return [
        Create(
            class_=mm.TRANSITION,
            slots=_given(
                {
                    mm.NAME: transition.name,
                    "dt/label": transition.label,
                    mm.FROM_STATES: [places[name] for name in transition.from_],
                    mm.TO_STATE: places[transition.to],
                    mm.GUARD: transition.guard,
                    mm.REQUIRES_REASON: transition.requires_reason or None,
                }
            ),
            temp=f"transition-{n}",
        )
        for n, transition in enumerate(spec.transitions)
    ]


def _given(slots: dict[str, Any]) -> dict[str, Any]:
    return {slot: value for slot, value in slots.items() if value is not None}


def _older(spec: Spec, known: int) -> Conflict:
    what = "has another definition" if spec.version == known else "is older than the current one"
    return Conflict(
        "workflow.version-exists",
        f"version {spec.version} of {spec.name} {what}",
        hint=f"leave version out, or say {known + 1}",
        data={"current": known},
    )
