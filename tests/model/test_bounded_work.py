"""Work that could grow without end is bounded, and what is repeated is not done twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import sandbar
from sandbar.findings import FINDINGS_MAX
from sandbar.model.documents import write_doc
from sandbar.model.operations import OPERATIONS_MAX
from sandbar.model.words import _FOLDING, fold
from sandbar.suggestions import SUGGESTIONS_MAX, did_you_mean
from tests.model import shop


@pytest.fixture
def graph(db: sandbar.Database) -> sandbar.Database:
    """Nodes that refer to each other, with the other direction derived."""
    db.define(
        properties={
            "x/r": {"dt/range": "x/N"},
            "x/inv": {"dt/range": "x/N", "db/cardinality": "many", "dt/inverse-of": "x/r"},
            "x/n": {"dt/range": "db.type/long"},
            "x/tags": {"dt/range": "db.type/long", "db/cardinality": "many"},
        },
        classes={"x/N": {"dt/slots": ["x/r", "x/inv", "x/n", "x/tags"]}},
    )
    return db


def crowd(db: sandbar.Database, hub: int, count: int) -> None:
    """So many nodes that refer to the hub."""
    for start in range(0, count, OPERATIONS_MAX):
        some = range(start, min(count, start + OPERATIONS_MAX))
        db.transact(
            [{"op": "create", "class": "x/N", "slots": {"x/r": hub, "x/n": n}} for n in some]
        )


def test_siblings_through_an_inverse_are_looked_at_once(graph: sandbar.Database) -> None:
    hub = graph.create("x/N", {}).entity_id
    crowd(graph, hub, 2000)
    start = time.perf_counter()
    assert graph.query("x/N", {"x/r": {"x/inv": {"x/n": -1}}}).items == []
    assert time.perf_counter() - start < 3  # it took ten seconds when each looked at all


def test_detach_is_capped(graph: sandbar.Database) -> None:
    hub = graph.create("x/N", {}).entity_id
    crowd(graph, hub, OPERATIONS_MAX + 1)
    before = graph.t
    for mode in ("detach", "cascade"):
        with pytest.raises(sandbar.Incorrect) as caught:
            graph.delete(hub, mode=mode)
        assert caught.value.code == "delete.too-many"
    with pytest.raises(sandbar.Conflict, match="over 10000 times"):
        graph.delete(hub)
    assert graph.t == before


def test_a_slot_cannot_grow_beyond_its_limit_by_adding(graph: sandbar.Database) -> None:
    id = graph.create("x/N", {"x/tags": list(range(9_000))}).entity_id
    with pytest.raises(sandbar.Incorrect) as caught:
        graph.update(id, add={"x/tags": list(range(9_000, 11_000))})
    assert caught.value.code == "slot.too-many-values"


def test_calls_inside_a_run_cost_the_same_however_many_there_were(graph: sandbar.Database) -> None:
    def spent(count: int) -> float:
        def work() -> float:
            start = time.perf_counter()
            for n in range(count):
                graph.create("x/N", {"x/n": n})
            return time.perf_counter() - start

        return graph.run(work) / count

    few = min(spent(300) for _ in range(3))
    many = min(spent(3000) for _ in range(3))
    assert many < 6 * few  # it was twelve times as much when each call copied all before it


def test_ascii_is_folded_like_everything_else() -> None:
    for letter in map(chr, range(128)):
        text = f"a{letter}Z"
        assert fold(text) == text.translate(_FOLDING)


def test_documents_are_written_in_order_of_number_however_they_were_made() -> None:
    for keys in (["9", "10", "101"], ["101", "9", "10"], ["10", "9"], []):
        numbers = sorted(map(int, keys))
        text = "{" + ",".join(f'"{number}":{number}' for number in numbers) + "}"
        assert write_doc({key: int(key) for key in keys}) == text


WRONG = [f"p/some-slot-nam-{n}" for n in range(1000)]
WRONG_CALLS: dict[str, Callable[[sandbar.Database], Any]] = {
    "slots of one entity": lambda db: db.create("p/P", dict.fromkeys(WRONG, "x")),
    "slots of many": lambda db: db.transact(
        [{"op": "create", "class": "p/P", "slots": {name: "x"}} for name in WRONG]
    ),
    "references": lambda db: db.transact(
        [{"op": "create", "class": "p/P", "slots": {"p/ref": name}} for name in WRONG]
    ),
    "entities": lambda db: db.transact([{"op": "update", "entity": name} for name in WRONG]),
    "references by what they say": lambda db: db.transact(
        [
            {"op": "create", "class": "p/P", "slots": {"p/ref": f"Some Name {n}"}}
            for n in range(1000)
        ]
    ),
    "ranges": lambda db: db.define(
        properties={f"q/{n}": {"dt/range": f"db.type/integer-{n}"} for n in range(1000)}
    ),
    "words of others": lambda db: db.define(
        properties={f"q/{n}": {"dt/range": "db.type/string", "enum": []} for n in range(1000)}
    ),
    "classes": lambda db: db.transact([{"op": "create", "class": name} for name in WRONG]),
    "operations": lambda db: db.transact([{"op": "create", name: 1} for name in WRONG[:500]]),
    "values of a filter": lambda db: db.query("p/P", {"p/ref": {"in": WRONG}}),
    "slots of a filter": lambda db: db.query(
        "p/P", {"and": [dict.fromkeys(WRONG[at : at + 100]) for at in range(0, 1000, 100)]}
    ),
    "fields": lambda db: db.query("p/P", fields=WRONG),
}


@pytest.mark.parametrize("what", WRONG_CALLS)
def test_a_thousand_wrong_names_are_refused_at_once(db: sandbar.Database, what: str) -> None:
    """Each took five milliseconds to guess what was meant, on the writer's thread."""
    slots: dict[str, dict[str, Any]] = {
        f"p/some-slot-name-{n}": {"dt/range": "db.type/string"} for n in range(150)
    }
    slots["p/ref"] = {"dt/range": "p/P"}
    db.define(properties=slots, classes={"p/P": {"dt/slots": list(slots)}})
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        with pytest.raises(sandbar.Problem) as caught:
            WRONG_CALLS[what](db)
        spent.append(time.perf_counter() - start)
    # Tens of milliseconds, with reserves; it took five seconds. PostgreSQL is asked for each value
    # of a filter, which takes a way to the server and back.
    is_far = what == "values of a filter" and not db.reads_in_microseconds
    assert min(spent) < (3 if is_far else 0.5)
    found = caught.value.data["findings"]
    assert len(found) == FINDINGS_MAX
    assert caught.value.data["left-out"] == 1000 - FINDINGS_MAX
    assert caught.value.message.endswith("(and 999 more)")
    guesses = {one["hint"] for one in found if "did you mean" in one["hint"]}
    assert len(guesses) <= SUGGESTIONS_MAX


