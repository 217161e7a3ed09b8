"""Who is asking: the principal that history names, and the role that says what it may do."""

from __future__ import annotations

from typing import Literal

import msgspec

Role = Literal["reader", "writer", "admin"]
Access = Literal["read", "write", "admin"]

_GRANTS: dict[Role, frozenset[Access]] = {
    "reader": frozenset({"read"}),
    "writer": frozenset({"read", "write"}),
    "admin": frozenset({"read", "write", "admin"}),
}


class Caller(msgspec.Struct, frozen=True):
    """An identified caller in one workspace."""

    principal: str
    role: Role
    workspace: str
    account_id: int | None = None  # None: the local user of the library or the command line
    expires_us: int | None = None  # when the account ends, if it does

    def may(self, access: Access) -> bool:
        """Whether the role grants this kind of access."""
        return access in _GRANTS[self.role]


def local_caller(workspace: str, principal: str = "local") -> Caller:
    """Whoever can open the database file may do everything in it."""
    return Caller(principal, "admin", workspace)
