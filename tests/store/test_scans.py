"""Index walks: keys, ranges, positions, probes, pages. Random ones are in test_histories.py."""

from __future__ import annotations

from itertools import product

import pytest

from sandbar.store.api import Snapshot, Store
from sandbar.store.scan import Between, Equals, Found, Position, Scan
from tests.store.writing import changing, creating, together, write

COLOUR, SIZE = 1, 2


@pytest.fixture
def shelf(store: Store, ws: int) -> list[int]:
    """Forty things of four colours and ten sizes, classes 1 and 2."""
    works = [
        creating((COLOUR, b"c%d" % (n % 4)), (SIZE, b"s%d" % (n % 10)), cls=1 + n % 2, doc=str(n))
        for n in range(40)
    ]
    return [future.result().id for future in together(store, ws, works)]


def ids(found: list[Found]) -> list[int]:
    """Only who."""
    return [row.id for row in found]


def pages(snapshot: Snapshot, scan: Scan) -> list[Found]:
    """All pages of a scan, one after the other."""
    found: list[Found] = []
    while page := snapshot.scan(scan):
        assert len(page) <= scan.limit
        found += page
        scan = scan._replace(after=Position(page[-1].key, page[-1].id))
    return found


def test_one_key_is_walked_in_order_of_id(store: Store, ws: int, shelf: list[int]) -> None:
    with store.snapshot(ws) as snapshot:
        found = snapshot.scan(Scan(Equals(COLOUR, (b"c1",)), 100))
    assert ids(found) == shelf[1::4]
    assert found[0] == Found(b"c1", shelf[1], 2, found[0].t, "1")


@pytest.mark.parametrize("as_of", [None, "now"])
@pytest.mark.parametrize("count", [2, 3, 16, 17, 40])
def test_few_and_many_keys_give_each_entity_once(
    store: Store, ws: int, shelf: list[int], count: int, as_of: str | None
) -> None:
    keys = (b"c2", b"c1", *(b"none%d" % n for n in range(count - 2)))
    write(store, ws, changing(shelf[1], begun=[(COLOUR, b"c2")], doc="both", cls=2))
    expected = sorted([*shelf[1::4], *shelf[2::4]])
    with store.snapshot(ws) as snapshot:
        t = snapshot.state.t if as_of else None
        assert ids(snapshot.scan(Scan(Equals(COLOUR, keys), 100, as_of=t))) == expected
        assert ids(snapshot.scan(Scan(Equals(COLOUR, keys), 3, as_of=t))) == expected[:3]
        assert ids(pages(snapshot, Scan(Equals(COLOUR, keys), 3, as_of=t))) == expected


@pytest.mark.parametrize("as_of", [None, "now", "then"])
def test_the_first_holders_of_many_keys(
    store: Store, ws: int, shelf: list[int], as_of: str | None
) -> None:
    with store.snapshot(ws) as snapshot:
        then = snapshot.state.t
    write(store, ws, changing(shelf[1], begun=[(COLOUR, b"c2")], ended=[(SIZE, b"s1")], doc="x"))
    of_c2 = shelf[2::4] if as_of == "then" else sorted([shelf[1], *shelf[2::4]])
    with store.snapshot(ws) as snapshot:
        t = {"now": snapshot.state.t, "then": then}.get(as_of or "")
        expected = {b"c1": shelf[1::4][:3], b"none": [], b"c2": of_c2[:3]}
        assert snapshot.holders(COLOUR, [b"c1", b"none", b"c2"], 3, t) == expected
        assert snapshot.holders(COLOUR, [b"c2", b"c2"], 100, t) == {b"c2": of_c2}
        assert (shelf[1] in snapshot.holders(SIZE, [b"s1"], 100, t)[b"s1"]) is (as_of == "then")
        assert snapshot.holders(COLOUR, [], 3, t) == {}


def test_no_keys_find_nothing(store: Store, ws: int, shelf: list[int]) -> None:
    with store.snapshot(ws) as snapshot:
        for as_of in (None, snapshot.state.t):
            assert snapshot.scan(Scan(Equals(COLOUR, ()), 100, as_of=as_of)) == []


def test_a_key_named_twice_counts_once(store: Store, ws: int, shelf: list[int]) -> None:
    with store.snapshot(ws) as snapshot:
        found = snapshot.scan(Scan(Equals(COLOUR, (b"c1", b"c1")), 100))
    assert ids(found) == shelf[1::4]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("is_past", [False, True])
