"""What a workspace uses is counted by whoever writes, and what it may use is not exceeded."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

import sandbar
from sandbar.errors import Incorrect, Problem, TooMany
from sandbar.model import read_limits
from sandbar.store.archive import TABLES
from sandbar.store.postgres.archive import reading as reading_postgres
from sandbar.store.sqlite.archive import reading as reading_sqlite
from sandbar.store.usage import Counters, Limits, Tally, Usage, background_full
from tests.model.conftest import Place
from tests.model.shop import item, problem_of

WORKFLOW: dict[str, Any] = {
    "name": "test/wait",
    "states": [
        {"name": "waiting", "initial?": True},
        {"name": "over", "terminal?": True, "terminal-kind": "cancel"},
    ],
    "transitions": [
        {"name": "stop", "from": "waiting", "to": "over"},
        {"name": "again", "from": "over", "to": "waiting"},
    ],
}


def counted(db: sandbar.Database) -> Counters:
    """What the workspace's own row says."""
    return db.workspace.budgets.account().counters


def recounted(place: Place, db: sandbar.Database) -> Counters:
    """The same from the rows that there are."""
    reading: Any = reading_postgres if place.dialect == "postgres" else reading_sqlite
    with reading(place.address) as origin:
        rows = {
            name: [row[-1] for row in origin.rows(db.workspace.number, TABLES[name])]
            for name in ("entity", "version")
        }
    has_processes = "workflow/Process" in db.schema.classes()
    return Counters(
        sum(len(doc.encode()) for doc in rows["entity"]),
        sum(len(doc.encode()) for doc in rows["version"] if doc is not None),
        len(rows["entity"]),
        db.workspace.count("workflow/active?", True) if has_processes else 0,
    )


def limit(db: sandbar.Database, *limits: str) -> None:
    """Set limits as the operator does."""
    db.workspace.budgets.set_limits(read_limits(limits))


def refused(call: Callable[[], Any]) -> TooMany:
    """The refusal of what goes beyond a budget."""
    problem = problem_of(call)
    assert isinstance(problem, TooMany)
    assert "workspace.usage" in str(problem.hint)
    return problem


class Worker:
    """Does anything at random."""

    def __init__(self, db: sandbar.Database, seed: str) -> None:
        self._db = db
        self._random = random.Random(seed)
        self._items: list[int] = []
        self._processes: list[int] = []

    def step(self) -> None:
        """Something, be it that it is refused."""
        names = [name for name in dir(self) if name.startswith("_do_")]
        with suppress(Problem):
            getattr(self, self._random.choice(names))()

    def _one(self) -> int:
        return self._random.choice(self._items)

    def _text(self) -> str:
        return "".join(self._random.choices("aä☃🥾", k=self._random.randrange(1, 40)))

    def _do_create(self) -> None:
        self._items += [item(self._db, self._text()) for _ in range(3)]

    def _do_update(self) -> None:
        self._db.update(self._one(), {"item/name": self._text()})

    def _do_nothing(self) -> None:
        self._db.update(self._one(), {"item/stock": 0})

    def _do_delete(self) -> None:
        self._db.delete(self._one(), mode=self._random.choice(["refuse", "cascade", "detach"]))

    def _do_restore(self) -> None:
        self._db.restore(self._one())

    def _do_purge(self) -> None:
        self._db.purge(self._one(), mode="detach")

    def _do_refer(self) -> None:
        self._db.update(self._one(), add={"item/like": [self._one(), self._one()]})

    def _do_many(self) -> None:
        lines = [{"op": "create", "class": "shop/Line", "slots": {"line/item": self._one()}}] * 3
        self._db.transact([*lines, {"op": "delete", "entity": self._one()}])

    def _do_fail(self) -> None:
        create = {"op": "create", "class": "shop/Item", "slots": {"item/name": self._text()}}
        self._db.transact([create, {"op": "update", "entity": 10**9, "set": {}}])

    def _do_look_inside(self) -> None:
        def work() -> None:
            made, known = item(self._db, "inside"), self._one()
            self._db.update(known, {"item/notes": [self._text()]})
            self._db.query("shop/Item", {"item/name": "inside"})  # for which rows are written
            self._db.update(made, {"item/name": self._text()})
            self._db.delete(made)
            self._db.update(known, {"item/notes": [self._text()]})
            if self._random.random() < 0.3:
                raise Incorrect("test.no", "after all")

        self._db.run(work)

    def _do_together(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            texts = [self._text() for _ in range(24)]
            self._items += pool.map(lambda text: item(self._db, text), texts)

    def _do_define(self) -> None:
        at = self._random.randrange(6)
        self._db.define(
            properties={f"item/more-{at}": {"dt/range": "db.type/string", "dt/default": "é"}},
            classes={"shop/Item": {"db/doc": self._text()}},
        )

    def _do_start(self) -> None:
        if not self._processes:
            self._db.workflows.define(WORKFLOW, principal="ann")
        view = self._db.workflows.start("test/wait", data={"x": self._text()}, principal="ann")
        self._processes.append(view.process_id)

    def _do_move(self) -> None:
        name, id = self._random.choice(["stop", "again"]), self._random.choice(self._processes)
        self._db.workflows.transition(id, name, principal="ann")

    def _do_purge_process(self) -> None:
        self._db.purge(self._random.choice(self._processes), mode="detach")


@pytest.mark.parametrize("steps", [150, pytest.param(1500, marks=pytest.mark.long)])
def test_counters_are_what_counting_finds(
    place: Place, shop: sandbar.Database, seed: str, steps: int
) -> None:
    worker = Worker(shop, seed)
    worker._do_create()
    worker._do_start()
    for n in range(steps):
        worker.step()
        if n % 20 == 0:
            assert counted(shop) == recounted(place, shop)
    assert counted(shop) == recounted(place, shop)
    assert min(counted(shop)[:3]) > 0


def test_an_entity_too_many_is_refused_with_numbers(shop: sandbar.Database) -> None:
    used = counted(shop).entities
    limit(shop, f"entities={used + 2}")
    first = item(shop, "one")
    item(shop, "two")
    t = shop.t
    problem = refused(lambda: item(shop, "three"))
    assert problem.code == "budget.entities"
    assert problem.data == {"limit": "limit/entities", "used": used + 3, "most": used + 2}
    assert f"{used + 3:,}" in problem.message
    assert shop.t == t
    shop.update(first, {"item/name": "changed"})  # which makes none
    shop.delete(first)
    item(shop, "three after all")
    limit(shop, "entities=none")
    item(shop, "four")


def test_in_a_batch_only_those_are_refused_for_whom_there_is_no_room(
    shop: sandbar.Database,
) -> None:
    limit(shop, f"entities={counted(shop).entities + 5}")

    def made(n: int) -> bool:
        try:
            return item(shop, f"item {n}") > 0
        except TooMany:
            return False

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(made, range(40))) == 5


