"""`codec.list`: the formats that documents are read and written in."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.errors import Incorrect, Unsupported
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context


class Codec(Answer, frozen=True, kw_only=True):
    """A format and its MIME type."""

    format: str
    mime_type: str


class Codecs(Answer, frozen=True, kw_only=True):
    """Every format."""

    codecs: list[Codec]


class NoArguments(Arguments, frozen=True, kw_only=True):
    """Nothing."""


_CODECS = [Codec(format="json", mime_type="application/json")]


def list_codecs(context: Context, arguments: NoArguments) -> Codecs:
    """List the formats."""
    return Codecs(codecs=_CODECS)


def slots_of_source(source: str, format: str | None) -> dict[str, Any]:
    """The slots that a document states."""
    if format not in (None, "json"):
        known = ", ".join(codec.format for codec in _CODECS)
        raise Unsupported(
            "codec.unknown",
            f"there is no codec {str(format)[:80]}",
            hint=f"codec.list lists the formats: {known}; or give attributes",
        )
    try:
        return msgspec.json.decode(source, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Incorrect(
            "codec.malformed",
            "the source is no JSON object of slots",
            hint='for example {"footwear/name": "Mud Lord"}',
        ) from error


VERBS = (
    Verb(
        name="codec.list",
        title="List formats",
        description="List the formats (json, …) that entity.create takes as source. Rarely needed: "
        "give attributes instead.",
        access="read",
        arguments=NoArguments,
        result=Codecs,
        run=list_codecs,
        examples=(Example("All of them", {}),),
    ),
)
