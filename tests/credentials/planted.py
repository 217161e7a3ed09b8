"""Accounts in every state that an account can be in, and the tokens that belong to them."""

from __future__ import annotations

from typing import Any

from sandbar import clock
from sandbar.access import Role, add_account, revoke
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
    with open_database(address, OTHER) as db:
        tokens["of another workspace"] = add_account(db.workspace, "stranger").token
        add_account(db.workspace, "elsewhere", CHOSEN)
        tokens["named like ours"] = add_account(db.workspace, "bot").token
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
        home.transact([{"op": "delete", "entity": entity_of(home, name)}], principal="admin")


def _added(home: Workspace, name: str, role: Role = "writer") -> str:
    return add_account(home, name, role=role).token


def entity_of(home: Workspace, name: str) -> int:
    """The entity of an account."""
    return home.get({"auth/service-name": f"service/{name}"}).entity_id


def change(home: Workspace, name: str, slots: dict[str, Any]) -> None:
    """Change slots of an account, as an admin does."""
    operation = {"op": "update", "entity": entity_of(home, name), "set": slots}
    home.transact([operation], principal="admin")
