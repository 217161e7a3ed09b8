"""The metamodel cannot be changed by the back door, nor pulled away from under its data."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from tests.model.conftest import Place


def define_metaclass(db: sandbar.Database) -> int:
    """A class of classes whose members refer to a person; returns the person."""
    db.define(
        properties={"x/owner": {"dt/range": "x/Person"}},
        classes={
            "x/Person": {"dt/subclass-of": ["dt/Ref"]},
            "x/Meta": {"dt/subclass-of": ["dt/Class"], "dt/slots": ["x/owner"]},
        },
    )
    person = db.create("x/Person", {"db/ident": "p/bob"}).entity_id
    db.create("x/Meta", {"db/ident": "x/C", "x/owner": "p/bob"})
    db.create("x/C", {"db/ident": "c/one"})
    return person


@pytest.mark.parametrize("cls", ["dt/Class", "dt/Property", "dt/Resource"])
def test_a_migration_does_not_touch_the_metamodel(db: sandbar.Database, cls: str) -> None:
    before = db.schema.dump()
    with pytest.raises(sandbar.Incorrect) as caught:
        db.transact([{"op": "migrate", "class": cls, "clear": ["db/doc"]}])
    assert caught.value.code == "migrate.metamodel"
    assert db.schema.dump() == before


def test_deleting_data_can_take_a_class_along_and_everyone_sees_it(place: Place) -> None:
    db, other = place.another(), place.another()
    person = define_metaclass(db)
    assert "x/C" in other.schema.classes()
    db.delete(person, mode="cascade")
    for view in (db, other):
        assert "x/C" not in view.schema.classes()
        with pytest.raises(sandbar.NotFound):
            view.create("x/C", {"db/ident": "c/two"})


def test_detaching_data_from_a_class_changes_the_schema_for_everyone(place: Place) -> None:
    db, other = place.another(), place.another()
    person = define_metaclass(db)
    before = other.schema.generation
    db.delete(person, mode="detach")
    assert other.schema.generation > before
    assert other.get("x/C").get("x/owner") is None


def test_a_class_of_classes_cannot_be_demoted_while_it_has_any(db: sandbar.Database) -> None:
    define_metaclass(db)
    with pytest.raises(sandbar.Conflict) as caught:
        db.update("x/Meta", {"dt/subclass-of": ["dt/Resource"]})
    assert caught.value.code == "schema.would-break"
    assert db.get("c/one").class_ == "x/C"


def _demoted_for_a_while(db: sandbar.Database, *meanwhile: Any) -> None:
    """Run these while the class of classes is none, each after the other."""

    def work() -> None:
        db.update("x/Meta", {"dt/subclass-of": ["dt/Resource"]})
        for call in meanwhile:
            call()
        db.update("x/Meta", {"dt/subclass-of": ["dt/Class"]})

    db.run(work)


def _refused(call: Any) -> None:
    with pytest.raises(sandbar.Problem):
        call()


def test_what_is_written_while_its_class_is_none_is_checked_afterwards(
    db: sandbar.Database,
) -> None:
    define_metaclass(db)
    db.define(properties={"x/name": {"dt/range": "db.type/string"}}, classes={})
    db.update("x/C", add={"dt/slots": ["x/name"]})
    db.update("c/one", {"x/name": "one"})
    db.update("x/name", {"dt/required?": True})
    before = db.t

    def clear() -> None:
        db.update("c/one", {"x/name": None})

    def fail() -> None:
        _refused(lambda: db.update("c/one", {"x/none": 1}))

    for meanwhile in ([clear], [clear, fail]):  # a call that is taken back changes nothing
        with pytest.raises(sandbar.Problem) as caught:
            _demoted_for_a_while(db, *meanwhile)
        assert caught.value.code == "entity.invalid"
    with pytest.raises(sandbar.Problem) as caught:  # a look inside would take it for written
        _demoted_for_a_while(db, clear, lambda: db.query("x/Person"))
    assert caught.value.code == "schema.would-break"
    assert [entity["entity-id"] for entity in caught.value.data["entities"]] == [
        db.get("c/one").entity_id
    ]
    assert db.t == before
    _demoted_for_a_while(db, clear, lambda: db.update("c/one", {"x/name": "two"}))
    assert db.get("c/one")["x/name"] == "two"


def test_a_unique_slot_stays_unique_when_its_range_changes(db: sandbar.Database) -> None:
    db.define(
        properties={"x/code": {"dt/range": "db.type/string", "db/unique": "identity"}},
        classes={"x/A": {"dt/slots": ["x/code"]}},
    )
    for code in ("1.5", "1.50"):
        db.create("x/A", {"x/code": code})
    with pytest.raises(sandbar.Conflict) as caught:
        db.update("x/code", {"dt/range": "db.type/bigdec"})
    assert caught.value.code == "schema.would-break"


@pytest.fixture
def titled(db: sandbar.Database) -> sandbar.Database:
    """A class with a plain slot."""
    db.define(
        properties={"x/title": {"dt/range": "db.type/string"}, "x/n": {"dt/range": "db.type/long"}},
        classes={"x/A": {"dt/slots": ["x/title", "x/n"]}},
    )
    return db


def test_an_index_made_after_a_query_in_the_same_run_is_complete(titled: sandbar.Database) -> None:
    def work() -> int:
        id = titled.create("x/A", {"x/title": "hello"}).entity_id
        titled.query("x/A")
        titled.update("x/title", {"dt/indexed?": True})
        return id

    id = titled.run(work)
    assert [e.entity_id for e in titled.query("x/A", {"x/title": "hello"}).items] == [id]
    titled.update(id, {"x/title": "bye"})
    assert titled.query("x/A", {"x/title": "hello"}).items == []


def test_uniqueness_made_after_a_query_in_the_same_run_holds(titled: sandbar.Database) -> None:
    def work() -> None:
        titled.create("x/A", {"x/n": 7})
        titled.query("x/A")
        titled.update("x/n", {"db/unique": "value"})

    titled.run(work)
    with pytest.raises(sandbar.Incorrect):
        titled.create("x/A", {"x/n": 7})


def test_an_index_dropped_in_a_run_leaves_no_ghosts(titled: sandbar.Database) -> None:
    titled.update("x/n", {"dt/indexed?": True})

    def work() -> int:
        id = titled.create("x/A", {"x/n": 7}).entity_id
        titled.query("x/A")
        titled.update("x/n", {"dt/indexed?": False})
        return id

    titled.delete(titled.run(work))
    titled.update("x/n", {"dt/indexed?": True})
    assert titled.query("x/A", {"x/n": 7}).items == []


def test_many_schema_changes_and_queries_in_one_run_agree_with_a_scan(
    titled: sandbar.Database,
) -> None:
    def work() -> None:
        for n, indexed in enumerate([True, False, True, False, True]):
            titled.create("x/A", {"x/n": n % 3, "x/title": str(n)})
            titled.query("x/A")
            titled.update("x/n", {"dt/indexed?": indexed})
            titled.create("x/A", {"x/n": n % 3})
            assert len(titled.query("x/A", {"x/n": n % 3}).items) >= 1

    titled.run(work)
    everything = list(titled.each("x/A"))
    for n in range(3):
        scanned = [e.entity_id for e in everything if e["x/n"] == n]
        assert [e.entity_id for e in titled.query("x/A", {"x/n": n}).items] == scanned


@pytest.mark.parametrize(
    "operations",
    [
        [
            {"op": "delete", "entity": "t"},
            {"op": "create", "class": "x/A", "temp": "t", "slots": {}},
        ],
        [
            {"op": "create", "class": "x/A", "slots": {}},
            {"op": "delete", "entity": "x/A", "mode": "cascade"},
        ],
    ],
)
def test_operations_that_contradict_each_other_are_refused(
    titled: sandbar.Database, operations: list[dict[str, Any]]
) -> None:
    before = titled.t
    with pytest.raises(sandbar.Incorrect) as caught:
        titled.transact(operations)
    assert (caught.value.code, titled.t) == ("operations.contradict", before)


def test_a_retry_is_answered_although_the_change_would_now_be_refused(
    titled: sandbar.Database,
) -> None:
    change = [{"op": "update", "entity": "x/n", "set": {"dt/max": 5}}]
    first = titled.transact(change, idempotency_key="k")
    titled.update("x/n", {"dt/max": None})
    crowd = [{"op": "create", "class": "x/A", "slots": {"x/n": 9}} for _ in range(1100)]
    titled.transact(crowd)
    again = titled.transact(change, idempotency_key="k")
    assert (again.replayed, again.t) == (True, first.t)
