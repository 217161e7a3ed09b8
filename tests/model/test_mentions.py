"""What a class says of its slots by name is true after every change of those slots."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar import Database
from tests.model.shop import refused

LONG = {"dt/range": "db.type/long"}
TEXT = {"dt/range": "db.type/string"}
GUARDED = '!("a/n" in this) || this["a/n"] > 0'
LISTED = '["a/n", "a/other"].all(slot, slot in this)'


def broken(problem: Any) -> dict[int, set[str]]:
    """Who would break, and by which findings."""
    return {
        one["entity-id"]: {finding["code"] for finding in one["findings"]}
        for one in problem.data["entities"]
    }


def define(db: Database, validator: str, **more: Any) -> int:
    """The class a/A with that validator below it; the number of the class."""
    db.define(
        properties={"a/n": LONG, "a/other": LONG, "a/text": TEXT},
        classes={
            "a/Above": {"dt/validator": validator},
            "a/A": {
                "dt/subclass-of": ["a/Above"],
                "dt/slots": ["a/n", "a/other", "a/text"],
                **more,
            },
        },
    )
    return db.get("a/A").entity_id


@pytest.mark.parametrize("validator", [GUARDED, LISTED, 'this["a/n"] > 0'])
def test_a_slot_that_a_validator_names_is_renamed_together_with_it(
    db: Database, validator: str
) -> None:
    number = define(db, validator)
    made = db.create("a/A", {"a/n": 1, "a/other": 2}).entity_id
    with refused(db, "schema.would-break") as problems:
        db.update("a/n", {"db/ident": "a/m"})
    assert broken(problems[0]) == {number: {"class.validator"}}
    assert "dt/validator" in (problems[0].hint or "")
    finding = problems[0].data["entities"][0]["findings"][0]
    assert "a/n" in finding["message"]
    assert "dt/validator of a/Above" in finding["hint"]
    rename = {"op": "update", "entity": "a/n", "set": {"db/ident": "a/m"}}
    follow = {"dt/validator": validator.replace("a/n", "a/m")}
    db.transact([rename, {"op": "update", "entity": "a/Above", "set": follow}])
    assert db.get(made).slots["a/m"] == 1
    with refused(db, "class.validator"):
        db.create("a/A", {"a/m": -1} if validator != LISTED else {"a/m": 1})


def test_a_slot_that_no_validator_names_is_renamed(db: Database) -> None:
    define(db, GUARDED)
    made = db.create("a/A", {"a/other": 1}).entity_id
    db.update("a/other", {"db/ident": "a/another"})
    assert db.get(made).slots == {"a/another": 1}


def renamed(**names: str) -> list[dict[str, Any]]:
    """Operations that rename slots: `n="m"` makes a/m of a/n."""
    return [
        {"op": "update", "entity": f"a/{old}", "set": {"db/ident": f"a/{new}"}}
        for old, new in names.items()
    ]


def test_a_name_passes_to_another_slot_only_if_the_words_about_it_are_changed(
    db: Database,
) -> None:
    number = define(db, GUARDED, **{"dt/document": {"order": ["a/text"]}})
    db.create("a/A", {"a/n": 1, "a/other": 2})
    for swap in (renamed(n="gone", other="n"), renamed(text="gone", other="text")):
        with refused(db, "schema.would-break") as problems:
            db.transact(swap)
        assert list(broken(problems[0])) == [number]
    stricter = {"dt/validator": f"({GUARDED}) && true"}
    meant = {"op": "update", "entity": "a/Above", "set": stricter}
    db.transact([*renamed(n="gone", other="n"), meant])
    bad = db.create("a/A", {"a/n": 1, "a/gone": -1}).entity_id
    back = {"op": "update", "entity": "a/Above", "set": {"dt/validator": GUARDED}}
    with refused(db, "schema.would-break") as problems:
        db.transact([*renamed(n="other", gone="n"), back])
    assert broken(problems[0]) == {bad: {"class.validator"}}


@pytest.mark.parametrize(
    ("validator", "slots", "change"),
    [
        ('this["a/n"] > 0', {"a/n": 1}, {"db/cardinality": "many"}),
        ('this["a/text"] == "5"', {"a/text": "5"}, {"dt/range": "db.type/bigint"}),
    ],
)
def test_validators_judge_values_that_they_see_otherwise(
    db: Database, validator: str, slots: dict[str, Any], change: dict[str, Any]
) -> None:
    define(db, validator)
    made = db.create("a/A", slots).entity_id
    with refused(db, "schema.would-break") as problems:
        db.update(next(iter(slots)), change)
    assert made in broken(problems[0])
    db.update(made, {"dt/label": "still valid"})


def test_a_slot_that_documents_are_made_of_is_renamed_together_with_them(db: Database) -> None:
    number = define(db, "true", **{"dt/document": {"body": "a/text"}})
    rename = {"op": "update", "entity": "a/text", "set": {"db/ident": "a/body"}}
    with refused(db, "schema.would-break") as problems:
        db.transact([rename])
    assert broken(problems[0]) == {number: {"definition.document"}}
    with refused(db, "schema.would-break"):
        db.update("a/text", {"dt/range": "db.type/uri"})
    with refused(db, "definition.document"):
        db.update("a/A", {"dt/slots": ["a/n"]})
    follow = {"dt/document": {"body": "a/body"}}
    db.transact([rename, {"op": "update", "entity": "a/A", "set": follow}])
    assert db.schema.describe("a/A")["slots"]
