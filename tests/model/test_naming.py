"""How entities are named: by ids, idents and unique values, and what is said of one unknown."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag
from typing import Any

import pytest

from sandbar import Database
from tests.model.conftest import Place
from tests.model.shop import item, problem_of, refused


class Number(int):
    """An integer of a program's own kind."""


class Flag(IntFlag):
    """An enumeration that takes every number."""

    ONE = 1


@pytest.mark.parametrize("kind", [Number, Flag], ids=["subclass", "enumeration"])
def test_an_id_may_be_any_kind_of_integer(shop: Database, kind: Callable[[int], int]) -> None:
    maker = shop.create("shop/Maker", {"maker/name": "Ann"}).entity_id
    hat = item(shop, "Hat", maker=kind(maker), like=[kind(maker + 1)])
    shop.get(hat)  # the schema is at hand from here on
    found = shop.get(kind(hat))
    assert (found.entity_id, found["item/maker"]) == (hat, maker)
    assert type(found.entity_id) is int
    assert type(found["item/maker"]) is int
    assert shop.get(kind(hat), as_of=kind(found.t)) == found
    assert shop.run(lambda: shop.get(kind(hat))).entity_id == hat
    page = shop.query("shop/Item", {"item/maker": kind(maker)}, as_of=kind(found.t), limit=1)
    assert [one.entity_id for one in page.items] == [hat]
    assert type(page.t) is int
    written = shop.update(kind(hat), {"item/name": "Cap"}, idempotency_key="k")
    assert written.entity_id == hat
    assert type(written.entity_id) is int
    assert [entry.kind for entry in shop.history(kind(hat))] == ["created", "changed"]
    class_id = shop.get("shop/Maker").entity_id
    made = shop.create(kind(class_id), {"maker/parent": kind(maker)})
    assert shop.get(made.entity_id).class_ == "shop/Maker"
    assert shop.delete(kind(hat)).outcomes[0].deleted == [hat]


UNKNOWN: dict[str, Callable[[Database, Any], Any]] = {
    "get": lambda db, x: db.get(x),
    "get as of": lambda db, x: db.get(x, as_of=db.t),
    "get inside": lambda db, x: db.run(lambda: db.get(x)),
    "history": lambda db, x: db.history(x),
    "diff": lambda db, x: db.diff(x, 0),
    "update": lambda db, x: db.update(x, {"item/name": "b"}),
    "delete": lambda db, x: db.delete(x),
    "restore": lambda db, x: db.restore(x),
    "purge": lambda db, x: db.purge(x),
    "reference": lambda db, x: db.create("shop/Item", {"item/name": "b", "item/like": x}),
    "find": lambda db, x: db.call("entity.find", {"entity": x}),
}


@pytest.mark.parametrize("call", UNKNOWN)
def test_one_that_is_looked_up_in_vain_is_told_in_the_same_words(shop: Database, call: str) -> None:
    problem = problem_of(lambda: UNKNOWN[call](shop, {":item/code": "nobody"}))
    assert "no entity has item/code = 'nobody'" in problem.message
    assert problem.code == "entity.unknown" or problem.data["findings"][0]["slot"] == "item/like"
    assert "entity.query" in str(problem.hint)


def test_one_that_is_looked_up_through_another_is_told_as_such(shop: Database) -> None:
    shop.define(properties={"item/twin": {"dt/range": "shop/Item", "db/unique": "value"}})
    item(shop, "Hat", code="H")
    problem = problem_of(lambda: shop.get({"item/twin": {"item/code": "H"}}))
    assert problem.message == "no entity has item/twin = the one that has item/code = 'H'"


def test_two_new_entities_with_one_unique_value_are_not_told_to_update_either(
    shop: Database,
) -> None:
    def both() -> list[dict[str, Any]]:
        slots = {"item/name": "Hat", "item/code": "H"}
        return [{"op": "create", "class": "shop/Item", "slots": slots} for _ in range(2)]

    problem = problem_of(lambda: shop.transact(both()))
    assert {one["code"] for one in problem.data["findings"]} == {"slot.not-unique"}
    assert problem.message.startswith("the write is invalid: item/code: 'H' is given to two")
    assert problem.hint == "choose another value for one of them"
    assert problem_of(lambda: shop.run(lambda: shop.transact(both()))).hint == problem.hint


def test_one_that_is_there_may_be_updated_instead(shop: Database) -> None:
    def twice() -> str:
        item(shop, "Hat", code="H")
        return str(problem_of(lambda: item(shop, "Cap", code="H")).hint)

    hints = [shop.run(twice)]
    hat = shop.get({"item/code": "H"}).entity_id
    hints.append(str(problem_of(lambda: item(shop, "Cap", code="H")).hint))
    assert hints == [f"choose another value, or update entity {hat}"] * 2


def test_what_a_reference_to_a_deleted_entity_needs_is_told(shop: Database) -> None:
    hat = item(shop, "Hat")
    shop.delete(hat)
    with refused(shop, "reference.dangling") as problems:
        item(shop, "Cap", like=[hat])
    assert "entity.restore" in str(problems[0].hint)
    assert "entity.create" in str(problems[0].hint)


def test_an_abstract_class_names_subclasses_only_if_it_has_any(shop: Database) -> None:
    shop.define(classes={"a/Top": {"dt/abstract?": True}})
    assert "subclass-of a/Top" in str(problem_of(lambda: shop.create("a/Top", {})).hint)
    shop.define(classes={"a/Middle": {"dt/abstract?": True, "dt/subclass-of": ["a/Top"]}})
    assert "subclass-of a/Top" in str(problem_of(lambda: shop.create("a/Top", {})).hint)
    shop.define(classes={"a/Low": {"dt/subclass-of": ["a/Middle"]}})
    assert "class.subclasses a/Top" in str(problem_of(lambda: shop.create("a/Top", {})).hint)


def test_a_name_that_is_taken_comes_with_what_to_do(shop: Database) -> None:
    shop.create("shop/Maker", {"db/ident": "my/one"})
    problem = problem_of(
        lambda: shop.create("shop/Item", {"db/ident": "my/one", "item/name": "Hat"})
    )
    assert problem.code == "ident.taken"
    assert "another db/ident" in str(problem.hint)


def test_a_cursor_of_another_workspace_is_told_as_what_it_may_be(place: Place) -> None:
    here, there = place.another(), place.another(f"{place.workspace}-other")
    cursor = here.query("dt/Class", limit=1).cursor
    problem = problem_of(lambda: there.query("dt/Class", limit=1, cursor=cursor))
    assert problem.code == "cursor.other-epoch"
    assert "another workspace" in problem.message
    assert "restored" in problem.message
