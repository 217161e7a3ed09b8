"""Transactions of several operations, idempotency, and who may write at the same time."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from sandbar import Conflict, Database
from sandbar.model import Create
from tests.model.shop import item, problem_of, refused, slots_of


def create(cls: str, temp: Any = None, **slots: Any) -> dict[str, Any]:
    """A create operation; `item_name` means `item/name`."""
    named = {key.replace("_", "/", 1): value for key, value in slots.items()}
    return {"op": "create", "class": cls, "slots": named, "temp": temp}


def test_a_transaction_is_all_or_nothing(shop: Database) -> None:
    with refused(shop, "slot.required"):
        shop.transact([create("shop/Item", item_name="A"), create("shop/Item", item_stock=3)])
    assert shop.query("shop/Item").items == []


def test_operations_refer_to_each_other_by_temporary_id_also_forwards(shop: Database) -> None:
    written = shop.transact(
        [
            create("shop/Order", "order", order_lines=["one", "two"], order_number=1),
            create("shop/Line", "one", line_item="hat"),
            create("shop/Line", "two", line_item="my/cap"),
            create("shop/Item", "hat", item_name="Hat", item_maker="maker", item_like=["hat"]),
            create("shop/Item", db_ident="my/cap", item_name="Cap"),
            create("shop/Maker", "maker", maker_parent="maker"),
        ]
    )
    assert set(written.temps) == {"order", "one", "two", "hat", "maker"}
    temps = written.temps
    assert slots_of(shop, temps["order"])["order/lines"] == [temps["one"], temps["two"]]
    assert slots_of(shop, temps["one"])["line/item"] == temps["hat"]
    assert slots_of(shop, temps["two"])["line/item"] == "my/cap"
    assert slots_of(shop, temps["hat"])["item/like"] == [temps["hat"]]
    assert written.outcomes[0].entity_id == temps["order"]
    assert {entity.t for entity in shop.query("dt/Ref").items} == {written.t}


def test_one_temporary_id_names_one_entity(shop: Database) -> None:
    with refused(shop, "temp.taken"):
        shop.transact(
            [create("shop/Item", "x", item_name="A"), create("shop/Item", ":x", item_name="B")]
        )
    with refused(shop, "keyword.malformed"):
        shop.transact([create("shop/Item", item_name="A", item_maker="nobody")])


def test_a_metamodel_and_its_instances_come_in_one_transaction(db: Database) -> None:
    written = db.transact(
        [
            create("new/Thing", "thing", new_name="first", new_next="thing"),
            create("dt/Class", "cls", db_ident="new/Thing", dt_slots=["new/name", "new/next"]),
            create("dt/Property", db_ident="new/name", dt_range="db.type/string"),
            create("dt/Property", db_ident="new/next", dt_range="new/Thing"),
            create("cls", new_name="second"),
        ]
    )
    assert [entity["new/name"] for entity in db.query("new/Thing").items] == ["first", "second"]
    assert db.get(written.temps["thing"]).t == written.t


def test_a_metaclass_its_class_and_an_instance_come_in_one_transaction(db: Database) -> None:
    db.transact(
        [
            create("new/Thing", db_ident="my/thing"),
            create("new/Kind", db_ident="new/Thing", kind_color="red"),
            create(
                "dt/Class",
                db_ident="new/Kind",
                dt_slots=["kind/color"],
                **{"dt_subclass-of": ["dt/Class"]},
            ),
            create("dt/Property", db_ident="kind/color", dt_range="db.type/string"),
        ]
    )
    assert db.get("my/thing").class_ == "new/Thing"
    assert db.get("new/Thing").class_ == "new/Kind"
    assert db.get("new/Thing")["kind/color"] == "red"
    assert db.instance_of("new/Thing", "dt/Class")


def test_a_broken_metamodel_and_its_instances_are_refused_together(db: Database) -> None:
    for slots in (
        {"dt_slots": [777_777]},
        {"dt_slots": ["no/such"]},
        {"dt_subclass-of": ["new/T"]},
    ):
        before = db.t
        problem_of(
            partial(
                db.transact,
                [create("dt/Class", db_ident="new/T", **slots), create("new/T", db_ident="my/t")],
            )
        )
        assert db.t == before
    with refused(db, "class.unknown"):
        db.transact([create("new/T", db_ident="my/t")])


def test_unique_values_can_be_swapped(shop: Database) -> None:
    one, two = item(shop, "A", code="a", serial=1), item(shop, "B", code="b", serial=2)
    shop.transact(
        [
            {"op": "update", "entity": one, "set": {"item/code": "b", "item/serial": 2}},
            {"op": "update", "entity": two, "set": {"item/code": "a", "item/serial": 1}},
        ]
    )
    assert shop.get({"item/code": "a"}).entity_id == two
    assert shop.get({"item/serial": 2}).entity_id == one
    for entity, was in ((one, "a"), (two, "b")):
        assert shop.get({"item/code": was}, as_of=shop.t - 1).entity_id == entity


def test_two_creates_of_one_ident_make_one_entity(shop: Database) -> None:
    written = shop.transact(
        [
            create("shop/Item", db_ident="my/hat", item_name="Hat"),
            create("shop/Item", db_ident="my/hat", item_name="Cap"),
        ]
    )
    first, second = written.outcomes
    assert (first.created, second.created) == (True, False)
    assert first.entity_id == second.entity_id
    assert second.differs == ["item/name"]


def test_operations_happen_in_the_order_in_which_they_are_written(shop: Database) -> None:
    old = shop.create("shop/Item", {"db/ident": "my/hat", "item/name": "Old"}).entity_id
    written = shop.transact(
        [
            {"op": "delete", "entity": "my/hat"},
            create("shop/Item", "new", db_ident="my/hat", item_name="New"),
        ]
    )
    assert shop.get("my/hat").entity_id == written.temps["new"] != old
    assert slots_of(shop, "my/hat")["item/name"] == "New"
    shop.transact(
        [
            {"op": "update", "entity": "my/hat", "set": {"db/ident": "my/cap"}},
            create("shop/Item", db_ident="my/hat", item_name="Third"),
        ]
    )
    assert slots_of(shop, "my/cap")["item/name"] == "New"
    assert slots_of(shop, "my/hat")["item/name"] == "Third"


def test_what_is_made_and_deleted_in_one_transaction_leaves_no_trace(shop: Database) -> None:
    hat = item(shop, "Hat")
    shop.transact(
        [
            create("shop/Maker", "m"),
            {"op": "update", "entity": hat, "set": {"item/maker": "m"}},
            {"op": "delete", "entity": "m", "mode": "detach"},
            {"op": "update", "entity": hat, "set": {"item/stock": 5}},
        ]
    )
    assert shop.query("shop/Maker").items == []
    assert slots_of(shop, hat) == {"item/name": "Hat", "item/stock": 5, "item/fragile": False}


def test_an_entity_deleted_in_a_transaction_cannot_be_referred_to_by_it(shop: Database) -> None:
    maker = shop.create("shop/Maker", {}).entity_id
    hat = item(shop, "Hat")
    for operations in (
        [
            {"op": "delete", "entity": maker},
            {"op": "update", "entity": hat, "set": {"item/maker": maker}},
        ],
        [
            {"op": "update", "entity": hat, "set": {"item/maker": maker}},
            {"op": "delete", "entity": maker},
        ],
        [{"op": "delete", "entity": hat}, {"op": "update", "entity": hat, "set": {}}],
    ):
        before = shop.t
        problem_of(partial(shop.transact, operations))
        assert shop.t == before


def test_the_same_key_gets_the_same_receipt_and_writes_nothing(shop: Database) -> None:
    slots = {"item/name": "Hat"}
    first = shop.create("shop/Item", slots, idempotency_key="k1")
    t = shop.t
    again = shop.create("shop/Item", slots, idempotency_key="k1")
    assert again.receipt == first.receipt
    assert again.outcomes == first.outcomes
    assert (first.replayed, again.replayed) == (False, True)
    assert shop.t == t
    assert len(shop.query("shop/Item").items) == 1


def test_a_key_covers_updates_deletes_transactions_and_writes_that_change_nothing(
    shop: Database,
) -> None:
    hat = item(shop, "Hat", tags=["a"])
    noop = shop.update(hat, {"item/name": "Hat"}, idempotency_key="noop")
    shop.update(hat, {"item/name": "Cap"})
    assert shop.update(hat, {"item/name": "Hat"}, idempotency_key="noop").receipt == noop.receipt
    assert slots_of(shop, hat)["item/name"] == "Cap"
    operations = [create("shop/Item", "x", item_name="A"), create("shop/Item", item_name="B")]
    first = shop.transact(operations, idempotency_key="tx")
    again = shop.transact(operations, idempotency_key="tx")
    assert (again.receipt, again.temps, again.outcomes) == (
        first.receipt, first.temps, first.outcomes,
    )  # fmt: skip
    shop.delete(hat, idempotency_key="gone")
    assert shop.delete(hat, idempotency_key="gone").outcomes[0].deleted == [hat]


def test_a_key_used_for_other_arguments_is_a_conflict(shop: Database) -> None:
    shop.create("shop/Item", {"item/name": "Hat"}, idempotency_key="k")
    with refused(shop, "idempotency.mismatch") as problems:
        shop.create("shop/Item", {"item/name": "Cap"}, idempotency_key="k")
    assert isinstance(problems[0], Conflict)
    with refused(shop, "idempotency.mismatch"):
        shop.delete(1000, idempotency_key="k")


def test_a_refused_request_does_not_use_up_its_key(shop: Database) -> None:
    with refused(shop, "slot.required"):
        shop.create("shop/Item", {}, idempotency_key="k")
    assert shop.create("shop/Item", {"item/name": "Hat"}, idempotency_key="k").created


def test_keys_of_different_principals_are_different(place: Any, shop: Database) -> None:
    ann = place.another(principal="ann")
    mine = shop.create("shop/Item", {"item/name": "Hat"}, idempotency_key="k")
    hers = ann.create("shop/Item", {"item/name": "Hers"}, idempotency_key="k")
    assert mine.entity_id != hers.entity_id


def test_duplicates_from_many_threads_write_once(place: Any, shop: Database) -> None:
    other = place.another()
    answers: list[Any] = []
    start = threading.Barrier(8)

    def send(n: int) -> None:
        start.wait()
        target = other if n % 2 else shop
        answers.append(
            target.create("shop/Item", {"item/name": "Hat"}, idempotency_key="once").receipt
        )

    threads = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(answers) == 8
    assert len(set(map(str, answers))) == 1
    assert len(shop.query("shop/Item").items) == 1


def test_concurrent_writers_of_a_unique_value_leave_one_winner(place: Any, shop: Database) -> None:
    other = place.another()
    outcomes: list[str] = []

    def send(n: int) -> None:
        try:
            (other if n % 2 else shop).create("shop/Item", {"item/name": "N", "item/code": "same"})
            outcomes.append("made")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared below
            outcomes.append(getattr(error, "code", repr(error)))

    threads = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["entity.invalid"] * 7 + ["made"]


class _Hat(Create, frozen=True, kw_only=True, tag_field="op", tag="create"):
    """An operation as somebody's own program may make them."""


