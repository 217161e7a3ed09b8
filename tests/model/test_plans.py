"""No query of an index-able kind walks a whole table, or more of an index than it has results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from sandbar import Database
from sandbar.model.values import VALUE_TYPES
from sandbar.store.scan import Equals, Scan
from tests.model.conftest import Place
from tests.model.recording import recorded
from tests.model.shop import define

EACH = 3  # items share a name, a tag and a maker
MAKERS = 167
ITEMS = MAKERS * EACH
PAGE = 5

Walk = tuple[str, ...]  # a slot and the values that are looked up in it; or the range of a slot
RANGE, DOWN = "a range", "a range, downwards"


@dataclass
class Question:
    """A query of items, how many it finds, and the walks that find them."""

    where: dict[str, Any] | None
    results: int
    walks: list[Walk]
    order: str | None = None
    limit: int = 50


BY_MAKER = ("item/maker", "my/m7")
M7 = ("maker/name", "m007")

QUESTIONS = {
    "equality": Question({"item/name": "n007"}, 3, [("item/name", "n007")]),
    "equality as an operator": Question({"item/name": {"=": "n007"}}, 3, [("item/name", "n007")]),
    "nothing is equal": Question({"item/name": "none"}, 0, [("item/name", "none")]),
    "many-valued": Question({"item/tags": "t/t7"}, 3, [("item/tags", "t/t7")]),
    "in": Question({"item/name": {"in": ["n007", "n009"]}}, 6, [("item/name", "n007", "n009")]),
    "or of equalities": Question(
        {"or": [{"item/name": "n007"}, {"item/name": "n009"}]}, 6, [("item/name", "n007", "n009")]
    ),
    "unique": Question({"item/code": "c21"}, 1, [("item/code", "c21")]),
    "unique before equal": Question(
        {"item/tags": "t/all", "item/code": "c21"}, 1, [("item/code", "c21")]
    ),
    "ident": Question({"db/ident": "my/i21"}, 1, [("db/ident", "my/i21")]),
    "equality and a range": Question(
        {"item/price": {">": 10}, "item/name": "n007"}, 3, [("item/name", "n007")]
    ),
    "two equalities": Question(
        # The first is looked at twice: whether it is rare enough, and then for its rows.
        {"item/name": "n007", "item/tags": "t/all"},
        3,
        [("item/name", "n007")] * 2,
    ),
    "range": Question({"item/price": {">": 20, "<": 24}}, 3, [("item/price", RANGE)]),
    "range upwards": Question({"item/price": {">=": ITEMS - 3}}, 3, [("item/price", RANGE)]),
    "range downwards": Question({"item/price": {"<=": 2}}, 3, [("item/price", RANGE)]),
    "range in an and": Question(
        {"and": [{"item/price": {">": 20}}, {"item/price": {"<": 24}}]}, 3, [("item/price", RANGE)]
    ),
    "starts-with": Question({"item/name": {"starts-with": "n00"}}, 30, [("item/name", RANGE)]),
    "ordering": Question(None, PAGE, [("item/price", RANGE)], "item/price", PAGE),
    "ordering downwards": Question(None, PAGE, [("item/price", DOWN)], "-item/price", PAGE),
    "range with ordering": Question(
        {"item/price": {">=": 20}}, PAGE, [("item/price", RANGE)], "item/price", PAGE
    ),
    "equality with ordering": Question(
        {"item/name": "n007"}, 3, [("item/name", "n007")] * 2, "-item/price"
    ),
    "reference": Question({"item/maker": "my/m7"}, 3, [BY_MAKER]),
    "through a reference": Question({"item/maker": {"maker/name": "m007"}}, 3, [M7, BY_MAKER]),
    "through two": Question(
        {"item/maker": {"maker/parent": {"maker/name": "m008"}}},
        3,
        [("maker/name", "m008"), ("maker/parent", "my/m8"), BY_MAKER],
    ),
    "through a range": Question(
        {"item/maker": {"maker/name": {"starts-with": "m007"}}},
        3,
        [("maker/name", RANGE), BY_MAKER],
    ),
    "through no reference": Question(
        {"item/maker": {"maker/name": "none"}}, 0, [("maker/name", "none")]
    ),
    "a page of the class": Question(
        None, PAGE, [("dt/type", "shop/Item", "shop/Boot")], None, PAGE
    ),
}


def slots_of(n: int) -> dict[str, Any]:
    """What an item holds; another number gives other values of everything that is indexed."""
    return {
        "item/name": f"n{n // EACH:03}",
        "item/price": n,
        "item/tags": [f"t/t{n // EACH}", "t/all"],
        "item/maker": f"my/m{n // EACH}",
    }


def stock(db: Database) -> int:
    """Many items, all of which change afterwards; returns the moment before that."""
    define(db)
    makers = [{"db/ident": f"my/m{k}", "maker/name": f"m{k:03}"} for k in range(MAKERS)]
    for k, slots in enumerate(makers):
        slots["maker/parent"] = f"my/m{(k + 1) % MAKERS}"
    items = [{"db/ident": f"my/i{n}", "item/code": f"c{n}", **slots_of(n)} for n in range(ITEMS)]
    db.transact(
        [{"op": "create", "class": "shop/Maker", "slots": slots} for slots in makers]
        + [
            {"op": "create", "class": "shop/Boot" if n % 2 else "shop/Item", "slots": slots}
            for n, slots in enumerate(items)
        ]
    )
    then = db.t
    db.transact(
        [
            {"op": "update", "entity": f"my/i{n}", "set": slots_of((n + 60) % ITEMS)}
            for n in range(ITEMS)
        ]
    )
    return then


@dataclass
class Stocked:
    """The shop with its items, and a moment before all of them changed."""

    db: Database
    then: int

    def expected(self, walk: Walk) -> tuple[int, Any]:
        """The number of a slot, and the keys of the values or the kind of the range."""
        slot, *values = walk
        number = self.db.get(slot).entity_id
        if values[0] in (RANGE, DOWN):
            return number, values[0]
        kind = self.db.schema.range(slot)
        if kind in VALUE_TYPES:
            return number, {VALUE_TYPES[kind].index_key(value) for value in values}
        key = VALUE_TYPES["db.type/ref"].index_key
        return number, {key(self.db.get(value).entity_id) for value in values}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def stocked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stocked]:
    """One for all questions."""
    if request.param == "sqlite":
        address = str(tmp_path_factory.mktemp("plans") / "plans.db")
    else:
        address = request.getfixturevalue("shared_postgres")
    place = Place(request.param, address)
    db = place.open()
    yield Stocked(db, stock(db))
    place.close()


def walked(scan: Scan) -> tuple[int, Any]:
    """What a scan walks, said as `Stocked.expected` says it."""
    if isinstance(scan.drive, Equals):
        return scan.drive.property, set(scan.drive.keys)
    return scan.drive.property, DOWN if scan.descending else RANGE


@pytest.mark.parametrize("moment", ["now", "then"])
@pytest.mark.parametrize("what", QUESTIONS)
def test_a_query_walks_the_index_of_its_filter_and_little_more_than_its_results(
    stocked: Stocked, what: str, moment: str
) -> None:
    question = QUESTIONS[what]
    expected = [stocked.expected(walk) for walk in question.walks]
    as_of = stocked.then if moment == "then" else None
    stocked.db.query("shop/Item", limit=1, as_of=as_of)  # the schema of the moment is at hand
    with recorded() as asked:
        page = stocked.db.query(
            "shop/Item", question.where, order_by=question.order, limit=question.limit, as_of=as_of
        )
    assert len(page.items) == question.results
    assert [walked(scan) for scan, _ in asked.scans] == expected
    assert {scan.as_of for scan, _ in asked.scans} == {as_of}
    assert asked.rows <= 2 * question.results + 4


@pytest.mark.parametrize("moment", ["now", "then"])
@pytest.mark.parametrize("order", [None, "item/price", "-item/price"])
def test_the_next_page_begins_where_the_last_one_ended(
    stocked: Stocked, order: str | None, moment: str
) -> None:
    as_of = stocked.then if moment == "then" else None
    seen: list[int] = []
    cursor = None
    for _ in range(20):
        with recorded() as asked:
            page = stocked.db.query(
                "shop/Item", order_by=order, limit=PAGE, cursor=cursor, as_of=as_of
            )
        seen += [item.entity_id for item in page.items]
        cursor = page.cursor
        assert asked.rows == PAGE + 1
    assert len(set(seen)) == 20 * PAGE


def test_a_subclass_is_looked_for_in_the_same_index(stocked: Stocked) -> None:
    with recorded() as asked:
        found = stocked.db.query("shop/Boot", {"item/name": "n007"}).items
    assert [walked(scan) for scan, _ in asked.scans] == [stocked.expected(("item/name", "n007"))]
    assert 0 < len(found) == asked.rows < EACH


def test_a_filter_without_an_index_walks_the_class(stocked: Stocked) -> None:
    """The control: such a walk is seen for what it is."""
    with recorded() as asked:
        stocked.db.query("shop/Item", {"item/stock": {">": 7}})
    everything = stocked.expected(("dt/type", "shop/Item", "shop/Boot"))
    assert {walked(scan)[0] for scan, _ in asked.scans} == {everything[0]}
    assert asked.rows == ITEMS


@pytest.mark.parametrize("what", QUESTIONS)
def test_every_plan_searches_an_index(stocked: Stocked, what: str) -> None:
    question = QUESTIONS[what]
    plan = stocked.db.explain("shop/Item", question.where, order_by=question.order)
    assert "SEARCH" in plan or "Index" in plan
    for line in plan.upper().splitlines():
        for walk in ("SEQ SCAN", "SCAN ENTITY", "SCAN SLOT", "SCAN E ", "SCAN S "):
            assert walk not in f"{line} ", plan


def test_every_class_can_be_listed_by_index(stocked: Stocked) -> None:
    plan = stocked.db.explain("dt/Resource").upper()
    assert "SEQ SCAN" not in plan
    assert "SCAN ENTITY" not in plan
    assert "SCAN SLOT" not in plan


def test_an_index_made_later_is_used(shop: Database) -> None:
    for n in range(20):
        shop.create("shop/Item", {"item/name": "n", "item/stock": n})

    def rows() -> int:
        with recorded() as asked:
            assert len(shop.query("shop/Item", {"item/stock": 7}).items) == 1
        return asked.rows

    assert rows() == 20
    shop.update("item/stock", {"dt/indexed?": True})
    shop.schema.classes()
    assert rows() == 1
    shop.update("item/stock", {"dt/indexed?": False})
    shop.schema.classes()
    assert rows() == 20
