"""Results that are no plain object: texts, pictures and the like, and a result that asks first.

Their JSON is what tasks keep of them, and what MCP writes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.workflow import Question


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """A text to read."""

    text: str


class Image(msgspec.Struct, frozen=True, rename="camel", tag="image", tag_field="type"):
    """A picture."""

    data: bytes
    mime_type: str


class Audio(msgspec.Struct, frozen=True, rename="camel", tag="audio", tag_field="type"):
    """A sound."""

    data: bytes
    mime_type: str


class File(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A text or bytes, and the address that they have."""

    uri: str
    mime_type: str
    text: str | None = None
    blob: bytes | None = None


class Attached(msgspec.Struct, frozen=True, tag="resource", tag_field="type"):
    """A file that comes with the result."""

    resource: File


class Link(
    msgspec.Struct,
    frozen=True,
    rename="camel",
    omit_defaults=True,
    tag="resource_link",
    tag_field="type",
):
    """A file that can be read at its address."""

    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None


Part = Text | Image | Audio | Attached | Link


class Content(msgspec.Struct, frozen=True):
    """A result that is made of parts; `structured` says the same to programs."""

    parts: list[Part]
    structured: Any = None
    is_error: bool = False

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The parts as JSON."""
        blocks: list[dict[str, Any]] = msgspec.to_builtins(self.parts)
        return blocks


class NeedsInput(msgspec.Struct, frozen=True):
    """A result that asks its client first, who makes the same call again with the answers."""

    questions: dict[str, Question]
    state: str | None = None  # comes back with the answers


class Verbatim(msgspec.Struct, frozen=True):
    """A result in the words of the door that the call came by; see `Channel.native`."""

    value: dict[str, Any]
