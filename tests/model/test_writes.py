"""Create, update and transact: what they change, what they answer, what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar import Conflict, Database, Incorrect, NotFound
from tests.model.shop import codes_of, item, problem_of, refused, slots_of


def test_a_created_entity_can_be_read_by_id_ident_and_unique_value(shop: Database) -> None:
    made = shop.create("shop/Item", {"db/ident": ":my/hat", "item/name": "Hat", "item/code": "H1"})
    assert made.created
    assert made.ident == "my/hat"
    for name in (made.entity_id, str(made.entity_id), "my/hat", ":my/hat", {"item/code": "H1"}):
        assert shop.get(name).entity_id == made.entity_id
    assert shop.get("my/hat").class_ == "shop/Item"
    assert shop.get("my/hat").t == made.t == shop.t


def test_creating_an_existing_ident_changes_nothing_and_names_what_differs(shop: Database) -> None:
    first = shop.create("shop/Item", {"db/ident": "my/hat", "item/name": "Hat", "item/stock": 1})
    t = shop.t
    again = shop.create(
        "shop/Item", {"db/ident": "my/hat", "item/name": "Cap", "item/stock": 1, "item/price": 3}
    )
    assert not again.created
    assert again.entity_id == first.entity_id
    assert again.outcomes[0].differs == ["item/name", "item/price"]
    assert shop.t == t == again.t
    assert slots_of(shop, "my/hat")["item/name"] == "Hat"


def test_creating_an_existing_ident_as_another_class_is_a_conflict(shop: Database) -> None:
    shop.create("shop/Item", {"db/ident": "my/hat", "item/name": "Hat"})
    with refused(shop, "ident.taken"):
        shop.create("shop/Maker", {"db/ident": "my/hat"})


def test_creating_an_existing_ident_with_a_wrong_slot_is_refused(shop: Database) -> None:
    shop.create("shop/Item", {"db/ident": "my/hat", "item/name": "Hat"})
    with refused(shop, "slot.unknown"):
        shop.create("shop/Item", {"db/ident": "my/hat", "item/nam": "Hat"})


def test_update_sets_adds_removes_and_clears(shop: Database) -> None:
    hat = item(shop, "Hat", tags=["a", "b"], price="3.50", notes="one")
    shop.update(hat, {"item/name": "Cap"}, add={"item/tags": ["c", "a"]})
    assert slots_of(shop, hat)["item/tags"] == ["a", "b", "c"]
    shop.update(hat, remove={"item/tags": ["a", "zzz"], "item/notes": "one"})
    assert slots_of(shop, hat)["item/tags"] == ["b", "c"]
    assert "item/notes" not in slots_of(shop, hat)
    shop.update(hat, {"item/price": None, "item/tags": []})
    assert slots_of(shop, hat) == {
        "item/name": "Cap",
        "item/stock": 0,
        "item/fragile": False,
    }


def test_update_to_the_same_values_writes_nothing(shop: Database) -> None:
    hat = item(shop, "Hat", tags=["a"])
    t = shop.t
    again = shop.update(
        hat, {"item/name": "Hat"}, add={"item/tags": "a"}, remove={"item/notes": "x"}
    )
    assert not again.outcomes[0].changed
    assert again.t == shop.t == t


@pytest.mark.parametrize("value", [False, 0, "", [], {}, [[]], [0], {"a": []}, True, 1, 1.0, "x"])
def test_every_json_value_is_stored_as_it_is(shop: Database, value: Any) -> None:
    hat = item(shop, "Hat", extra=value)
    stored = slots_of(shop, hat)["item/extra"]
    assert stored == value
    assert type(stored) is type(value)


def test_json_values_that_python_calls_equal_are_different_values(shop: Database) -> None:
    hat = item(shop, "Hat", extra=1)
    for value in (True, 1.0, [1], [True], [1.0], {"a": 0}, {"a": False}):
        written = shop.update(hat, {"item/extra": value})
        assert written.outcomes[0].changed, value
        assert repr(slots_of(shop, hat)["item/extra"]) == repr(value)
    changes = [repr(entry.changes[0].added) for entry in shop.history(hat)[1:]]
    assert changes == [
        "[True]", "[1.0]", "[[1]]", "[[True]]", "[[1.0]]", "[{'a': 0}]", "[{'a': False}]",
    ]  # fmt: skip


def test_false_and_empty_text_are_values_like_any_other(shop: Database) -> None:
    hat = item(shop, "", fragile=False, stock=0, notes=["", "x"])
    slots = slots_of(shop, hat)
    assert slots["item/name"] == ""
    assert slots["item/fragile"] is False
    assert slots["item/notes"] == ["", "x"]
    found = shop.query("shop/Item", {"item/fragile": False, "item/name": ""}).items
    assert [entity.entity_id for entity in found] == [hat]


def test_a_required_slot_cannot_be_emptied(shop: Database) -> None:
    hat = item(shop, "Hat")
    with refused(shop, "slot.required"):
        shop.update(hat, {"item/name": None})
    with refused(shop, "slot.required"):
        shop.create("shop/Item", {})


def test_a_scalar_is_wrapped_for_a_many_valued_slot(shop: Database) -> None:
    hat = item(shop, "Hat", tags="a")
    assert slots_of(shop, hat)["item/tags"] == ["a"]
    assert slots_of(shop, item(shop, "Cap", tags=["a", ":a", "b"]))["item/tags"] == ["a", "b"]


def test_adding_to_a_slot_with_one_value_is_refused(shop: Database) -> None:
    hat = item(shop, "Hat")
    with refused(shop, "slot.single"):
        shop.update(hat, add={"item/name": "x"})
    with refused(shop, "slot.single"):
        shop.update(hat, remove={"item/name": "x"})


def test_a_list_for_a_slot_with_one_value_is_refused(shop: Database) -> None:
    with refused(shop, "value.type"):
        item(shop, ["Hat"])  # type: ignore[arg-type]


def test_expect_refuses_when_the_entity_has_moved(shop: Database) -> None:
    hat = item(shop, "Hat")
    seen = shop.get(hat).t
    item(shop, "something else")
    shop.update(hat, {"item/name": "Cap"}, expect=seen)
    with refused(shop, "entity.moved") as problems:
        shop.update(hat, {"item/name": "Fez"}, expect=seen)
    assert isinstance(problems[0], Conflict)
    assert problems[0].hint
    with refused(shop, "entity.moved"):
        shop.delete(hat, expect=seen)
    shop.delete(hat, expect=shop.get(hat).t)


def test_all_findings_are_collected_with_slot_code_message_and_hint(shop: Database) -> None:
    problem = problem_of(
        lambda: shop.create(
            "shop/Item",
            {"item/nmae": "x", "item/stock": "many", "item/maker": 999_999, "item/fragile": 0},
        )
    )
    findings = {finding["slot"]: finding for finding in problem.data["findings"]}
    assert {slot: finding["code"] for slot, finding in findings.items()} == {
        "item/nmae": "slot.unknown",
        "item/stock": "value.type",
        "item/maker": "reference.dangling",
        "item/fragile": "value.type",
        "item/name": "slot.required",
    }
    assert findings["item/nmae"]["hint"].startswith("did you mean item/name")
    assert all(finding["message"] and finding["hint"] for finding in findings.values())


def test_names_are_suggested(shop: Database) -> None:
    for call, meant in (
        (lambda: shop.create("shop/Itme", {}), "shop/Item"),
        (lambda: shop.query("shop/Bot"), "shop/Boot"),
        (lambda: shop.query("shop/Item", {"item/prize": 1}), "item/price"),
        (lambda: shop.get("shop/Makr"), "shop/Maker"),
        (lambda: shop.query("shop/Item", order_by="item/nam"), "item/name"),
    ):
        assert meant in (problem_of(call).hint or "")


def test_references_are_checked(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"db/ident": "my/maker"}).entity_id
    hat = item(shop, "Hat", maker="my/maker")
    assert slots_of(shop, hat)["item/maker"] == "my/maker"
    assert slots_of(shop, item(shop, "Cap", maker=maker))["item/maker"] == "my/maker"
    with refused(shop, "reference.range"):
        shop.update(hat, {"item/maker": hat})
    with refused(shop, "reference.dangling"):
        shop.update(hat, {"item/maker": 888_888})
    with refused(shop, "entity.unknown"):
        shop.update(hat, {"item/maker": "my/nobody"})
    boot = shop.create("shop/Boot", {"item/name": "B"}).entity_id
    shop.update(hat, {"item/like": [boot]})
    assert slots_of(shop, hat)["item/like"] == [boot]


def test_an_inverse_slot_shows_the_other_direction_and_cannot_be_set(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"maker/name": "M"}).entity_id
    hats = [item(shop, f"hat {n}", maker=maker) for n in range(3)]
    assert slots_of(shop, maker)["maker/items"] == hats
    shop.update(hats[0], {"item/maker": None})
    assert slots_of(shop, maker)["maker/items"] == hats[1:]
    with refused(shop, "slot.derived"):
        shop.update(maker, {"maker/items": hats})
    with refused(shop, "slot.derived"):
        shop.update(maker, add={"maker/items": hats})


def test_the_class_of_an_entity_cannot_be_changed(shop: Database) -> None:
    hat = item(shop, "Hat")
    with refused(shop, "slot.immutable"):
        shop.update(hat, {"dt/type": "shop/Boot"})
    shop.update(hat, {"dt/type": ":shop/Item"})


def test_an_ident_can_be_given_changed_and_taken_away(shop: Database) -> None:
    hat = item(shop, "Hat")
    shop.update(hat, {"db/ident": "my/hat"})
    shop.update("my/hat", {"db/ident": "my/cap"})
    assert shop.get("my/cap").entity_id == hat
    assert isinstance(problem_of(lambda: shop.get("my/hat")), NotFound)
    shop.update("my/cap", {"db/ident": None})
    assert shop.get(hat).ident is None


def test_the_core_cannot_be_changed(shop: Database) -> None:
    with refused(shop, "core.immutable"):
        shop.update("dt/Class", {"db/doc": "mine"})
    with refused(shop, "core.immutable"):
        shop.delete("dt/Resource", mode="cascade")
    with refused(shop, "core.immutable"):
        shop.update("db/ident", {"dt/required?": True})


def test_unique_values_are_refused_twice_and_free_after_deletion(shop: Database) -> None:
    first = item(shop, "A", code="c", serial=7)
    with refused(shop, "slot.not-unique"):
        item(shop, "B", code="c")
    with refused(shop, "slot.not-unique"):
        shop.create("shop/Boot", {"item/name": "B", "item/serial": 7})
    shop.delete(first)
    assert item(shop, "B", code="c", serial=7) != first


def test_a_receipt_reads_back_exactly_its_write(shop: Database) -> None:
    hat = shop.create("shop/Item", {"item/name": "0"})
    receipts = [shop.update(hat.entity_id, {"item/name": str(n)}).receipt for n in range(1, 6)]
    for n, receipt in enumerate(receipts, start=1):
        assert slots_of(shop, hat.entity_id, as_of=receipt.t)["item/name"] == str(n)
        assert slots_of(shop, hat.entity_id, as_of=receipt.instant)["item/name"] == str(n)
        assert slots_of(shop, hat.entity_id, as_of=receipt.t - 1)["item/name"] == str(n - 1)
    assert isinstance(problem_of(lambda: shop.get(hat.entity_id, as_of=hat.t - 1)), NotFound)


def test_who_and_why_are_in_the_history(place: Any, shop: Database) -> None:
    ann = place.another(principal="ann")
    hat = ann.create("shop/Item", {"item/name": "Hat"}, reason="first stock")
    shop.update(hat.entity_id, {"item/name": "Cap"}, reason="renamed: ünïcode ✓")
    shop.delete(hat.entity_id)
    entries = shop.history(hat.entity_id)
    assert [(e.principal, e.reason, e.kind) for e in entries] == [
        ("ann", "first stock", "created"),
        ("local", "renamed: ünïcode ✓", "changed"),
        ("local", None, "deleted"),
    ]
    changes = shop.changes(since=hat.t - 1)
    assert [(c.principal, c.reason) for c in changes] == [(e.principal, e.reason) for e in entries]


def test_a_problem_says_which_operation_is_wrong(shop: Database) -> None:
    operations = [
        {"op": "create", "class": "shop/Item", "slots": {"item/name": "A"}},
        {"op": "create", "class": "shop/Item", "slots": {"item/name": 1}},
        {"op": "create", "class": "shop/Item", "slots": {"item/name": "C", "item/stock": "x"}},
    ]
    problem = problem_of(lambda: shop.transact(operations))
    assert isinstance(problem, Incorrect)
    assert [finding["at"] for finding in problem.data["findings"]] == [1, 2]
    assert codes_of(problem) == {"entity.invalid", "value.type"}
    assert shop.query("shop/Item").items == []


def test_a_slot_that_is_named_twice_is_a_finding(shop: Database) -> None:
    id = item(shop, "Hat", notes=["old"])
    twice: list[dict[str, Any]] = [
        {"item/name": "a", ":item/name": "b"},
        {"item/name": "Cap", "item/stock": 1, ":item/stock": 1},
        {"item/name": "Cap", ":item/code": "1", "item/code": "2"},
        {"item/name": "Cap", "db/ident": "my/a", ":db/ident": "my/b"},
    ]
    for slots in twice:
        with refused(shop, "slot.twice"):
            shop.create("shop/Item", slots)
        with refused(shop, "slot.twice"):
            shop.update(id, slots)
    with refused(shop, "slot.twice"):
        shop.update(id, add=twice_noted("x"))
    with refused(shop, "slot.twice"):
        shop.update(id, remove=twice_noted("old"))
    shop.update(id, {":item/name": "Cap"}, add={":item/notes": "x"})


def twice_noted(note: str) -> dict[str, Any]:
    return {"item/notes": note, ":item/notes": note}


def test_every_wrong_value_of_a_slot_is_told(shop: Database) -> None:
    shop.define(
        properties={
            "x/n": {
                "dt/range": "db.type/long",
                "db/cardinality": "many",
                "dt/min": 0,
                "dt/max": 10,
            },
        }
    )
    shop.update("shop/Item", add={"dt/slots": "x/n"})

    slots = {"item/name": "Hat", "x/n": ["x", 5, 99, -5], "item/like": ["my/nobody", "my/noone"]}
    found = problem_of(lambda: shop.create("shop/Item", slots)).data["findings"]
    assert [(one["slot"], one["code"]) for one in found] == [
        ("x/n", "value.type"),
        ("x/n", "value.out-of-bounds"),
        ("x/n", "value.out-of-bounds"),
        ("item/like", "entity.unknown"),
        ("item/like", "entity.unknown"),
    ]
    assert "99" in found[1]["message"]
    assert "-5" in found[2]["message"]
    id = item(shop, "Hat")
    found = problem_of(lambda: shop.update(id, add={"x/n": [11, 12]})).data["findings"]
    assert len(found) == 2
    many = problem_of(lambda: shop.update(id, {"x/n": list(range(11, 1000))})).data["findings"]
    assert len(many) == 10
    alone = problem_of(lambda: shop.update(id, {"item/like": ["my/nobody"]}))
    assert isinstance(alone, NotFound)
