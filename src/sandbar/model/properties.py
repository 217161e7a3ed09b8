"""Properties, compiled from their documents: what a slot holds and what it demands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from sandbar.errors import Problem
from sandbar.model import core
from sandbar.model.documents import Doc, exact
from sandbar.model.patterns import Pattern, compile_pattern
from sandbar.model.values import VALUE_TYPES, ValueType

_REF = VALUE_TYPES["db.type/ref"]
_TEXTS = {"db.type/string", "db.type/keyword", "db.type/symbol", "db.type/uri"}
_LISTS = {"db.type/json", "db.type/tuple"}  # one value of these can be a list


class Property:
    """One slot: what its values are and what they must satisfy."""

    def __init__(self, id: int, doc: Doc, range_ident: str) -> None:
        doc = settled(doc, range_ident)  # a dump, or an older version, may have it as it was given

        def slot(number: int) -> Any:
            return doc.get(str(number))

        self.id = id
        self.key = str(id)
        self.ident: str = slot(core.IDENT) or f"#{id}"
        self.doc: str | None = slot(core.DOC)
        self.label: str | None = slot(core.LABEL)
        self.range_id: int = slot(core.RANGE)
        self.kind: ValueType = VALUE_TYPES.get(range_ident, _REF)
        self.is_ref = self.kind is _REF
        self.target: int | None = (
            self.range_id if self.is_ref and self.range_id != core.ANY_REF else None
        )
        self.many = slot(core.CARDINALITY) == "many"
        self.required = bool(slot(core.REQUIRED))
        self.unique: str | None = slot(core.UNIQUE)
        default = slot(core.DEFAULT)
        is_alone = self.many and default is not None and not isinstance(default, list)
        self.default: Any = [default] if is_alone else default
        self.one_of: list[Any] = slot(core.ONE_OF) or []
        self.minimum: Any = slot(core.MIN)
        self.maximum: Any = slot(core.MAX)
        self.component = bool(slot(core.COMPONENT))
        self.secret = bool(slot(core.SECRET))
        self.inverse_of: int | None = slot(core.INVERSE_OF)
        self.domain: list[int] = slot(core.DOMAIN) or []
        self.indexed = (
            not self.secret
            and not self.inverse_of
            and (self.is_ref or self.unique is not None or bool(slot(core.INDEXED)))
        )
        self._pattern_text: str | None = slot(core.PATTERN)

    @cached_property
    def pattern(self) -> Pattern | None:
        """The compiled pattern of text values."""
        return compile_pattern(self._pattern_text) if self._pattern_text else None

    @property
    def pattern_text(self) -> str | None:
        """The pattern as it was written."""
        return self._pattern_text

    @cached_property
    def allowed_keys(self) -> frozenset[bytes]:
        """The order keys of the values in `dt/one-of`."""
        return frozenset(self.value_key(self.kind.decode(value)) for value in self.one_of)

    @cached_property
    def is_plain(self) -> bool:
        """Whether decoding a value is all the checking there is to do."""
        checked = self.one_of or self.has_bounds or self._pattern_text
        return not (self.is_ref or self.many or checked)

    @cached_property
    def direct(self) -> Callable[[object], Any] | None:
        """The decoder, if a decoded value can go into a document as it is: the usual case."""
        special = self.secret or self.inverse_of or self.unique or self.id == core.IDENT
        return self.kind.decode if self.is_plain and not special else None

    @property
    def has_bounds(self) -> bool:
        """Whether there is a lowest or highest value."""
        return self.minimum is not None or self.maximum is not None

    @property
    def is_text(self) -> bool:
        """Whether values are words that can be searched for."""
        return self.kind.ident in _TEXTS and not self.secret

    @property
    def default_targets(self) -> list[int]:
        """The entities that a new instance refers to unless it says otherwise."""
        if self.default is None or not self.is_stored_ref:
            return []
        return self.default if isinstance(self.default, list) else [self.default]

    @property
    def is_stored_ref(self) -> bool:
        """Whether entities are referred to, and not by derivation."""
        return self.is_ref and not self.inverse_of

    def value_key(self, stored: Any) -> bytes:
        """Equal for equal values only."""
        return self.kind.order_key(stored) if self.kind.indexable else exact(stored)

    def values(self, stored: Any) -> list[Any]:
        """The stored values as a list, whatever the cardinality."""
        if stored is None:
            return []
        return stored if self.many else [stored]

    def has_several(self, stored: Any) -> bool:
        """Whether this is a list of values where the slot takes one."""
        return isinstance(stored, list) and not self.many and self.kind.ident not in _LISTS

    def index_keys(self, stored: Any) -> list[bytes]:
        """The keys under which these stored values are found."""
        index_key = self.kind.index_key
        return [index_key(value) for value in stored] if self.many else [index_key(stored)]

    @cached_property
    def rules(self) -> tuple[Any, ...]:
        """All that decides whether a value is right; labels and documentation left out."""
        bounds = (repr(self.one_of), self._pattern_text, repr(self.minimum), repr(self.maximum))
        shape = (self.range_id, self.many, self.required, self.unique, self.secret, self.inverse_of)
        return bounds + shape


def settled(doc: Doc, range_ident: str) -> Doc:
    """The document of a property with all values that it names in the form that its type stores.

    What is no value of the type stays as it is: checking the definition says what is wrong.
    """
    kind = VALUE_TYPES.get(range_ident, _REF)
    is_many = doc.get(str(core.CARDINALITY)) == "many"
    found: Doc = {}
    for number in (core.DEFAULT, core.ONE_OF, core.MIN, core.MAX):
        given = doc.get(str(number))
        if given is None or (number in (core.MIN, core.MAX) and kind.ident in _TEXTS):
            continue  # the bounds of text are numbers of characters
        several = number == core.ONE_OF or (number == core.DEFAULT and is_many)
        if several and isinstance(given, list):
            stored = [_as_stored(kind, one) for one in given]
            found[str(number)] = list({exact(one): one for one in stored}.values())
        else:
            found[str(number)] = _as_stored(kind, given)
    return {**doc, **found} if found else doc


def _as_stored(kind: ValueType, given: Any) -> Any:
    try:
        return kind.decode(given)
    except Problem:
        return given
