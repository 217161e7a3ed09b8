"""Pages: bounded in items and in bytes, continued by an opaque cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from sandbar.errors import Incorrect
from sandbar.model import Cursor, Page, question_digest, read_cursor, write_cursor

PAGE_BYTES = 32_000
_ENVELOPE = 600  # room for the rest of an answer
_ITEMS_DEFAULT = 1000
_ENTITIES_DEFAULT = 50

T = TypeVar("T")


class Named(Protocol):
    """Something that has a name."""

    @property
    def name(self) -> str:
        """Its name."""


N = TypeVar("N", bound=Named)


def fitting(items: Sequence[Any]) -> int:
    """How many of the items a page has room for: at least one."""
    if len(msgspec.json.encode(items)) <= PAGE_BYTES - _ENVELOPE:
        return len(items)
    room = PAGE_BYTES - _ENVELOPE
    for count, item in enumerate(items):
        room -= len(msgspec.json.encode(item)) + 1
        if room < 0:
            return max(count, 1)
    return len(items)


def page_of_names(
    names: Sequence[str], limit: int | None, cursor: str | None, *question: Any
) -> tuple[list[str], str | None]:
    """One page of sorted names, and the cursor of the next, which fits the same question only."""
    start = 0 if cursor is None else bisect_right(names, read_place(cursor, str, *question))
    page = list(names[start : start + (limit or _ITEMS_DEFAULT)])
    if limit is None:
        page = page[: fitting(page)]
    is_last = start + len(page) >= len(names)
    return page, None if is_last else write_place(page[-1], *question)


def page_of_named(
    items: Sequence[N], limit: int | None, cursor: str | None, *question: Any
) -> tuple[list[N], str | None]:
    """The same for things that are sorted by their `name`."""
    start = 0
    if cursor is not None:
        place = read_place(cursor, str, *question)
        start = bisect_right(items, place, key=lambda item: item.name)
    page = list(items[start : start + (limit or _ITEMS_DEFAULT)])
    if limit is None:
        page = page[: fitting(page)]
    is_last = start + len(page) >= len(items)
    return page, None if is_last else write_place(page[-1].name, *question)


def page_of_entities(ask: Callable[[int, Any], Page], limit: int | None, as_of: Any) -> Page:
    """One page of a query that `ask` answers (limit, as-of).

    A page that nobody asked to be that long is asked for again, shorter and at its moment.
    """
    page = ask(limit or _ENTITIES_DEFAULT, as_of)
    if limit is None:
        room = fitting(page.items)
        if room < len(page.items):
            page = ask(room, page.t if as_of is None else as_of)
    return page


def write_place(place: Any, *question: Any) -> str:
    """A place in the list that answers a question (verb and arguments), as a cursor."""
    return write_cursor(Cursor(0, 0, question_digest(*question), 0, msgspec.json.encode(place), 0))


def read_place(word: str, kind: type[T], *question: Any) -> T:
    """The place behind a cursor; refuses one that belongs to another question."""
    cursor = read_cursor(word, question_digest(*question), epoch=0)
    try:
        return msgspec.json.decode(cursor.key, type=kind)
    except msgspec.MsgspecError as error:
        raise Incorrect(
            "cursor.malformed", "this is no cursor", hint="use the cursor of the last page as it is"
        ) from error
