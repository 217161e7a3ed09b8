"""Declaring a fixture: a tool under its own name, whose answer is content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sandbar.access import Access
from sandbar.verbs import Content, Context, Started, Text, Verb, Verbatim

Run = Callable[[Context, Any], Content | Verbatim | Started]


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing at all."""


def tool(
    name: str,
    description: str,
    run: Run,
    arguments: type[msgspec.Struct] = NoArguments,
    *,
    schema: dict[str, Any] | None = None,
    access: Access = "read",
) -> Verb:
    """A tool of the suites; without a schema it takes no arguments."""
    return Verb(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=description,
        access=access,
        arguments=arguments,
        result=Content,
        run=run,
        is_exact=True,
        input_schema=schema or {"type": "object", "properties": {}, "additionalProperties": False},
    )


def text(given: str, *, is_error: bool = False) -> Content:
    """An answer that is one text."""
    return Content([Text(given)], is_error=is_error)
