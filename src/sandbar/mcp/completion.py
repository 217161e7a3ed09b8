"""`completion/complete`: class names, idents, slots and prompt arguments."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from sandbar.access import Guarded, protected_roots
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.resources import TEMPLATE, named
from sandbar.mcp.service import Service
from sandbar.mcp.table import Method, Params, Result
from sandbar.mcp.wire import complete
from sandbar.model import Introspection
from sandbar.packs import SUBJECT_ARGUMENT, complete_argument, prompts, workflow_of_prompt
from sandbar.workflow import VALIDATION

VALUES_MAX = 100

_NO_DATA = frozenset(
    {"dt/Class", "dt/Property", "pack/Pack", "prompt/Prompt", "workflow/Definition"}
)


class Completion:
    """Suggestions for what a user is typing."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def methods(self) -> dict[str, Method]:
        """What the protocol calls them by."""
        return {"completion/complete": Method(types.CompleteRequestParams, self.complete)}

    async def complete(self, exchange: Exchange, params: Params) -> Result:
        """At most a hundred values that begin with what is there already."""
        given = types.CompleteRequestParams.model_validate(params, by_name=False)
        values = await self._service.read(exchange, lambda: self._values(exchange, given))
        found: dict[str, Any] = {
            "values": values[:VALUES_MAX],
            "hasMore": len(values) > VALUES_MAX,
        }
        if not found["hasMore"]:
            found["total"] = len(values)  # else nobody has counted them
        return complete(exchange.version, {"completion": found})

    def _values(self, exchange: Exchange, params: types.CompleteRequestParams) -> list[str]:
        name, begun = params.argument.name, params.argument.value.removeprefix(":")
        given = (params.context.arguments if params.context else None) or {}
        db = exchange.database.guarded(exchange.caller)
        schema = db.schema()
        if isinstance(params.ref, types.PromptReference):
            workflow = workflow_of_prompt(exchange.database.workflows, params.ref.name)
            if workflow is not None:
                return _about_workflow(db, schema, workflow, name, begun)
            code = exchange.database.offer.code
            listed = complete_argument(db, code, params.ref.name, name, begun)
            if listed or not _asks_for(db, params.ref.name, name):
                return listed
            return _named(db, schema, name, begun, given)
        if str(params.ref.uri) != TEMPLATE:
            return []
        classes = [each for each in schema.classes() if db.sees(each)]
        if name == "ns":
            return sorted({c.split("/")[0] for c in classes if c.startswith(begun)})
        if name == "class":
            inside = [c.split("/", 1) for c in classes]
            ns = given.get("ns")
            return [n for space, n in inside if n.startswith(begun) and ns in (None, space)]
        return _idents(db, schema, begun, given) if name == "ident" else []


def _asks_for(db: Guarded, prompt: str, argument: str) -> bool:
    """Whether a prompt has this argument."""
    asked = [one.arguments for one in prompts(db) if prompt in (one.name, one.ident)]
    return any(each.name == argument for arguments in asked for each in arguments)


def _about_workflow(
    db: Guarded, schema: Introspection, workflow: str, name: str, begun: str
) -> list[str]:
    """What a process can be about: anything that has a name; a validation is about a class."""
    if name != SUBJECT_ARGUMENT:
        return []
    if workflow == VALIDATION:
        return [each for each in schema.classes() if each.startswith(begun) and db.sees(each)]
    return _idents(db, schema, begun, {})


def _named(
    db: Guarded, schema: Introspection, name: str, begun: str, given: dict[str, str]
) -> list[str]:
    """By the argument's name: what kind of thing is being typed."""
    if "class" in name:
        return [each for each in schema.classes() if each.startswith(begun) and db.sees(each)]
    if "slot" in name or "property" in name:
        cls = given.get("class", "").removeprefix(":")
        slots = schema.slots(cls) if cls in schema.classes() else schema.properties()
        return [each for each in slots if each.startswith(begun)]
    # Whatever else a prompt asks for is most likely one of the things in the workspace.
    return _idents(db, schema, begun, given)


def _idents(db: Guarded, schema: Introspection, begun: str, given: dict[str, str]) -> list[str]:
    """The names of data, of one class if that is given; the metamodel only if it is asked for."""
    cls = f"{given.get('ns', 'dt')}/{given.get('class', 'Resource')}"
    if "/" in given.get("class", ""):
        cls = given["class"].removeprefix(":")
    if cls not in schema.classes() or not db.sees(cls):
        return []
    hidden: frozenset[str] = frozenset()
    if cls == "dt/Resource":
        hidden = protected_roots(schema) | (_NO_DATA & frozenset(schema.classes()))
    page = named(db, cls, begun=begun, hidden=hidden, limit=VALUES_MAX + 1)
    return [entity.ident for entity in page.items if entity.ident is not None]
