"""The keys of a workspace as one caller may see them and hand them out."""

from __future__ import annotations

from typing import Any

from sandbar.access.callers import Caller
from sandbar.access.keyring import Minted, list_keys, mint, revoke_key, rotate
from sandbar.access.narrowing import Key
from sandbar.errors import Forbidden
from sandbar.model import Workspace


class GuardedKeys:
    """What `Guarded` gives to those who may see to keys; all of it is done in the caller's name."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._workspace = workspace
        self._caller = caller

    def mint(self, name: str, **wishes: Any) -> Minted:
        """Make a key, as `mint` does."""
        self._require_all()
        return mint(self._workspace, name, principal=self._caller.principal, **wishes)

    def rotate(self, name: str, **wishes: Any) -> Minted:
        """Give a key another secret, as `rotate` does."""
        self._require_all()
        return rotate(self._workspace, name, principal=self._caller.principal, **wishes)

    def each(self) -> list[Key]:
        """All keys by name."""
        return list_keys(self._workspace)

    def revoke(self, name: str, *, reason: str | None = None) -> Key:
        """End a key."""
        return revoke_key(self._workspace, name, principal=self._caller.principal, reason=reason)

    def _require_all(self) -> None:
        """Whoever hands out keys could hand themselves one: so they must be able to do it all."""
        if not self._caller.may("admin"):
            raise Forbidden(
                "key.beyond-own",
                "only those who may do everything here make keys:"
                " a new key could do more than yours",
                hint="ask an admin, whose own key is not narrowed",
            )
