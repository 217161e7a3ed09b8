"""The codecs that are always there, and their use for one entity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbar.codecs.api import Codec, Parsed
from sandbar.codecs.json_codec import JsonCodec, JsonLinesCodec
from sandbar.codecs.markdown import MarkdownCodec
from sandbar.codecs.places import Place
from sandbar.codecs.references import whole_names
from sandbar.codecs.registry import Codecs
from sandbar.codecs.shapes import shape_of
from sandbar.codecs.tables import CsvCodec
from sandbar.errors import Incorrect
from sandbar.model import Entity, Introspection

BASE_CODECS: tuple[Codec, ...] = (MarkdownCodec(), JsonCodec(), JsonLinesCodec(), CsvCodec())


def base_codecs() -> Codecs:
    """A registry of these alone."""
    return Codecs(BASE_CODECS)


def emit_one(
    codec: Codec, entity: Entity, schema: Introspection, *, with_class: bool = False
) -> str:
    """An entity as a text of its own."""
    return "".join(codec.emit((entity,), schema, with_class=with_class))


def takes_bare_names(schema: Introspection, slots: Iterable[str]) -> bool:
    """Whether any of these slots refers to entities whose bare names are enough."""
    known = schema.derived("slots of bare names", lambda: _slots_of_bare_names(schema))
    return not known.isdisjoint(slots)


def _slots_of_bare_names(schema: Introspection) -> frozenset[str]:
    named = {cls for cls in schema.classes() if schema.document(cls).ident_from is not None}
    return frozenset(slot for cls in named for slot in shape_of(schema, cls).shorts) | frozenset(
        slot for slot in schema.properties() if schema.range(slot) in named
    )


def with_whole_names(
    schema: Introspection, class_: str, slots: dict[str, Any]
) -> tuple[dict[str, Any], list[Parsed]]:
    """Slots by ident with whole names for bare ones, and what is to be made for them."""
    shorts = shape_of(schema, class_).shorts
    return whole_names(shorts, slots) if shorts else (slots, [])


def parse_one(
    codec: Codec,
    text: str,
    schema: Introspection,
    class_: str | None,
    *,
    place: Place | None = None,
) -> Parsed:
    """What a text states that is about exactly one entity."""
    parsed = codec.parse(text, schema, class_, place=place)
    first = next(parsed, None)
    if first is None:
        raise Incorrect(
            "codec.empty", "the text states no entity", hint=f"is it a text in {codec.format}?"
        )
    if next(parsed, None) is not None:
        raise Incorrect(
            "codec.many",
            "the text states more than one entity",
            hint="give one, or import them with project.import",
        )
    return first
