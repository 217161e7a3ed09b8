"""The parts of a prompt, and filling its blanks: plain replacement of text, once, never more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from sandbar.errors import Incorrect

RENDERED_MAX_CHARACTERS = 1_000_000

_BLANK = re.compile(r"\{\{([A-Za-z0-9_-]{1,64})\}\}")


class PromptArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One blank of a prompt."""

    name: str
    description: str = ""
    required: bool = False


class _Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class _Image(msgspec.Struct, frozen=True, tag_field="type", tag="image", rename="camel"):
    data: str
    mime_type: str


class _Audio(msgspec.Struct, frozen=True, tag_field="type", tag="audio", rename="camel"):
    data: str
    mime_type: str


class _Embedded(msgspec.Struct, frozen=True):
    uri: str
    text: str | msgspec.UnsetType = msgspec.UNSET
    blob: str | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if (self.text is msgspec.UNSET) == (self.blob is msgspec.UNSET):
            raise ValueError("an embedded resource has either text or blob")


class _Resource(msgspec.Struct, frozen=True, tag_field="type", tag="resource"):
    resource: _Embedded


class _Link(msgspec.Struct, frozen=True, tag_field="type", tag="resource_link"):
    uri: str
    name: str


class _Message(msgspec.Struct, frozen=True):
    """The protocol's message; only its shape is looked at, the JSON itself is passed on."""

    role: Literal["user", "assistant"]
    content: _Text | _Image | _Audio | _Resource | _Link


class PromptEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `prompts.json`."""

    ident: str
    description: str
    messages: list[dict[str, Any]]
    title: str | None = None
    arguments: list[dict[str, Any]] = []

    def __post_init__(self) -> None:
        parsed_arguments(self.arguments)
        check_messages(self.messages)


def parsed_arguments(given: Any) -> list[PromptArgument]:
    """The arguments of a prompt; ValueError if they are none."""
    try:
        arguments = msgspec.convert(given, list[PromptArgument])
    except msgspec.ValidationError as error:
        raise ValueError(f"arguments: {error}") from error
    names = [argument.name for argument in arguments]
    if len(set(names)) != len(names):
        raise ValueError("arguments: two have the same name")
    return arguments


def check_messages(given: Any) -> None:
    """ValueError unless these are messages of the protocol."""
    try:
        messages = msgspec.convert(given, list[_Message])
    except msgspec.ValidationError as error:
        raise ValueError(f"messages: {error}") from error
    if not messages:
        raise ValueError("messages: there are none")


def undeclared(messages: Any, names: Sequence[str]) -> list[str]:
    """The blanks in the messages for which there is no argument."""
    found: dict[str, None] = {}

    def note(text: str) -> str:
        found.update(dict.fromkeys(_BLANK.findall(text)))
        return text

    _map_texts(messages, note)
    return [name for name in found if name not in names]


def fill(messages: list[dict[str, Any]], values: Mapping[str, str]) -> list[dict[str, Any]]:
    """The messages with their blanks filled in. Blanks inside the values stay as they are."""
    size = 0

    def filled(match: re.Match[str]) -> str:
        nonlocal size
        text = values.get(match[1], match[0])
        size += len(text)
        if size > RENDERED_MAX_CHARACTERS:
            raise Incorrect(
                "prompt.too-large",
                f"filled in, the prompt has more than {RENDERED_MAX_CHARACTERS} characters",
                hint="give shorter arguments",
            )
        return text

    result: list[dict[str, Any]] = _map_texts(messages, lambda text: _BLANK.sub(filled, text))
    return result


def _map_texts(value: Any, change: Any) -> Any:
    """The same JSON with every text changed; the names of members stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    return value
