"""The authorisation matrix: every verb, tried by everybody on everything that somebody protects.

`Cells` makes real arguments for a verb and a target; `expected` says what must come of it. The
rule is written down here from the design, and asks none of the code that it judges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import sandbar
from sandbar.access import Caller
from sandbar.errors import Forbidden, NotFound, Problem
from sandbar.verbs import Verb

TARGETS = (
    "auth/Key",
    "auth/User",
    "auth/ServiceAccount",
    "auth/Role",
    "workflow/Process",
    "pack/Pack",
    "dt/Class",
    "zorp/LowTop",
    "zorp/Boot",
)
WITHIN = "zorp/Boot"  # the one class that the class-limited key has

# What each may call: access by group, `*` for all the others.
_LEVELS = {"read": 1, "write": 2, "admin": 3}
MAY_CALL: dict[str, dict[str, str]] = {
    "reader": {"*": "read"},
    "writer": {"*": "write"},
    "admin": {"*": "admin"},
    "custom role": {"entity": "write"},
    "read-only key": {"*": "read"},
    "verb-limited key": {"entity": "admin"},
    "class-limited key": {"*": "write"},
}

BY_ENTITY = ("entity.find", "entity.history", "entity.diff", "types.instance-of")
BY_CLASS = ("entity.query", "class.instances", "search.text", "class.validate-all-instances")
CHANGES = ("entity.update", "entity.delete", "entity.restore", "entity.purge")
MAKES = ("entity.create", "entity.transact", "entity.validate")
VALIDATES = ("validation.start", "validation.run")
OF_PROCESS = (
    "workflow.transition",
    "workflow.process-state",
    "workflow.process-history",
    "workflow.pause",
    "workflow.resume",
    "workflow.answer",
)
OF_TASK = ("task.get", "task.cancel")
OF_VALIDATION = ("validation.cancel", "validation.retry", "validation.results")
ABOUT_TARGETS = {
    *BY_ENTITY, *BY_CLASS, *CHANGES, *MAKES, *VALIDATES, *OF_PROCESS, *OF_TASK, *OF_VALIDATION,
    "validation.history", "workflow.start-process",
}  # fmt: skip
OF_FAMILY = ("list_loved_ones", "list_care_events")

IN = "let in"
PROTECTED, OUTSIDE, ADMINS = "entity.protected", "access.out-of-scope", "schema.admin-only"


def targets_of(verb: Verb) -> tuple[str, ...]:
    """What to try a verb on; one that is about none of them is tried once."""
    return TARGETS if verb.name in ABOUT_TARGETS else (WITHIN,)


def expected(who: str, verb: Verb, target: str) -> str:
    """What must come of a cell: let in, or the code of the refusal."""
    granted = MAY_CALL[who].get(verb.group, MAY_CALL[who].get("*"))
    if granted is None or _LEVELS[granted] < _LEVELS[verb.access]:
        return "verb.forbidden"
    if verb.name == "workspace.usage" and who == "class-limited key":
        return "verb.forbidden"  # it counts what the key does not see
    if verb.name in OF_FAMILY:  # none of them has one, and the class-limited key cannot even look
        return OUTSIDE if who == "class-limited key" else "care.family-only"
    if verb.name == "get_user_profile" and who == "class-limited key":
        return OUTSIDE
    name, is_outside = verb.name, who == "class-limited key" and target != WITHIN
    is_access = target.startswith("auth/")
    if name in VALIDATES:
        if is_access:
            return "validation.protected"  # nobody's, since others could read what was found
        return OUTSIDE if is_outside else IN
    is_narrow = who in ("read-only key", "class-limited key")
    if name in OF_TASK:  # an admin began it, of whom the read-only key is another key
        is_mine = who == "admin" or (who == "read-only key" and not is_access)
        return IN if is_mine else "task.unknown"
    if name in OF_PROCESS:
        return OUTSIDE if is_outside or (is_narrow and is_access) else IN
    if name in OF_VALIDATION:
        return OUTSIDE if is_outside else IN
    if name == "workflow.stats" and who == "class-limited key":
        return OUTSIDE
    if name in ("workflow.define", "schema.define") and who == "class-limited key":
        return OUTSIDE
    if name not in (*BY_ENTITY, *BY_CLASS, *CHANGES, *MAKES, "workflow.start-process"):
        return IN
    if is_access and who != "admin":
        return PROTECTED
    if target == "workflow/Process" and name in MAKES:
        return PROTECTED  # nobody makes one by hand
    if is_outside:
        return OUTSIDE
    if name in (*BY_ENTITY, *BY_CLASS, "workflow.start-process"):
        return IN
    return _expected_of_change(who, name, target)


def _expected_of_change(who: str, name: str, target: str) -> str:
    if target == "dt/Class" and name == "entity.purge":
        return "purge.metamodel"  # nobody's: the past could not be read without it
    if target == "workflow/Process":  # moved by their own verbs alone; whoever may purge may that
        return IN if name == "entity.purge" else PROTECTED
    if who == "admin":
        return IN
    if target == "pack/Pack":
        return PROTECTED
    if target == "dt/Class" and name in CHANGES:
        return ADMINS
    return IN


class Cells:
    """Real things to try verbs on; what a verb may have broken is made anew for the next cell."""

    def __init__(self, db: sandbar.Database, admin: Caller) -> None:
        self.db = db
        self._admin = admin
        self._kept: dict[tuple[str, str], Any] = {}
        self._spared: dict[tuple[str, str], dict[str, Any]] = {}

    def arguments(self, verb: Verb, target: str) -> dict[str, Any]:
        """What to call a verb with, so that it is about the target."""
        spared = self._spared.pop((verb.name, target), None)
        return self._new_arguments(verb, target) if spared is None else spared

    def spare(self, verb: Verb, target: str, arguments: dict[str, Any]) -> None:
        """Let the next who tries have them: a refusal must have left everything as it was.

        If it has not, the next one is told something that the design does not say.
        """
        self._spared[verb.name, target] = arguments

    def _new_arguments(self, verb: Verb, target: str) -> dict[str, Any]:
        name = verb.name
        if name in BY_ENTITY:
            more: dict[str, dict[str, Any]] = {
                "entity.diff": {"from": 1},
                "types.instance-of": {"class": "dt/Resource"},
            }
            return {"entity": self._shared("entity", target, self.entity), **more.get(name, {})}
        if name in BY_CLASS:
            return {"class": target} | ({"query": "x"} if name == "search.text" else {})
        if name in VALIDATES or name == "validation.history":
            return {"class": target}
        if name in CHANGES:
            return self._change(name, target)
        if name in MAKES:
            return self._making(name, target)
        if name == "workflow.start-process":
            entity = self._shared("entity", target, self.entity)
            return {"workflow": "test/errand", "subject": entity}
        if name in OF_PROCESS:
            return self._of_process(name, target)
        if name in OF_TASK:
            return {"task-id": self.process(target)["task-id"]}
        if name in OF_VALIDATION:
            return {"process": self._shared("validation", target, self.validation)}
        return self._plain(verb)

    def _shared(self, kind: str, target: str, make: Callable[[str], Any]) -> Any:
        if (kind, target) not in self._kept:
            self._kept[kind, target] = make(target)
        return self._kept[kind, target]

    def entity(self, target: str) -> int:
        """A new instance of a class, made by whoever may."""
        if target == "workflow/Process":
            return int(self.process("zorp/LowTop")["process-id"])
        return self.db.create(target, self.slots(target)).entity_id

    def slots(self, target: str) -> dict[str, Any]:
        """What a new instance needs."""
        new = uuid4().hex
        if target in ("zorp/Boot", "zorp/LowTop"):
            return {"footwear/name": new, "footwear/price": "10"}
        named: dict[str, dict[str, Any]] = {
            "auth/Key": {"auth/key-name": f"k/{new}", "auth/owner": {"auth/owns": "workspace"}},
            "auth/User": {"auth/user-name": f"user/{new}"},
            "auth/ServiceAccount": {"auth/service-name": f"service/{new}"},
            "auth/Role": {"auth/role-name": f"r/{new}"},
            "pack/Pack": {"db/ident": f"pack/{new}", "pack/version": "1"},
            "dt/Class": {"db/ident": f"x{new}/Thing", "dt/subclass-of": ["dt/Ref"]},
            "workflow/Process": {},
        }
        return named[target]

    def process(self, target: str) -> dict[str, Any]:
        """A process about an instance of the class; an admin begins it."""
        subject = self._shared("entity", target, self.entity)
        given = {"workflow": "test/errand", "subject": subject}
        started = self.db.call_as(self._admin, "workflow.start-process", given)
        return {"process-id": started.process_id, "task-id": started.task_id}

    def validation(self, target: str) -> int:
        """A validation of the class; of a class of access there is none, so it is another's."""
        cls = "dt/Class" if target.startswith("auth/") else target
        result = self.db.call_as(self._admin, "validation.run", {"class": cls})
        return int(result.process_id)

    def _change(self, name: str, target: str) -> dict[str, Any]:
        entity = self.entity(target)
        if name == "entity.update":
            return {"entity": entity, "attributes": {"dt/label": "changed"}}
        if name == "entity.restore":  # to how it was before something happened to it
            t = self.db.get(entity).t
            if target == "workflow/Process":
                given = {"process": entity, "transition": "go"}
                self.db.call_as(self._admin, "workflow.transition", given)
            else:
                self.db.update(entity, {"dt/label": "changed"})
            return {"entity": entity, "to": t}
        given = (
            {"entity": entity, "confirm": entity} if name == "entity.purge" else {"entity": entity}
        )
        if target == "workflow/Process":  # its history refers to it
            given["mode"] = "detach" if name == "entity.purge" else "cascade"
        return given

    def _making(self, name: str, target: str) -> dict[str, Any]:
        slots = self.slots(target)
        if name == "entity.transact":
            return {"operations": [{"op": "create", "class": target, "slots": slots}]}
        return {"class": target, "attributes": slots}

    def _of_process(self, name: str, target: str) -> dict[str, Any]:
        process = self.process(target)["process-id"]
        if name == "workflow.transition":
            return {"process": process, "transition": "go"}
        if name == "workflow.resume":
            self.db.call_as(self._admin, "workflow.pause", {"process": process})
        if name == "workflow.answer":
            given = {"process": process, "transition": "ask"}
            self.db.call_as(self._admin, "workflow.transition", given)
            return {"process": process, "answers": {"answer": {"sure": True}}}
        return {"process": process}

    def _plain(self, verb: Verb) -> dict[str, Any]:
        """The verb's own example, with something new for what it names in angle brackets."""
        makers: dict[str, Callable[[], str]] = {
            "<key>": self._key,
            "<new workspace>": lambda: f"w-{uuid4()}",
            "<workspace>": self._workspace,
        }
        marks = _example(verb).values()
        made = {mark: make() for mark, make in makers.items() if mark in marks}
        given = {
            name: made.get(value, value) if isinstance(value, str) else value
            for name, value in _example(verb).items()
        }
        if verb.name == "key.mint":
            given["name"] = f"k-{uuid4().hex}"
        return given

    def _key(self) -> str:
        name = f"k-{uuid4().hex}"
        self.db.call_as(self._admin, "key.mint", {"name": name})
        return name

    def _workspace(self) -> str:
        name = f"w-{uuid4()}"
        self.db.call_as(self._admin, "workspace.create", {"name": name})
        return name


