"""Things that a new user tried and that surprised them once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar import Database
from tests.model.conftest import Place
from tests.model.shop import problem_of


@pytest.fixture
def things(db: sandbar.Database) -> sandbar.Database:
    """A class with a number and a required text."""
    db.define(
        properties={
            "a/n": {"dt/range": "db.type/long", "dt/indexed?": True},
            "a/s": {"dt/range": "db.type/string", "dt/required?": True},
            "a/to": {"dt/range": "a/Thing", "db/cardinality": "many"},
            "a/from": {"dt/range": "a/Thing", "db/cardinality": "many", "dt/inverse-of": "a/to"},
        },
        classes={
            "a/Thing": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["a/n", "a/s", "a/to", "a/from"]}
        },
    )
    return db


def test_a_schema_change_with_data_keeps_data_out_of_the_schema(things: sandbar.Database) -> None:
    things.create("a/Thing", {"a/s": "x"})
    things.transact(
        [
            {"op": "update", "entity": "a/n", "set": {"dt/max": 9}},
            {"op": "migrate", "class": "a/Thing", "fill": {"a/n": 3}},
        ]
    )
    assert b"a/s" in things.schema.dump()
    assert b'"x"' not in things.schema.dump()


def test_a_slot_may_come_to_take_many_values_and_one_again(things: sandbar.Database) -> None:
    id = things.create("a/Thing", {"a/s": "x", "a/n": 1}).entity_id
    before = things.t
    things.define(properties={"a/n": {"db/cardinality": "many"}})
    assert things.get(id)["a/n"] == [1]
    assert [e.entity_id for e in things.query("a/Thing", {"a/n": 1}).items] == [id]
    things.define(properties={"a/n": {"db/cardinality": "one"}})
    assert (things.get(id)["a/n"], things.get(id, as_of=before)["a/n"]) == (1, 1)


def test_a_slot_with_several_values_cannot_come_to_take_one(things: sandbar.Database) -> None:
    things.define(properties={"a/n": {"db/cardinality": "many"}})
    things.create("a/Thing", {"a/s": "x", "a/n": [1, 2]})
    with pytest.raises(sandbar.Conflict) as caught:
        things.define(properties={"a/n": {"db/cardinality": "one"}})
    assert caught.value.code == "schema.would-break"


def test_all_pages_can_be_read_inside_a_transaction(things: sandbar.Database) -> None:
    def work() -> int:
        for n in range(5):
            things.create("a/Thing", {"a/s": str(n)})
        return len(list(things.each("a/Thing", page_size=2)))

    assert things.run(work) == 5


def test_a_run_inside_a_run_is_part_of_it(things: sandbar.Database) -> None:
    before = things.t

    def outer() -> None:
        things.create("a/Thing", {"a/s": "1"})
        things.run(lambda: things.create("a/Thing", {"a/s": "2"}))

    things.run(outer)
    assert things.t == before + 1


def test_definitions_inside_a_run_see_each_other(things: sandbar.Database) -> None:
    def work() -> None:
        things.define(properties={"a/new": {"dt/range": "db.type/long"}})
        things.define(properties={"a/new": {"dt/max": 5}})

    things.run(work)
    assert things.schema.describe_property("a/new")["max"] == 5


def test_a_single_finding_names_its_slot(things: sandbar.Database) -> None:
    with pytest.raises(sandbar.Incorrect) as caught:
        things.create("a/Thing", {"a/s": "x", "a/n": "one"})
    assert caught.value.code == "value.type"
    assert caught.value.data["findings"][0]["slot"] == "a/n"


def test_findings_say_which_operation_they_are_about(things: sandbar.Database) -> None:
    operations = [
        {"op": "create", "class": "a/Thing", "slots": {"a/n": "x"}},
        {"op": "create", "class": "a/Thing", "slots": {}},
    ]
    with pytest.raises(sandbar.Incorrect) as caught:
        things.transact(operations)
    found = [(f["slot"], f["at"]) for f in caught.value.data["findings"]]
    assert found == [("a/n", 0), ("a/s", 0), ("a/s", 1)]


def test_several_stale_expectations_are_a_conflict(things: sandbar.Database) -> None:
    ids = [things.create("a/Thing", {"a/s": str(n)}).entity_id for n in range(2)]
    operations = [{"op": "update", "entity": id, "set": {"a/n": 1}, "expect": 1} for id in ids]
    with pytest.raises(sandbar.Conflict) as caught:
        things.transact(operations)
    assert caught.value.code == "entity.moved"
    assert len(caught.value.data["findings"]) == 2


def test_repeated_values_keep_the_order_in_which_they_first_came(things: sandbar.Database) -> None:
    things.define(properties={"a/n": {"db/cardinality": "many"}})
    id = things.create("a/Thing", {"a/s": "x", "a/n": [3, 1, 3]}).entity_id
    assert things.get(id)["a/n"] == [3, 1]


def test_a_filter_through_an_inverse_slot_misses_nobody(things: sandbar.Database) -> None:
    hub = things.create("a/Thing", {"a/s": "hub"}).entity_id
    crowd = [
        {"op": "create", "class": "a/Thing", "slots": {"a/s": f"s{n}", "a/to": [hub]}}
        for n in range(2100)
    ]
    things.transact(crowd)
    found = things.query("a/Thing", {"a/from": {"a/s": "s2099"}}).items
    assert [entity.entity_id for entity in found] == [hub]


def test_one_large_operation_is_limited_like_many_small_ones(things: sandbar.Database) -> None:
    things.define(properties={"a/n": {"db/cardinality": "many", "dt/range": "db.type/long"}})
    with pytest.raises(sandbar.Incorrect) as caught:
        things.transact(
            [
                {
                    "op": "create",
                    "class": "a/Thing",
                    "slots": {"a/s": "x" * 10**6, "a/n": ["y" * 10**6] * 4},
                }
            ]
        )
    assert caught.value.code == "operations.too-large"


def test_ordering_by_a_slot_that_the_class_lacks_is_refused(things: sandbar.Database) -> None:
    with pytest.raises(sandbar.Incorrect) as caught:
        things.query("dt/List", order_by="a/n")
    assert caught.value.code == "slot.unknown"


def test_a_cursor_keeps_its_moment(things: sandbar.Database) -> None:
    for n in range(3):
        things.create("a/Thing", {"a/s": str(n)})
    page = things.query("a/Thing", limit=1)
    with pytest.raises(sandbar.Incorrect) as caught:
        things.query("a/Thing", limit=1, cursor=page.cursor, as_of=2)
    assert caught.value.code == "cursor.other-moment"


def test_changing_a_secret_is_a_change(things: sandbar.Database) -> None:
    things.define(
        properties={"a/pin": {"dt/range": "db.type/string", "dt/secret?": True}},
        classes={"a/Thing": {"dt/slots": ["a/n", "a/s", "a/to", "a/from", "a/pin"]}},
    )
    id = things.create("a/Thing", {"a/s": "x", "a/pin": "1234"}).entity_id
    assert things.update(id, {"a/pin": "5678"}).outcomes[0].changed


def test_a_database_in_memory_is_refused_with_advice() -> None:
    with pytest.raises(sandbar.Incorrect) as caught:
        sandbar.open(":memory:")
    assert "path" in (caught.value.hint or "")


def test_a_role_that_postgres_does_not_know_is_refused_as_such(postgres_url: str) -> None:
    with pytest.raises(sandbar.Problem) as caught:
        sandbar.open(postgres_url.replace("//postgres@", "//nobody_of_that_name@"))
    assert caught.value.code == "store.refused"


def test_the_same_workspace_can_be_opened_twice_at_once(place: Place, tmp_path: Path) -> None:
    one, two = place.open(), place.open()
    one.define(properties={"b/x": {"dt/range": "db.type/long"}})
    assert "b/x" in two.schema.properties()


def test_an_entity_is_named_by_a_unique_reference(db: Database) -> None:
    db.define(
        properties={"x/of": {"dt/range": "dt/Resource", "db/unique": "value"}},
        classes={"x/Seat": {"dt/slots": ["x/of"]}},
    )
    one = db.create("x/Seat", {"db/ident": "x/one"}).entity_id
    two = db.create("x/Seat", {"x/of": "x/one"}).entity_id
    t = db.create("x/Seat", {"db/ident": "x/three", "x/of": two}).t
    for name, id in (({"x/of": "x/one"}, two), ({"x/of": one}, two)):
        assert db.get(name).entity_id == id
        assert db.get(name, as_of=t).entity_id == id
        assert db.history(name)[-1].kind == "created"
        assert db.update(name).entity_id == id
        assert db.run(partial(db.get, name)).entity_id == id
    assert db.get({"x/of": {"x/of": "x/one"}}).ident == "x/three"
    deep: Any = "x/one"
    for _ in range(50):
        deep = {"x/of": deep}
    for call in (db.get, db.update, db.history, db.delete):
        assert problem_of(partial(call, deep)).code == "reference.malformed"
    assert problem_of(lambda: db.get({"x/of": "x/nobody"})).code == "entity.unknown"
    db.delete(two, mode="detach")
    assert db.history({"x/of": "x/one"})[-1].kind == "deleted"
    db.restore({"x/of": "x/one"})
    assert db.get({"x/of": "x/one"}).entity_id == two


def test_hints_say_what_helps(db: Database) -> None:
    secret = {"dt/range": "db.type/string", "dt/secret?": True}
    ref = {"dt/range": "dt/Resource"}
    db.define(
        properties={"s/pin": secret, "s/ref": ref},
        classes={"s/S": {"dt/slots": ["s/pin", "s/ref"]}},
    )
    assert "dt/indexed?" not in str(problem_of(lambda: db.query("s/S", order_by="s/pin")).hint)
    first = {"op": "create", "class": "s/S", "temp": "first"}
    second = {"op": "create", "class": "s/S", "slots": {"s/ref": "frist"}}
    hint = str(problem_of(lambda: db.transact([first, second])).hint)
    assert "did you mean first?" in hint
    assert "temp" in hint
    assert "did you mean" not in str(problem_of(lambda: db.get("dt/Class", as_of=0)).hint)
    for slots in ({"dt/range": "s/S", "dt/min": 1}, {"dt/range": "db.type/string", "dt/min": "x"}):
        assert str(problem_of(partial(db.define, properties={"s/odd": slots}))).count("s/odd") == 1


def test_what_is_closed_says_so(place: Place) -> None:
    db = place.open()
    db.close()
    for call in (db.get, db.delete):
        assert problem_of(partial(call, "dt/Class")).hint == "open it again"