def test_stored_bytes_are_refused_and_deleting_makes_room(shop: sandbar.Database) -> None:
    limit(shop, f"stored-bytes={counted(shop).stored_bytes + 5000}")
    large = item(shop, "ä" * 2000)
    assert refused(lambda: item(shop, "x" * 2000)).code == "budget.stored-bytes"
    assert refused(lambda: shop.update(large, {"item/name": "x" * 9000})).code == (
        "budget.stored-bytes"
    )
    shop.update(large, {"item/name": "small"})
    item(shop, "x" * 2000)


def test_history_ends_where_its_budget_does_and_purging_makes_room(
    place: Place, shop: sandbar.Database
) -> None:
    one, two = item(shop, "x" * 3000), item(shop, "y" * 3000)
    limit(shop, f"history-bytes={counted(shop).history_bytes + 5000}")
    shop.update(one, {"item/name": "z" * 3000})
    for change in (
        lambda: shop.update(one, {"item/name": "w" * 3000}),
        lambda: shop.update(one, {"item/name": "w"}),
    ):
        assert refused(change).code == "budget.history-bytes"
    shop.delete(two)  # beyond the budget, since it must be possible
    assert counted(shop).history_bytes > 6000
    assert refused(lambda: item(shop, "new")).code == "budget.history-bytes"  # it would end there
    shop.purge(two)
    shop.purge(one)
    assert counted(shop) == recounted(place, shop)
    item(shop, "new")


def test_create_and_delete_in_turn_do_not_pass_the_budget_of_history(
    shop: sandbar.Database,
) -> None:
    before = counted(shop).history_bytes
    limit(shop, f"history-bytes={before + 10_000}")
    with suppress(TooMany):
        for _ in range(100):
            shop.delete(item(shop, "x" * 3000))
    assert refused(lambda: item(shop, "x")).code == "budget.history-bytes"
    assert counted(shop).history_bytes < before + 14_000


def test_a_full_workspace_can_still_be_emptied_and_made_safe(shop: sandbar.Database) -> None:
    shop.workflows.define(WORKFLOW, principal="ann")
    process = shop.workflows.start("test/wait", principal="ann").process_id
    maker = shop.create("shop/Maker", {"maker/name": "Acme"}).entity_id
    thing = item(shop, "boot", maker=maker)
    minted = shop.call("key.mint", {"name": "lost"})
    assert minted.token
    used = counted(shop)
    limit(
        shop,
        f"entities={used.entities}",
        f"stored-bytes={used.stored_bytes}",
        f"history-bytes={used.history_bytes or 1}",
    )
    assert refused(lambda: item(shop, "one more")).code.startswith("budget.")
    assert refused(lambda: shop.update(thing, {"item/stock": 7})).code.startswith("budget.")
    assert shop.workflows.cancel(process, principal="ann").kind == "cancel"
    assert shop.call("key.revoke", {"name": "lost"}).key.state == "revoked"
    shop.delete(maker, mode="detach")
    shop.purge(thing)
    assert refused(lambda: item(shop, "x" * 5000)).code.startswith("budget.")


