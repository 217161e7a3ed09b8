"""Workspaces: making, listing, suspending and deleting them.

A workspace is a database of its own; nobody signs in to two of them. Operators, the admins of the
server's own workspace and whoever works on the database itself, see to the others.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from sandbar.access.callers import Caller
from sandbar.access.keyring import is_good
from sandbar.access.metamodel import KEY, SUSPENDED, TITLE, WORKSPACE, install_access
from sandbar.access.principals import each_of, find_owner, new_user_name, principal_name
from sandbar.access.protected import protected_roots
from sandbar.access.users import EMAIL, check_email, name_owner
from sandbar.access.wishes import Wishes
from sandbar.errors import Conflict, Forbidden, Incorrect, NotFound
from sandbar.model import Budgets, Update, Workspace
from sandbar.suggestions import did_you_mean

NAME_MAX = 255
METAMODEL = ("dt/Class", "dt/Property")
_WORKFLOWS = ("workflow/Definition", "workflow/State", "workflow/Transition")
_ROOT = "dt/Resource"


class Neighbours(Protocol):
    """The workspaces of one database, for those who see to them."""

    def names(self) -> list[str]:
        """Every workspace there is, by name."""

    def home_of_server(self) -> str | None:
        """The one that a server is at home in, where that can be told."""

    def open(self, name: str) -> Workspace:
        """One that exists."""

    def create(self, name: str) -> Workspace:
        """A new one, with the core of the metamodel."""

    def drop(self, name: str) -> None:
        """Erase one with all that is in it, and its past."""


class WorkspaceView(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """A workspace as operators see it."""

    name: str
    owner: str | None
    entities: int  # as entity_count says
    t: int
    keys: int  # that count
    suspended: bool
    email: str | None = None
    title: str | None = None


def create_workspace(
    neighbours: Neighbours,
    caller: Caller,
    name: str,
    *,
    owner: str | None = None,
    email: str | None = None,
    title: str | None = None,
) -> WorkspaceView:
    """Make a workspace with its owner; keys for it are minted in it."""
    _require_operator(caller)
    wishes = Wishes()
    wishes.look("name", lambda: check_workspace_name(name))
    wishes.look("name", lambda: _refuse_known(neighbours, name))
    wishes.look("owner", lambda: None if owner is None else new_user_name(owner))
    wishes.look("email", lambda: check_email(email))
    wishes.refuse()
    workspace = neighbours.create(name)
    install_access(workspace)
    name_owner(workspace, owner, email, principal=caller.principal)
    if title is not None:
        operation = Update(entity=WORKSPACE, set={TITLE: title})
        workspace.transact([operation], principal=caller.principal, reason="its title")
    return view_of(workspace, name)


def workspace_names(neighbours: Neighbours, caller: Caller) -> list[str]:
    """All workspaces, sorted; for whoever is no operator, their own."""
    return sorted(neighbours.names()) if caller.is_operator else [caller.workspace]


def suspend_workspace(
    neighbours: Neighbours,
    caller: Caller,
    name: str,
    *,
    resume: bool = False,
    reason: str | None = None,
) -> WorkspaceView:
    """Let nobody sign in to a workspace until it is resumed; its data stays as it is."""
    _require_operator(caller)
    workspace = _known(neighbours, name)
    if name == caller.workspace and caller.account_id is not None and not resume:
        raise Conflict(
            "workspace.own",
            f"you are signed in to {name}: suspending it would lock you out",
            hint="on the server's machine `sandbar workspace suspend` can do it",
        )
    install_access(workspace)
    why = reason or ("the workspace is resumed" if resume else "the workspace is suspended")
    operation = Update(entity=WORKSPACE, set={SUSPENDED: not resume})

    def work() -> None:
        workspace.budgets.use_reserve()
        workspace.transact([operation], principal=caller.principal, reason=why)

    workspace.run(work, principal=caller.principal, reason=why)
    return view_of(workspace, name)


def delete_workspace(
    neighbours: Neighbours, caller: Caller, name: str, *, confirm: str
) -> WorkspaceView:
    """Erase a workspace for good; answers what it was."""
    seen = check_deletable(neighbours, caller, name)
    if confirm != name:
        raise Incorrect(
            "workspace.unconfirmed",
            f"to delete {name} with all its data, its name must be repeated exactly",
            hint=f"confirm: {name}; there is no way back",
        )
    neighbours.drop(name)
    return seen


def check_deletable(neighbours: Neighbours, caller: Caller, name: str) -> WorkspaceView:
    """The workspace as it is, if the caller may delete it: nobody deletes the one they are in."""
    _require_operator(caller)
    workspace = _known(neighbours, name)
    if name == caller.workspace:
        raise Conflict(
            "workspace.own",
            f"{name} is the workspace that you are in, and cannot be deleted from there",
            hint="delete it from another one: `sandbar workspace delete NAME --workspace OTHER`,"
            " while no server is at home in it",
        )
    if name == neighbours.home_of_server():
        raise Conflict(
            "workspace.served",
            f"a server runs on this database, and {name} is where it is at home",
            hint="stop the server first, or suspend the workspace instead",
        )
    return view_of(workspace, name)


def budgets_of(neighbours: Neighbours, caller: Caller, name: str | None) -> Budgets:
    """The budgets of the caller's own workspace; operators may look at every one."""
    if name is None or name == caller.workspace:
        return neighbours.open(caller.workspace).budgets
    _require_operator(caller)
    return _known(neighbours, name).budgets


