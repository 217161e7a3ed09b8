"""Functions that run as one transaction: what they see, what they undo, where they may not go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sandbar import Database, Problem, clock
from sandbar.model import waiting
from tests.model import shop as shop_model
from tests.model.conftest import Place
from tests.model.shop import item, problem_of, slots_of


def test_a_function_is_one_transaction(shop: Database) -> None:
    before = shop.t

    def work() -> list[int]:
        hat = item(shop, "Hat")
        shop.update(hat, {"item/stock": 2})
        return [hat, item(shop, "Cap", like=[hat])]

    hat, cap = shop.run(work, reason="two at once")
    assert shop.t == before + 1
    assert slots_of(shop, cap)["item/like"] == [hat]
    assert slots_of(shop, hat)["item/stock"] == 2
    assert [entry.reason for entry in shop.history(hat)] == ["two at once"]


def test_reads_inside_see_the_writes_made_so_far(shop: Database) -> None:
    outside = item(shop, "Outside", stock=1)

    def work() -> None:
        written = shop.create("shop/Item", {"db/ident": "my/hat", "item/name": "Hat"})
        assert written.t == shop.get("my/hat").t == shop.get(outside).t + 1
        assert shop.get(written.entity_id)["item/name"] == "Hat"
        maker = shop.create("shop/Maker", {"maker/name": "M"}).entity_id
        shop.update("my/hat", {"item/maker": maker})
        assert slots_of(shop, maker)["maker/items"] == ["my/hat"]
        found = shop.query("shop/Item", {"item/maker": {"maker/name": "M"}}).items
        assert [entity.ident for entity in found] == ["my/hat"]
        shop.update("my/hat", {"item/maker": None, "item/name": "Fez"})
        assert shop.query("shop/Item", {"item/name": "Hat"}).items == []
        assert len(shop.query("shop/Item", {"item/name": {">": ""}}).items) == 2
        assert "maker/items" not in slots_of(shop, maker)
        shop.delete(outside)
        assert [e.ident for e in shop.query("shop/Item").items] == ["my/hat"]
        assert problem_of(lambda: shop.get(outside)).code == "entity.unknown"

    shop.run(work)
    assert [entity.ident for entity in shop.query("shop/Item").items] == ["my/hat"]
    assert slots_of(shop, "my/hat")["item/name"] == "Fez"
    assert [entry.kind for entry in shop.history("my/hat")] == ["created"]


def test_a_receipt_inside_names_the_transaction_of_the_whole(shop: Database) -> None:
    receipts: list[int] = []

    def work() -> None:
        receipts.append(shop.create("shop/Item", {"item/name": "A"}).t)
        receipts.append(shop.create("shop/Item", {"item/name": "B"}).t)

    shop.run(work)
    assert set(receipts[-2:]) == {shop.t}


def test_expect_inside_means_what_was_read_inside(shop: Database) -> None:
    hat = item(shop, "Hat")

    def work() -> None:
        first = shop.get(hat).t
        shop.update(hat, {"item/stock": 1}, expect=first)
        second = shop.get(hat).t
        assert second > first
        shop.update(hat, {"item/stock": 2}, expect=second)
        cap = item(shop, "Cap")
        shop.update(cap, {"item/stock": 1}, expect=shop.get(cap).t)

    shop.run(work)
    assert slots_of(shop, hat)["item/stock"] == 2


def test_a_handler_that_catches_everything_still_gets_right_answers(shop: Database) -> None:
    item(shop, "Hat")

    def work() -> list[Any]:
        item(shop, "Cap")
        try:
            return [entity["item/name"] for entity in shop.query("shop/Item").items]
        except Exception:  # noqa: BLE001 - this is what careless handlers do
            return []

    assert shop.run(work) == ["Hat", "Cap"]


@pytest.mark.parametrize("raises", [False, True])
def test_so_does_one_that_catches_even_what_is_no_exception(shop: Database, raises: bool) -> None:
    item(shop, "Hat")

    def work() -> list[Any]:
        names: list[Any] = []
        try:
            names = [entity["item/name"] for entity in shop.query("shop/Item").items]
        except:  # noqa: E722 - as people write it
            if raises:
                raise LookupError("no items") from None
        item(shop, "Cap")
        return names

    assert shop.run(work) == ["Hat"]
    assert len(shop.query("shop/Item").items) == 2


def test_an_exception_undoes_everything(shop: Database) -> None:
    before = shop.t

    def work() -> None:
        item(shop, "Hat", code="h")
        assert shop.query("shop/Item").items
        item(shop, "Cap")
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        shop.run(work)
    assert shop.t == before
    assert shop.query("shop/Item").items == []
    item(shop, "Hat", code="h")


def test_a_refused_call_that_is_caught_leaves_nothing_of_itself(shop: Database) -> None:
    shop.define(
        properties={"user/password": {"dt/range": "db.type/string", "dt/secret?": True}},
        classes={"shop/User": {"dt/slots": ["user/password"]}},
    )
    user = shop.create("shop/User", {"user/password": "old"}).entity_id
    empty = shop.create("shop/User", {}).entity_id

    def work() -> None:
        hat = item(shop, "Hat", code="kept", stock=1)
        for call in (
            lambda: item(shop, "Bad", code="free", stock="x"),
            lambda: shop.update(hat, {"item/stock": 2, "item/code": "other", "item/nope": 1}),
            lambda: shop.update(user, {"user/password": "new", "user/nope": 1}),
            lambda: shop.update(empty, {"db/doc": "half", "user/nope": 1}),
            lambda: shop.delete(hat, expect=12345),
            lambda: shop.transact(
                [
                    {"op": "delete", "entity": hat},
                    {"op": "create", "class": "shop/Item", "slots": {}, "temp": "t"},
                ]
            ),
            lambda: shop.define(classes={"shop/Half": {"dt/slots": ["no/such"]}}),
        ):
            problem_of(call)
        item(shop, "Free", code="free")
        shop.create("shop/Maker", {"db/ident": "shop/Half"})

    shop.run(work)
    found = {entity["item/name"]: entity.slots for entity in shop.query("shop/Item").items}
    assert set(found) == {"Hat", "Free"}
    assert (found["Hat"]["item/stock"], found["Hat"]["item/code"]) == (1, "kept")
    assert shop.secret_matches(user, "user/password", "old")
    assert not shop.secret_matches(user, "user/password", "new")
    assert slots_of(shop, empty) == {}
    assert shop.get("shop/Half").class_ == "shop/Maker"


def test_values_given_up_inside_are_free_again_also_after_a_query(shop: Database) -> None:
    def work() -> None:
        hat = item(shop, "Hat", code="one")
        shop.update(hat, {"item/code": "two"})
        assert len(shop.query("shop/Item").items) == 1
        cap = item(shop, "Cap", code="one")
        assert shop.query("shop/Item", {"item/code": "one"}).items[0].entity_id == cap
        problem_of(lambda: item(shop, "Fez", code="two"))
        problem_of(lambda: shop.query("shop/Item", {"item/nope": 1}))
        assert shop.get(cap)["item/code"] == "one"
        shop.delete(cap)
        item(shop, "Fez", code="one")

    shop.run(work)
    assert sorted(entity["item/code"] for entity in shop.query("shop/Item").items) == ["one", "two"]


def test_a_metamodel_made_inside_can_be_used_inside(db: Database) -> None:
    def work() -> int:
        db.define(
            properties={"a/x": {"dt/range": "db.type/long", "dt/indexed?": True}},
            classes={"my/Thing": {"dt/slots": ["a/x"]}},
        )
        thing = db.create("my/Thing", {"a/x": 1}).entity_id
        assert [e.entity_id for e in db.query("my/Thing", {"a/x": 1}).items] == [thing]
        db.update(thing, {"a/x": 2})
        assert db.query("my/Thing", {"a/x": 1}).items == []
        assert db.query("my/Thing", {"a/x": 2}).items[0].entity_id == thing
        return thing

    before = db.t
    thing = db.run(work)
    assert db.t == before + 1
    assert db.get(thing)["a/x"] == 2
    assert db.query("my/Thing", {"a/x": {">": 0}}, order_by="a/x").items[0].entity_id == thing


def test_a_schema_change_inside_is_checked_against_all_data(shop: Database) -> None:
    item(shop, "Hat")

    def work() -> None:
        shop.update("item/price", {"dt/required?": True})

    assert problem_of(lambda: shop.run(work)).code == "schema.would-break"

    def repaired() -> None:
        shop.update("item/price", {"dt/required?": True})
        for entity in shop.query("shop/Item").items:
            shop.update(entity.entity_id, {"item/price": 1})

    shop.run(repaired)
    assert shop.query("shop/Item").items[0]["item/price"] == "1"


def test_a_definition_that_is_set_back_inside_is_as_it_was(shop: Database) -> None:
    hat = item(shop, "Hat")

    def work() -> None:
        shop.update("item/name", {"dt/indexed?": False})
        shop.update("item/name", {"dt/indexed?": True})

    shop.run(work)
    assert [found.entity_id for found in shop.query("shop/Item", {"item/name": "Hat"}).items] == [
        hat
    ]
    shop.update(hat, {"item/name": "Cap"})
    assert [found.entity_id for found in shop.query("shop/Item", {"item/name": "Cap"}).items] == [
        hat
    ]


@pytest.mark.parametrize(
    ("given", "slot", "change", "code"),
    [
        ({"item/serial": 5}, "item/serial", {"dt/range": "db.type/string"}, "value.type"),
        ({"item/serial": 5}, "item/serial", {"dt/range": "db.type/bigdec"}, "value.form"),
        ({"item/tags": ["a", "b"]}, "item/tags", {"db/cardinality": "one"}, "slot.single"),
    ],
)
def test_what_was_written_inside_by_other_rules_is_a_problem(
    shop: Database, given: dict[str, Any], slot: str, change: dict[str, Any], code: str
) -> None:
    def work() -> None:
        shop.create("shop/Item", {"item/name": "Hat", **given})
        shop.update(slot, change)

    problem = problem_of(lambda: shop.run(work))
    assert problem.code == "schema.would-break"
    assert problem.data["entities"][0]["findings"][0]["code"] == code
    assert shop.query("shop/Item").items == []


def test_a_key_works_inside_too(shop: Database) -> None:
    def work() -> int:
        made = shop.create("shop/Item", {"item/name": "Hat"}, idempotency_key="k").entity_id
        again = shop.create("shop/Item", {"item/name": "Hat"}, idempotency_key="k").entity_id
        assert made == again
        return made

    first = shop.run(work)
    assert shop.run(work) == first
    assert len(shop.query("shop/Item").items) == 1


def test_a_call_inside_tells_what_it_has_changed_itself(shop: Database) -> None:
    shop.define(properties={"item/pin": {"dt/range": "db.type/string", "dt/secret?": True}})
    shop.update("shop/Item", add={"dt/slots": "item/pin"})
    id = item(shop, "Hat", extra=1)

    def work() -> list[bool]:
        changes: list[dict[str, Any]] = [
            {"item/name": "Cap"},
            {"item/name": "Cap"},
            {"item/extra": True},
            {"item/extra": True},
            {"item/pin": "1234"},
            {"item/name": "Cap"},
            {"item/name": "Hat", "item/extra": 1},
        ]
        told = [shop.update(id, change).outcomes[0].changed for change in changes]
        shop.query("shop/Item")
        told.append(shop.update(id, {"item/name": "Hat"}).outcomes[0].changed)
        return told

    assert shop.run(work) == [True, False, True, False, True, False, True, False]


def test_a_function_that_changes_nothing_makes_no_transaction(shop: Database) -> None:
    before = shop.t
    assert shop.run(lambda: shop.get("shop/Item").ident) == "shop/Item"
    assert shop.t == before


def test_a_write_to_another_workspace_from_inside_is_a_problem(place: Any, shop: Database) -> None:
    other = place.another(workspace=f"{place.workspace}-other")
    same = place.another()
    before = shop.t, other.t

    def work(target: Database) -> None:
        item(shop, "Hat")
        target.create("dt/Class", {"db/ident": "my/Thing"})

    for target in (other, same):
        caught: list[BaseException] = []

        def attempt(target: Database = target, caught: list[BaseException] = caught) -> None:
            try:
                shop.run(lambda: work(target))
            except BaseException as error:  # noqa: BLE001 - looked at below
                caught.append(error)

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(5)
        assert not thread.is_alive(), "it hangs"
        assert isinstance(caught[0], Problem)
        assert caught[0].hint
    assert (shop.t, other.t) == before


def test_a_function_that_waits_for_a_thread_that_writes_does_not_hang(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "RUN_PATIENCE_S", 0.2)
    caught: list[Problem] = []

    def write() -> None:
        calls: list[Callable[[], object]] = [
            lambda: shop.create("shop/Item", {"item/name": "of the thread"}),
            lambda: shop.run(lambda: shop.create("shop/Item", {"item/name": "of its function"})),
        ]
        caught.extend(map(problem_of, calls))

    def work() -> None:
        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        thread.join(20)
        shop.create("shop/Item", {"item/name": "of the function"})

    shop.run(work)
    assert {problem.code for problem in caught} == {"write.held-up"}
    assert all("thread" in (problem.hint or "") for problem in caught)
    assert [one["item/name"] for one in shop.query("shop/Item").items] == ["of the function"]


def test_a_write_behind_a_function_that_ends_is_made(shop: Database) -> None:
    made: list[bool] = []
    queues = shop.workspace._store._writer._queues  # type: ignore[attr-defined]

    def write() -> None:
        made.append(shop.create("shop/Item", {"item/name": "Hat"}).created)

    def work() -> None:
        thread.start()
        until_s = clock.monotonic_s() + 20
        while not any(queues.values()) and clock.monotonic_s() < until_s:
            clock.pause_s(0.001)

    thread = threading.Thread(target=write)
    shop.run(work)
    thread.join(20)
    assert made == [True]


def test_a_timeout_of_the_function_itself_is_its_own(shop: Database) -> None:
    def work() -> None:
        raise TimeoutError("of the function")

    with pytest.raises(TimeoutError, match="of the function"):
        shop.run(work)


def test_a_write_from_an_event_loop_is_a_problem(shop: Database) -> None:
    hat = item(shop, "Hat")

    async def scenario() -> list[Problem]:
        calls = (
            lambda: shop.create("shop/Item", {"item/name": "x"}),
            lambda: shop.update(hat, {"item/name": "x"}),
            lambda: shop.delete(hat),
            lambda: shop.run(lambda: None),
        )
        await asyncio.to_thread(shop.update, hat, {"item/stock": 5})
        return [problem_of(call) for call in calls]

    problems = asyncio.run(scenario())
    assert {problem.code for problem in problems} == {"library.blocking-call"}
    assert all(problem.hint for problem in problems)
    assert slots_of(shop, hat)["item/stock"] == 5


def test_handlers_of_many_threads_do_not_mix(shop: Database) -> None:
    counter = item(shop, "Counter", stock=0)

    def bump() -> None:
        seen = shop.get(counter)["item/stock"]
        shop.update(counter, {"item/stock": seen + 1})

    def many() -> None:
        for _ in range(10):
            shop.run(bump)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert slots_of(shop, counter)["item/stock"] == 40


def test_the_database_cannot_be_closed_inside_a_function(place: Place) -> None:
    db = place.open()
    shop_model.define(db)

    def work() -> int:
        problem = problem_of(db.close)
        assert (problem.code, problem.hint) == ("store.inside", "close it after run has returned")
        return item(db, "Hat")

    assert db.get(db.run(work))["item/name"] == "Hat"
    other = place.open(f"{place.workspace}-other")
    db.run(other.close)  # what is not inside of this transaction
    db.close()
    assert problem_of(lambda: db.get("dt/Class")).code == "store.closed"
