"""The workflows that every workspace has: data, like those of packs."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import msgspec

from sandbar.errors import Forbidden
from sandbar.workflow.shapes import Spec
from sandbar.workflow.specs import read_spec

VALIDATION = "validation/resource"
CALL = "task/call"


@cache
def built_in_workflows() -> dict[str, Spec]:
    """The spec of each, by name."""
    text = resources.files("sandbar.workflow").joinpath("built_in.json").read_bytes()
    specs = msgspec.json.decode(text, type=list[dict[str, Any]])
    return {spec["name"]: read_spec(spec) for spec in specs}


def refuse_own_activities(spec: Spec) -> None:
    """Refuse a definition that would do what only the server may ask for: call verbs."""
    for state in spec.states:
        if state.activity == CALL:
            raise internal_workflow(CALL)


def internal_workflow(name: str) -> Forbidden:
    """The answer to whoever would define, or start by hand, what is the server's own."""
    return Forbidden(
        "workflow.internal",
        f"{name} is the server's own workflow",
        hint="define one under another name; validation.start and long calls start the server's",
    )
