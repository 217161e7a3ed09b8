"""The reference of all verbs as a page, made from their catalogue."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbar.verbs.base import base_catalogue
from sandbar.verbs.catalogue import Catalogue, Example, Verb

_WIDE = 120  # characters of an example on one line
_HEAD = """# Verbs

Made from the catalogue by `make docs`; do not edit.

Every verb can be called under three spellings: `entity.create`, `sandbar.entity.create` and
`sandbar_entity_create`. Arguments in **bold** are required. Where an entity is named, `entity`,
`id` and `ident` are the same argument; its value is an id, an ident (a leading colon is accepted)
or `{unique slot: value}`. `attributes` and `slots` are the same, too; what is in them is named by
idents or by the portable keys of class tools (see below). An argument that takes an object or an
array also takes it as a string of JSON.

Lists are paged: without `limit` a page has at most 32 kB; the answer's `cursor` continues it.
A cursor goes with the same verb and the same arguments only.
`as-of` looks at the past, by transaction number (`t`) or instant. Every write takes a `reason`,
which history keeps, and an `idempotency-key`, which makes a retry safe, and answers with a
`receipt`.

Each class has a tool besides: `sandbar.class.zorp.Boot` (or `sandbar_class_zorp_Boot`) makes an
instance of `zorp/Boot`; its arguments are the slots, as idents (`boot/vacuum-rated?`) or portable
keys (`boot.vacuum-rated`).
"""


def reference_page(catalogue: Catalogue) -> str:
    """The page as Markdown."""
    verbs = list(catalogue)
    rows = "\n".join(
        f"| [`{verb.name}`](#{_anchor(verb)}) | {verb.title} | {verb.access} |" for verb in verbs
    )
    parts = [_HEAD, f"| Verb | Title | Access |\n|---|---|---|\n{rows}\n"]
    parts += ["\n".join(_section(verb)) for verb in verbs]
    return "\n".join(parts)


def _section(verb: Verb) -> Iterator[str]:
    yield f"## {verb.name}\n"
    yield f"{verb.description}\n"
    yield f"{', '.join(_traits(verb))}.\n"
    takes = verb.takes
    if takes["properties"]:
        yield "| Argument | Type | Is |\n|---|---|---|"
        required = takes.get("required", [])
        for name, slot in takes["properties"].items():
            shown = f"**`{name}`**" if name in required else f"`{name}`"
            yield f"| {shown} | {_kind(slot)} | {_cell(slot.get('description', ''))} |"
        yield ""
    gives = verb.gives
    if gives is not None:
        kinds = (f"`{name}` ({_kind(slot)})" for name, slot in gives["properties"].items())
        yield f"Answers {', '.join(kinds)}.\n"
    for example in verb.examples:
        yield f"{example.title}:\n\n```json\n{_call(verb, example)}\n```\n"


def _call(verb: Verb, example: Example) -> str:
    call = {"name": verb.portable, "arguments": example.arguments}
    short = json.dumps(call, ensure_ascii=False)
    return short if len(short) <= _WIDE else json.dumps(call, indent=1, ensure_ascii=False)


def _traits(verb: Verb) -> Iterator[str]:
    yield f"Access: {verb.access}"
    if verb.is_destructive:
        yield "may overwrite or delete"
    if verb.access != "read" and verb.is_idempotent:
        yield "repeating it changes nothing more"
    if verb.is_core:
        yield "part of `?tools=core`"


def _kind(slot: dict[str, Any]) -> str:
    kind = slot.get("type", "anything")
    if "enum" in slot:
        return " / ".join(f"`{value}`" for value in slot["enum"])
    if kind == "array" and "type" in slot.get("items", {}):
        return f"array of {_kind(slot['items'])}"
    if "minimum" in slot:
        return f"{kind} from {slot['minimum']} to {slot['maximum']}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("{", "\\{").replace("<", "\\<")


def _anchor(verb: Verb) -> str:
    return verb.name.replace(".", "")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference_page(base_catalogue()), encoding="utf-8")