def _example(verb: Verb) -> dict[str, Any]:
    return verb.examples[0].arguments if verb.examples else {}


ERRAND = {
    "name": "test/errand",
    "pausable?": True,
    "states": [
        {"name": "errand/open", "initial?": True},
        {
            "name": "errand/asking",
            "input": {
                "message": "Sure?",
                "schema": {"type": "object", "properties": {"sure": {"type": "boolean"}}},
                "accept": "answered",
            },
        },
        {"name": "errand/done", "terminal?": True, "terminal-kind": "success"},
        {"name": "errand/dropped", "terminal?": True, "terminal-kind": "cancel"},
    ],
    "transitions": [
        {"name": "go", "from": "errand/open", "to": "errand/done"},
        {"name": "ask", "from": "errand/open", "to": "errand/asking"},
        {"name": "answered", "from": "errand/asking", "to": "errand/done"},
        {"name": "drop", "from": "errand/open", "to": "errand/dropped"},
    ],
}


# Whoever gets so far was let in: only the folder is not theirs, or not there.
_NO_FOLDER = ("project.no-folder", "project.narrow-key", "project.gone", "project.not-there")


def outcome(db: sandbar.Database, caller: Caller, verb: Verb, arguments: dict[str, Any]) -> str:
    """What came of a call: let in, whatever else is wrong, or the code of the refusal."""
    try:
        answer = db.call_as(caller, verb.name, arguments)
    except (Forbidden, NotFound) as refusal:
        is_let_in = refusal.code in _NO_FOLDER
        return f"{IN}, {refusal.code}" if is_let_in else refusal.code
    except Problem as problem:
        return _refusal_in(problem.data.get("findings")) or f"{IN}, {problem.code}"
    errors = getattr(answer, "errors", None) if verb.name == "entity.validate" else None
    return _refusal_in(errors) or IN


def _refusal_in(findings: Any) -> str | None:
    """Several refusals at once are told as findings."""
    codes = {finding["code"] for finding in findings or ()} & {PROTECTED, OUTSIDE, ADMINS}
    return codes.pop() if codes else None
