"""Guards hold when they matter: at the commit, whoever else is at it.

Twenty processes want to take from a stock of five, each guarded by `stock > 0`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sandbar
from sandbar.errors import Conflict
from sandbar.workflow import Workflows
from sandbar.workflow.conditions import Sight
from tests.fault.zygote import Zygote
from tests.model.conftest import Place
from tests.workflow.stock import WHO, open_workflows, prepare, take, take_all

STOCK = 5
ORDERS = 20
READY_WITHIN_S = 30.0
REFUSED = "workflow.guard-refused"


class Shop:
    """A shelf, and workflows that take from it."""

    def __init__(self, db: sandbar.Database) -> None:
        self.db = db
        self.shelf = prepare(db, STOCK)
        self.workflows: Workflows = open_workflows(db)

    def orders(self, number: int = ORDERS, *names: str) -> list[int]:
        """So many processes, of these workflows in turn."""
        kinds = names or ("shop/order", "shop/gift")
        return [
            self.workflows.start(kinds[n % len(kinds)], self.shelf, principal=WHO).process_id
            for n in range(number)
        ]

    @property
    def stock(self) -> int:
        """What is left."""
        left: int = self.db.get(self.shelf)["shop/stock"]
        return left

    def taken(self, ids: list[int]) -> int:
        """How many of these have ended."""
        return sum(self.workflows.view(id).is_complete for id in ids)


@pytest.fixture
def shop(db: sandbar.Database) -> Shop:
    """A new one, on each store."""
    return Shop(db)


def assert_kept(shop: Shop, ids: list[int], answers: list[str]) -> None:
    """As many as there were, and what each was told is what happened."""
    assert Counter(answers) == {"taken": STOCK, REFUSED: ORDERS - STOCK}
    assert shop.stock == 0
    assert shop.taken(ids) == STOCK
    for id, answer in zip(ids, answers, strict=True):
        rows = shop.workflows.history(id)
        assert len(rows) == (2 if answer == "taken" else 1)


def test_no_more_pass_than_there_are(shop: Shop) -> None:
    """Eight threads of one server, two workflows."""
    ids = shop.orders()
    assert_kept(shop, ids, take_all(shop.db, ids))


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """Forks servers."""
    with Zygote() as zygote:
        yield zygote


def test_no_more_pass_than_there_are_in_two_processes(
    zygote: Zygote, shop: Shop, place: Place, tmp_path: Path
) -> None:
    """Two servers, eight threads each, which begin together."""
    ids = shop.orders()
    halves = {str(tmp_path / f"out-{n}"): ids[n::2] for n in range(2)}
    go = tmp_path / "go"
    children = [
        zygote.fork(
            "tests.workflow.stock:take_in_child",
            address=place.address,
            workspace=shop.db.workspace_name,
            ids=half,
            go=str(go),
            out=out,
        )
        for out, half in halves.items()
    ]
    deadline = time.monotonic() + READY_WITHIN_S
    while not all(Path(f"{out}.ready").exists() for out in halves):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    go.touch()
    assert [child.wait() for child in children] == [0, 0]
    told = {
        id: answer
        for out, half in halves.items()
        for id, answer in zip(half, Path(out).read_text().splitlines(), strict=True)
    }
    assert_kept(shop, ids, [told[id] for id in ids])


def test_two_guards_in_one_transaction_see_each_other(shop: Shop) -> None:
    """The second one of two is refused for what the first has taken, and takes both back."""
    shop.db.update(shop.shelf, {"shop/stock": 1})
    order, gift = shop.orders(2)

    def both() -> None:
        shop.workflows.transition(order, "take", principal=WHO)
        shop.workflows.transition(gift, "take", principal=WHO)

    with pytest.raises(Conflict) as refused:
        shop.db.workspace.run(both, principal=WHO)
    assert refused.value.code == REFUSED
    assert shop.stock == 1
    assert shop.taken([order, gift]) == 0
    shop.db.update(shop.shelf, {"shop/stock": 2})
    shop.db.workspace.run(both, principal=WHO)
    assert shop.stock == 0
    assert shop.taken([order, gift]) == 2


def test_pairs_in_transactions_of_their_own_at_once(shop: Shop) -> None:
    """Ten pairs on a stock of five: two pairs pass, and one is left."""
    ids = shop.orders()
    pairs = [ids[n : n + 2] for n in range(0, ORDERS, 2)]

    def both(pair: list[int]) -> str:
        def work() -> None:
            for id in pair:
                shop.workflows.transition(id, "take", principal=WHO)

        try:
            shop.db.workspace.run(work, principal=WHO)
        except Conflict as refused:
            return refused.code
        return "taken"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(both, pairs))
    assert Counter(answers) == {"taken": STOCK // 2, REFUSED: len(pairs) - STOCK // 2}
    assert shop.stock == STOCK % 2
    assert [shop.taken(pair) for pair in pairs] == [2 * (a == "taken") for a in answers]


def test_without_a_guard_the_stock_falls_below_nothing(shop: Shop) -> None:
    """A negative control: it is the guard that holds."""
    ids = shop.orders(ORDERS, "shop/careless")
    assert set(take_all(shop.db, ids)) == {"taken"}
    assert shop.stock == STOCK - ORDERS


def test_a_guard_that_looks_too_early_is_caught(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A negative control: guards that are asked before the transaction let too many pass."""
    ids = shop.orders()
    monkeypatch.setattr(Sight, "objection", lambda self, transition: None)

    assert shop.stock > 0  # is what each of them has seen
    with pytest.raises(AssertionError):
        assert_kept(shop, ids, [take(shop.workflows, id) for id in ids])
