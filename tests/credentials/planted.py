"""Accounts in every state that an account can be in, and the tokens that belong to them."""

from __future__ import annotations

from typing import Any

from sandbar import clock
from sandbar.access import (
    Role,
    add_account,
    add_user,
    local_caller,
    mint,
    revoke,
    revoke_key,
    rotate,
)
from sandbar.database import open_database
from sandbar.model import Workspace

OWN, OTHER = "main", "other"
CHOSEN = "super-secret-mcp-key"
HOUR_US = 3_600_000_000


class Planted(dict[str, str]):
    """Tokens by what is the matter with them; `good` and `chosen` are in order."""

    def minted(self, name: str) -> bytes:
        """A token as bytes."""
        return self[name].encode()


def plant(address: str) -> Planted:
    """Make all of them in a database that no server has open."""
    tokens = Planted()
    with open_database(address, OWN) as db:
        _plant_own(db.workspace, tokens)
        _plant_keys(db.workspace, tokens)
    with open_database(address, OTHER) as db:
        tokens["of another workspace"] = add_account(db.workspace, "stranger").token
        add_account(db.workspace, "elsewhere", CHOSEN)
        tokens["named like ours"] = add_account(db.workspace, "bot").token
    for name in ("suspended", "deleted"):
        with open_database(address, name) as db:
            tokens[f"of a {name} workspace"] = mint(db.workspace, "x").token
    with open_database(address, OWN) as db:
        local = local_caller(OWN)
        db.call_as(local, "workspace.suspend", {"name": "suspended"})
        db.call_as(local, "workspace.delete", {"name": "deleted", "confirm": "deleted"})
    return tokens


def _plant_own(home: Workspace, tokens: Planted) -> None:
    tokens["chosen"] = add_account(home, "claude", CHOSEN).token
    tokens["good"] = _added(home, "bot", role="reader")
    tokens["another"] = _added(home, "second", role="reader")

    add_account(home, "idle", CHOSEN)
    revoke(home, "idle")
    tokens["of an idle account"] = _added(home, "idlebot")
    revoke(home, "idlebot")

    tokens["revoked"] = _added(home, "revokedbot")
    revoke(home, tokens["revoked"])
    tokens["replaced"] = _added(home, "replacedbot")
    revoke(home, "replacedbot")
    tokens["replacing"] = _added(home, "replacedbot")

    add_account(home, "late", CHOSEN)
    tokens["expired"] = _added(home, "latebot")
    add_account(home, "bare", CHOSEN)
    tokens["without a role"] = _added(home, "barebot")
    add_account(home, "gone", CHOSEN)
    tokens["of nobody"] = _added(home, "gonebot")
    a_second_ago = clock.instant_text(clock.now_us() - 1_000_000)
    for name in ("late", "latebot"):
        change(home, name, {"auth/expires-at": a_second_ago})
    for name in ("bare", "barebot"):
        change(home, name, {"auth/roles": None})
    for name in ("gone", "gonebot"):
        deletion = {"op": "delete", "entity": entity_of(home, name), "mode": "cascade"}
        home.transact([deletion], principal="admin")


def _plant_keys(home: Workspace, tokens: Planted) -> None:
    """Keys with names of their own: in every state that they, or whoever owns them, can be in."""
    a_second_ago = clock.instant_text(clock.now_us() - 1_000_000)
    for name in ("anna", "away", "former", "roleless"):
        add_user(home, name, role="writer")
    tokens["of a user"] = mint(home, "laptop", user="anna").token
    tokens["named and revoked"] = mint(home, "lost", user="anna").token
    revoke_key(home, "lost")
    tokens["named and rotated"] = mint(home, "rotated", user="anna").token
    rotate(home, "rotated")
    tokens["named and expired"] = mint(home, "late-key", user="anna").token
    _set(home, {"auth/key-name": "late-key"}, {"auth/expires-at": a_second_ago})
    tokens["made inactive"] = mint(home, "off", user="anna").token
    _set(home, {"auth/key-name": "off"}, {"auth/active?": False})
    tokens["deleted"] = mint(home, "deleted", user="anna").token
    home.transact([{"op": "delete", "entity": {"auth/key-name": "deleted"}}], principal="admin")
    tokens["of an inactive user"] = mint(home, "away", user="away").token
    _set(home, {"auth/user-name": "user/away"}, {"auth/active?": False})
    tokens["of an expired user"] = mint(home, "former", user="former").token
    _set(home, {"auth/user-name": "user/former"}, {"auth/expires-at": a_second_ago})
    tokens["of a user without a role"] = mint(home, "roleless", user="roleless").token
    _set(home, {"auth/user-name": "user/roleless"}, {"auth/roles": None})
    tokens["narrowed to nothing"] = mint(home, "none", user="anna", role="reader").token
    _set(home, {"auth/user-name": "user/anna"}, {"auth/roles": ["writer"]})
    _set(home, {"auth/key-name": "none"}, {"auth/key-roles": ["no-such-role"]})


def _set(home: Workspace, entity: dict[str, str], slots: dict[str, Any]) -> None:
    home.transact([{"op": "update", "entity": entity, "set": slots}], principal="admin")


def _added(home: Workspace, name: str, role: Role = "writer") -> str:
    return add_account(home, name, role=role).token


def entity_of(home: Workspace, name: str) -> int:
    """The entity of an account."""
    return home.get({"auth/service-name": f"service/{name}"}).entity_id


def change(home: Workspace, name: str, slots: dict[str, Any]) -> None:
    """Change slots of an account, as an admin does."""
    operation = {"op": "update", "entity": entity_of(home, name), "set": slots}
    home.transact([operation], principal="admin")
