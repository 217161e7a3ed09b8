"""The metamodel of access: data like any other, written into a workspace when first needed."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

from sandbar.model import Workspace

NAMESPACE = "auth"
SERVICE_ACCOUNT = "auth/ServiceAccount"
SERVICE_NAME = "auth/service-name"
API_KEY = "auth/api-key-hash"
ACTIVE = "auth/active?"
ROLES = "auth/roles"
CREATED_AT = "auth/created-at"
EXPIRES_AT = "auth/expires-at"

_PRINCIPAL = "sandbar"


class _Definitions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    properties: dict[str, dict[str, Any]]
    classes: dict[str, dict[str, Any]]


_definitions = msgspec.json.decode(
    resources.files("sandbar.access").joinpath("auth.json").read_bytes(), type=_Definitions
)


def install_access(workspace: Workspace) -> None:
    """Define the classes of access; a workspace that has them already stays as it is."""
    workspace.define(
        _definitions.properties,
        _definitions.classes,
        principal=_PRINCIPAL,
        reason="the metamodel of access",
    )
