"""Restored values keep their meaning: they take the form that living ones would, or none."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar import Database, Problem
from tests.model.shop import codes_of, refused, slots_of

MANY = {"db/cardinality": "many"}
ONE = {"db/cardinality": "one"}


def of(kind: str) -> dict[str, Any]:
    """The definition of a slot of a value type."""
    return {"dt/range": f"db.type/{kind}"}


def with_slot(db: Database, slot: dict[str, Any]) -> None:
    """A class with this slot, `x/v`."""
    db.define(properties={"x/v": slot}, classes={"x/C": {"dt/slots": ["x/v"]}, "q/Q": {}})


def restore(db: Database, entity: Any, to: int | None = None) -> None:
    """Restore one entity."""
    db.transact([{"op": "restore", "entity": entity, "to": to}])


# How the slot begins, a value, what changes, and what a restore is refused with.
REFUSED: dict[str, tuple[dict[str, Any], Any, dict[str, Any], str]] = {
    "digits for a reference": (of("string"), "1000", of("ref"), "value.form"),
    "a name for a reference": (of("string"), "q/Q", of("ref"), "value.form"),
    "no name for a reference": (of("string"), "no such", of("ref"), "value.form"),
    "several for a reference": (of("string") | MANY, ["1000", "q/Q"], of("ref"), "value.form"),
    "a colon for a keyword": (of("string"), ":a", of("keyword"), "value.form"),
    "capitals for a uuid": (
        of("string"), "0000000A-0000-0000-0000-000000000000", of("uuid"), "value.form",
    ),
    "a whole number for a double": (of("long"), 1, of("double"), "value.form"),
    "equal numbers": (of("string") | MANY, ["1.5", "1.50"], of("bigdec"), "value.form"),
    "a number for text": (of("long"), 1, of("string"), "value.type"),
    "a number of nobody": (of("long"), 10**9, of("ref"), "reference.dangling"),
    "a number of another class": (of("long"), 1, {"dt/range": "q/Q"}, "reference.range"),
    "several texts": (of("string") | MANY, ["a", "b"], ONE, "slot.single"),
    "several json": (of("json") | MANY, [1, 2], ONE, "slot.single"),
    "several tuples": (of("tuple") | MANY, [[1], [2]], ONE, "slot.single"),
    "a text for a secret": (of("string"), "x", {"dt/secret?": True}, "slot.secret"),
    "a reference for a derived slot": (
        of("ref"), "q/Q", {"dt/inverse-of": "dt/range"}, "slot.derived",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_living_entity_could_not_keep_does_not_come_back(db: Database, kind: str) -> None:
    before, value, change, code = REFUSED[kind]
    with_slot(db, before)
    one = db.create("x/C", {"x/v": value})
    with refused(db, "schema.would-break") as living:
        db.update("x/v", change)
    db.delete(one.entity_id)
    db.update("x/v", change)
    for to in (None, one.t):
        with refused(db, code) as problems:
            restore(db, one.entity_id, to)
        assert problems[0].hint
        assert codes_of(living[0]) - {"schema.would-break"} == {code}


# How the slot begins, a value, what changes, and what comes back.
KEPT: dict[str, tuple[dict[str, Any], Any, dict[str, Any], Any]] = {
    "text to many": (of("string"), "a", MANY, ["a"]),
    "text to one": (of("string") | MANY, ["a"], ONE, "a"),
    "json list to many": (of("json"), [1, 2], MANY, [[1, 2]]),
    "json list to one": (of("json") | MANY, [[1, 2]], ONE, [1, 2]),
    "tuple to many": (of("tuple"), [1, 2], MANY, [[1, 2]]),
    "tuple to json": (of("tuple"), [1, 2], of("json"), [1, 2]),
    "json list to many tuples": (of("json"), [1, 2], of("tuple") | MANY, [[1, 2]]),
    "text to keyword": (of("string"), "a", of("keyword"), "a"),
    "number to reference": (of("long"), 1, of("ref"), "dt/Class"),
    "reference to number": (of("ref"), "dt/Class", of("long"), 1),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_a_living_entity_would_hold_by_now_comes_back(db: Database, kind: str) -> None:
    before, value, change, after = KEPT[kind]
    with_slot(db, before)
    one, living = (db.create("x/C", {"x/v": value}) for _ in range(2))
    db.delete(one.entity_id)
    db.update("x/v", change)
    restore(db, one.entity_id)
    assert slots_of(db, one.entity_id) == slots_of(db, living.entity_id) == {"x/v": after}
    db.update(one.entity_id, {"x/v": None})
    restore(db, one.entity_id, one.t)  # back to a state from before the change
    assert slots_of(db, one.entity_id) == {"x/v": after}


def test_a_definition_that_went_there_and_back_changes_nothing(db: Database) -> None:
    with_slot(db, of("json"))
    one = db.create("x/C", {"x/v": [1, 2]}).entity_id
    db.delete(one)
    for change in (MANY, of("string"), of("json") | ONE):
        db.update("x/v", change)
    restore(db, one)
    assert slots_of(db, one) == {"x/v": [1, 2]}


def test_one_transaction_may_delete_change_the_slot_and_restore(db: Database) -> None:
    with_slot(db, of("json"))
    one = db.create("x/C", {"x/v": [1, 2]}).entity_id
    change = {"op": "update", "entity": "x/v", "set": MANY}
    db.transact([{"op": "delete", "entity": one}, {"op": "restore", "entity": one}, change])
    assert slots_of(db, one) == {"x/v": [[1, 2]]}

    def work() -> None:
        db.delete(one)
        db.update("x/v", of("json") | ONE)
        with pytest.raises(Problem) as caught:
            restore(db, one, db.t)
        assert caught.value.code == "slot.single"
        restore(db, two)

    db.update(one, add={"x/v": [3]})
    two = db.create("x/C", {"x/v": [[5, 6]]}).entity_id
    db.delete(two)
    db.run(work)
    assert slots_of(db, two) == {"x/v": [5, 6]}
