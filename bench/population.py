"""A population: so many items, loaded through the public API, with both contestants at hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

import sandbar
from bench import subject
from bench.bare.contract import Bare
from bench.places import Place
from sandbar import Database
from sandbar.model.values import VALUE_TYPES

LOAD_OPERATIONS = 5_000

Say = Callable[[str], None]


class Population:
    """Items in a target, opened by us and by the bare driver."""

    def __init__(self, place: Place, name: str, size: int) -> None:
        self.place = place
        self.size = size
        self.target = place.make(name)
        self.first_id = 0
        self.load_rate = 0.0
        self._db: Database | None = None
        self._reader: Bare | None = None

    def load(self, say: Say) -> None:
        """Create all items in large transactions."""
        with sandbar.open(self.target) as db:
            subject.define(db)
            start = time.perf_counter()
            for at in range(0, self.size, LOAD_OPERATIONS):
                written = db.transact(
                    [
                        subject.creation(number, self.size, named=True)
                        for number in range(at, min(at + LOAD_OPERATIONS, self.size))
                    ]
                )
                self.first_id = self.first_id or written.entity_id
                say(f"loading {min(at + LOAD_OPERATIONS, self.size):,} of {self.size:,}")
            self.load_rate = self.size / (time.perf_counter() - start)
        self.place.settle(self.target)

    @property
    def db(self) -> Database:
        """Our side."""
        if self._db is None:
            self._db = sandbar.open(self.target)
        return self._db

    @property
    def reader(self) -> Bare:
        """The bare driver on the same rows."""
        if self._reader is None:
            self._reader = self.place.bare(self.target, writes=False)
        return self._reader

    def close(self) -> None:
        """Let go of both; they come back when they are asked for."""
        if self._db is not None:
            self._db.close()
        if self._reader is not None:
            self._reader.close()
        self._db = self._reader = None

    def drop(self) -> None:
        """Remove everything."""
        self.close()
        self.place.drop(self.target)

    def id_of(self, number: int) -> int:
        """The id of an item: ids are given in the order of creation."""
        return self.first_id + number

    def random_ids(self, count: int) -> list[int]:
        """Ids from all over the population."""
        random = Random(self.size)
        return [self.id_of(random.randrange(self.size)) for _ in range(count)]

    def property_id(self, ident: str) -> int:
        """The number of a property."""
        return self.db.get(ident).entity_id


def index_key(datatype: str, value: Any) -> bytes:
    """The bytes under which a value stands in the index."""
    return VALUE_TYPES[f"db.type/{datatype}"].index_key(value)
