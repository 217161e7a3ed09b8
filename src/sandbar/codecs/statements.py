"""What a text states about one entity, collected key by key: the same in every format."""

from __future__ import annotations

from typing import Any

from sandbar.codecs.api import Parsed
from sandbar.codecs.conversion import checked
from sandbar.codecs.findings import refuse_if_any
from sandbar.codecs.naming import derived_ident, ident_of_path
from sandbar.codecs.places import Place
from sandbar.codecs.references import whole_names
from sandbar.codecs.shapes import IDENT, Slot, shape_of
from sandbar.errors import Incorrect
from sandbar.findings import Finding, Findings, finding_of
from sandbar.keywords import looks_like_ident
from sandbar.model import Introspection

_ID_MAX = (1 << 53) - 1


class Statements:
    """The slots of one entity so far."""

    def __init__(
        self, schema: Introspection, class_: str, found: Findings, place: Place | None = None
    ) -> None:
        self.shape = shape_of(schema, class_)
        self.slots: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self._schema = schema
        self._found = found
        self._place = place
        self._claimed: set[str] = set()
        self._rest: dict[str, Any] = {}
        self._made: list[Parsed] = []

    def claim(self, key: str, line: int) -> Slot | None:
        """The slot that a key is about to state; None if nobody declared the key, but it is kept.

        Raises what is wrong with the key.
        """
        slot = self.shape.find(key)
        if slot is None:
            if self.shape.document.rest is None or not self.shape.is_free(key):
                raise self.shape.unknown(key, is_searched=not self._found.is_full)
            return None
        if slot.ident in self._claimed:
            raise Incorrect(
                "codec.key-twice", f"{slot.ident} was stated before", hint="state it once"
            )
        self._claimed.add(slot.ident)
        self.lines[slot.ident] = line
        return slot

    def put(self, slot: Slot, value: Any) -> None:
        """State a value; null, and no values where there may be many, state that there is none."""
        if value is not None and not (slot.many and value == []):
            if slot.short is not None:
                whole, made = whole_names({slot.ident: slot.short}, {slot.ident: value})
                value = whole[slot.ident]
                self._made += made
            self.slots[slot.ident] = checked(self._schema, slot, value)

    def keeps_misfits(self, slot: Slot) -> bool:
        """Whether what does not fit a slot is kept among the keys that nobody declared."""
        is_note = self._place is not None and self._place.keeps_misfits
        is_value = slot.kind != "ref" and slot.ident != IDENT
        return is_note and is_value and self.shape.document.rest not in (None, slot.ident)

    @property
    def has_place(self) -> bool:
        """Whether the text lies in a folder, so that paths in it lead somewhere."""
        return self._place is not None

    def ident_at(self, slot: Slot, path: str) -> str:
        """The ident that a path in a slot stands for."""
        document = self.shape.document
        if self._place is not None:
            space = document.ident_in or self.shape.class_.partition("/")[0]
            ident = self._place.ident_at(path, slot.short.namespace if slot.short else space)
        else:
            ident = ident_of_path(path, self._namespace())
        if ident is None or not looks_like_ident(ident):
            raise Incorrect(
                "reference.malformed",
                f"the path {path[:80]!r} "
                f"{'stands for no ident' if ident else 'leads out of the folder'}",
                hint="write the ident of the entity",
            )
        return ident

    def _namespace(self) -> str:
        """The namespace of the text: of its ident, or where such idents are made."""
        ident: str = self.slots.get(IDENT) or self.shape.class_
        if IDENT not in self.slots and self.shape.document.ident_in is not None:
            return self.shape.document.ident_in
        return ident.partition("/")[0]

    def _own_ident(self) -> str | None:
        """The name of what states none: by its place, or else made of what it is called."""
        document = self.shape.document
        if self._place is None:
            return derived_ident(self._schema, self.shape.class_, self.slots)
        is_named = document.ident_from is not None and document.ident_in is not None
        return self._place.ident(document.ident_in or "") if is_named else None

    def keep(self, key: str, value: Any, line: int) -> None:
        """Keep what a key says that nobody declared."""
        carrier = self.shape.document.rest
        assert carrier is not None
        self._rest[key] = value
        self.lines.setdefault(carrier, line)

    def parsed(self, line: int, id: int | None = None) -> Parsed:
        """All of it; refused if anything was found to be wrong."""
        self._merge_rest()
        refuse_if_any(self._found)
        is_derived = False
        if IDENT not in self._claimed and id is None:
            ident = self._own_ident()
            if ident is not None:
                self.slots[IDENT], is_derived = ident, True
        return Parsed(
            class_=self.shape.class_,
            slots=self.slots,
            id=id,
            is_ident_derived=is_derived,
            lines=self.lines,
            line=line,
            made=tuple(self._made),
        )

    def check_id(self, id: Any) -> int:
        """The number that an entity without ident has."""
        if type(id) is not int or not 1 <= id <= _ID_MAX:
            raise Incorrect(
                "codec.id", "expected the number of an entity", hint="for example 1042, or nothing"
            )
        if IDENT in self.slots:
            raise Incorrect(
                "codec.id", "an entity with an ident has no other name", hint="state one of them"
            )
        return id

    def _merge_rest(self) -> None:
        if not self._rest:
            return
        carrier = self.shape.document.rest
        assert carrier is not None
        kept = self.slots.get(carrier, {})
        clash = next((key for key in self._rest if not isinstance(kept, dict) or key in kept), None)
        if clash is None:
            whole = {**kept, **self._rest}
            try:
                self.slots[carrier] = self._schema.stored(carrier, whole)
            except Incorrect as problem:
                self._found.add(finding_of(problem, line=self.lines[carrier], key=carrier))
            return
        self._found.add(
            Finding(
                line=self.lines[carrier],
                key=clash,
                code="codec.key-twice",
                message=f"{carrier} states something else for {clash[:80]!r}",
                hint=f"state it in {carrier} alone, or leave {carrier} out",
            )
        )
