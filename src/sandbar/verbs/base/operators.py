"""What only whoever has opened the database itself may do: accounts, packs and budgets.

For all others these verbs do not exist: they are in no list, and calling one is `verb.unknown`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from sandbar.access import (
    KEY_PREFIX,
    Account,
    NewAccount,
    User,
    budgets_of,
)
from sandbar.model import read_limits
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Catalogue, Verb
from sandbar.verbs.context import Context


class AddArguments(Arguments, frozen=True, kw_only=True):
    """A program with a key, or a person for whom keys are minted."""

    name: str
    api_key: str | None = None  # of a program; else one is minted
    person: bool = False
    email: str | None = None
    role: str = "writer"
    rate_limit: int | None = None
    burst: int | None = None
    prefix: str = KEY_PREFIX


class NoArguments(Arguments, frozen=True, kw_only=True):
    """Nothing."""


class Everybody(msgspec.Struct, frozen=True):
    """Who has an account."""

    programs: list[Account]
    people: list[User]


class NameArguments(Arguments, frozen=True, kw_only=True):
    """An account, or one minted key of it."""

    name: str


class AccountRevoked(msgspec.Struct, frozen=True):
    """Whose account, or whose key, signs in no more."""

    account: Account
    is_owners: bool  # the owner's own: nobody else can mint them a key


class PackArguments(Arguments, frozen=True, kw_only=True):
    """A built-in or installed pack by its name, or a folder."""

    pack: str


class LimitArguments(Arguments, frozen=True, kw_only=True):
    """A workspace and budgets of it, such as `entities=10000`."""

    name: str
    limits: list[str]


def add(context: Context, given: AddArguments) -> NewAccount | User:
    """Make an account."""
    accounts, role = context.db.accounts, given.role
    pace: dict[str, Any] = {"rate_limit": given.rate_limit, "burst": given.burst}
    if given.person:
        return accounts.add_person(given.name, email=given.email, role=role, **pace)
    return accounts.add_program(given.name, given.api_key, role, prefix=given.prefix, **pace)


def list_all(context: Context, given: NoArguments) -> Everybody:
    """All accounts."""
    accounts = context.db.accounts
    return Everybody(accounts.programs(), accounts.people())


def revoke_one(context: Context, given: NameArguments) -> AccountRevoked:
    """Let an account or a key sign in no more."""
    accounts = context.db.accounts
    account = accounts.revoke(given.name)
    return AccountRevoked(account, accounts.is_owner(account))


def add_pack(context: Context, given: PackArguments) -> Any:
    """Load a pack."""
    return context.services.load_pack(given.pack, progress=context.progress)


def limit(context: Context, given: LimitArguments) -> None:
    """Set budgets."""
    budgets = budgets_of(context.services.neighbours, context.db.caller, given.name)
    budgets.set_limits(read_limits(given.limits))


def _verb(name: str, title: str, arguments: type[Arguments], run: Any, result: Any) -> Verb:
    return Verb(
        name=name,
        title=title,
        description=f"{title}.",
        access="admin",
        arguments=arguments,
        result=result,
        run=run,
    )


@cache
def operators_catalogue() -> Catalogue:
    """Their catalogue: not a part of any workspace's."""
    return Catalogue(
        (
            _verb("account.add", "Add an account", AddArguments, add, Any),
            _verb("account.list", "List accounts", NoArguments, list_all, Everybody),
            _verb("account.revoke", "Revoke an account", NameArguments, revoke_one, AccountRevoked),
            _verb("pack.add", "Load a pack", PackArguments, add_pack, Any),
            _verb("workspace.limit", "Set budgets", LimitArguments, limit, None),
        )
    )
