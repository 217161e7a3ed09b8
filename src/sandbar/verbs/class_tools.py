"""One tool per class: its slots are the arguments, calling it makes an instance.

Names and keys have the seeds' spelling (`sandbar.class.zorp.Boot`, `boot/vacuum-rated?`) and a
portable one that every client accepts (`sandbar_class_zorp_Boot`, `boot.vacuum-rated`). Calls take
both. All of it is made from the metamodel once per generation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sandbar.errors import NotFound
from sandbar.findings import Finding, Findings
from sandbar.model import Introspection
from sandbar.verbs.arguments import invalid, not_an_object
from sandbar.verbs.catalogue import DESCRIPTION_MAX, PREFIX

NAME_MAX = 45
KEY_MAX = 64

_DOTTED = f"{PREFIX}.class."
_PORTABLE = f"{PREFIX}_class_"
_NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{NAME_MAX}}}")
_STRANGE = re.compile(r"[^a-zA-Z0-9_.-]")
_WRITING: dict[str, Any] = {
    "reason": {"type": "string", "description": "why, for history"},
    "idempotency-key": {"type": "string", "description": "for safe retries"},
}


class ClassTool(msgspec.Struct, frozen=True):
    """The tool of one concrete class."""

    class_: str
    dotted: str
    portable: str
    title: str
    description: str


class ClassCall(msgspec.Struct, frozen=True):
    """A call of a class's tool: the slots by ident, and what every write takes."""

    class_: str
    slots: dict[str, Any]
    reason: str | None
    idempotency_key: str | None


def class_tools(schema: Introspection) -> list[ClassTool]:
    """The tools that can be listed: concrete classes whose names every client accepts."""
    return schema.derived("class tools", lambda: list(_tools(schema)))


def class_of_tool(schema: Introspection, name: str) -> str | None:
    """The class whose tool has this name in any spelling, listed or not."""
    bare = name if name.startswith(PREFIX) else f"{PREFIX}.{name}"
    return schema.derived("class tool names", lambda: _names(schema)).get(bare)


def is_class_tool_name(name: str) -> bool:
    """Whether a name could be that of a class's tool."""
    return name.startswith((_DOTTED, _PORTABLE, _DOTTED.removeprefix(f"{PREFIX}.")))


def is_portable_name(name: str) -> bool:
    """Whether the name of a class's tool is the spelling that every client accepts."""
    return name.startswith(_PORTABLE)


def class_in(name: str) -> str:
    """The class that the name of a tool is made of, if its namespace has no dots or underscores."""
    if name.startswith(_PORTABLE):
        return name.removeprefix(_PORTABLE).replace("_", "/", 1)
    namespace, _, last = name.removeprefix(f"{PREFIX}.").removeprefix("class.").rpartition(".")
    return f"{namespace}/{last}"


def spelled_like(name: str, cls: str) -> str:
    """The name of a class's tool in the spelling of another name."""
    if name.startswith(_PORTABLE):
        return _portable(cls)
    return _dotted(cls) if name.startswith(PREFIX) else _dotted(cls).removeprefix(f"{PREFIX}.")


def names_like(schema: Introspection, name: str) -> list[str]:
    """The names of classes' tools in the spelling of another name, for suggestions.

    Those of its own namespace if there are any: of thousands the nearest are not found in time.
    """
    names = list(schema.derived("class tool names", lambda: _names(schema)))
    if not name.startswith(PREFIX):
        names = [one.removeprefix(f"{PREFIX}.") for one in names if one.startswith(_DOTTED)]
    namespace = name[: name.rfind("_" if name.startswith(_PORTABLE) else ".") + 1]
    return [one for one in names if one.startswith(namespace)] or names


def class_tool_schema(schema: Introspection, cls: str, *, is_portable: bool) -> dict[str, Any]:
    """The input schema of a class's tool, with portable keys or idents. Not to be changed."""
    return schema.derived(
        ("class tool schema", cls, is_portable), lambda: _input(schema, cls, is_portable)
    )


def read_class_call(schema: Introspection, cls: str, given: Any) -> ClassCall:
    """The slots that were given, under their idents."""
    if not isinstance(given, Mapping):
        raise invalid(Findings.of(not_an_object()))
    slots = _by_ident(_keys(schema, cls), given)
    writing = {name: slots.pop(name, None) for name in _WRITING}
    return ClassCall(cls, slots, writing["reason"], writing["idempotency-key"])


