"""A workspace with something to steal, and a look at all that an attacker must not change."""

from __future__ import annotations

from copy import copy
from typing import Any

from sandbar.access import (
    Caller,
    Guarded,
    Houses,
    Role,
    add_account,
    install_access,
    local_caller,
    revoke,
    sign_in,
)
from sandbar.errors import Problem
from sandbar.model import Entity, Workspace

PROPERTIES: dict[str, dict[str, Any]] = {
    "shop/name": {"dt/range": "db.type/string"},
    "shop/part": {"dt/range": "dt/Resource", "dt/component?": True},
    "shop/friend": {"dt/range": "dt/Resource"},
    "shop/clerk": {"dt/range": "auth/Principal", "dt/component?": True},
    "staff/desk": {"dt/range": "shop/Item"},
    "auth/boss": {"dt/range": "auth/Principal"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "shop/Item": {
        "dt/subclass-of": ["dt/Ref"],
        "dt/slots": ["shop/name", "shop/part", "shop/friend", "shop/clerk"],
    },
    "shop/Empty": {"dt/subclass-of": ["dt/Ref"]},
    # A class of access that is not named like one.
    "staff/Robot": {
        "dt/subclass-of": ["auth/ServiceAccount"],
        "dt/slots": ["staff/desk", "auth/boss"],
    },
}


class World:
    """Accounts of every kind, an admin's class below those of access, and a shop."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace, self.name = workspace, name
        self.houses = Houses(lambda _: workspace, name)
        install_access(workspace)
        workspace.define(PROPERTIES, CLASSES, principal="admin")
        self.root_token = add_account(workspace, "root", role="admin").token
        self.root = self._id("root")
        self.mallorys_token = add_account(workspace, "mallory").token
        self.mallory = self._id("mallory")
        self.old = add_account(workspace, "old", role="admin").account.entity_id
        revoke(workspace, "old")
        self.desk = self._make("shop/Item", {"db/ident": "item/desk", "shop/name": "a desk"})
        self.item = self._make("shop/Item", {"db/ident": "item/one", "shop/name": "one"})
        self.robot = self._make(
            "staff/Robot",
            {
                "db/ident": "robot/one",
                "auth/service-name": "service/robot",
                "auth/roles": ["admin"],
                "auth/api-key-hash": "robots-key-1",
                "auth/principal-name": "Robbie the robot",
                "auth/expires-at": "2020-01-01T00:00:00Z",
                "staff/desk": self.desk,
                "auth/boss": self.root,
            },
        )
        self.gone = self._make(
            "auth/ServiceAccount", {"auth/service-name": "service/gone", "auth/roles": ["admin"]}
        )
        workspace.transact([{"op": "delete", "entity": self.gone}], principal="admin")

    def copied(self, workspace: Workspace) -> World:
        """The same world in a copy of its database."""
        other = copy(self)
        other.workspace, other.houses = workspace, Houses(lambda _: workspace, self.name)
        return other

    def as_role(self, role: Role) -> Guarded:
        """The workspace as an account with this role has it."""
        caller = Caller("service/mallory", role, self.name, self.mallory)
        return Guarded(self.workspace, caller)

    def as_admin(self) -> Guarded:
        """The workspace without any guard."""
        return Guarded(self.workspace, local_caller(self.name))

    def treasure(self) -> dict[str, Any]:
        """All that belongs to admins: accounts, their hashes, definitions, who can sign in."""
        ws, schema = self.workspace, self.workspace.schema()
        everything = ws.query("dt/Resource", limit=1000)  # once: it is looked at class by class
        assert everything.cursor is None

        def instances(*classes: str) -> list[Entity]:
            heirs = {heir for cls in classes for heir in (cls, *schema.subclasses(cls))}
            return [entity for entity in everything.items if entity.class_ in heirs]

        accounts, definitions = instances("auth/Principal"), instances("dt/Class", "dt/Property")
        granted = instances("auth/Key", "auth/Role", "auth/Permission", "auth/Workspace")
        return {
            "accounts": {a.entity_id: (a.class_, a.slots) for a in accounts},
            "granted": {e.entity_id: e.slots for e in granted},
            "hashes": {
                a.entity_id: ws.credentials.hash_of(a.entity_id, "auth/api-key-hash")
                for a in accounts
            },
            "definitions": {
                d.entity_id: d.slots for d in definitions if self._is_admins(d.entity_id, d.ident)
            },
            "holders": [
                c for c in schema.classes() if any(s.startswith("auth/") for s in schema.slots(c))
            ],
            "inverses": [
                d.ident for d in definitions if str(d.get("dt/inverse-of")).startswith("auth/")
            ],
            "heirs": sorted(schema.subclasses("auth/Principal")),
            "mallory": self._role(self.mallorys_token),
            "root": self._role(self.root_token),
            "squatted": sorted(
                str(e.ident)
                for e in instances("shop/Item")
                if str(e.ident).startswith(("auth/", "dt/", "db/"))
            ),
        }

    def _is_admins(self, id: int, ident: str | None) -> bool:
        """What was defined before the attack, or bears a name that only admins may give."""
        namespace = str(ident).partition("/")[0]
        return id < self.root or namespace in ("auth", "dt", "db")

    def _role(self, token: str) -> str:
        try:
            return sign_in(self.houses, token).role
        except Problem as problem:
            return problem.code

    def _make(self, class_: str, slots: dict[str, Any]) -> int:
        operation = {"op": "create", "class": class_, "slots": slots}
        return self.workspace.transact([operation], principal="admin").entity_id

    def _id(self, name: str) -> int:
        return self.workspace.get({"auth/service-name": f"service/{name}"}).entity_id
