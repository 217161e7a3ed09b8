"""Who is asking: the principal that history names, and the rights that say what it may do."""

from __future__ import annotations

from typing import Literal

import msgspec

from sandbar.access.rights import ACCESS_OF_ROLE, Access, Rights, Role, rights_of_role

Via = Literal["local", "api-key", "service-key"]

__all__ = ["Access", "Caller", "Limit", "Role", "Via", "local_caller"]

_NOTHING = Rights()
_BUILT_IN_UP_TO: dict[Role, frozenset[str]] = {
    "reader": frozenset({"reader"}),
    "writer": frozenset({"reader", "writer"}),
    "admin": frozenset({"reader", "writer", "admin"}),
}


class Limit(msgspec.Struct, frozen=True):
    """How often somebody may ask; whoever has the same bucket shares it."""

    per_minute: int
    burst: int
    bucket_id: int  # of a key, or of an account that has none


class Caller(msgspec.Struct, frozen=True):
    """An identified caller in one workspace."""

    principal: str
    role: Role  # the strongest built-in one that the rights amount to
    workspace: str
    account_id: int | None = None  # None: the local user of the library or the command line
    expires_us: int | None = None  # when the account or the key ends, if it does
    key_id: int | None = None  # the auth/Key, if it signed in with one
    key: str | None = None  # its name
    via: Via = "local"
    rights: Rights = _NOTHING  # if nothing is said: those of the role
    limit: Limit | None = None
    is_operator: bool = False  # an admin of the server's own workspace: may see to the others
    # The entities that make them who they are, and when each of those last changed.
    rests_on: frozenset[tuple[int, int]] = frozenset()
    number: int | None = None  # of the workspace; another may be given its name one day
    own_roles: frozenset[str] = frozenset()  # roles of the workspace's own making that it holds
    is_at_machine: bool = False  # has opened the database itself: all files here are at hand

    def __post_init__(self) -> None:
        """Rights that nobody has named are those of the role."""
        if self.rights is _NOTHING:
            msgspec.structs.force_setattr(self, "rights", rights_of_role(self.role))

    @property
    def roles(self) -> frozenset[str]:
        """The names of all roles that it acts in; an admin also acts as a writer and a reader."""
        return self.own_roles | _BUILT_IN_UP_TO[self.role]

    def may(self, access: Access) -> bool:
        """Whether the role grants this kind of access."""
        return access in ACCESS_OF_ROLE[self.role]


def local_caller(
    workspace: str, principal: str = "local", *, is_at_machine: bool = False
) -> Caller:
    """Whoever can open the database file may do everything in it.

    `is_at_machine` is for those who have opened it themselves, and not for whom they let speak in
    their place, such as an agent over standard input.
    """
    return Caller(principal, "admin", workspace, is_operator=True, is_at_machine=is_at_machine)