def test_an_operation_may_be_of_a_class_of_ones_own(shop: Database) -> None:
    hat = _Hat(class_="shop/Item", slots={"item/name": "Hat"})
    plain = {"op": "create", "class": "shop/Item", "slots": {"item/name": "Cap"}}
    for operations in ([hat], [hat, plain], [plain, hat]):
        assert [outcome.created for outcome in shop.transact(operations).outcomes] == [True] * len(
            operations
        )
    wrong = _Hat(class_="shop/Item", slots={1: "Hat"})  # type: ignore[dict-item]
    assert problem_of(lambda: shop.transact([wrong])).code == "operations.malformed"


def test_definitions_and_restored_entities_are_safe_to_repeat(shop: Database) -> None:
    note = {"note/text": {"dt/range": "db.type/string"}}
    first = shop.define(properties=note, idempotency_key="define")
    hat = item(shop, "Hat")
    shop.delete(hat)
    back = shop.restore(hat, idempotency_key="restore")
    t = shop.t
    assert shop.define(properties=note, idempotency_key="define").receipt == first.receipt
    assert shop.restore(hat, idempotency_key="restore").receipt == back.receipt
    assert shop.t == t
    with refused(shop, "idempotency.mismatch"):
        shop.restore(hat, to=1, idempotency_key="restore")


def test_the_receipt_of_a_write_that_changes_nothing_names_one_transaction(shop: Database) -> None:
    hat = item(shop, "Hat")
    last = shop.changes(since=shop.t - 1)[0]
    receipt = shop.update(hat, {"item/name": "Hat"}).receipt
    assert (receipt.t, receipt.instant) == (last.t, last.instant)
