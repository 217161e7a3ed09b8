"""The metamodel of access: data like any other, written into a workspace when first needed."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

from sandbar.errors import NotFound
from sandbar.model import Create, Entity, Introspection, Operation, Update, Workspace

NAMESPACE = "auth"

PRINCIPAL = "auth/Principal"
SERVICE_ACCOUNT = "auth/ServiceAccount"
USER = "auth/User"
ROLE = "auth/Role"
PERMISSION = "auth/Permission"
KEY = "auth/Key"
WORKSPACE = "auth/workspace"  # the one instance of auth/Workspace

SERVICE_NAME = "auth/service-name"
USER_NAME = "auth/user-name"
OWNS = "auth/owns"
OWNED = "workspace"  # what the owner of a workspace owns
API_KEY = "auth/api-key-hash"
ACTIVE = "auth/active?"
ROLES = "auth/roles"
CREATED_AT = "auth/created-at"
EXPIRES_AT = "auth/expires-at"
RATE_LIMIT = "auth/rate-limit"
BURST = "auth/burst"

ROLE_NAME = "auth/role-name"
INHERITS = "auth/inherits"
PERMISSIONS = "auth/permissions"
GROUP = "auth/group"
ACCESS = "auth/access"
CLASSES = "auth/classes"

KEY_NAME = "auth/key-name"
OWNER = "auth/owner"
KEY_SHOWN = "auth/key-prefix"
KEY_ROLES = "auth/key-roles"  # not auth/roles: those have a default, and a key has none
VERBS = "auth/verbs"
READ_ONLY = "auth/read-only?"

TITLE = "auth/title"
SUSPENDED = "auth/suspended?"

OWNER_NAME = "user/owner"
_PRINCIPAL = "sandbar"
_MANY = frozenset({"dt/slots", "dt/subclass-of"})


class _Seed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"class_": "class"}):
    class_: str
    slots: dict[str, Any]


class _Definitions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    properties: dict[str, dict[str, Any]]
    classes: dict[str, dict[str, Any]]
    entities: tuple[_Seed, ...]


_definitions = msgspec.json.decode(
    resources.files("sandbar.access").joinpath("auth.json").read_bytes(), type=_Definitions
)


def install_access(workspace: Workspace) -> None:
    """Define the classes of access, the built-in roles and the owner, as far as they are missing.

    A workspace of an earlier version is brought up to date in one transaction; one that has all of
    it stays as it is. What admins have made of roles and of the owner stays, too.
    """

    def work() -> None:
        workspace.budgets.use_reserve()  # a full workspace can be served, too
        workspace.transact(access_definitions(workspace.schema()), principal=_PRINCIPAL)
        missing = [seed for seed in _definitions.entities if not _is_there(workspace, seed)]
        operations: list[Operation] = [Create(class_=s.class_, slots=s.slots) for s in missing]
        if _find(workspace, {OWNS: OWNED}) is None:
            operations.append(_owning(workspace))
        if operations:
            workspace.transact(operations, principal=_PRINCIPAL)

    workspace.run(work, principal=_PRINCIPAL, reason="the metamodel of access")


def _is_there(workspace: Workspace, seed: _Seed) -> bool:
    """Whether it exists, or a role of that name does that somebody has made."""
    name = seed.slots.get(ROLE_NAME)
    is_held = name is not None and _find(workspace, {ROLE_NAME: name}) is not None
    return is_held or _find(workspace, seed.slots["db/ident"]) is not None


def _owning(workspace: Workspace) -> Operation:
    """The workspace gets an owner; who bears the owner's name already becomes it."""
    known = _find(workspace, {USER_NAME: OWNER_NAME})
    if known is not None:
        return Update(entity=known.entity_id, set={OWNS: OWNED})
    return Create(class_=USER, slots={USER_NAME: OWNER_NAME, ROLES: ["admin"], OWNS: OWNED})


def _find(workspace: Workspace, entity: Any) -> Entity | None:
    try:
        return workspace.get(entity)
    except NotFound:
        return None


def access_definitions(schema: Introspection) -> list[Operation]:
    """What brings the classes of access to what they are by now.

    What is missing is made; of what is there, only what we say about it is set.
    """
    operations: list[Operation] = []
    known = set(schema.properties())
    for ident, slots in _definitions.properties.items():
        if ident in known:
            # Roles of any name: earlier versions knew three, and let nobody have another.
            loosened = {"dt/one-of": None} if ident == ROLES else {}
            operations.append(Update(entity=ident, set={**slots, **loosened}))
        else:
            operations.append(Create(class_="dt/Property", slots={"db/ident": ident, **slots}))
    known = set(schema.classes())
    for ident, slots in _definitions.classes.items():
        if ident in known:
            # Admins may have given a class slots and parents of their own.
            added = {name: value for name, value in slots.items() if name in _MANY}
            given = {name: value for name, value in slots.items() if name not in _MANY}
            operations.append(Update(entity=ident, set=given, add=added))
        else:
            operations.append(Create(class_="dt/Class", slots={"db/ident": ident, **slots}))
    return operations
