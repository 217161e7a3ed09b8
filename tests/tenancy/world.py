"""One store, three workspaces: the server's own, the attacker's and the victim's.

The attacker's and the victim's have the same packs, the same classes and accounts of the same
names, loaded in the same order: so that numbers, names and idempotency keys of the one mean
something in the other. What the victim has more is planted by `victim.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sandbar.access import Caller, Houses, Role, add_account, install_access, sign_in
from sandbar.access.keyring import mint
from sandbar.database import Database, open_database
from sandbar.model.values import VALUE_TYPES

OURS = "alpha"
PACKS = ("zorp", "care")
ROLES: tuple[Role, ...] = ("reader", "writer", "admin")
KINDS = sorted(VALUE_TYPES)
OWNER = "owner"
PLAYERS = (*ROLES, OWNER)  # the accounts of a workspace, and a key of the person who owns it
LIMIT_SLOT = "auth/rate-limit"

Tokens = dict[tuple[str, str], str]  # by workspace and player


def slot_of(kind: str) -> str:
    """The slot of `shared/Thing` that holds values of a type."""
    return kind.replace("db.type/", "shared/of-")


PROPERTIES: dict[str, dict[str, Any]] = {
    "shared/key": {"dt/range": "db.type/string", "db/unique": "identity"},
    "shared/friend": {"dt/range": "dt/Resource"},
    "shared/secret": {"dt/range": "db.type/string", "dt/secret?": True},
    **{
        slot_of(kind): {"dt/range": kind, "dt/indexed?": VALUE_TYPES[kind].indexable}
        for kind in KINDS
    },
}
CLASSES: dict[str, dict[str, Any]] = {
    "shared/Thing": {"dt/subclass-of": ["dt/Ref"], "dt/slots": [*PROPERTIES]},
}


class World:
    """An open database with the attacker's workspace, and perhaps the victim's.

    `tokens` are those of another world, if this one is a copy of its database.
    """

    def __init__(self, db: Database, victim: str | None, tokens: Tokens | None = None) -> None:
        self.db = db
        self.tokens: Tokens = dict(tokens or {})
        install_access(db.workspace)
        self.houses = Houses(db.workspace_now, db.workspace_name)
        self.ours = self._prepared(OURS)
        self.theirs = None if victim is None else self._prepared(victim)
        self.callers = {player: self.caller(OURS, player) for player in PLAYERS}
        for number in range(0 if tokens else 12):
            self._own_thing(number)

    @property
    def victim(self) -> Database:
        """The victim's workspace, of a world that has one."""
        assert self.theirs is not None
        return self.theirs

    def caller(self, workspace: str, player: str) -> Caller:
        """Somebody of a workspace as they sign in."""
        return sign_in(self.houses, self.tokens[workspace, player])

    def _prepared(self, name: str) -> Database:
        home = open_workspace(self.db, name)
        if (name, OWNER) in self.tokens:
            return home
        install_access(home.workspace)
        for pack in PACKS:
            home.load_pack(pack)
        home.define(properties=PROPERTIES, classes=CLASSES)
        for role in ROLES:
            made = add_account(home.workspace, f"twin-{role}", role=role)
            self.tokens[name, role] = made.token
            home.update(made.account.entity_id, {LIMIT_SLOT: 0})
        add_account(home.workspace, "spare")  # for its admin to revoke
        minted = mint(home.workspace, "twin-owner", rate_limit=0)
        assert minted.token is not None
        self.tokens[name, OWNER] = minted.token
        return home

    def _own_thing(self, number: int) -> None:
        slots = {
            "db/ident": f"thing/n{number}",
            "shared/key": f"our key {number}",
            "shared/of-string": f"our own text {number}",
            "shared/of-long": number,
            "shared/of-instant": f"2020-01-{number + 1:02}T00:00:00Z",
        }
        self.ours.create("shared/Thing", slots, reason=f"ours {number}")


def open_workspace(db: Database, name: str) -> Database:
    """A workspace of this store, made if need be."""
    if db._store.workspace(name) is None:
        db._store.create_workspace(name)
    return db.in_workspace(name)


@contextmanager
def opened_world(
    address: str, victim: str | None, tokens: Tokens | None = None, *, server: bool = False
) -> Iterator[World]:
    """A world in an empty database, or in the copy of one that has these tokens."""
    with open_database(address, server=server) as db:
        yield World(db, victim, tokens)
