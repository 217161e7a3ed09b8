"""How the slots of a class are spelled in texts. Compiled once per class and generation."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sandbar.codecs.references import Short, short_of
from sandbar.errors import Incorrect
from sandbar.model import Document, Introspection
from sandbar.suggestions import did_you_mean

IDENT = "db/ident"
IDENT_KEY = "ident"
CLASS_KEY = "class"
TYPE_KEY = "type"
CLASS_MARK = "_class"  # in data: JSON and tables
ID_MARK = "_id"
# A slot that has such a name is spelled as a whole ident.
_RESERVED = frozenset({IDENT_KEY, CLASS_KEY, CLASS_MARK, ID_MARK})


class Slot(msgspec.Struct, frozen=True):
    """A slot, as a codec sees it."""

    ident: str
    kind: str  # its range: string, long, … and ref for entities of any class
    many: bool
    is_secret: bool
    key: str  # under which it is written
    short: Short | None = None  # how bare names are read, if they are


class Shape:
    """The slots of a class by every key that they may be given under."""

    def __init__(self, schema: Introspection, class_: str) -> None:
        self.class_ = class_
        self.document: Document = schema.document(class_)
        datatypes = set(schema.datatypes())
        facts = {ident: schema.describe_property(ident) for ident in schema.slots(class_)}
        self.computed = {
            ident: fact["inverse-of"] for ident, fact in facts.items() if "inverse-of" in fact
        }
        self._keys, self._ambiguous = _spellings(self.document, facts)
        aliases = {slot: key for key, slot in sorted(self.document.keys.items(), reverse=True)}
        self.slots: dict[str, Slot] = {
            ident: Slot(
                ident,
                fact["range"].partition("/")[2] if fact["range"] in datatypes else "ref",
                fact["cardinality"] == "many",
                "secret?" in fact,
                self._key_of(ident, aliases),
                None
                if fact["range"] in datatypes
                else short_of(schema, class_, self.document, ident, fact["range"]),
            )
            for ident, fact in facts.items()
            if ident not in self.computed
        }
        self.shorts = {slot.ident: slot.short for slot in self.slots.values() if slot.short}
        first = [slot for slot in self.document.order if slot in self.slots]
        rest = sorted(self.slots.keys() - set(first), key=lambda ident: self.slots[ident].key)
        self.written: list[Slot] = [
            slot for ident in (*first, *rest) if not (slot := self.slots[ident]).is_secret
        ]
        self.first_count = sum(not self.slots[ident].is_secret for ident in first)

    def find(self, key: str) -> Slot | None:
        """The slot that a key means; None if it means nothing here.

        A key that means several slots, or one that is computed, is refused.
        """
        plain = key.removeprefix(":")
        ident = self._keys.get(plain)
        if ident is None:
            if plain in self._ambiguous:
                raise _ambiguous(plain, self._ambiguous[plain])
            return None
        if ident in self.computed:
            raise Incorrect(
                "slot.derived",
                f"{ident} is computed",
                hint=f"state {self.computed[ident]} on the other entity",
            )
        return self.slots[ident]

    def unknown(self, key: str, *, is_searched: bool = True) -> Incorrect:
        """The refusal of a key that means nothing here."""
        near = did_you_mean(key, self._keys) if is_searched else None
        listed = f"class.describe {self.class_} lists its slots"
        return Incorrect(
            "codec.unknown-key",
            f"{self.class_} has no slot {key[:80]!r}",
            hint=f"{near} {listed}" if near else listed,
        )

    def is_free(self, key: str) -> bool:
        """Whether a key means nothing here, so that it can be one that nobody declared."""
        plain = key.removeprefix(":")
        is_known = plain in self._keys or plain in self._ambiguous or plain in _RESERVED
        return not is_known and plain == key

    def _key_of(self, ident: str, aliases: dict[str, str]) -> str:
        """The shortest key that means this slot and no other."""
        name = ident.partition("/")[2]
        for key in (aliases.get(ident), name.removesuffix("?"), name):
            if key and self._keys.get(key) == ident:
                return key
        return ident


def shape_of(schema: Introspection, class_: str) -> Shape:
    """The shape of a class, by the ident that `schema.ident` gives."""
    return schema.derived(("codec shape", class_), lambda: Shape(schema, class_))


def _ambiguous(key: str, idents: list[str]) -> Incorrect:
    return Incorrect(
        "codec.ambiguous-key",
        f"{key!r} is the name of {' and '.join(idents)}",
        hint=f"write the whole ident, for example {idents[0]}",
    )


def _spellings(
    document: Document, idents: Iterable[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Key to ident, and the keys that could be several: alias, then name, then name without `?`."""
    whole = {ident: ident for ident in idents}
    keys = {**{key: slot for key, slot in document.keys.items() if key not in _RESERVED}, **whole}
    ambiguous: dict[str, list[str]] = {}
    for is_stripped in (False, True):
        named: dict[str, list[str]] = {}
        for ident in whole:
            name = ident.partition("/")[2]
            if is_stripped and not name.endswith("?"):
                continue
            named.setdefault(name.removesuffix("?") if is_stripped else name, []).append(ident)
        for name, those in named.items():
            if name in keys or name in ambiguous or name in _RESERVED:
                continue
            if len(those) == 1:
                keys[name] = those[0]
            else:
                ambiguous[name] = sorted(those)
    keys[IDENT_KEY] = IDENT
    return keys, ambiguous