def views_of(neighbours: Neighbours, names: Iterable[str]) -> Iterator[WorkspaceView]:
    """These workspaces; one that is deleted meanwhile is left out."""
    for name in names:
        try:
            yield view_of(neighbours.open(name), name)
        except NotFound:
            continue


def view_of(workspace: Workspace, name: str) -> WorkspaceView:
    """A workspace as it is; nothing is written, not even into one that knows no access yet."""
    view = WorkspaceView(
        name=name,
        owner=None,
        entities=entity_count(workspace),
        t=workspace.last_t(),
        keys=0,
        suspended=False,
    )
    try:
        owner, settings = find_owner(workspace), workspace.get(WORKSPACE)
        keys = sum(is_good(key) for key in each_of(workspace, KEY))
    except NotFound:
        return view
    return msgspec.structs.replace(
        view,
        owner=None if owner is None else principal_name(owner),
        email=None if owner is None else owner.get(EMAIL),
        keys=keys,
        suspended=settings.get(SUSPENDED) is True,
        title=settings.get(TITLE),
    )


def entity_count(workspace: Workspace) -> int:
    """How many entities there are: without the metamodel, the definitions of workflows, and what
    belongs to access, of which every workspace has some from its beginning."""
    schema = workspace.schema()
    hidden = {*METAMODEL, *protected_roots(schema), *(set(_WORKFLOWS) & set(schema.classes()))}
    return workspace.validity.count(_ROOT, hidden=hidden)


def check_workspace_name(name: str) -> None:
    """The name of a new workspace: such as can be typed, printed, and taken for nothing else."""
    is_odd = any(unicodedata.category(letter)[0] in "CZ" and letter != " " for letter in name)
    if (
        not 1 <= len(name) <= NAME_MAX
        or is_odd
        or name != name.strip()
        or name.startswith(("-", "."))
        or any(letter in name for letter in "/\\")
    ):
        raise Incorrect(
            "workspace.name",
            f"{name[:80]!r} is no name for a workspace",
            hint=f"1 to {NAME_MAX} visible characters, with blanks between them if need be; no"
            " slash or backslash, no dash or dot at the beginning; such as shop-2",
        )


def _known(neighbours: Neighbours, name: str) -> Workspace:
    names = neighbours.names()
    if name not in names:
        raise NotFound(
            "workspace.unknown",
            f"there is no workspace {name[:80]}",
            hint=did_you_mean(name, names) or "`sandbar workspace list` lists them",
        )
    return neighbours.open(name)


def _refuse_known(neighbours: Neighbours, name: str) -> None:
    if name in neighbours.names():
        raise Conflict(
            "workspace.exists",
            f"there is a workspace {name} already",
            hint="choose another name; `sandbar workspace list` lists them",
        )


def _require_operator(caller: Caller) -> None:
    if not caller.is_operator:
        raise Forbidden(
            "workspace.operators-only",
            "only admins of the server's own workspace see to other workspaces",
            hint="ask who runs the server; workspace.list shows your own",
        )
