"""Compiled definitions: what leaves a state, what cancels, what data fits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sandbar.workflow.effects import CreateEntity, MergeData, SetSlots, StartProcess
from sandbar.workflow.machines import Machine, machine_of
from sandbar.workflow.specs import canonical, read_spec, with_version
from tests.workflow.definitions import EVERYTHING, drop, spoiled


def machine(given: dict[str, Any] = EVERYTHING) -> Machine:
    """The machine of a definition."""
    return machine_of(canonical(read_spec(given)))


def test_a_machine_has_all_that_the_definition_says() -> None:
    made = machine()
    assert (made.name, made.version, made.is_cancellable, made.is_pausable) == (
        "order/fulfillment",
        2,
        True,
        False,
    )
    assert list(made.states) == [state["name"] for state in EVERYTHING["states"]]
    assert made.initial is made.states["order/pending"]
    assert [one.kind for one in made.states.values()] == [
        *[None] * 3,
        "success",
        "failure",
        "cancel",
    ]
    assert [type(effect) for effect in made.transitions[1].effects] == [
        SetSlots,
        SetSlots,
        CreateEntity,
        StartProcess,
        MergeData,
    ]


def test_what_leaves_a_state_is_found_by_name() -> None:
    made = machine()
    assert [one.name for one in made.leaving("order/pending")] == ["ask", "confirm", "cancel"]
    assert [one.name for one in made.leaving("order/failed")] == ["retry"]
    assert made.leaving("order/delivered") == ()
    found = made.find("order/asking", "confirm")
    assert found is not None
    assert found.to == "order/packing"
    assert made.find("order/packing", "confirm") is None
    assert made.find("order/pending", "nothing") is None


def test_the_same_name_may_leave_two_states_for_two_others() -> None:
    spec = spoiled(drop("version"))
    spec["transitions"][0] |= {"name": "next"}
    spec["transitions"][4] |= {"name": "next"}
    made = machine(spec)
    ways = [made.find("order/pending", "next"), made.find("order/packing", "next")]
    assert [way and way.to for way in ways] == ["order/asking", "order/delivered"]


def test_what_cancels_leads_to_a_state_of_that_kind() -> None:
    made = machine()
    assert [one.name for one in made.cancelling("order/asking")] == ["expire", "cancel"]
    assert made.cancelling("order/packing") == []


def test_guards_are_compiled() -> None:
    guard = machine().transitions[1].guard
    assert guard is not None
    cheap = {"process": {"data": {"total": 5.0}}, "subject": {}, "context": {}, "actor": "ann"}
    assert guard.holds(cheap)
    dear = cheap | {"process": {"data": {"total": 500.0}}}
    assert not guard.holds(dear)
    assert guard.holds(dear | {"actor": "boss"})
    assert machine().transitions[0].guard is None


def test_data_is_checked_against_the_schema() -> None:
    made = machine()
    assert made.check_data({"total": 5, "more": None}) == []
    (missing,) = made.check_data({})
    assert missing["at"] == "data"
    assert missing["code"] == "workflow.data"
    assert "total" in missing["message"]
    assert [one["at"] for one in made.check_data({"total": -1, "note": 5})] == [
        "data.total",
        "data.note",
    ]
    assert machine(spoiled(drop("data-schema"))).check_data({"anything": [1]}) == []


def test_answers_are_checked_against_the_form() -> None:
    wanted = machine().states["order/asking"].input
    assert wanted is not None
    request = wanted.requests["address"]
    assert request.check({"street": "Elm", "floor": 3, "days": ["mon"], "size": "s"}) == []
    assert [one["at"] for one in request.check({"street": "Elm", "floor": 100})] == ["answer.floor"]
    assert len(request.check({})) == 1
    assert len(request.check({"street": "Elm", "days": ["sun"], "size": "xl"})) == 2
    assert len(request.check(["street"])) == 1


def test_a_machine_is_made_once_and_versions_are_apart() -> None:
    spec = read_spec(EVERYTHING)
    assert machine_of(canonical(spec)) is machine_of(canonical(spec))
    assert machine_of(canonical(with_version(spec, 3))).version == 3
    assert machine_of(canonical(with_version(spec, None))).version == 1


def test_only_what_was_checked_is_taken_for_a_spec() -> None:
    for text in ("{}", '{"name": "a/b", "states": [{"name": "x", "colour": 1}]}', "[]"):
        with pytest.raises(msgspec.ValidationError):
            machine_of(text)
