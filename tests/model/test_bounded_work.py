"""Work that could grow without end is bounded, and what is repeated is not done twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import sandbar
from sandbar.model.documents import write_doc
from sandbar.model.operations import OPERATIONS_MAX
from sandbar.model.words import _FOLDING, fold
from sandbar.store.postgres.connection import Connection
from sandbar.store.postgres.reads import PostgresReads
from sandbar.store.wanted import LookedUp
from tests.kept_postgres import open_for_tests
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


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside a run"])
def test_definitions_are_looked_up_together(
    shared_postgres: str, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement is a way to the server and back: it took 390 of them once."""
    with open_for_tests(shared_postgres, f"test-{uuid4()}") as db:
        statements = _counted(monkeypatch)
        if inside:
            db.workspace.run(lambda: db.load_pack("zorp"), principal="test")
        else:
            shop.define(db)
            db.load_pack("zorp")
        assert 10 < statements() < 80


def test_the_count_would_notice_a_look_for_each(
    shared_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresReads, "look_up", lambda *_: LookedUp({}, {}))
    with open_for_tests(shared_postgres, f"test-{uuid4()}") as db:
        statements = _counted(monkeypatch)
        shop.define(db)
        db.load_pack("zorp")
        assert statements() > 150


def _counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many statements were sent from now on."""
    sent: list[object] = []
    execute = Connection.execute

    def counting(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        sent.append(query)
        return execute(self, query, *more, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", counting)
    return lambda: len(sent)


def test_ascii_is_folded_like_everything_else() -> None:
    for letter in map(chr, range(128)):
        text = f"a{letter}Z"
        assert fold(text) == text.translate(_FOLDING)


def test_documents_are_written_in_order_of_number_however_they_were_made() -> None:
    for keys in (["9", "10", "101"], ["101", "9", "10"], ["10", "9"], []):
        numbers = sorted(map(int, keys))
        text = "{" + ",".join(f'"{number}":{number}' for number in numbers) + "}"
        assert write_doc({key: int(key) for key in keys}) == text
