"""Jobs from inside `run`, and what `run` and `count` offer to those who do them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from sandbar import Database, Incorrect
from sandbar.store.api import Claim
from tests.model.conftest import Place
from tests.model.shop import item, problem_of


@pytest.fixture
def held(shop: Database) -> Claim:
    """A job of a new item that somebody holds, in a workspace that others claim nothing of."""
    hat = item(shop, "Hat")
    run(shop, lambda: shop.workspace.jobs.schedule(hat, 0))
    claims = shop._store.jobs.claim("worker", 1000, 3600.0)  # other tests' jobs may be there, too
    (claim,) = (claim for claim in claims if claim.workspace_name == shop.workspace_name)
    return claim


def run(db: Database, work: Any, **options: Any) -> Any:
    """Run a function as one transaction."""
    return db.workspace.run(work, principal="worker", **options)


def test_whoever_holds_a_job_writes_and_ends_it_in_one_transaction(
    shop: Database, held: Claim
) -> None:
    jobs, before = shop.workspace.jobs, shop.t

    def work() -> None:
        jobs.require(held.id, held.token)
        shop.update(held.id, {"item/stock": 7})
        jobs.schedule(held.id, None)

    run(shop, work, wanted=[held.id])
    assert shop.t == before + 1
    assert shop.get(held.id)["item/stock"] == 7
    assert problem_of(lambda: run(shop, work)).code == "job.lost"
    assert shop.t == before + 1


def test_a_write_that_is_refused_leaves_the_job_as_it_was(shop: Database, held: Claim) -> None:
    def work() -> None:
        shop.workspace.jobs.require(held.id, held.token)
        shop.workspace.jobs.schedule(held.id, None)
        shop.update(held.id, {"item/stock": "many"})

    assert problem_of(lambda: run(shop, work)).code == "value.type"
    run(shop, lambda: shop.workspace.jobs.require(held.id, held.token))


def test_jobs_are_scheduled_inside_a_transaction_only(shop: Database) -> None:
    with pytest.raises(AssertionError):
        shop.workspace.jobs.schedule(1, 0)


def test_a_purged_entity_has_no_job(shop: Database, held: Claim) -> None:
    shop.workspace.purge(held.id, principal="warden")
    assert not shop._store.jobs.renew(held.ws, held.id, held.token, 60.0)


def test_what_is_wanted_is_fetched_in_one_go(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    db = place.another()
    db.define(
        properties={"thing/name": {"dt/range": "db.type/string"}},
        classes={"my/Thing": {"dt/slots": ["thing/name"]}},
    )
    ids = [db.create("my/Thing", {"thing/name": str(n)}).entity_id for n in range(5)]
    heard: list[str] = []
    execute = psycopg.Connection.execute

    def hear(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        heard.append(str(query))
        return execute(self, query, *args, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", hear)

    def names() -> list[Any]:
        return [db.get(id)["thing/name"] for id in ids]

    counts = []
    for wanted in ((), ids, [*ids, 0, -1, 1 << 80]):
        heard.clear()
        assert run(db, names, wanted=wanted) == list("01234")
        counts.append(sum("entity" in sql for sql in heard))
    assert counts == ([5, 1, 1] if place.dialect == "postgres" else [0, 0, 0])


def test_entities_are_counted_by_a_value_that_they_hold(shop: Database) -> None:
    maker = shop.create("shop/Maker", {"db/ident": "my/maker", "maker/name": "M"}).entity_id
    for name in ("Hat", "Hat", "Cap"):
        item(shop, name, tags=["a", "b"], maker=maker)
    count = shop.workspace.count
    assert (count("item/name", "Hat"), count("item/name", "Cap"), count("item/name", "Fez")) == (
        2,
        1,
        0,
    )
    assert count("item/tags", "b") == count("item/maker", maker) == 3
    assert count("item/maker", "my/maker") == 3

    def work() -> list[int]:
        before = count("item/name", "Hat")
        item(shop, "Hat")
        return [before, count("item/name", "Hat")]

    assert run(shop, work) == [2, 3]


def test_what_has_no_index_cannot_be_counted(shop: Database) -> None:
    for slot, value in (("item/stock", 1), ("maker/items", 1), ("item/extra", {})):
        with pytest.raises(Incorrect) as caught:
            shop.workspace.count(slot, value)
        assert (caught.value.code, bool(caught.value.hint)) == ("count.not-indexed", True)
    assert problem_of(lambda: shop.workspace.count("item/nothing", 1)).code == "property.unknown"
    assert problem_of(lambda: shop.workspace.count("item/price", "x")).code.startswith("value.")
