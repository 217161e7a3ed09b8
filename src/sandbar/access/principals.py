"""Principals: people (`auth/User`) and programs (`auth/ServiceAccount`), found by their names.

`anna` is short for `user/anna`, `claude` for `service/claude`; who was given another namespace is
named in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from sandbar.access.keys import holds_secret
from sandbar.access.metamodel import (
    OWNED,
    OWNS,
    ROLE,
    ROLE_NAME,
    SERVICE_ACCOUNT,
    SERVICE_NAME,
    USER,
    USER_NAME,
)
from sandbar.access.rights import Role
from sandbar.errors import Conflict, Incorrect, NotFound
from sandbar.keywords import composed, parse_keyword, spellings
from sandbar.model import Entity, Workspace
from sandbar.suggestions import called_now, did_you_mean

LOCAL = "local"  # whoever works on the database itself, as history names them
_SERVICES = "service"
_PEOPLE = "user"
_PAGE = 500


def service_name(name: str) -> str:
    """`claude` is short for `service/claude`."""
    return _in_namespace(name, _SERVICES)


def user_name(name: str) -> str:
    """`anna` is short for `user/anna`."""
    return _in_namespace(name, _PEOPLE)


def new_service_name(name: str) -> str:
    """The name of a program that is to be made: not one that people have."""
    full_name = service_name(name)
    if full_name.startswith(f"{_PEOPLE}/"):
        raise Incorrect(
            "account.name",
            f"{full_name[:80]} is a name for a person",
            hint="`sandbar account add NAME --person` makes one; a program is called"
            f" {_SERVICES}/NAME, or NAME for short",
        )
    return full_name


def new_user_name(name: str) -> str:
    """The name of a person who is to be made known: not one that programs have."""
    full_name = user_name(name)
    if full_name.startswith(f"{_SERVICES}/"):
        raise Incorrect(
            "account.name",
            f"{full_name[:80]} is a name for a program",
            hint=f"a person is called {_PEOPLE}/NAME, or NAME for short; without --person"
            " `sandbar account add` makes a program",
        )
    return full_name


def short_name(full_name: str) -> str:
    """The same without the namespace that goes without saying."""
    return full_name.removeprefix(f"{_SERVICES}/").removeprefix(f"{_PEOPLE}/")


def find_account(workspace: Workspace, name: str) -> Entity | None:
    """What has this service name: as it is written, or in the usual namespace."""
    return _find(workspace, SERVICE_NAME, service_name(name), parse_keyword(name))


def find_user(workspace: Workspace, name: str) -> Entity | None:
    """What has this user name, likewise."""
    return _find(workspace, USER_NAME, user_name(name), parse_keyword(name))


def find_owner(workspace: Workspace) -> Entity | None:
    """The person to whom the workspace belongs."""
    return _find(workspace, OWNS, OWNED)


def find_principal(workspace: Workspace, name: str) -> Entity | None:
    """The person or the program of that name; a short name that both have is refused."""
    person, program = find_user(workspace, name), find_account(workspace, name)
    if person is None or program is None or person.entity_id == program.entity_id:
        return person or program
    keyword = parse_keyword(name)
    if keyword.startswith((f"{_PEOPLE}/", f"{_SERVICES}/")):
        return person if keyword.startswith(f"{_PEOPLE}/") else program
    names = f"{principal_name(person)} or {principal_name(program)}"
    raise Conflict(
        "account.ambiguous",
        f"both a person and a program are called {name[:80]}",
        hint=f"write {names}",
    )


def known_principal(workspace: Workspace, name: str) -> Entity:
    """The person or the program of that name."""
    found = find_principal(workspace, name)
    if found is not None:
        return found
    names = [principal_name(one) for one in each_principal(workspace)]
    near = did_you_mean(name, dict.fromkeys([*names, *map(short_name, names)]))
    raise NotFound(
        "user.unknown",
        f"there is nobody called {name[:80]} here",
        hint=near
        or "`sandbar account list` lists them; `sandbar account add NAME` makes a program, with"
        " --person a person",
    )


def principal_name(entity: Entity) -> str:
    """Who it is, as history names them."""
    found = entity.get(USER_NAME) or entity.get(SERVICE_NAME)
    return str(found or entity.ident or f"#{entity.entity_id}")


def each_principal(workspace: Workspace) -> Iterator[Entity]:
    """All people and programs."""
    yield from each_of(workspace, USER)
    yield from each_of(workspace, SERVICE_ACCOUNT)


def known_role(workspace: Workspace, name: str) -> str:
    """A role that the workspace has: a built-in one, or one of its own."""
    keyword = parse_keyword(name)
    if _find(workspace, ROLE_NAME, keyword) is None:
        names = sorted(str(role[ROLE_NAME]) for role in each_of(workspace, ROLE))
        raise NotFound(
            "role.unknown",
            f"there is no role {keyword[:80]}",
            hint=_renamed_role(workspace, keyword)
            or did_you_mean(keyword, names)
            or f"one of {', '.join(names[:20])}",
        )
    return keyword


def is_known_name(workspace: Workspace, name: str) -> bool:
    """Whether a role or a principal has exactly this name."""
    if name == LOCAL or name in get_args(Role):
        return True
    return any(_find(workspace, slot, name) for slot in (ROLE_NAME, USER_NAME, SERVICE_NAME))


def _renamed_role(workspace: Workspace, name: str) -> str | None:
    """What a role is called that had this name before."""
    former = workspace.former_names.holder({ROLE_NAME: name})
    if former is None or not former.is_living:
        return None
    now = workspace.get(former.id).get(ROLE_NAME)
    return now and called_now(name, now)


def each_of(workspace: Workspace, class_: str, where: Any = None) -> Iterator[Entity]:
    """All instances of a class; none, if access was never installed here."""
    cursor = None
    while True:
        page = workspace.query(class_, where, limit=_PAGE, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _find(workspace: Workspace, slot: str, *names: str) -> Entity | None:
    for spelled in dict.fromkeys(spelled for name in names for spelled in spellings(name)):
        try:
            return workspace.get({slot: spelled})
        except NotFound:
            continue
    return None


def _in_namespace(name: str, namespace: str) -> str:
    if holds_secret(name):
        raise Incorrect(
            "account.name",
            "this looks like a key, not like the name of anybody",
            hint="a name is such as claude or user/anna; `sandbar key revoke KEY` ends a key",
        )
    keyword = composed(parse_keyword(name))
    return keyword if "/" in keyword else f"{namespace}/{keyword}"