def test_a_range_goes_on_after_every_position(
    store: Store, ws: int, shelf: list[int], descending: bool, is_past: bool
) -> None:
    places = sorted((b"s%d" % (n % 10), id) for n, id in enumerate(shelf))
    with store.snapshot(ws) as snapshot:
        as_of = snapshot.state.t if is_past else None
        bounds = [None, b"s3", b"s31", b"s6"]
        for low, high in product(bounds, bounds):
            inside = [p for p in places if p[0] >= (low or b"") and (high is None or p[0] < high)]
            inside.sort(reverse=descending)
            scan = Scan(Between(SIZE, low, high), 100, descending=descending, as_of=as_of)
            assert [f[:2] for f in snapshot.scan(scan)] == inside
            for number, place in enumerate(inside):
                rest = snapshot.scan(scan._replace(after=Position(*place), limit=4))
                assert [f[:2] for f in rest] == inside[number + 1 : number + 5]


@pytest.mark.parametrize("limit", [1, 7, 39, 40, 41])
def test_pages_add_up_to_one_big_page(store: Store, ws: int, shelf: list[int], limit: int) -> None:
    drives: list[Equals | Between] = [
        Equals(COLOUR, (b"c0",)),
        Equals(COLOUR, (b"c0", b"c3")),
        Between(SIZE, b"s2", None),
    ]
    with store.snapshot(ws) as snapshot:
        for drive, as_of in product(drives, (None, snapshot.state.t)):
            scan = Scan(drive, limit, as_of=as_of)
            assert pages(snapshot, scan) == snapshot.scan(scan._replace(limit=1000))


def test_classes_and_probes_narrow_a_walk(store: Store, ws: int, shelf: list[int]) -> None:
    with store.snapshot(ws) as snapshot:
        walk = Scan(Between(SIZE, None, None), 100)
        expected = {id for n, id in enumerate(shelf) if n % 2 == 1}
        assert set(ids(snapshot.scan(walk._replace(classes=(2, 9))))) == expected
        red = Equals(COLOUR, (b"c1", b"none"))
        assert set(ids(snapshot.scan(walk._replace(also=(red,))))) == set(shelf[1::4])
        small = Equals(SIZE, (b"s1",))
        both = Scan(red, 100, classes=(2,), also=(small, red))
        assert ids(snapshot.scan(both)) == [id for n, id in enumerate(shelf) if n % 20 in (1,)]


def test_a_many_valued_slot_is_met_once_per_value_in_a_range(store: Store, ws: int) -> None:
    id = write(store, ws, creating((SIZE, b"a"), (SIZE, b"b"), (SIZE, b"c"))).id
    with store.snapshot(ws) as snapshot:
        found = snapshot.scan(Scan(Between(SIZE, b"a", b"c"), 100))
    assert [(f.key, f.id) for f in found] == [(b"a", id), (b"b", id)]


def test_the_past_is_found_after_long_and_short_lives(store: Store, ws: int) -> None:
    long_lived = write(store, ws, creating((SIZE, b"v"), doc="long")).id
    flicker = write(store, ws, creating(doc="off")).id
    for _ in range(20):
        write(store, ws, changing(flicker, doc="on", begun=[(SIZE, b"v")]))
        write(store, ws, changing(flicker, doc="off", ended=[(SIZE, b"v")]))
    write(store, ws, changing(long_lived, doc="gone", ended=[(SIZE, b"v")]))
    with store.snapshot(ws) as snapshot:
        for t in range(snapshot.state.t + 1):
            expected = [long_lived] if 1 <= t < snapshot.state.t else []
            expected += [flicker] if 3 <= t < snapshot.state.t and t % 2 else []
            assert snapshot.find_as_of(SIZE, b"v", t) == expected
            assert ids(snapshot.scan(Scan(Equals(SIZE, (b"v",)), 9, as_of=t))) == expected
            assert ids(snapshot.scan(Scan(Between(SIZE, None, None), 9, as_of=t))) == expected


@pytest.mark.parametrize("as_of", [None, 20])
def test_scans_walk_the_index(store: Store, ws: int, shelf: list[int], as_of: int | None) -> None:
    scans = [
        Scan(Equals(COLOUR, (b"c1",)), 10, as_of=as_of),
        Scan(Equals(COLOUR, (b"c1", b"c2")), 10, as_of=as_of),
        Scan(Between(SIZE, b"s1", b"s3"), 10, as_of=as_of, descending=True),
        Scan(Between(SIZE, None, b"s3"), 10, as_of=as_of, after=Position(b"s2", 7)),
        Scan(Equals(COLOUR, (b"c1",)), 10, (1, 2), (Equals(SIZE, (b"s1",)),), as_of=as_of),
    ]
    with store.snapshot(ws) as snapshot:
        for scan in scans:
            plan = snapshot.explain(scan)
            assert "Seq Scan" not in plan
            assert not any(line.lstrip("|`- ").startswith("SCAN slot") for line in plan.split("\n"))
            assert "slot" in plan or "SEARCH s" in plan
