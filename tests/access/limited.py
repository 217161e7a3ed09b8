"""A shop with people whose keys and roles are limited in every way; all sign in for real."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sandbar
from sandbar.access import Caller, Houses, add_account, install_access, mint, sign_in

BOOTS = "zorp/Boot"  # what the class-limited key is limited to
CUSTOM = "shop/stockkeeper"


def opened(path: Path) -> sandbar.Database:
    """A new database with the pack zorp and everything of access."""
    path.write_bytes(_ready_made())
    return sandbar.open(path)


@cache
def _ready_made() -> bytes:
    """The file of such a database: to load the pack takes longer than most tests do."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        with sandbar.open(path) as db:
            db.load_pack("zorp")
            install_access(db.workspace)
        return path.read_bytes()


def make_role(
    db: sandbar.Database,
    name: str,
    *permissions: dict[str, Any],
    inherits: Iterable[str] = (),
    **slots: Any,
) -> int:
    """A role with these permissions, each as `{"group": …, "access": …, "classes": …}`."""
    refs = []
    for permission in permissions:
        given = {f"auth/{slot}": value for slot, value in permission.items()}
        refs.append(db.create("auth/Permission", given).entity_id)
    named = {f"auth/{slot.replace('_', '-')}": value for slot, value in slots.items()}
    role = {
        "auth/role-name": name,
        "auth/permissions": refs,
        "auth/inherits": [{"auth/role-name": one} for one in inherits],
        **named,
    }
    return db.create("auth/Role", role).entity_id


def houses_of(db: sandbar.Database) -> Houses:
    """Where callers of this database sign in."""
    return Houses(lambda name: db.in_workspace(name).workspace, db.workspace_name)


def signed_in(db: sandbar.Database, token: str) -> Caller:
    """Who this token is, asked anew."""
    return sign_in(houses_of(db), token)


def account(db: sandbar.Database, name: str, role: str) -> Caller:
    """A program with a role and nothing that limits it."""
    return signed_in(db, add_account(db.workspace, name, role=role).token)


def key(db: sandbar.Database, name: str, user: str, **narrowing: Any) -> Caller:
    """Somebody's key, narrowed."""
    token = mint(db.workspace, name, user=user, **narrowing).token
    assert token is not None
    return signed_in(db, token)


def callers_of(db: sandbar.Database) -> dict[str, Caller]:
    """One of each kind."""
    make_role(db, CUSTOM, {"group": "entity", "access": "write"})
    return {
        "reader": account(db, "rita", "reader"),
        "writer": account(db, "will", "writer"),
        "admin": account(db, "ada", "admin"),
        "custom role": account(db, "stock", CUSTOM),
        "read-only key": key(db, "eyes", "ada", read_only=True),
        "verb-limited key": key(db, "hands", "ada", verbs=["entity.*"]),
        "class-limited key": key(db, "feet", "will", classes=[BOOTS]),
    }
