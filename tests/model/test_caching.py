"""Each process sees the others' changes on its next call, without re-reading what has not changed.

The schema is read as the rows of its classes and properties. `asked.schema` are those that a call
has read, whichever way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sandbar import Database
from tests.model.conftest import Place
from tests.model.recording import Asked, recorded
from tests.model.shop import define, item, problem_of

TEXT = {"dt/range": "db.type/string"}

CALLS: dict[str, Callable[[Database, int], Any]] = {
    "get by id": lambda db, hat: db.get(hat),
    "get by unique slot": lambda db, hat: db.get({"item/code": "hat"}),
    "get of nobody": lambda db, hat: problem_of(lambda: db.get({"item/code": "none"})),
    "query": lambda db, hat: db.query("shop/Item", {"item/name": "Hat"}),
    "ordered query": lambda db, hat: db.query("shop/Item", order_by="item/price"),
    "create": lambda db, hat: item(db, "Cap", price=1, tags=["t/new"]),
    "refused create": lambda db, hat: problem_of(lambda: item(db, "Cap", stock="many")),
    "update": lambda db, hat: db.update(hat, {"item/stock": 5}),
    "run": lambda db, hat: db.run(lambda: db.get(hat)),
    "history": lambda db, hat: db.history(hat),
    "schema": lambda db, hat: db.schema.classes(),
}


@pytest.fixture
def there(place: Place) -> Database:
    """Another process, as far as the database can tell; it has defined the shop."""
    there = place.another()
    define(there)
    return there


@pytest.fixture
def hat(there: Database) -> int:
    """An item."""
    return item(there, "Hat", code="hat")


@pytest.fixture
def here(hat: int, place: Place) -> Database:
    """The side that is looked at: it has read the schema, and nothing has changed since."""
    here = place.another()
    here.schema.classes()
    return here


def asked_by(call: Callable[[], Any]) -> Asked:
    """What a call asks the store for."""
    with recorded() as asked:
        call()
    return asked


def numbers(db: Database, *names: str) -> set[int]:
    """The numbers of classes and properties."""
    return {db.get(name).entity_id for name in names}


def test_the_first_call_reads_the_whole_schema(there: Database, place: Place) -> None:
    """The control: what the other tests do not want to see is seen."""
    here = place.another()
    everything = numbers(there, *there.schema.classes(), *there.schema.properties())
    assert asked_by(lambda: here.query("shop/Item")).schema == everything
    assert asked_by(lambda: here.query("shop/Item")).schema == set()


@pytest.mark.parametrize("what", CALLS)
def test_a_call_with_an_unchanged_schema_reads_none_of_it(
    here: Database, hat: int, what: str
) -> None:
    for _ in range(3):
        asked = asked_by(lambda: CALLS[what](here, hat))
        assert asked.schema == set()
        assert asked.calls["schema_changes"] == 0


@pytest.mark.parametrize(
    ("what", "statements"),
    [
        ("get by id", {"point": 1}),
        ("get by unique slot", {"point_by_key": 1}),
        ("query", {"snapshot": 1, "scan": 1}),
        ("schema", {"snapshot": 1}),
    ],
)
def test_a_plain_read_asks_for_nothing_else(
    here: Database, hat: int, what: str, statements: dict[str, int]
) -> None:
    assert asked_by(lambda: CALLS[what](here, hat)).calls == statements


@pytest.mark.parametrize("what", sorted(CALLS.keys() - {"history"}))
def test_after_a_new_property_the_next_call_reads_that_one_alone(
    there: Database, here: Database, hat: int, what: str
) -> None:
    """All but history, which shows what was by the schema of then."""
    for name in ("new/one", "new/two"):
        there.define(properties={name: TEXT})
        asked = asked_by(lambda: CALLS[what](here, hat))
        assert asked.schema == numbers(there, name)
        assert asked.calls["schema_changes"] == asked.calls["transactions"] == 1
        assert asked_by(lambda: CALLS[what](here, hat)).schema == set()
        assert name in here.schema.properties()


def test_data_written_elsewhere_is_seen_without_a_look_at_the_schema(
    there: Database, here: Database, hat: int
) -> None:
    there.update(hat, {"item/name": "Cap"})
    asked = asked_by(lambda: here.get(hat))
    assert here.get(hat)["item/name"] == "Cap"
    assert asked.calls == {"point": 1}


def test_several_changes_are_caught_up_with_at_once(
    there: Database, here: Database, hat: int
) -> None:
    changed = numbers(there, "shop/Item", "item/price", "item/extra")
    there.define(properties={"new/one": TEXT})
    there.update("shop/Item", add={"dt/slots": ["new/one"]})
    there.update("item/price", {"db/ident": "item/cost"})
    there.update("shop/Item", remove={"dt/slots": ["item/extra"]})
    there.delete("item/extra")
    changed |= numbers(there, "new/one")
    asked = asked_by(lambda: here.create("shop/Item", {"item/name": "Cap", "new/one": "x"}))
    assert asked.schema <= changed
    assert asked.calls["scan"] == 0
    assert here.schema.dump() == there.schema.dump()
    assert here.query("shop/Item", {"item/cost": {"<": 3}}).items == []
    assert problem_of(lambda: here.update(hat, {"item/extra": 1})).code == "slot.unknown"


def test_a_change_of_one_s_own_is_read_once(there: Database) -> None:
    there.schema.classes()
    there.define(properties={"new/one": TEXT})
    assert asked_by(lambda: there.schema.classes()).schema <= numbers(there, "new/one")
    assert asked_by(lambda: there.schema.classes()).schema == set()


def test_the_schema_of_a_past_moment_is_read_once(
    there: Database, here: Database, hat: int
) -> None:
    then = there.t
    there.define(properties={"new/one": TEXT})
    past = there.schema_as_of(then).properties()
    here.schema.classes()
    for call in (
        lambda: here.get(hat, as_of=then),
        lambda: here.query("shop/Item", {"item/name": "Hat"}, as_of=then),
        lambda: here.schema_as_of(then),
    ):
        call()
        assert asked_by(call).schema == set()
    assert asked_by(lambda: here.get(hat, as_of=then)).calls == {"point_as_of": 1}
    assert here.schema_as_of(then).properties() == past
    assert "new/one" not in past
