"""What a codec is: text on one side, slots by ident on the other.

Owns the contract alone. A codec never writes and never reads entities: what the metamodel says
(`Introspection`) is all that it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from sandbar.codecs.places import Place
from sandbar.model import Entity, Introspection


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What a text states about one entity."""

    class_: str  # the class that it is to be an instance of
    slots: dict[str, Any]  # by ident, as `transact` takes them; db/ident included, if it has one
    id: int | None = None  # of an entity without ident, where the text states it
    is_ident_derived: bool = False  # db/ident was made from the name: who creates may number it
    lines: dict[str, int] = {}  # slot ident to the line that states it, for the findings of others
    line: int = 1  # where the entity begins
    made: tuple[Parsed, ...] = ()  # what it refers to, and is to be made if it is not there


class Codec(Protocol):
    """A format: how entities are written as text, and read again.

    The iterator of a bulk text goes on after an entity that was refused: whoever wants all
    findings, or the rest, asks it for the next one.
    """

    @property
    def format(self) -> str:
        """Its name, such as `markdown`."""

    @property
    def media_types(self) -> tuple[str, ...]:
        """The first is the one that is written."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Of the names of files, with the dot; the first is the one that is written."""

    @property
    def is_bulk(self) -> bool:
        """Whether a text holds many entities."""

    def supports(self, schema: Introspection, class_: str) -> bool:
        """Whether instances of a class can be written."""

    def parse(
        self,
        text: str,
        schema: Introspection,
        class_: str | None,
        *,
        place: Place | None = None,
    ) -> Iterator[Parsed]:
        """What a text states: one entity, unless it is a bulk text. Lazily.

        `class_` is what they are to be; the text may state a class below it, and must state one
        if none is given. `place` is the file that it is read from, if it is one: it gives the
        name where none is stated, and paths in the text are seen from it. Who has no use for it,
        such as a bulk text, ignores it.
        """

    def emit(
        self, entities: Iterable[Entity], schema: Introspection, *, with_class: bool = False
    ) -> Iterator[str]:
        """The text: one part for each entity, in order."""
