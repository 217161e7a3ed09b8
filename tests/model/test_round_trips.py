"""To a database far away each statement is a way there and back: many things are asked in few.

`sent` counts statements to PostgreSQL; SQLite must give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from sandbar import Database
from sandbar.model.filter_evaluation import Evaluator
from sandbar.model.naming import Names
from sandbar.store.postgres.connection import Connection
from sandbar.store.postgres.reads import PostgresReads
from sandbar.store.wanted import LookedUp
from tests.kept_postgres import open_for_tests
from tests.model import shop
from tests.model.conftest import Place

MAKERS, ITEMS = 60, 180  # item n has maker n % 60
MAKER = [f"maker/m{n}" for n in range(MAKERS)]

# What is asked for: a class, a filter, and how many there are.
QUESTIONS: dict[str, tuple[str, dict[str, Any], int]] = {
    "names in a list": ("shop/Item", {"item/maker": {"in": MAKER}}, ITEMS),
    "through a reference": ("shop/Item", {"item/maker": {"maker/name": {"contains": "1"}}}, 45),
    "through two": ("shop/Line", {"line/item": {"item/maker": {"maker/name": {"!=": "1"}}}}, 177),
    "not through": ("shop/Item", {"not": {"item/maker": {"maker/name": "1"}}}, 177),
    "either way": (
        "shop/Item",
        {"or": [{"item/maker": {"maker/name": {"contains": "9"}}}, {"item/name": "0"}]},
        19,
    ),
    "derived slots": ("shop/Maker", {}, MAKERS),
    "through a derived slot": (
        "shop/Maker",
        {"maker/items": {"item/name": {"contains": "17"}}},
        11,
    ),
    "a derived slot exists": ("shop/Maker", {"maker/items": {"exists": True}}, MAKERS),
}


def fill(db: Database) -> None:
    """Makers, what they make, and a line about each of that."""
    shop.define(db)
    makers = [
        {"op": "create", "class": "shop/Maker", "slots": {"db/ident": name, "maker/name": str(n)}}
        for n, name in enumerate(MAKER)
    ]
    items = [
        {
            "op": "create",
            "class": "shop/Item",
            "temp": f"i{n}",
            "slots": {"item/name": str(n), "item/maker": MAKER[n % MAKERS]},
        }
        for n in range(ITEMS)
    ]
    lines = [
        {"op": "create", "class": "shop/Line", "slots": {"line/item": f"i{n}"}}
        for n in range(ITEMS)
    ]
    db.transact(makers + items + lines)


def answers(db: Database, as_of: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """What each question is answered with."""
    return {
        name: [one.slots for one in db.query(kind, where, limit=500, as_of=as_of).items]
        for name, (kind, where, _) in QUESTIONS.items()
    }


@pytest.fixture
def far(shared_postgres: str) -> Database:
    """A workspace with much in it, on PostgreSQL."""
    db = open_for_tests(shared_postgres, f"test-{uuid4()}")
    fill(db)
    return db


def test_both_stores_answer_alike_now_then_and_inside_a_run(pair: tuple[Place, Place]) -> None:
    told = []
    for place in pair:
        db = place.workspace_of_tests()
        fill(db)
        t, now = db.t, answers(db)
        assert {name: len(found) for name, found in now.items()} == {
            name: count for name, (_, _, count) in QUESTIONS.items()
        }
        assert db.run(partial(answers, db)) == now
        db.transact(
            [{"op": "update", "entity": name, "set": {"maker/name": "x"}} for name in MAKER]
        )
        assert answers(db, as_of=t) == now
        assert answers(db) != now
        told.append(now)
    assert told[0] == told[1]


@pytest.mark.parametrize("is_past", [False, True], ids=["now", "then"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_neighbours_of_all_rows_are_asked_for_together(
    far: Database, question: str, is_past: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = far.t if is_past else None
    far.update(MAKER[0], {"db/doc": "changed"})
    kind, where, count = QUESTIONS[question]
    far.query(kind, where, limit=1, as_of=t)  # the schema of then is at hand
    sent = counted(monkeypatch)
    assert len(far.query(kind, where, limit=500, as_of=t).items) == count
    assert 0 < sent() < 16


@pytest.mark.parametrize(
    ("question", "where", "what"),
    [
        ("through a reference", Evaluator, "look_ahead"),
        ("not through", Evaluator, "look_ahead"),
        ("through a derived slot", Evaluator, "look_ahead"),
        ("names in a list", Names, "expect"),
    ],
)
def test_the_count_would_notice_one_by_one(
    far: Database, question: str, where: type, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, what, lambda *_: None)
    kind, asked, count = QUESTIONS[question]
    sent = counted(monkeypatch)
    assert len(far.query(kind, asked, limit=500).items) == count
    assert sent() >= MAKERS


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside a run"])
def test_definitions_are_looked_up_together(
    shared_postgres: str, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement is a way to the server and back: it took 390 of them once."""
    with open_for_tests(shared_postgres, f"test-{uuid4()}") as db:
        sent = counted(monkeypatch)
        if inside:
            db.workspace.run(lambda: db.load_pack("zorp"), principal="test")
        else:
            shop.define(db)
            db.load_pack("zorp")
        assert 10 < sent() < 80


def test_the_count_would_notice_a_look_for_each(
    shared_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresReads, "look_up", lambda *_: LookedUp({}, {}))
    with open_for_tests(shared_postgres, f"test-{uuid4()}") as db:
        sent = counted(monkeypatch)
        shop.define(db)
        db.load_pack("zorp")
        assert sent() > 150


def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many statements were sent from now on."""
    sent: list[object] = []
    execute = Connection.execute

    def counting(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        sent.append(query)
        return execute(self, query, *more, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", counting)
    return lambda: len(sent)