def test_a_process_too_many_is_refused(shop: sandbar.Database) -> None:
    shop.workflows.define(WORKFLOW, principal="ann")
    limit(shop, "processes=2")
    ids = [shop.workflows.start("test/wait", principal="ann").process_id for _ in range(2)]
    problem = refused(lambda: shop.workflows.start("test/wait", principal="ann"))
    assert problem.code == "budget.processes"
    assert "task.cancel" in str(problem.hint)
    shop.workflows.transition(ids[0], "stop", principal="ann")
    shop.workflows.start("test/wait", principal="ann")
    assert refused(lambda: shop.workflows.transition(ids[0], "again", principal="ann")).code == (
        "budget.processes"
    )


def test_limits_are_kept_per_workspace(place: Place, shop: sandbar.Database) -> None:
    other = place.another(f"{place.workspace}-other")
    limit(shop, "entities=1", "streams=7")
    assert other.workspace.budgets.account().limits.entities > 1
    other.define(classes={"other/Thing": {"dt/subclass-of": ["dt/Resource"]}})
    again = place.another()
    assert again.workspace.budgets.limits_set() == {"entities": 1, "streams": 7}
    limit(again, "entities=default")
    assert shop.workspace.budgets.limits_set() == {"streams": 7}
    item(shop, "there is room")


MINUTE_US = 60_000_000


def test_without_a_limit_the_bucket_of_timers_holds_nothing() -> None:
    unlimited = Limits(background_transitions=0, background_bytes=0)
    usage = Usage(background_transitions=1e6, background_bytes=1e9, background_us=MINUTE_US)
    assert usage.at(MINUTE_US, unlimited)[4:] == (0, 0, MINUTE_US)


def test_a_lower_limit_makes_timers_wait_a_minute_at_most(
    shop: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(shop, "background-transitions=1000000", "background-bytes=1000GiB")
    with monkeypatch.context() as patched:
        patched.setattr(Tally, "is_background", True)
        patched.setattr(Tally, "transitions", 900_000)
        patched.setattr(Tally, "written_bytes", 900 << 30)
        item(shop, "by timers")
    limit(shop, "background-transitions=60", "background-bytes=default")
    account = shop.workspace.budgets.account()
    assert 50 < account.usage.background_transitions <= 60
    problem = background_full(account.usage, account.limits, account.now_us)
    assert problem is None or problem.data["wait-s"] <= 60
    assert background_full(account.usage, account.limits, account.now_us + MINUTE_US) is None


@pytest.mark.parametrize("ahead_us", [1_000_000, MINUTE_US, 10**6 * MINUTE_US])
def test_a_clock_that_was_ahead_stops_timers_for_a_minute_at_most(ahead_us: int) -> None:
    limits, now_us = Limits(background_transitions=60), 5 * MINUTE_US
    full = Usage(background_transitions=60.0, background_us=now_us + ahead_us)
    later_us = now_us + MINUTE_US + 2_000_000
    assert background_full(full, limits, later_us) is None
    assert full.at(now_us, limits).background_us == now_us


@pytest.mark.parametrize(
    ("text", "name", "amount"),
    [
        ("entities=10", "entities", 10),
        ("limit/stored-bytes=2GiB", "stored-bytes", 2 << 30),
        ("background-bytes=64 MiB", "background-bytes", 64 << 20),
        ("streams=none", "streams", 0),
        ("processes=default", "processes", None),
    ],
)
def test_limits_are_read_as_people_write_them(text: str, name: str, amount: int | None) -> None:
    assert read_limits([text]) == {name: amount}


@pytest.mark.parametrize(
    "text",
    [
        "entities",
        "entities=-1",
        "entities=1e3",
        "entities=2GiB",
        "processes=0",
        "stored-bytes=0KiB",
        "entitys=3",
        "",
        "=4",
    ],
)
def test_what_is_no_limit_is_refused_with_a_way_on(text: str) -> None:
    with pytest.raises(Incorrect) as caught:
        read_limits([text])
    assert caught.value.code.startswith("limit.")
    assert caught.value.hint


@pytest.mark.parametrize(("name", "is_offered"), [("stored-bytes", True), ("entities", False)])
def test_units_are_offered_for_bytes_only(name: str, is_offered: bool) -> None:
    with pytest.raises(Incorrect) as caught:
        read_limits([f"{name}=many"])
    assert ("GiB" in (caught.value.hint or "")) == is_offered
