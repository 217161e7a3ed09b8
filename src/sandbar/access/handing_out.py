"""The keys and accounts of a workspace as one caller may see them and hand them out."""

from __future__ import annotations

from typing import Any

from sandbar.access.accounts import Account, NewAccount, add_account, list_accounts, revoke
from sandbar.access.callers import Caller
from sandbar.access.keyring import Minted, list_keys, mint, revoke_key, rotate
from sandbar.access.narrowing import Key
from sandbar.access.principals import find_owner
from sandbar.access.users import User, add_user, list_users
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
        """A new key could do more than its maker: so its maker must be able to do everything."""
        if not self._caller.may("admin"):
            raise Forbidden(
                "key.beyond-own",
                "only those who may do everything here make keys:"
                " a new key could do more than yours",
                hint="ask an admin, whose own key is not narrowed",
            )


class GuardedAccounts:
    """What `Guarded` gives to those who may see to accounts; done in the caller's name, too."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._workspace = workspace
        self._caller = caller

    def add_program(self, name: str, api_key: str | None, role: str, **wishes: Any) -> NewAccount:
        """Make an account with a key, as `add_account` does."""
        principal = self._caller.principal
        return add_account(self._workspace, name, api_key, role, principal=principal, **wishes)

    def add_person(self, name: str, **wishes: Any) -> User:
        """Make a person known, as `add_user` does."""
        return add_user(self._workspace, name, principal=self._caller.principal, **wishes)

    def programs(self) -> list[Account]:
        """All programs by name."""
        return list_accounts(self._workspace)

    def people(self) -> list[User]:
        """All people by name."""
        return list_users(self._workspace)

    def revoke(self, name: str) -> Account:
        """Let an account, or a key of it, sign in no more."""
        return revoke(self._workspace, name, principal=self._caller.principal)

    def is_owner(self, account: Account) -> bool:
        """Whether the workspace belongs to them."""
        owner = find_owner(self._workspace)
        return owner is not None and owner.entity_id == account.entity_id
