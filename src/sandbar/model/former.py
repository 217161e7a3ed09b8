"""Who had a name that nobody has any more: what is it called now, or is it gone?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from sandbar.errors import Problem
from sandbar.model import core
from sandbar.model.documents import read_doc
from sandbar.model.moments import Moment
from sandbar.model.naming import as_id, as_keys, resolve_ever
from sandbar.model.schema import Schema
from sandbar.store import Snapshot

View = Callable[[Moment | None], AbstractContextManager[tuple[Snapshot, Schema, int | None]]]


class Former(NamedTuple):
    """The entity that was the last to lose a name."""

    id: int
    ident: str | None  # its ident now, or when it was deleted
    kinds: frozenset[str]  # its class and all above it, as they are now
    is_living: bool

    @property
    def is_definition(self) -> bool:
        """Whether it is a class or a property."""
        return not self.kinds.isdisjoint(("dt/Class", "dt/Property"))


class FormerNames:
    """The names that entities of one workspace have lost."""

    def __init__(self, view: View, open_unit: Callable[[], object | None]) -> None:
        self._view = view
        self._open_unit = open_unit

    @property
    def is_inside(self) -> bool:
        """Whether this thread is inside of a transaction, which is not over: there is no past."""
        return self._open_unit() is not None

    def holder(self, given: Any) -> Former | None:
        """Who had this ident, or this value of a unique slot, last; None: nobody, or it is secret.

        Nothing is told of what was purged: nobody knows any more what it was.
        """
        if as_id(given) is not None:
            return None
        with self._view(None) as (snapshot, schema, _):
            try:
                by, keys = as_keys(
                    schema, given, lambda other: resolve_ever(snapshot, schema, other)
                )
            except Problem:
                return None
            former = (snapshot.former(by.id, key) for key in keys)
            id = next((id for id in former if id is not None), None)
            row = None if id is None else snapshot.entity(id)
            is_living = row is not None
            if id is not None and row is None:
                end = snapshot.last_version(id)
                is_known = end is not None and not end.is_purge
                row = snapshot.entity_as_of(id, end.t - 1) if end is not None and is_known else None
            cls = None if row is None else schema.class_of_id(row.cls)
            if row is None or cls is None:
                return None
            ident = read_doc(row.doc).get(str(core.IDENT))
            return Former(row.id, ident, cls.kinds, is_living)