def slots_by_ident(schema: Introspection, cls: Any, slots: dict[str, Any]) -> dict[str, Any]:
    """The slots of an entity under their idents: the keys of its class's tool are as good."""
    if all("/" in str(key) for key in slots):
        return slots
    try:
        keys = _keys(schema, schema.ident(cls))
    except NotFound:
        return slots  # whoever uses them will say so
    return _by_ident(keys, slots)


def _by_ident(keys: Mapping[str, str], given: Mapping[Any, Any]) -> dict[str, Any]:
    slots: dict[str, Any] = {}
    for key, value in given.items():
        spelling = str(key).removeprefix(":")
        name = keys.get(spelling) or _as_ident(spelling)
        if name in slots:
            found = Finding(
                argument=spelling,
                code="argument.twice",
                message=f"{spelling} says the same as another argument",
                hint=f"give only {name}",
            )
            raise invalid(Findings.of(found))
        slots[name] = value
    return slots


def _keys(schema: Introspection, cls: str) -> dict[str, str]:
    return schema.derived(("class tool keys", cls), lambda: _spellings(schema, cls))


def portable_keys(idents: Iterable[str]) -> dict[str, str]:
    """Ident to portable key: `/` becomes `.`, a last `?` goes, what is equal then is numbered."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # for each beginning the last number that was tried
    keys = {}
    for ident in sorted(idents):
        plain = _STRANGE.sub("_", ident.removesuffix("?").replace("/", "."))
        key, start = plain[:KEY_MAX], plain[: KEY_MAX - 6]
        while key in taken:
            numbers[start] = numbers.get(start, 1) + 1
            key = f"{start}-{numbers[start]}"
        taken.add(key)
        keys[ident] = key
    return keys


def _tools(schema: Introspection) -> Iterable[ClassTool]:
    names = _names(schema)
    for cls in schema.classes():
        dotted, portable = _dotted(cls), _portable(cls)
        is_own = names[dotted] == cls and names[portable] == cls
        if schema.is_abstract(cls) or not is_own or _NAME.fullmatch(portable) is None:
            continue
        doc = schema.doc(cls)
        text = f"Create a {cls}. {doc}" if doc else f"Create a {cls}."
        if len(text) > DESCRIPTION_MAX:
            text = f"{text[: DESCRIPTION_MAX - 1]}…"
        label = schema.label(cls) or cls.partition("/")[2]
        yield ClassTool(cls, dotted, portable, f"Create {label}"[:DESCRIPTION_MAX], text)


def _names(schema: Introspection) -> dict[str, str]:
    """Tool name to class. Of two classes with the same tool name the first one has it."""
    names: dict[str, str] = {}
    for cls in schema.classes():
        names.setdefault(_dotted(cls), cls)
        names.setdefault(_portable(cls), cls)
    return names


def _dotted(cls: str) -> str:
    return _DOTTED + cls.replace("/", ".")


def _portable(cls: str) -> str:
    return _PORTABLE + cls.replace("/", "_").replace(".", "_")


def _spellings(schema: Introspection, cls: str) -> dict[str, str]:
    """Every key under which a slot may be given, to its ident."""
    portable = portable_keys(_writable(schema, cls))
    idents = {ident: ident for ident in schema.slots(cls)}
    return {key: ident for ident, key in portable.items()} | idents | {n: n for n in _WRITING}


def _writable(schema: Introspection, cls: str) -> dict[str, Any]:
    properties: dict[str, Any] = schema.json_schema(cls)["properties"]
    return properties


def _as_ident(spelling: str) -> str:
    """What an unknown key may be meant to be, so that the refusal can suggest another."""
    if "/" in spelling or "." not in spelling:
        return spelling
    namespace, _, name = spelling.rpartition(".")
    return f"{namespace}/{name}"


def _input(schema: Introspection, cls: str, is_portable: bool) -> dict[str, Any]:
    whole = schema.json_schema(cls)
    keys = {name: name for name in whole["properties"]}
    if is_portable:
        keys = portable_keys(whole["properties"])
    properties = {}
    for ident, slot in whole["properties"].items():
        described = dict(slot)
        if is_portable:
            described["description"] = f"{ident}: {slot.get('description', '')}".rstrip(": ")
        properties[keys[ident]] = described
    result: dict[str, Any] = {"type": "object", "properties": properties | _WRITING}
    if whole.get("required"):
        result["required"] = [keys[ident] for ident in whole["required"]]
    return result
