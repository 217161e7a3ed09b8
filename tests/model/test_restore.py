"""Restoring: deleted entities come back, living ones go back, today's schema decides."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar import Database, Problem
from sandbar.model import Restore
from tests.model.shop import codes_of, item


def restore(db: Database, entity: Any, to: Any = None, **more: Any) -> Any:
    """Restore one entity."""
    return db.transact([{"op": "restore", "entity": entity, "to": to, **more}])


def refused(db: Database, entity: Any, to: Any = None, **more: Any) -> Problem:
    """The refusal of a restore, which must leave everything as it was."""
    t = db.t
    with pytest.raises(Problem) as caught:
        restore(db, entity, to, **more)
    assert db.t == t
    assert caught.value.hint
    return caught.value


def test_a_deleted_entity_comes_back_as_it_was_right_before_its_end(shop: Database) -> None:
    one = item(shop, "early", code="c1", tags=["a"])
    shop.update(one, {"item/name": "late", "db/ident": "my/one"})
    before = shop.get(one)
    shop.delete(one)
    written = restore(shop, "my/one")
    assert (written.entity_id, written.ident) == (one, "my/one")
    assert written.outcomes[0].changed
    assert not written.outcomes[0].created
    assert shop.get("my/one").slots == before.slots
    assert [entry.kind for entry in shop.history(one)] == [
        "created", "changed", "deleted", "restored",
    ]  # fmt: skip
    assert shop.query("shop/Item", {"item/code": "c1"}).items[0].entity_id == one
    with pytest.raises(Problem):
        shop.get(one, as_of=written.t - 1)


def test_any_state_of_the_past_can_be_restored_by_t_or_instant(shop: Database) -> None:
    one = item(shop, "first", code="c1")
    first = shop.changes(since=shop.t - 1)[0]
    shop.update(one, {"item/name": "second", "item/stock": 5, "item/code": None})
    second = shop.t
    shop.delete(one)
    restore(shop, one, second)
    assert shop.get(one)["item/name"] == "second"
    restore(shop, one, first.t)
    assert shop.get(one).slots == shop.get(one, as_of=first.t).slots
    shop.update(one, {"item/name": "third"})
    restore(shop, one, first.instant)
    assert shop.get(one)["item/name"] == "first"
    unchanged = restore(shop, one, first.t)
    assert not unchanged.outcomes[0].changed
    assert unchanged.t == shop.t


def test_a_former_name_works_for_history_diff_and_restore(shop: Database) -> None:
    one = shop.create("shop/Item", {"item/name": "x", "item/code": "c9", "db/ident": "my/x"})
    shop.delete("my/x")
    for name in ("my/x", ":my/x", {"item/code": "c9"}, one.entity_id):
        assert [entry.kind for entry in shop.history(name)] == ["created", "deleted"]
        assert shop.diff(name, one.t)[0].removed
        with pytest.raises(Problem) as caught:
            shop.get(name)
        assert caught.value.code == "entity.unknown"
    with pytest.raises(Problem) as never:
        shop.history("my/never")
    assert never.value.code == "entity.unknown"
    restore(shop, {"item/code": "c9"})
    assert shop.get("my/x").entity_id == one.entity_id


def test_a_name_belongs_to_whoever_lives(shop: Database) -> None:
    old = shop.create("shop/Item", {"item/name": "old", "db/ident": "my/x"}).entity_id
    shop.delete(old)
    new = shop.create("shop/Item", {"item/name": "new", "db/ident": "my/x"}).entity_id
    assert len(shop.history("my/x")) == 1
    assert refused(shop, "my/x").code == "restore.living"
    problem = refused(shop, old)
    assert "slot.not-unique" in codes_of(problem)
    shop.update(new, {"db/ident": "my/y"})
    restore(shop, old)
    assert shop.get("my/x").entity_id == old
    shop.delete(old)
    shop.delete(new)
    assert shop.history("my/x")[0].t == shop.history(old)[0].t  # the last who had it


def test_what_cannot_be_restored_is_said_clearly(shop: Database) -> None:
    one = item(shop, "x")
    made = shop.t
    assert refused(shop, one).code == "restore.living"
    assert refused(shop, one, made - 1).code == "restore.not-there"
    assert refused(shop, 777_777).code == "entity.unknown"
    assert refused(shop, "no/such").code == "entity.unknown"
    assert refused(shop, one, made + 1).code == "as-of.unknown"
    assert refused(shop, one, "yesterday").code.startswith("value.")
    assert refused(shop, one, made, expect=made - 1).code == "entity.moved"
    assert refused(shop, one, 1.5).code == "operations.malformed"
    with pytest.raises(Problem) as core:
        restore(shop, "dt/Class", 1)
    assert core.value.code == "core.immutable"
    shop.delete(one)
    assert refused(shop, one, shop.t).code == "restore.not-there"
    with pytest.raises(Problem) as shaped:
        shop.transact([Restore(entity=one, to=[])])  # type: ignore[arg-type]
    assert shaped.value.code == "operations.malformed"


def test_todays_schema_decides(shop: Database) -> None:
    one = item(shop, "n", stock=5, tags=["a", "b"])
    shop.delete(one)
    shop.define(properties={"item/stock": {"dt/max": 3}})
    assert "value.out-of-bounds" in codes_of(refused(shop, one))
    shop.define(properties={"item/stock": {"dt/max": None}, "item/tags": {"db/cardinality": "one"}})
    assert "slot.single" in codes_of(refused(shop, one))
    shop.define(properties={"item/tags": {"db/cardinality": "many"}})
    shop.update("shop/Item", remove={"dt/slots": ["item/tags"]})
    assert "restore.no-slot" in codes_of(refused(shop, one))
    shop.update("shop/Item", add={"dt/slots": ["item/tags"]})
    shop.define(properties={"item/name": {"db/cardinality": "many"}})
    restore(shop, one)
    assert shop.get(one)["item/name"] == ["n"]
    assert shop.get(one)["item/tags"] == ["a", "b"]


def test_an_abstract_class_gets_no_instances_back(shop: Database) -> None:
    one = item(shop, "x")
    line = {"op": "create", "class": "shop/Line", "temp": "l", "slots": {"line/item": one}}
    order = {"op": "create", "class": "shop/Order", "temp": "o", "slots": {"order/lines": ["l"]}}
    temps = shop.transact([line, order]).temps
    shop.delete(temps["o"])
    shop.update("shop/Line", {"dt/abstract?": True})
    assert codes_of(refused(shop, temps["l"])) == {"class.abstract"}
    assert "class.abstract" in codes_of(refused(shop, temps["o"]))  # its part is one
    concrete = {"op": "update", "entity": "shop/Line", "set": {"dt/abstract?": False}}
    shop.transact([{"op": "restore", "entity": temps["o"]}, concrete])
    assert shop.get(temps["l"])["line/item"] == one


def test_references_must_have_their_targets(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"maker/name": "m"}).entity_id
    one = item(shop, "x", maker=maker)
    shop.delete(one)
    shop.delete(maker)
    assert "reference.dangling" in codes_of(refused(shop, one))
    both = [{"op": "restore", "entity": one}, {"op": "restore", "entity": maker}]
    shop.transact(both)
    assert shop.get(one)["item/maker"] == maker


def test_what_is_deleted_beside_it_is_gone_when_it_comes_back(shop: Database) -> None:
    maker = shop.create("shop/Maker", {}).entity_id
    one = item(shop, "x", maker=maker)
    ends = [{"op": "delete", "entity": id} for id in (one, maker)]
    t = shop.t
    with pytest.raises(Problem) as caught:
        shop.transact([*ends, {"op": "restore", "entity": one}])
    assert codes_of(caught.value) >= {"reference.dangling"}
    assert shop.t == t
    both = [{"op": "restore", "entity": id} for id in (one, maker)]
    assert shop.transact([*ends, *both]).t == t  # nothing has happened to either


def test_what_it_owned_comes_back_with_it(shop: Database) -> None:
    one = item(shop, "x")
    line = {"op": "create", "class": "shop/Line", "temp": "l", "slots": {"line/item": one}}
    order = {"op": "create", "class": "shop/Order", "temp": "o", "slots": {"order/lines": ["l"]}}
    temps = shop.transact([line, order]).temps
    shop.delete(temps["o"])
    restore(shop, temps["o"])
    assert shop.get(temps["o"])["order/lines"] == [temps["l"]]
    assert shop.get(temps["l"])["line/item"] == one


def test_what_it_owned_comes_back_as_it_was_at_that_moment(shop: Database) -> None:
    one = item(shop, "x")
    line = {"line/item": one, "line/count": 1}
    made = [
        {"op": "create", "class": "shop/Line", "temp": name, "slots": line} for name in ("l", "m")
    ]
    order = {"op": "create", "class": "shop/Order", "temp": "o", "slots": {"order/lines": ["l"]}}
    written = shop.transact([*made, order])
    first, temps = written.receipt, written.temps
    shop.update(temps["l"], {"line/count": 2})
    second = shop.t
    for to, count in ((first.t, 1), (first.instant, 1), (second, 2), (None, 1)):
        shop.delete(temps["o"])
        restore(shop, temps["o"], to)
        assert shop.get(temps["l"])["line/count"] == count
        if to == second:
            shop.update(temps["l"], {"line/count": 1})
    # What is there stays as it is, be it younger than the state that its owner goes back to.
    shop.update(temps["o"], {"order/lines": [temps["m"]]})
    shop.update(temps["l"], {"line/count": 9})
    restore(shop, temps["o"], first.t)
    assert shop.get(temps["o"])["order/lines"] == [temps["l"]]
    assert shop.get(temps["l"])["line/count"] == 9
    # It was owned: that the slot owns nothing by now does not keep it away.
    shop.delete(temps["o"])
    shop.update("order/lines", {"dt/component?": False})
    restore(shop, temps["o"])
    assert shop.get(temps["l"])["line/count"] == 9


def test_classes_and_properties_can_be_restored(shop: Database) -> None:
    shop.define(
        properties={"z/p": {"dt/range": "db.type/string"}}, classes={"z/C": {"dt/slots": ["z/p"]}}
    )
    one = shop.create("z/C", {"z/p": "v"}).entity_id
    shop.delete(one)
    shop.delete("z/C")
    assert refused(shop, one).code == "restore.no-class"
    restore(shop, "z/C")
    restore(shop, one)
    assert shop.get(one)["z/p"] == "v"
    shop.update("z/C", {"dt/label": "Zed"})
    restore(shop, "z/C", shop.t - 1)
    assert "dt/label" not in shop.get("z/C").slots


def test_secrets_do_not_come_back(db: Database) -> None:
    db.define(
        properties={"s/key": {"dt/range": "db.type/string", "dt/secret?": True}},
        classes={"s/S": {"dt/slots": ["s/key"]}},
    )
    one = db.create("s/S", {"s/key": "hush", "db/doc": "d"}).entity_id
    db.delete(one)
    restore(db, one)
    assert db.get(one)["db/doc"] == "d"
    assert not db.secret_matches(one, "s/key", "hush")
    db.update(one, {"s/key": "new"})
    restore(db, one, db.t - 1)
    assert db.secret_matches(one, "s/key", "new")  # a living one keeps what it has


def test_restoring_joins_an_open_transaction_and_is_undone_with_it(shop: Database) -> None:
    one, two = item(shop, "one"), item(shop, "two")
    shop.delete(one)

    def work() -> None:
        restore(shop, one)
        assert shop.get(one)["item/name"] == "one"
        shop.delete(two)
        restore(shop, two)
        assert shop.get(two)["item/name"] == "two"
        with pytest.raises(Problem):
            restore(shop, 777_777)

    t = shop.t
    shop.run(work)
    assert shop.t == t + 1
    assert shop.get(one)["item/name"] == "one"
    assert shop.get(two).t < t  # taken back within one transaction: nothing happened to it


def test_a_retry_with_the_same_key_restores_once(shop: Database) -> None:
    one = item(shop, "one")
    shop.delete(one)
    operations = [{"op": "restore", "entity": one}]
    first = shop.transact(operations, idempotency_key="k")
    again = shop.transact(operations, idempotency_key="k")
    assert again.replayed
    assert again.receipt == first.receipt
