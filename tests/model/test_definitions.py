"""Values that a definition names: kept and shown as the property's type stores them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from sandbar import Database
from tests.model.conftest import Place
from tests.model.shop import slots_of

OPEN = "2026-01-01T00:00:00Z"

# range, what is said, what is kept of it
SAID: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "keyword",
        {"dt/one-of": [":open", "paid", "open"], "dt/default": ":open", "dt/min": 2},
        {"dt/one-of": ["open", "paid"], "dt/default": "open", "dt/min": 2},
    ),
    (
        "bigdec",
        {"dt/one-of": [1.5, "2", 2], "dt/default": 2, "dt/min": 0, "dt/max": 1e3},
        {"dt/one-of": ["1.5", "2"], "dt/default": "2", "dt/min": "0", "dt/max": "1000.0"},
    ),
    ("bigint", {"dt/one-of": [1, "02"], "dt/max": 5.0}, {"dt/one-of": ["1", "2"], "dt/max": "5"}),
    (
        "instant",
        {"dt/one-of": ["2026-01-01"], "dt/default": OPEN, "dt/min": "2025-12-31T23:00:00-01:00"},
        {"dt/one-of": [OPEN], "dt/default": OPEN, "dt/min": OPEN},
    ),
    (
        "uuid",
        {"dt/default": "0F8FAD5B-D9CB-469F-A165-70867728950E"},
        {"dt/default": "0f8fad5b-d9cb-469f-a165-70867728950e"},
    ),
    ("double", {"dt/one-of": [1, 2.5], "dt/min": 0}, {"dt/one-of": [1.0, 2.5], "dt/min": 0.0}),
    ("tuple", {"dt/one-of": [[":a", 1]]}, {"dt/one-of": [[":a", 1]]}),
    ("json", {"dt/default": {"a": ":b"}}, {"dt/default": {"a": ":b"}}),
    ("string", {"dt/one-of": [":a"], "dt/max": 5}, {"dt/one-of": [":a"], "dt/max": 5}),
]


def define(db: Database, name: str, said: dict[str, Any]) -> None:
    """A class with one slot of this range."""
    db.define(
        properties={"k/k": {"dt/range": f"db.type/{name}", **said}},
        classes={"k/C": {"dt/slots": ["k/k"]}},
    )


def told(db: Database) -> dict[str, Any]:
    """What the schema tells of the property, in the words of its definition."""
    facts = db.schema.describe_property("k/k")
    return {
        f"dt/{name}": facts[name] for name in ("one-of", "default", "min", "max") if name in facts
    }


@pytest.mark.parametrize(("name", "said", "kept"), SAID, ids=[row[0] for row in SAID])
def test_a_definition_keeps_values_as_its_type_stores_them(
    db: Database, name: str, said: dict[str, Any], kept: dict[str, Any]
) -> None:
    define(db, name, said)
    now = {slot: value for slot, value in slots_of(db, "k/k").items() if slot in said}
    assert json.dumps(now, sort_keys=True) == json.dumps(kept, sort_keys=True)
    assert json.dumps(told(db), sort_keys=True) == json.dumps(kept, sort_keys=True)
    again = db.create("dt/Property", {"db/ident": "k/k", **said}).outcomes[0]
    assert (again.changed, again.differs) == (False, [])
    before = db.t
    assert not db.update("k/k", said).outcomes[0].changed
    assert db.t == before
    schema = db.schema.json_schema("k/C")
    for value in [*said.get("dt/one-of", []), said.get("dt/default")]:
        if value is not None:
            stored = slots_of(db, db.create("k/C", {"k/k": value}).entity_id)["k/k"]
            jsonschema.validate({"k/k": stored}, schema)
    if "dt/default" in kept:
        jsonschema.validate(schema["properties"]["k/k"]["default"], schema["properties"]["k/k"])


def test_a_default_of_several_values_is_shown_as_a_list(db: Database) -> None:
    define(db, "keyword", {"db/cardinality": "many", "dt/default": ":open"})
    slot = db.schema.json_schema("k/C")["properties"]["k/k"]
    assert slot["default"] == ["open"]
    assert db.schema.describe_property("k/k")["default"] == ["open"]
    assert slots_of(db, db.create("k/C", {}).entity_id)["k/k"] == ["open"]
    db.update("k/k", {"dt/default": [":open", "open", ":shut"]})
    assert slots_of(db, "k/k")["dt/default"] == ["open", "shut"]


def test_values_take_the_form_of_a_range_that_changes(db: Database) -> None:
    define(db, "long", {"dt/one-of": [1, 2], "dt/default": 1, "dt/max": 9})
    db.update("k/k", {"dt/range": "db.type/bigdec"})
    kept = slots_of(db, "k/k")
    assert (kept["dt/one-of"], kept["dt/default"], kept["dt/max"]) == (["1", "2"], "1", "9")
    assert slots_of(db, db.create("k/C", {}).entity_id)["k/k"] == "1"


def test_values_are_added_and_removed_in_any_spelling(db: Database) -> None:
    define(db, "keyword", {"dt/one-of": [":open", ":paid"]})
    db.update("k/k", add={"dt/one-of": [":lost", ":open"]})
    assert slots_of(db, "k/k")["dt/one-of"] == ["open", "paid", "lost"]
    db.update("k/k", remove={"dt/one-of": ":paid"})
    assert slots_of(db, "k/k")["dt/one-of"] == ["open", "lost"]


def test_a_metamodel_of_before_is_kept_as_it_is_and_understood(place: Place) -> None:
    source = place.another()
    define(source, "keyword", {"dt/one-of": ["open", "shut"], "dt/default": "open"})
    dump = source.schema.dump()
    old = dump.replace(b'"open"', b'":open"')
    assert old != dump
    db = place.another(f"{place.workspace}-old", metamodel=old)
    assert db.schema.dump() == old
    assert told(db) == {"dt/one-of": ["open", "shut"], "dt/default": "open"}
    assert db.schema.property_json_schema("k/k")["enum"] == ["open", "shut"]
    made = db.create("k/C", {}).entity_id
    assert slots_of(db, made)["k/k"] == "open"
    db.update("k/k", {"dt/default": ":shut"}, add={"dt/one-of": "open"})
    assert slots_of(db, "k/k")["dt/one-of"] == ["open", "shut"]
    db.delete(made)
    db.update("k/k", remove={"dt/one-of": "open"})
    assert slots_of(db, "k/k")["dt/one-of"] == ["shut"]
