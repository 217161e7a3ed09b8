"""What the filter language means, how results are ordered, and how pages hang together."""

from __future__ import annotations

import base64
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from sandbar import Database, Incorrect, Unsupported
from sandbar.model.queries import FIELDS_MAX
from tests.model.shop import codes_of, item, problem_of, slots_of

RANGES: dict[str, list[Any]] = {
    "string": ["", "a", "A", "ab", "b", "Ünïcode", "zz", "x" * 300, "x" * 300 + "y"],
    "boolean": [False, True],
    "long": [-(2**63), -5, 0, 7, 2**53 + 1, 2**63 - 1],
    "double": [-1e308, -0.5, 0.0, 5e-324, 1.5, 1e308],
    "bigint": ["-12345678901234567890", "-1", "0", "5", "12345678901234567890"],
    "bigdec": ["-1.5", "-0.05", "0", "0.1", "1.50", "2E+30"],
    "instant": ["1969-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z"],
    "keyword": ["a", "a/b", "status/open", "z"],
    "symbol": ["a", "core/inc", "z"],
    "uuid": ["00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "uri": ["http://a.example/", "http://b.example/", "urn:x"],
    "bytes": ["", "AA==", "AQI=", "/w=="],
}
TEXTS = {"string", "keyword", "symbol", "uri"}


def typed(db: Database) -> None:
    """One class with an indexed and a plain slot, single and many, of every type."""
    properties: dict[str, dict[str, Any]] = {}
    for name in RANGES:
        base = {"dt/range": f"db.type/{name}"}
        properties[f"one/{name}"] = {**base, "dt/indexed?": True}
        properties[f"plain/{name}"] = base
        properties[f"many/{name}"] = {**base, "db/cardinality": "many", "dt/indexed?": True}
    db.define(properties=properties, classes={"my/Typed": {"dt/slots": list(properties)}})


def found(db: Database, where: dict[str, Any], cls: str = "my/Typed", **more: Any) -> list[int]:
    """The ids that a query finds, in order."""
    return [entity.entity_id for entity in db.each(cls, where, **more)]


@pytest.mark.parametrize("name", RANGES)
def test_every_operator_works_on_every_type(db: Database, name: str) -> None:
    typed(db)
    values = RANGES[name]  # in ascending order
    ids = [
        db.create(
            "my/Typed",
            {f"one/{name}": v, f"plain/{name}": v, f"many/{name}": [v, values[0]]},
        ).entity_id
        for v in values
    ]
    absent = db.create("my/Typed", {}).entity_id
    order = sorted(range(len(values)), key=lambda n: _rank(name, values[n]))
    for slot in (f"one/{name}", f"plain/{name}"):
        for n, value in enumerate(values):
            place = order.index(n)
            below, above = ([ids[k] for k in order[:place]], [ids[k] for k in order[place + 1 :]])
            assert found(db, {slot: value}) == [ids[n]], (slot, value)
            assert found(db, {slot: {"=": value}}) == [ids[n]]
            assert found(db, {slot: {"!=": value}}) == sorted({*ids, absent} - {ids[n]})
            assert sorted(found(db, {slot: {"<": value}})) == sorted(below)
            assert sorted(found(db, {slot: {"<=": value}})) == sorted([*below, ids[n]])
            assert sorted(found(db, {slot: {">": value}})) == sorted(above)
            assert sorted(found(db, {slot: {">=": value}})) == sorted([*above, ids[n]])
            if name not in TEXTS:
                assert found(db, {slot: {"contains": value}}) == [ids[n]]
        assert found(db, {slot: {"in": values[:2]}}) == ids[:2]
        assert found(db, {slot: {"in": []}}) == []
        assert found(db, {slot: {"exists": True}}) == ids
        assert found(db, {slot: {"exists": False}}) == found(db, {slot: None}) == [absent]
    assert found(db, {f"many/{name}": values[-1]}) == [ids[-1]]
    assert found(db, {f"many/{name}": {"in": values}}) == ids
    assert (
        sorted(found(db, {f"many/{name}": {">=": min(values, key=lambda v: _rank(name, v))}}))
        == ids
    )
    assert found(db, {f"many/{name}": {"!=": values[0]}}) == [absent]
    ascending = [ids[k] for k in order]
    assert found(db, {}, order_by=f"one/{name}") == [*ascending, absent]
    assert found(db, {}, order_by=f"-one/{name}") == [*ascending[::-1], absent]


def _rank(name: str, value: Any) -> Any:
    if name in ("bigint", "bigdec"):
        return float(value)
    if name == "bytes":
        return base64.b64decode(value)
    return value.rstrip("Z").encode() if isinstance(value, str) else value


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text_can_be_looked_into(db: Database, name: str) -> None:
    typed(db)
    values = RANGES[name]
    ids = {
        v: db.create("my/Typed", {f"one/{name}": v, f"plain/{name}": v}).entity_id for v in values
    }
    db.create("my/Typed", {})
    pieces = {*values, "", "a", "x", "/", ":", "http", "ï", "x" * 299, "x" * 301, "zzz", "%", "_"}
    for slot in (f"one/{name}", f"plain/{name}"):
        for piece in pieces:
            text = piece.removeprefix(":") if name == "keyword" else piece
            inside = sorted(ids[v] for v in values if text in v)
            starting = sorted(ids[v] for v in values if v.startswith(text))
            assert sorted(found(db, {slot: {"contains": piece}})) == inside, piece
            assert sorted(found(db, {slot: {"starts-with": piece}})) == starting, piece


def test_filters_combine(shop: Database) -> None:
    a, b, c = item(shop, "A", stock=1), item(shop, "B", stock=2), item(shop, "C", stock=3)
    for where, expected in (
        ({"item/name": "A", "item/stock": 1}, [a]),
        ({"item/name": "A", "item/stock": 2}, []),
        ({"or": [{"item/name": "A"}, {"item/stock": 3}]}, [a, c]),
        ({"or": [{"item/name": "A"}, {"item/name": {"in": ["B"]}}]}, [a, b]),
        ({"or": []}, []),
        ({"and": []}, [a, b, c]),
        ({}, [a, b, c]),
        (None, [a, b, c]),
        ({"not": {"item/name": "A"}}, [b, c]),
        ({"not": {}}, []),
        ({"not": {"or": [{"item/name": "A"}, {"not": {"item/stock": {">": 1}}}]}}, [b, c]),
        ({"item/stock": {">": 1, "<": 3}}, [b]),
        ({"and": [{"item/name": {">=": "A"}}, {"item/name": {"<": "C"}}]}, [a, b]),
        ({"item/name": {">": "C", "<": "A"}}, []),
        ({"item/name": "A", "or": [{"item/stock": 1}, {"item/stock": 2}]}, [a]),
    ):
        assert found(shop, where, "shop/Item") == expected, where  # type: ignore[arg-type]


def test_comparisons_of_a_many_valued_slot_hold_if_any_value_satisfies_them(
    shop: Database,
) -> None:
    both, none = item(shop, "both", tags=["a", "m", "z"]), item(shop, "none")
    where = {"item/tags": {">": "y", "<": "b"}}  # by different values
    assert found(shop, where, "shop/Item") == [both]
    assert found(shop, {"item/tags": {">=": "a"}}, "shop/Item") == [both]
    assert found(shop, {"item/tags": {"in": ["a", "m", "q"]}}, "shop/Item") == [both]
    assert found(shop, {"item/tags": {"!=": "m"}}, "shop/Item") == [none]
    assert found(shop, {"not": {"item/tags": "m"}}, "shop/Item") == [none]
    assert found(shop, {"item/tags": {"starts-with": ""}}, "shop/Item") == [both]


def test_filters_go_through_references(shop: Database) -> None:
    top = shop.create("shop/Maker", {"maker/name": "Top", "db/ident": "my/top"}).entity_id
    mid = shop.create("shop/Maker", {"maker/name": "Mid", "maker/parent": top}).entity_id
    a, b, c = item(shop, "A", maker=mid), item(shop, "B", maker=top), item(shop, "C")
    forwards: list[tuple[dict[str, Any], list[int]]] = [
        ({"item/maker": mid}, [a]),
        ({"item/maker": "my/top"}, [b]),
        ({"item/maker": {"in": [mid, ":my/top"]}}, [a, b]),
        ({"item/maker": {"maker/name": "Mid"}}, [a]),
        ({"item/maker": {"maker/name": {"starts-with": "T"}}}, [b]),
        ({"item/maker": {"maker/parent": {"maker/name": "Top"}}}, [a]),
        ({"item/maker": {"maker/parent": {"db/ident": "my/top"}}}, [a]),
        ({"item/maker": {"maker/parent": {"exists": False}}}, [b]),
        ({"item/maker": {"not": {"maker/name": "Mid"}}}, [b]),
        ({"not": {"item/maker": {"maker/name": "Mid"}}}, [b, c]),
        ({"item/maker": {"or": [{"maker/name": "Mid"}, {"maker/name": "Top"}]}}, [a, b]),
        ({"item/maker": {"exists": False}}, [c]),
        ({"item/maker": {"maker/name": "Nobody"}}, []),
    ]
    for where, expected in forwards:
        assert found(shop, where, "shop/Item") == expected, where
    backwards: list[tuple[dict[str, Any], list[int]]] = [
        ({"maker/items": {"item/name": "A"}}, [mid]),
        ({"maker/items": a}, [mid]),
        ({"maker/items": {"exists": True}}, [top, mid]),
        ({"maker/items": {"item/maker": {"maker/parent": {"exists": True}}}}, [mid]),
        ({"maker/items": {"exists": False}}, []),
    ]
    for where, expected in backwards:
        assert found(shop, where, "shop/Maker") == expected, where


def test_instances_of_subclasses_are_found_with_their_slots(shop: Database) -> None:
    shop.define(
        properties={"boot/height": {"dt/range": "db.type/long", "dt/indexed?": True}},
        classes={"shop/Boot": {"dt/slots": ["boot/height"], "dt/subclass-of": ["shop/Item"]}},
    )
    hat = item(shop, "Hat")
    boot = shop.create("shop/Boot", {"item/name": "Boot", "boot/height": 3}).entity_id
    assert found(shop, {}, "shop/Item") == [hat, boot]
    assert found(shop, {}, "shop/Boot") == [boot]
    assert found(shop, {"boot/height": 3}, "shop/Item") == [boot]
    assert found(shop, {}, "dt/Ref") == [hat, boot]
    assert set(found(shop, {}, "dt/Resource")) > {hat, boot}
    assert found(shop, {"db/ident": "shop/Boot"}, "dt/Class") == [shop.get("shop/Boot").entity_id]


def test_fields_choose_what_is_shown(shop: Database) -> None:
    item(shop, "Hat", stock=3, tags=["a"])
    entity = shop.query("shop/Item", fields=["item/name", ":item/tags"]).items[0]
    assert entity.slots == {"item/name": "Hat", "item/tags": ["a"]}
    assert shop.query("shop/Item", fields=[]).items[0].slots == {}
    assert problem_of(lambda: shop.query("shop/Item", fields=["item/nmae"])).hint
    assert problem_of(lambda: shop.query("shop/Item", fields="item/name")).hint


def make_many(shop: Database, count: int = 23) -> None:
    """Items of which every third lacks a price, with many equal prices."""
    shop.transact(
        [
            {
                "op": "create",
                "class": "shop/Boot" if n % 2 else "shop/Item",
                "slots": {
                    "item/name": f"n{n % 5}",
                    "item/price": None if n % 3 == 0 else n % 4,
                    "item/tags": [f"t{n % 2}", f"t{n % 7}", "all"],
                },
            }
            for n in range(count)
        ]
    )


QUESTIONS: list[tuple[Any, str | None]] = [
    ({}, None),
    ({}, "item/price"),
    ({}, "-item/price"),
    ({"item/name": "n3"}, "item/price"),
    ({"item/tags": "all"}, "-item/price"),
    ({"item/tags": {">=": "t"}}, None),
    ({"item/tags": {">=": "t"}}, "item/name"),
    ({"item/tags": {"in": ["t0", "t1", "all"]}}, None),
    ({"item/price": {">": 0}}, "item/price"),
    ({"item/price": {">": 0}}, "-item/price"),
    ({"item/price": {">": 0, "<": 3}}, "-item/name"),
    ({"not": {"item/name": "n1"}}, "item/name"),
]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_pages_of_every_size_add_up_to_the_whole(shop: Database, number: int) -> None:
    make_many(shop)
    where, order = QUESTIONS[number]
    whole = [e.entity_id for e in shop.query("shop/Item", where, order_by=order, limit=1000).items]
    assert len(whole) == len(set(whole)) > 2
    for size in (1, 2, 3, 5, 7, len(whole) - 1, len(whole), len(whole) + 1):
        pages = list(shop.each("shop/Item", where, page_size=size, order_by=order))
        assert [entity.entity_id for entity in pages] == whole, size


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_later_pages_show_the_moment_of_the_first(shop: Database, number: int) -> None:
    make_many(shop)
    where, order = QUESTIONS[number]
    whole = shop.query("shop/Item", where, order_by=order, limit=1000).items
    page = shop.query("shop/Item", where, order_by=order, limit=2)
    seen = list(page.items)
    step = 0
    while page.cursor is not None:
        step += 1
        target = whole[(step * 5) % (len(whole) - 1)].entity_id
        if step % 3 == 0:
            item(shop, "n3", price=1, tags=["all", "t0"])
        elif step % 3 == 1:
            shop.update(target, {"item/price": step, "item/name": "n3", "item/tags": ["q"]})
        elif step == 2:
            shop.delete(whole[-1].entity_id)
        page = shop.query("shop/Item", where, order_by=order, limit=2, cursor=page.cursor)
        seen += page.items
    assert [entity.entity_id for entity in seen] == [entity.entity_id for entity in whole]
    assert [entity.slots for entity in seen] == [entity.slots for entity in whole]


def test_a_schema_change_between_pages_does_not_disturb(shop: Database) -> None:
    make_many(shop)
    page = shop.query("shop/Item", {"item/tags": "all"}, limit=5)
    shop.update("item/tags", {"db/ident": "item/labels"})
    rest = shop.query("shop/Item", {"item/tags": "all"}, limit=100, cursor=page.cursor)
    assert len(page.items + rest.items) == 23
    assert all("item/tags" in entity.slots for entity in rest.items)


def test_queries_answer_as_of_any_moment(shop: Database) -> None:
    make_many(shop)
    moments = []
    for n in range(6):
        ids = [entity.entity_id for entity in shop.query("shop/Item", limit=100).items]
        shop.update(ids[n], {"item/price": 10 + n, "item/tags": ["new"]})
        shop.delete(ids[-1])
        moments.append(
            (shop.t, [list(shop.each("shop/Item", w, order_by=o)) for w, o in QUESTIONS])
        )
    for t, answers in moments:
        past = [list(shop.each("shop/Item", w, order_by=o, as_of=t)) for w, o in QUESTIONS]
        assert past == answers
        paged = [
            list(shop.each("shop/Item", w, order_by=o, as_of=t, page_size=4)) for w, o in QUESTIONS
        ]
        assert paged == answers


def test_a_cursor_belongs_to_its_query_and_is_not_to_be_forged(shop: Database) -> None:
    make_many(shop)
    cursor = shop.query("shop/Item", {"item/tags": "all"}, limit=3).cursor
    assert cursor is not None
    for where, order, cls in (
        ({"item/tags": "t1"}, None, "shop/Item"),
        ({"item/tags": "all"}, "item/price", "shop/Item"),
        ({"item/tags": "all"}, None, "shop/Boot"),
    ):
        problem = problem_of(partial(shop.query, cls, where, order_by=order, cursor=cursor))
        assert problem.code == "cursor.other-query"
    forged = [
        "", "x", "====", "\ud800", "ü", cursor[:-3], cursor + "AAAA", cursor[::-1], "W10", "bnVsbA",
        *(base64.urlsafe_b64encode(text).decode() for text in (
            b"[1,2,3]", b"{}", b'[0,-1,"","","",0]', b"[" * 5000,
        )),
    ]  # fmt: skip
    for word in forged:
        problem = problem_of(partial(shop.query, "shop/Item", {"item/tags": "all"}, cursor=word))
        assert isinstance(problem, Incorrect)
        assert problem.hint
    text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    parts = text.strip("[]").split(",")
    for place, value in ((1, "99999999"), (1, "-1"), (5, str(2**63)), (5, str(2**80)), (3, "7")):
        changed = ",".join([*parts[:place], value, *parts[place + 1 :]])
        word = base64.urlsafe_b64encode(f"[{changed}]".encode()).decode()
        with suppress(Incorrect):  # or another page of the same query: never a fault
            shop.query("shop/Item", {"item/tags": "all"}, cursor=word)


def test_only_indexed_slots_with_one_value_can_be_ordered_by(shop: Database) -> None:
    for slot in ("item/tags", "item/stock", "item/extra", "-item/notes"):
        problem = problem_of(partial(shop.query, "shop/Item", order_by=slot))
        assert isinstance(problem, Unsupported)
        assert problem.hint


def test_limits_are_limits(shop: Database) -> None:
    make_many(shop, 60)
    assert len(shop.query("shop/Item").items) == 50
    limits: list[Any] = [0, -1, 1001, 10**20, "5", None, 2.5, True]
    for limit in limits:
        problem = problem_of(partial(shop.query, "shop/Item", limit=limit))
        assert problem.code == "query.limit"
    big = {"item/name": {"in": [str(n) for n in range(1000)]}}
    assert shop.query("shop/Item", big).items == []
    assert slots_of(shop, shop.query("shop/Item", limit=1).items[0].entity_id)


def test_very_many_fields_are_refused_before_anybody_looks_for_them(db: Database) -> None:
    names = [f"no/slot{n}" for n in range(FIELDS_MAX)]
    assert problem_of(lambda: db.query("dt/Class", fields=names)).code == "query.invalid"
    assert problem_of(lambda: db.query("dt/Class", fields=[*names, "x/y"])).code == "query.fields"


@pytest.mark.parametrize("order", ["r/n", "-r/n"])
@pytest.mark.parametrize("is_sorted_in_memory", [True, False])
def test_pages_go_on_when_the_entity_under_the_cursor_is_purged(
    db: Database, order: str, is_sorted_in_memory: bool
) -> None:
    slots = {name: {"dt/range": "db.type/long", "dt/indexed?": True} for name in ("r/n", "r/k")}
    db.define(properties=slots, classes={"r/R": {"dt/slots": list(slots)}})
    for n in (0, 1, 1, 1, 2, None, None, None, None):
        db.create("r/R", {"r/n": n, "r/k": 7})
    ask = partial(db.query, "r/R", {"r/k": 7} if is_sorted_in_memory else None, order_by=order)
    whole = [one.entity_id for one in ask().items]
    page, met = ask(limit=1), []
    while True:
        met += [one.entity_id for one in page.items]
        db.purge(met[-1])
        if page.cursor is None:
            break
        page = ask(limit=1, cursor=page.cursor)
    assert met == whole


@pytest.mark.parametrize("where", [None, {"x/k": 1}], ids=["walked", "sorted in memory"])
def test_long_values_are_ordered_by_their_first_224_bytes(
    db: Database, where: dict[str, Any] | None
) -> None:
    slot = {"dt/indexed?": True}
    properties = {
        "x/n": {"dt/range": "db.type/string", **slot},
        "x/k": {"dt/range": "db.type/long", **slot},
    }
    db.define(properties=properties, classes={"x/C": {"dt/slots": list(properties)}})
    exact = ["a" * 223 + letter + "z" * 300 for letter in "cab"] + ["b" * 254 + n for n in "312"]
    alike = ["c" * 300 + n for n in "312"] + ["c" * 250 + n for n in "45"]
    for text in exact + alike:
        db.create("x/C", {"x/n": text, "x/k": 1})
    up = [one["x/n"] for one in db.query("x/C", where, order_by="x/n").items]
    assert up[:6] == sorted(exact)
    assert sorted(up[6:]) == sorted(alike)
    assert [one for one in up[6:] if len(one) <= 255] == alike[3:]
    down = [one["x/n"] for one in db.each("x/C", where, order_by="-x/n", page_size=2)]
    assert down == up[::-1]


def test_text_of_keywords_may_begin_with_a_colon(shop: Database) -> None:
    hat = item(shop, "Hat", tags=["state/open", "red"])
    item(shop, "Cap", tags=["estate/open"])
    shop.create("shop/Maker", {"db/ident": "maker/ann"})

    def found(slot: str, filter: Any) -> list[int]:
        return [one.entity_id for one in shop.query("shop/Item", {slot: filter}).items]

    assert found("item/tags", {"starts-with": ":state/"}) == [hat]
    assert found("item/tags", {"starts-with": "state/"}) == [hat]
    assert len(found("item/tags", {"contains": ":state"})) == 2
    assert len(found("item/tags", {"contains": ":"})) == 2
    assert found("item/name", {"starts-with": ":H"}) == []  # text is text
    named = shop.query("shop/Maker", {"db/ident": {"starts-with": ":maker/"}})
    assert [one.ident for one in named.items] == ["maker/ann"]


def test_a_reference_is_compared_with_known_names_and_with_any_id(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"db/ident": "maker/ann"}).entity_id
    hat = item(shop, "Hat", maker=maker)
    then = shop.t
    shop.delete(maker, mode="detach")

    def found(filter: Any, **more: Any) -> list[int]:
        page = shop.query("shop/Item", {"item/maker": filter}, **more)
        return [one.entity_id for one in page.items]

    for gone in (maker, str(maker), maker + 1000, {"in": [maker, maker + 1000]}):
        assert found(gone) == []
        assert shop.run(lambda: found(gone)) == []  # noqa: B023 - it is called at once
    assert found(maker, as_of=then) == [hat] == found("maker/ann", as_of=then)
    for name in ("maker/ann", "maker/nobody", {"in": ["maker/nobody", maker]}):
        assert "entity.unknown" in codes_of(problem_of(lambda: found(name)))  # noqa: B023
        assert "entity.unknown" in codes_of(problem_of(lambda: shop.run(lambda: found(name))))  # noqa: B023
