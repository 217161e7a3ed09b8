"""The tool list: computed from the verbs and the metamodel, kept per generation and reader.

It has a fixed budget, because users pay for it in every conversation: class tools apart, its size
does not depend on how many classes there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sandbar.access import Caller, Guarded, Rights, kept_classes
from sandbar.database import Database
from sandbar.mcp.exchange import Spelling
from sandbar.model import Introspection
from sandbar.serving import ToolListing
from sandbar.verbs import (
    CLASS_TOOLS,
    ClassTool,
    Verb,
    class_tool_schema,
    class_tools,
)

CLASSES_IN_ENUM = 40
_CLASS_EXAMPLES = 5
_ENUM_CHARACTERS = 1000
_EXAMPLE_CHARACTERS = 60
_SYSTEM = ("dt/", "db/", "db.type/", "auth/", "pack/", "prompt/", "workflow/")

Tool = dict[str, Any]


class _Key(NamedTuple):
    generation: int
    rights: Rights
    listing: ToolListing
    spelling: Spelling


class ToolLists:
    """The lists of one workspace, each made once per generation of its metamodel."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._made: dict[_Key, list[Tool]] = {}

    def tools(self, caller: Caller, listing: ToolListing, spelling: Spelling) -> list[Tool]:
        """The tools that this caller sees, in a fixed order."""
        offer = self.database.offer
        key = _Key(offer.generation, caller.rights, listing, spelling)
        made = self._made.get(key)
        if made is None:
            made = self._make(caller, listing, spelling)
            # Those of other generations are of no use any more, and may be large.
            kept = {old: tools for old, tools in self._made.items() if old[0] == key.generation}
            self._made = {**kept, key: made}
        return made

    def _make(self, caller: Caller, listing: ToolListing, spelling: Spelling) -> list[Tool]:
        schema = self.database.guarded(caller).schema()
        verbs = self.database.catalogue.visible_to(caller)
        if listing == "core":
            verbs = [verb for verb in verbs if verb.is_core]
        if listing != "all":
            verbs = [verb for verb in verbs if not verb.is_housekeeping]
        db = self.database.guarded(caller, CLASS_TOOLS)
        known = _known_classes(schema, db)
        tools = [] if listing == "classes" else [_tool(v, listing, spelling, known) for v in verbs]
        if listing in ("classes", "all") and db.may_create:
            tools += [
                _class_tool(tool, spelling, schema)
                for tool in class_tools(schema)
                if _may_create(schema, db, tool.class_)
            ]
        return tools


def _tool(verb: Verb, listing: ToolListing, spelling: Spelling, known: dict[str, Any]) -> Tool:
    arguments = verb.takes
    if names := verb.class_arguments:
        properties = dict(arguments["properties"])
        properties.update({name: {**properties[name], **known} for name in names})
        arguments = {**arguments, "properties": properties}
    if listing == "full" and verb.examples:
        arguments = {**arguments, "examples": [example.arguments for example in verb.examples]}
    tool: Tool = {
        "name": verb.dotted if spelling == "seed" else verb.portable,
        "title": verb.title,
        "description": verb.description,
        "inputSchema": arguments,
        "annotations": _annotations(verb),
    }
    if verb.starts_task or verb.is_long:
        tool["execution"] = {"taskSupport": "required" if verb.needs_task else "optional"}
    if listing == "full" and (answers := verb.gives) is not None:
        tool["outputSchema"] = answers
    return tool


def _annotations(verb: Verb) -> dict[str, bool]:
    """The hints that differ from the protocol's defaults."""
    hints = {"openWorldHint": False}
    is_read_only = verb.access == "read" and not verb.writes_files
    if is_read_only:
        hints["readOnlyHint"] = True
    elif not verb.is_destructive:
        hints["destructiveHint"] = False
    if verb.is_idempotent and not is_read_only:
        hints["idempotentHint"] = True
    return hints


def _known_classes(schema: Introspection, db: Guarded) -> dict[str, Any]:
    """Which classes there are to be instances of, as long as that is short."""
    concrete = [cls for cls in schema.classes() if not schema.is_abstract(cls)]
    mine = [cls for cls in concrete if _may_create(schema, db, cls)]
    if len(mine) <= CLASSES_IN_ENUM and sum(map(len, mine)) <= _ENUM_CHARACTERS:
        return {"enum": mine}
    domain = [cls for cls in mine if not cls.startswith(_SYSTEM)] or mine
    short = [cls for cls in domain if len(cls) <= _EXAMPLE_CHARACTERS]
    return {"examples": short[:_CLASS_EXAMPLES]}


def _may_create(schema: Introspection, db: Guarded, cls: str) -> bool:
    return cls not in kept_classes(schema) and db.is_made(cls)


def _class_tool(tool: ClassTool, spelling: Spelling, schema: Introspection) -> Tool:
    is_portable = spelling == "portable"
    return {
        "name": tool.portable if is_portable else tool.dotted,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": class_tool_schema(schema, tool.class_, is_portable=is_portable),
        "annotations": {"openWorldHint": False, "destructiveHint": False},
    }