def test_one_name_that_is_wrong_many_times_is_always_guessed(db: sandbar.Database) -> None:
    shop.define(db)
    wrong = {"op": "create", "class": "shop/Item", "slots": {"item/nmae": "x"}}
    with pytest.raises(sandbar.Problem) as caught:
        db.transact([wrong] * 50)
    about = [one for one in caught.value.data["findings"] if one["slot"] == "item/nmae"]
    assert len(about) == 50
    assert all("did you mean item/name" in one["hint"] for one in about)


def test_what_many_entities_lack_is_found_without_looking_at_each_for_each(
    db: sandbar.Database,
) -> None:
    db.define(
        properties={"n/n": {"dt/range": "db.type/long", "dt/required?": True}},
        classes={"n/N": {"dt/slots": ["n/n"]}},
    )
    start = time.perf_counter()
    with pytest.raises(sandbar.Problem) as caught:
        db.transact([{"op": "create", "class": "n/N"}] * OPERATIONS_MAX)
    assert time.perf_counter() - start < 3  # it took seconds more
    data = caught.value.data
    assert data["left-out"] == OPERATIONS_MAX - FINDINGS_MAX
    assert [one["at"] for one in data["findings"]] == list(range(FINDINGS_MAX))


@pytest.mark.parametrize("name", ["p/some-slot-nam", "nam", "slotname9", "q/other", "Integer"])
def test_what_was_meant_is_found_in_time_that_grows_with_the_names(name: str) -> None:
    def spent(count: int) -> float:
        names = [f"p{n % 50}/some-slot-name-{n}" for n in range(count)]
        start = time.perf_counter()
        did_you_mean(name, names)
        return time.perf_counter() - start

    few = min(spent(2_000) for _ in range(5))
    many = min(spent(20_000) for _ in range(3))
    assert many < 40 * few + 0.02, "ten times as many names"
    assert many < 0.25  # of so many names; a request asks five times at most
