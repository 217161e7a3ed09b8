"""References by a bare name: `python` in a slot for tags means `tag/python`.

Where the class of what is referred to says how names are made (`ident` of its `dt/document`), the
name alone is enough. What `makes` names is made if it is not there: a tag needs no ceremony.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sandbar.codecs.api import Parsed
from sandbar.codecs.naming import looks_like_path, slug_of
from sandbar.model import Document, Introspection

_IDENT = "db/ident"


class Short(NamedTuple):
    """How the names of what a slot refers to are made."""

    class_: str
    namespace: str
    name_slot: str
    is_made: bool


def short_of(
    schema: Introspection, class_: str, document: Document, slot: str, range: str
) -> Short | None:
    """How bare names are read in a slot of that range, if its class says how names are made.

    In a slot that takes all kinds of things a bare name means one of the same kind as its holder.
    """
    target, meant = schema.document(range), range
    if target.ident_from is None and schema.is_kind(class_, range):
        target, meant = document, class_
    if target.ident_from is None or target.ident_in is None:
        return None
    return Short(meant, target.ident_in, target.ident_from, slot in document.makes)


def whole_name(short: Short, given: Any) -> Any:
    """The ident that a bare name stands for; whatever else names an entity stays as it is."""
    if not isinstance(given, str) or not _is_bare(short, given):
        return given
    slug = slug_of(given)
    return f"{short.namespace}/{slug}" if slug else given


def shortest_name(short: Short, ident: str) -> str:
    """What stands for an ident in a text, so that it is read as that ident again."""
    namespace, _, name = ident.partition("/")
    if namespace != short.namespace:
        return f":{ident}" if short.is_made else ident
    return name if _is_bare(short, name) and slug_of(name) == name else ident


def made_by(short: Short, given: Iterable[Any]) -> list[Parsed]:
    """What is to be made for bare names, unless it is there."""
    if not short.is_made:
        return []
    return [
        Parsed(class_=short.class_, slots={_IDENT: whole_name(short, one), short.name_slot: one})
        for one in given
        if isinstance(one, str) and whole_name(short, one) != one
    ]


def whole_names(
    shorts: Mapping[str, Short], slots: dict[str, Any]
) -> tuple[dict[str, Any], list[Parsed]]:
    """Slots with whole names for bare ones, and what is to be made for them."""
    whole, made = dict(slots), list[Parsed]()
    for ident, short in shorts.items():
        if ident in slots:
            given = slots[ident]
            values = given if isinstance(given, list) else [given]
            made += made_by(short, values)
            names = [whole_name(short, one) for one in values]
            whole[ident] = names if isinstance(given, list) else names[0]
    return whole, made


def _is_bare(short: Short, text: str) -> bool:
    """Whether a text is a name alone. A colon before it says that it is none.

    What is made by being used is known by its name alone, be it one like `area/db`.
    """
    is_number = text.isascii() and text.isdigit()
    if is_number or text.startswith(":") or looks_like_path(text):
        return False
    return "/" not in text or (short.is_made and not text.startswith(f"{short.namespace}/"))
