"""Judging stored instances: what is wrong is found, what is right is not, and each is met once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sandbar import Database
from sandbar.model import Judged, Walk
from sandbar.store.pieces import Change
from tests.model.shop import item, problem_of

ITEM = "shop/Item"


@contextmanager
def unchecked() -> Iterator[None]:
    """Let the metamodel change without a look at what exists."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sandbar.model.impact.report_on", lambda *_: None)
        yield


def pages(db: Database, limit: int = 100, **more: Any) -> list[Judged]:
    """All pages of a walk over the items."""
    found = [db.workspace.validity.page(ITEM, None, limit=limit, **more)]
    while (walk := found[-1].rest) is not None:
        found.append(db.workspace.validity.page(ITEM, walk, limit=limit, **more))
    return found


def errors(db: Database) -> dict[int, set[tuple[str | None, str]]]:
    """Which entity has which findings, as slots and codes."""
    return {
        one.entity_id: {(error.get("slot"), error["code"]) for error in one.errors}
        for page in pages(db)
        for one in page.invalid
    }


def test_whatever_was_written_is_valid(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"maker/name": "Acme"}).entity_id
    first = item(shop, "Hat", maker=maker, code="h-1", price="9.90")
    item(shop, "Cap", like=[first], tags=["a/b", "c/d"], extra=[1, {}])
    assert errors(shop) == {}
    assert sum(page.checked for page in pages(shop)) == shop.workspace.validity.count(ITEM) == 2


def test_a_tuple_is_one_value(shop: Database) -> None:
    shop.update("item/extra", {"dt/range": "db.type/tuple"})
    shop.update("item/notes", {"dt/range": "db.type/tuple"})
    hat = item(shop, "Hat", extra=["EU", 42], notes=[["EU", 42], ["US", 1]])
    assert errors(shop) == {}
    with unchecked():
        shop.update("item/extra", {"dt/range": "db.type/string"})
    assert errors(shop) == {hat: {("item/extra", "slot.single")}}


@pytest.mark.parametrize(
    ("property", "rule", "code"),
    [
        ("item/code", {"dt/required?": True}, "slot.required"),
        ("item/name", {"dt/one-of": ["Cap"]}, "value.not-allowed"),
        ("item/name", {"dt/pattern": "C.*"}, "value.pattern"),
        ("item/name", {"dt/max": 2}, "value.out-of-bounds"),
        ("item/notes", {"dt/range": "db.type/long"}, "value.type"),
    ],
)
def test_a_rule_that_is_not_kept_is_found(
    shop: Database, property: str, rule: dict[str, Any], code: str
) -> None:
    hat = item(shop, "Hat", notes=["one"])
    with unchecked():
        shop.update(property, rule)
    assert errors(shop) == {hat: {(property, code)}}


def test_references_are_followed(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"maker/name": "Acme"}).entity_id
    hat, cap = item(shop, "Hat"), item(shop, "Cap", maker=maker)
    shop.update(cap, {"item/like": [hat]})
    with unchecked():
        shop.update("item/like", {"dt/range": "shop/Maker"})
    assert errors(shop) == {cap: {("item/like", "reference.range")}}


def test_values_that_must_not_be_shared_are_found_on_both(shop: Database) -> None:
    hat, cap, tie = (item(shop, name, stock=n) for name, n in
                     (("Hat", 1), ("Cap", 1), ("Tie", 2)))  # fmt: skip
    with unchecked():
        shop.update("item/stock", {"db/unique": "value"})
    found = errors(shop)
    assert found == {one: {("item/stock", "slot.not-unique")} for one in (hat, cap)}
    assert tie not in found


def test_validators_and_abstract_classes_count(shop: Database) -> None:
    hat = item(shop, "Hat")
    with unchecked():
        shop.update(ITEM, {"dt/validator": 'this["item/name"] == "Cap"'})
    (found,) = pages(shop)[0].invalid
    assert (found.entity_id, found.class_) == (hat, ITEM)
    assert [error["code"] for error in found.errors] == ["class.validator"]
    with unchecked():
        shop.update(ITEM, {"dt/abstract?": True, "dt/validator": None})
    assert errors(shop) == {hat: {(None, "class.abstract")}}


