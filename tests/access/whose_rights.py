"""Everybody who may define a workflow or move it on, and what each may do to a shop by effects.

What somebody may is written down here by hand, as the kinds of effects: that an effect takes both
its mover and its definer is then a matter of sets.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import msgspec

import sandbar
from sandbar.access import Caller, add_account, local_caller, revoke, revoke_key, set_role
from sandbar.errors import Problem
from tests.access.limited import BOOTS, account, key, make_role

BOOT, PERSON, PROMPT = "product/mud-lord", "person/ann", "zorp/plan-launch"
PROPERTIES: dict[str, dict[str, Any]] = {"person/name": {"dt/range": "db.type/string"}}
CLASSES: dict[str, dict[str, Any]] = {
    "person/Person": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["person/name"]}
}
SAID = {"from": "reason"}  # another one each time, so that something changes

# What an effect does, by what it takes to be allowed to.
EFFECTS: dict[str, dict[str, Any]] = {
    "set a boot": {"set": {"footwear/name": SAID}},
    "start about a boot": {"start": "rights/child", "subject": BOOT},
    "set a person": {"set": {"person/name": SAID}, "entity": PERSON},
    "create a person": {"create": "person/Person", "slots": {"person/name": SAID}},
    "start about a person": {"start": "rights/child", "subject": PERSON},
    "start about nothing": {"start": "rights/child"},
    "define a class": {"create": "dt/Class", "slots": {"db/ident": SAID}},
    "change a class": {"set": {"db/doc": SAID}, "entity": "person/Person"},
    "set a prompt": {"set": {"db/doc": SAID}, "entity": PROMPT},
    "start about a prompt": {"start": "rights/child", "subject": PROMPT},
    "set an account": {"set": {"auth/principal-name": SAID}, "entity": {"from": "data.account"}},
    "start about an account": {"start": "rights/child", "subject": {"from": "data.account"}},
    "change a process": {"set": {"workflow/data": {"x": SAID}}, "entity": {"from": "process"}},
    "refer to an account": {
        "create": "person/Person",
        "slots": {"person/friend": {"from": "data.account"}},
    },
    "set data": {"data": {"said": SAID}},
}

DATA = {"set data"}
BOOT_KEEPERS = DATA | {"set a boot", "start about a boot", "start about nothing"}
WRITERS = BOOT_KEEPERS | {
    "set a person",
    "create a person",
    "start about a person",
    "define a class",
}
NOBODYS = {"change a process", "refer to an account"}
ADMINS = set(EFFECTS) - NOBODYS

DEFINERS: dict[str, set[str]] = {
    "the file's owner": ADMINS,
    "a pack": ADMINS,
    "an admin": ADMINS,
    "an admin's key with the role writer": WRITERS,
    "a writer": WRITERS,
    "a writer's key that has been revoked since": WRITERS,
    "a writer who is an admin since": ADMINS,
    "an admin who is a writer since": WRITERS,
    "a writer who keeps boots since": BOOT_KEEPERS,
    "a writer whose key is limited to boots since": BOOT_KEEPERS,
    "a writer who is a reader since": DATA,
    "a writer who was revoked since": DATA,
    "an admin who was purged since": DATA,
    "a writer, as an earlier version noted it": WRITERS,
    "an admin, as an earlier version noted it": WRITERS,
    "a revoked writer, as an earlier version noted it": DATA,
    "the file's owner, as an earlier version noted it": ADMINS,
}
MOVERS: dict[str, set[str]] = {
    "the file's owner": ADMINS,
    "an admin": ADMINS,
    "an admin's key with the role writer": WRITERS,
    "a writer": WRITERS,
    "a writer's key for verbs of workflows": WRITERS,  # as with all verbs: what they do comes along
    "a writer's key for boots": BOOT_KEEPERS,
    "a keeper of boots": BOOT_KEEPERS,
    "a reader who may move boots": {"set data"},  # whose role writes no entities, moves them only
    "a reader": set(),
    "an admin's key that only reads": set(),
}


class Shop:
    """A workspace with boots, a person, a prompt, accounts, and a workflow of every definer."""

    def __init__(self, db: sandbar.Database, folder: Path) -> None:
        self.db = db
        self._numbers = count()
        db.load_pack("zorp")
        friend = {"person/friend": {"dt/range": "dt/Resource"}}
        with_friend = {**CLASSES["person/Person"], "dt/slots": ["person/name", "person/friend"]}
        db.define(properties={**PROPERTIES, **friend}, classes={"person/Person": with_friend})
        db.create("person/Person", {"db/ident": PERSON, "person/name": "Ann"})
        add_account(db.workspace, "target")
        self.account = db.get({"auth/service-name": "service/target"}).entity_id
        boots = {"group": "*", "access": "write", "classes": [BOOTS]}
        moving = {"group": "workflow", "access": "write", "classes": [BOOTS]}
        make_role(db, "shop/keeper", boots)
        make_role(db, "shop/mover", {"group": "*", "access": "read"}, moving)
        ended = {"name": "child/ended", "terminal?": True, "terminal-kind": "cancel"}
        child = {
            "name": "rights/child",
            "states": [{"name": "child/open", "initial?": True}, ended],
            "transitions": [{"name": "end", "from": "child/open", "to": "child/ended"}],
        }
        db.workflows.define(child, principal="local")
        self.movers = self._movers()
        self.processes = {who: self._defined(who, n, folder) for n, who in enumerate(DEFINERS)}

    def _movers(self) -> dict[str, Caller]:
        db = self.db
        admin, writer = account(db, "ada", "admin"), account(db, "will", "writer")
        return {
            "the file's owner": local_caller(db.workspace_name),
            "an admin": admin,
            "an admin's key with the role writer": key(db, "less", "ada", role="writer"),
            "a writer": writer,
            "a writer's key for verbs of workflows": key(db, "w", "will", verbs=["workflow.*"]),
            "a writer's key for boots": key(db, "feet", "will", classes=[BOOTS]),
            "a keeper of boots": account(db, "kim", "shop/keeper"),
            "a reader who may move boots": account(db, "max", "shop/mover"),
            "a reader": account(db, "rita", "reader"),
            "an admin's key that only reads": key(db, "eyes", "ada", read_only=True),
        }

    # --- definers ----------------------------------------------------------------------------

    def _defined(self, who: str, n: int, folder: Path) -> int:
        """A process about a boot, of a workflow that they have defined."""
        spec = workflow(f"rights/way-{n}")
        if who == "a pack":
            self.load_pack(folder, spec)
        elif who.startswith("the file's owner"):
            self.db.workflows.define(spec, principal="local")
        else:
            caller = self._definer(who, f"definer-{n}")
            self.db.call_as(caller, "workflow.define", {"spec": spec})
            self._since(who, f"definer-{n}")
        if who.endswith("as an earlier version noted it"):
            self.forget_definer(spec["name"])
        data = {"account": self.account}
        return self.db.workflows.start(spec["name"], BOOT, data, principal="local").process_id

    def load_pack(self, folder: Path, spec: dict[str, Any]) -> None:
        """A pack that brings this workflow."""
        pack = folder / "ways"
        pack.mkdir()
        manifest = {"name": "ways", "title": "Ways", "version": "1", "description": "Ways."}
        (pack / "pack.json").write_bytes(msgspec.json.encode(manifest))
        (pack / "workflows.json").write_bytes(msgspec.json.encode([spec]))
        self.db.load_pack(pack)

    def _definer(self, who: str, name: str) -> Caller:
        is_admin = who.startswith("an admin")
        caller = account(self.db, name, "admin" if is_admin else "writer")
        if "key" in who:
            narrowed = {"role": "writer"} if is_admin else {}
            return key(self.db, f"{name}-key", name, **narrowed)
        return caller

    def _since(self, who: str, name: str) -> None:
        workspace = self.db.workspace
        roles = {
            "who is an admin since": "admin",
            "who is a writer since": "writer",
            "who is a reader since": "reader",
            "who keeps boots since": "shop/keeper",
        }
        for said, role in roles.items():
            if who.endswith(said):
                set_role(workspace, name, role)
        if who.endswith("key that has been revoked since"):
            revoke_key(workspace, f"{name}-key")
        if who.endswith("limited to boots since"):
            self.db.update({"auth/key-name": f"{name}-key"}, {"auth/classes": [BOOTS]})
        if "revoked" in who and "key" not in who:
            revoke(workspace, name)
        if "purged" in who:
            self.db.purge({"auth/service-name": f"service/{name}"}, mode="detach")

    def forget_definer(self, name: str) -> None:
        """As if an earlier version had made the definition."""
        workspace, id = self.db.workspace, self.db.get(name).entity_id

        def forget() -> None:
            workspace.credentials._writes.open_transaction().keep_secret(id, 0, None)

        workspace.run(forget, principal="local")

    # --- movers ------------------------------------------------------------------------------

    def move(self, process: int, effect: str, caller: Caller) -> Problem | None:
        """Make the transition that has the effect; how it was refused, if it was."""
        asked = {
            "process": process,
            "transition": effect.replace(" ", "-"),
            "reason": f"said/n{next(self._numbers)}",
        }
        before = self.db.t
        try:
            self.db.call_as(caller, "workflow.transition", asked)
        except Problem as problem:
            assert self.db.t == before, "what is refused has changed nothing"
            return problem
        assert self.db.t == before + 1
        return None

    def done(self, definer: str) -> dict[str, set[str]]:
        """What each mover gets done by a workflow of this definer."""
        process = self.processes[definer]
        return {
            who: {effect for effect in EFFECTS if self.move(process, effect, caller) is None}
            for who, caller in self.movers.items()
        }


def expected(definer: str) -> dict[str, set[str]]:
    """What both may: but data, which are the process's own, take nothing of the definer."""
    return {who: may & DEFINERS[definer] for who, may in MOVERS.items()}


def workflow(name: str, **of_state: Any) -> dict[str, Any]:
    """A workflow that has all effects, each by a transition of its own."""
    return {
        "name": name,
        "states": [{"name": "way/open", "initial?": True, **of_state}],
        "transitions": [
            {
                "name": effect.replace(" ", "-"),
                "from": "way/open",
                "to": "way/open",
                "effects": [EFFECTS[effect]],
            }
            for effect in EFFECTS
        ],
    }
