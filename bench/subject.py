"""What is measured: one class with six slots, and as many made-up instances as are wanted."""

from __future__ import annotations

from random import Random
from typing import Any

from sandbar import Database

CLASS = "bench/Item"
NAME, KIND, RANK = "bench/name", "bench/kind", "bench/rank"
WEIGHT, NOTE, FLAG = "bench/weight", "bench/note", "bench/flag?"

PER_KIND = 20  # instances of each kind, at every size: a query by kind finds as many everywhere
IDENT_EVERY = 20

_STRIDE = 7_919  # a prime that divides no size: ranks are spread over the order of creation
_WORDS = ["harbour", "ledger", "amber", "copper", "river", "signal", "window", "garden"]
_WORDS += ["paper", "meadow", "anchor", "lantern", "marble", "cotton", "timber", "violet"]

_INDEXED = {"dt/indexed?": True}
_PROPERTIES: dict[str, dict[str, Any]] = {
    NAME: {"dt/range": "db.type/string", **_INDEXED},
    KIND: {"dt/range": "db.type/keyword", **_INDEXED},
    RANK: {"dt/range": "db.type/long", **_INDEXED},
    WEIGHT: {"dt/range": "db.type/double"},
    NOTE: {"dt/range": "db.type/string"},
    FLAG: {"dt/range": "db.type/boolean"},
}


def define(db: Database) -> None:
    """Make the class and its properties."""
    db.define(
        properties=_PROPERTIES,
        classes={CLASS: {"dt/subclass-of": ["dt/Resource"], "dt/slots": list(_PROPERTIES)}},
    )


def kinds_of(size: int) -> int:
    """How many kinds a population of this size has."""
    return max(size // PER_KIND, 1)


def kind(number: int) -> str:
    """The name of a kind."""
    return f"bench.kind/k{number:06d}"


def ident(number: int) -> str:
    """The ident of an item that has one."""
    return f"bench.item/i{number:08d}"


def slots(number: int, size: int) -> dict[str, Any]:
    """The slots of one item of a population, the same in every run (about 250 bytes of JSON)."""
    random = Random(number)
    return {
        NAME: f"{random.choice(_WORDS)} {random.choice(_WORDS)} {number:08d}",
        KIND: kind(number % kinds_of(size)),
        RANK: number * _STRIDE % max(size, 1),
        WEIGHT: round(random.random() * 1_000, 3),
        NOTE: " ".join(random.choices(_WORDS, k=15)),
        FLAG: number % 2 == 0,
    }


def creation(number: int, size: int, *, named: bool = False) -> dict[str, Any]:
    """The operation that creates an item; every twentieth of the named ones gets an ident."""
    given = slots(number, size)
    if named and number % IDENT_EVERY == 0:
        given["db/ident"] = ident(number)
    return {"op": "create", "class": CLASS, "slots": given}