def test_documents_that_no_write_could_have_made(shop: Database) -> None:
    """Whatever stands there, the answer is a finding and no crash."""
    names = {slot: str(shop.get(slot).entity_id) for slot in ("item/name", "item/like", "item/code",
             "item/maker", "item/notes", "item/price", "maker/name")}  # fmt: skip
    spoilt: dict[int, dict[str, Any]] = {}
    for slot, value in [
        ("item/maker", 9_999_999),
        ("item/maker", "x"),
        ("item/like", 5),
        ("item/like", [{}]),
        ("item/name", ["a", "b"]),
        ("item/notes", "alone"),
        ("item/code", 5),
        ("item/price", "1,5"),
        ("maker/name", "Acme"),
    ]:
        id = item(shop, f"Spoilt {slot}")
        spoilt[id] = {names["item/name"]: "fine", names[slot]: value}
    overwrite(shop, spoilt)
    assert [codes for _, codes in sorted(errors(shop).items())] == [
        {("item/maker", "reference.dangling")},
        {("item/maker", "reference.dangling")},
        {("item/like", "value.form")},
        {("item/like", "reference.dangling")},
        {("item/name", "slot.single")},
        {("item/notes", "value.form")},
        {("item/code", "value.type")},
        {("item/price", "value.malformed")},
        {("maker/name", "slot.unknown")},
    ]


def overwrite(db: Database, docs: dict[int, dict[str, Any]]) -> None:
    """Put documents in place past everything that looks at them."""
    with db._store.snapshot(db.workspace._ws) as snapshot:
        rows = {row.id: row for row in snapshot.entities(list(docs))}
    new = {id: replace(row, doc=msgspec.json.encode(docs[id]).decode()) for id, row in rows.items()}

    def spoil(tx: Any) -> None:
        tx.attribute("test", None)
        for id, row in new.items():
            tx.change(Change(id, row.cls, row.doc, (), ()), rows[id])

    db._store.submit(db.workspace._ws, spoil, alone=True).result()


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_each_instance_is_met_once(shop: Database, limit: int) -> None:
    for number in range(14):
        item(shop, f"No {number}")
    found = pages(shop, limit)
    assert sum(page.checked for page in found) == 14
    assert all(page.checked <= limit for page in found)


def test_changes_during_the_walk(shop: Database) -> None:
    """What comes later is not looked at, what goes is not missed, what changes is seen as it is."""
    ids = [item(shop, f"No {number}") for number in range(30)]
    with unchecked():
        shop.update("item/name", {"dt/pattern": "No .*"})
    first = shop.workspace.validity.page(ITEM, None, limit=10)
    assert (first.checked, first.invalid) == (10, [])
    assert first.rest is not None
    later = [item(shop, f"No {number}") for number in range(30, 50)]
    gone = ids[12:17]
    for id in gone:
        shop.delete(id)
    with unchecked():
        shop.update("item/name", {"dt/pattern": "No .*|Hat"})
        shop.update(ids[20], {"item/name": "Hat"})
        shop.update("item/name", {"dt/pattern": "No .*"})
    rest = shop.workspace.validity.page(ITEM, first.rest, limit=1000)
    assert (rest.checked, rest.rest) == (15, None)
    assert [one.entity_id for one in rest.invalid] == [ids[20]]
    again = shop.workspace.validity.page(ITEM, None, limit=1000)
    assert again.checked == 45 == len(ids) - len(gone) + len(later)


def test_a_walk_can_be_kept_as_json(shop: Database) -> None:
    for number in range(5):
        item(shop, f"No {number}")
    rest = shop.workspace.validity.page(ITEM, None, limit=3).rest
    kept = msgspec.convert(msgspec.json.decode(msgspec.json.encode(rest)), Walk)
    assert shop.workspace.validity.page(ITEM, kept, limit=3).checked == 2


def test_what_is_hidden_is_neither_counted_nor_met(shop: Database) -> None:
    shop.define(classes={"shop/Secret": {"dt/subclass-of": [ITEM]}})
    item(shop, "Hat")
    secret = shop.create("shop/Secret", {"item/name": "Plan"}).entity_id
    with unchecked():
        shop.update("item/name", {"dt/max": 1})
    assert secret in errors(shop)
    (page,) = pages(shop, hidden=["shop/Secret"])
    assert [one.ident or one.class_ for one in page.invalid] == [ITEM]
    assert shop.workspace.validity.count(ITEM, hidden=["shop/Secret"]) == page.checked == 1
    nothing = shop.workspace.validity.page("shop/Secret", None, limit=9, hidden=["shop/Secret"])
    assert nothing == Judged(0, [], None)
    assert problem_of(lambda: shop.workspace.validity.count("no/Class")).code == "class.unknown"
