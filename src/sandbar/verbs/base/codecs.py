"""`codec.list`: the formats that documents are read and written in."""

from __future__ import annotations

from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context


class Codec(Answer, frozen=True, kw_only=True):
    """A format, its MIME type, what its files end in, and whether one holds many entities."""

    format: str
    mime_type: str
    suffixes: list[str]
    many: bool


class Codecs(Answer, frozen=True, kw_only=True):
    """Every format."""

    codecs: list[Codec]


class NoArguments(Arguments, frozen=True, kw_only=True):
    """Nothing."""


def list_codecs(context: Context, arguments: NoArguments) -> Codecs:
    """List the formats."""
    return Codecs(
        codecs=[
            Codec(
                format=one.format,
                mime_type=one.media_types[0],
                suffixes=list(one.suffixes),
                many=one.is_bulk,
            )
            for one in context.services.codecs
        ]
    )


VERBS = (
    Verb(
        name="codec.list",
        title="List formats",
        description="List the formats (markdown, json, …) of documents: what entity.create and "
        "entity.update take as source, and entity.find gives.",
        access="read",
        arguments=NoArguments,
        result=Codecs,
        run=list_codecs,
        examples=(Example("All of them", {}),),
    ),
)
