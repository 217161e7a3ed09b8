"""The tool of a class as a verb: another spelling of `entity.create`, made from the metamodel."""

from __future__ import annotations

from typing import Any

from sandbar.model import Introspection
from sandbar.verbs.base.writing import Created, create_entity
from sandbar.verbs.catalogue import Permission, Verb
from sandbar.verbs.class_tools import (
    ClassCall,
    class_of_tool,
    class_tool_schema,
    is_class_tool_name,
    is_portable_name,
    read_class_call,
)
from sandbar.verbs.context import Context, Write

CLASS_TOOLS = Permission("entity", "entity.create", "write")


def class_verb(schema: Introspection, name: str) -> Verb | None:
    """The verb that is called by the name of a class's tool, in any spelling."""
    cls = class_of_tool(schema, name) if is_class_tool_name(name) else None
    if cls is None:
        return None
    return schema.derived(("class verb", name), lambda: _verb(schema, cls, name))


def _verb(schema: Introspection, cls: str, name: str) -> Verb:
    def read(given: Any) -> ClassCall:
        return read_class_call(schema, cls, given)

    return Verb(
        name=name,
        title=f"Create {cls}",
        description=f"Create a {cls}.",
        access=CLASS_TOOLS.access,
        group=CLASS_TOOLS.group,
        permission=CLASS_TOOLS,
        arguments=ClassCall,
        input_schema=class_tool_schema(schema, cls, is_portable=is_portable_name(name)),
        reader=read,
        result=Created,
        run=_create,
        is_exact=True,
    )


def _create(context: Context, call: ClassCall) -> Created | Write:
    reason, key = call.reason, call.idempotency_key
    return create_entity(context, call.class_, call.slots, reason, key, is_shown=True)
