"""The workflow of the tutorial's shop: an order from the customer's wish to the doorstep."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar import clock
from sandbar.workflow import ProcessView

ORDER = "order/fulfillment"
DAY_US = 24 * 60 * 60 * 1_000_000


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[sandbar.Database]:
    """A new database with the zorp pack."""
    with sandbar.open(tmp_path / "shop.db") as db:
        db.load_pack("zorp")
        yield db


def ordered(db: sandbar.Database, *transitions: str, **data: Any) -> int:
    """An order of boots that has come so far."""
    given = {"quantity": 2, **data}
    started = db.call(
        "workflow.start-process", workflow=ORDER, subject="product/mud-lord", data=given
    )
    for name in transitions:
        reason = "too muddy" if name == "ask-refund" else None
        db.call("workflow.transition", process=started.process_id, transition=name, reason=reason)
    id: int = started.process_id
    return id


def state(db: sandbar.Database, id: int) -> ProcessView:
    """Where an order stands."""
    view: ProcessView = db.call("workflow.process-state", process=id)
    return view


def code_of(db: sandbar.Database, verb: str, **arguments: Any) -> str:
    """The code of the problem that a call meets."""
    with pytest.raises(sandbar.Problem) as caught:
        db.call(verb, arguments)
    return caught.value.code


def test_the_way_to_the_doorstep(shop: sandbar.Database) -> None:
    id = ordered(shop, "confirm", "ship", "deliver")
    view = state(shop, id)
    assert (view.state, view.kind, view.subject) == (
        "order/delivered",
        "success",
        "product/mud-lord",
    )
    assert view.data["shipped-at"] < view.data["delivered-at"]
    rows = shop.call("workflow.process-history", process=id).history
    assert [row.to for row in rows] == [
        "order/pending",
        "order/confirmed",
        "order/shipped",
        "order/delivered",
    ]


@pytest.mark.parametrize("cls", ["Boot", "SpaceBoot", "Sneaker", "LowTop", "FlipFlop"])
def test_the_subject_is_any_footwear(shop: sandbar.Database, cls: str) -> None:
    slots = {"footwear/name": "New", "footwear/price": "10"}
    shoe = shop.create(f"zorp/{cls}", slots).entity_id
    started = shop.call(
        "workflow.start-process", workflow=ORDER, subject=shoe, data={"quantity": 1}
    )
    confirmed = shop.call("workflow.transition", process=started.process_id, transition="confirm")
    assert confirmed.state == "order/confirmed"


def test_the_guard_refuses_what_has_no_price_and_what_is_too_much(
    shop: sandbar.Database,
) -> None:
    many = ordered(shop, quantity=101)
    refused = code_of(shop, "workflow.transition", process=many, transition="confirm")
    assert refused == "workflow.guard-refused"
    assert state(shop, many).transitions == ["expire", "cancel"]
    free = shop.create("zorp/Boot", {"footwear/name": "Free"}).entity_id
    for subject in (free, None):
        started = shop.call(
            "workflow.start-process", workflow=ORDER, subject=subject, data={"quantity": 1}
        )
        refused = code_of(
            shop, "workflow.transition", process=started.process_id, transition="confirm"
        )
        assert refused == "workflow.guard-refused"


@pytest.mark.parametrize("data", [{}, {"quantity": 0}, {"quantity": "two"}, {"quantity": 1.5}])
def test_an_order_says_how_many(shop: sandbar.Database, data: dict[str, Any]) -> None:
    code = code_of(shop, "workflow.start-process", workflow=ORDER, data=data)
    assert code == "process.data-invalid"


def test_cancelling_needs_a_reason_once_it_is_confirmed(shop: sandbar.Database) -> None:
    pending, confirmed = ordered(shop), ordered(shop, "confirm")
    view = shop.call("workflow.transition", process=pending, transition="cancel")
    assert (view.state, view.kind) == ("order/cancelled", "cancel")
    call = {"process": confirmed, "transition": "cancel"}
    assert code_of(shop, "workflow.transition", **call) == "workflow.reason-required"
    assert shop.call("workflow.transition", call, reason="sold out").kind == "cancel"


@pytest.mark.parametrize(
    ("way", "code"),
    [
        (["confirm", "ship", "deliver"], "workflow.already-completed"),
        (["confirm", "ship"], "workflow.no-cancel-transition"),
        (["confirm", "ship", "ask-refund"], "workflow.not-cancellable"),
    ],
)
def test_when_it_cannot_be_cancelled(shop: sandbar.Database, way: list[str], code: str) -> None:
    id = ordered(shop, *way)
    (handle,) = [
        task.task_id for task in shop.call("task.list", all=True).tasks if task.process_id == id
    ]
    assert code_of(shop, "task.cancel", **{"task-id": handle}) == code


def test_a_refund_is_asked_for_with_a_reason_and_approved(shop: sandbar.Database) -> None:
    shipped = ordered(shop, "confirm", "ship")
    asked = {"process": shipped, "transition": "ask-refund"}
    assert code_of(shop, "workflow.transition", **asked) == "workflow.reason-required"
    view = shop.call("workflow.transition", asked, reason="too muddy")
    (question,) = view.input.values()
    assert question.schema["properties"]["approve"]["type"] == "boolean"
    answer = {"process": shipped, "answers": {"answer": {"approve": True}}}
    view = shop.call("workflow.answer", answer)
    assert (view.state, view.kind) == ("order/refunded", "failure")


def test_a_refund_that_is_not_approved_lets_the_order_go_on(shop: sandbar.Database) -> None:
    id = ordered(shop, "confirm", "ship", "ask-refund")
    unclear = {"process": id, "answers": {"answer": {"approve": False}}}
    assert code_of(shop, "workflow.answer", **unclear) == "workflow.guard-refused"
    assert state(shop, id).state == "order/refund-asked"
    assert shop.call("workflow.answer", process=id, action="decline").state == "order/shipped"


def test_an_order_that_nobody_confirms_has_three_days(shop: sandbar.Database) -> None:
    view = state(shop, ordered(shop))
    assert view.timer_at is not None
    assert clock.us_of_text(view.timer_at) - clock.us_of_text(view.started_at) == 3 * DAY_US
    confirmed = state(shop, ordered(shop, "confirm"))
    assert confirmed.timer_at is None


def test_and_then_it_expires(shop: sandbar.Database) -> None:
    """The same workflow with shorter days."""
    text = resources.files("sandbar.packs").joinpath("zorp/workflows.json").read_text()
    (spec,) = json.loads(text)
    spec["states"][0]["after"]["seconds"] = 0.2
    shop.workflows.define(spec, principal="tests")
    shop.start_worker()
    forgotten, wanted = ordered(shop), ordered(shop, "confirm")
    end = time.monotonic() + 5
    while (view := state(shop, forgotten)).state == "order/pending":
        assert time.monotonic() < end, "it has not expired"
        time.sleep(0.02)
    assert (view.state, view.kind) == ("order/expired", "failure")
    assert state(shop, wanted).state == "order/confirmed"
