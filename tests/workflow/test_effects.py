"""Effects: their shapes, and what their values are read from."""

from __future__ import annotations

from typing import Any

import pytest

from sandbar.errors import Incorrect
from sandbar.findings import Findings
from sandbar.workflow.budgets import Budget
from sandbar.workflow.effects import (
    CreateEntity,
    MergeData,
    SetSlots,
    StartProcess,
    effect_of,
    read_effect,
    resolved,
)

SCOPE: dict[str, Any] = {
    "process": 7,
    "subject": None,
    "actor": "ann",
    "now": "2026-01-01T00:00:00Z",
    "reason": None,
    "data": {"order": {"lines": [{"n": 1}, {"n": 2}], "note": {"from": "actor"}}, "a/b": 5},
    "context": {},
    "answers": {"address": {"street": "Elm"}},
}


def read(given: Any) -> tuple[Any, list[tuple[str, str]]]:
    """An effect as it is kept, and what is wrong with it."""
    findings = Findings()
    effect = read_effect(given, "e", findings)
    return effect, [(str(one.at), one.code) for one in findings.told]


SOUND = [
    ({"set": {":a/b": 1}}, SetSlots(slots={"a/b": 1})),
    ({"set": {"a/b": None}, "entity": 5}, SetSlots(slots={"a/b": None}, entity=5)),
    ({"set": {}, "entity": "a/boss"}, SetSlots(slots={}, entity="a/boss")),
    (
        {"set": {"a/b": 1}, "entity": {"from": "data.x"}},
        SetSlots(slots={"a/b": 1}, entity={"from": "data.x"}),
    ),
    ({"create": ":a/B"}, CreateEntity(class_="a/B")),
    ({"create": "a/B", "slots": {"a/c": [1]}}, CreateEntity(class_="a/B", slots={"a/c": [1]})),
    ({"start": "a/flow"}, StartProcess(workflow="a/flow")),
    (
        {"start": "a/flow", "subject": {"from": "subject"}, "data": {"x": {"from": "data"}}},
        StartProcess(workflow="a/flow", subject={"from": "subject"}, data={"x": {"from": "data"}}),
    ),
    ({"data": {"done": True}}, MergeData(data={"done": True})),
]


@pytest.mark.parametrize(("given", "expected"), SOUND)
def test_an_effect_of_a_known_shape_is_read(given: Any, expected: Any) -> None:
    effect, wrong = read(given)
    assert wrong == []
    assert effect_of(effect) == expected


WRONG: list[tuple[Any, str, str]] = [
    ("set", "e", "workflow.effect"),
    ({}, "e", "workflow.effect"),
    ({"sets": {"a/b": 1}}, "e", "workflow.effect"),
    ({"set": None}, "e", "workflow.effect"),
    ({"set": [1]}, "e.set", "workflow.effect"),
    ({"set": {"plain": 1}}, "e.set", "keyword.malformed"),
    ({"set": {"a/b": 1}, "subject": 5}, "e", "workflow.effect"),
    ({"set": {"a/b": 1}, "create": "a/B"}, "e", "workflow.effect"),
    ({"set": {"a/b": 1}, "entity": 0}, "e.entity", "workflow.effect"),
    ({"set": {"a/b": 1}, "entity": True}, "e.entity", "workflow.effect"),
    ({"set": {"a/b": 1}, "entity": {"id": 5}}, "e.entity", "workflow.effect"),
    ({"set": {"a/b": {"from": "dta.x"}}}, "e.set.a/b", "workflow.effect"),
    ({"set": {"a/b": {"from": 5}}}, "e.set.a/b", "workflow.effect"),
    ({"set": {"a/b": [{"deep": {"from": "data..x"}}]}}, "e.set.a/b", "workflow.effect"),
    ({"set": {"a/b": {"from": "actor.name"}}}, "e.set.a/b", "workflow.effect"),
    ({"set": {"a/b": {"from": ""}}}, "e.set.a/b", "workflow.effect"),
    ({"set": {"a/b": {"from": "data." + "x" * 255}}}, "e.set.a/b", "workflow.effect"),
    ({"set": {"from": "data.x"}}, "e.set", "workflow.effect"),
    ({"create": "B"}, "e.create", "keyword.malformed"),
    ({"create": "a/B", "slots": 5}, "e.slots", "workflow.effect"),
    ({"start": 5}, "e.start", "keyword.malformed"),
    ({"start": "a/flow", "data": [1]}, "e.data", "workflow.effect"),
    ({"data": "x"}, "e.data", "workflow.effect"),
    ({"data": {"from": "context"}}, "e.data", "workflow.effect"),
]


@pytest.mark.parametrize(("given", "at", "code"), WRONG)
def test_any_other_is_refused_where_it_is_wrong(given: Any, at: str, code: str) -> None:
    assert read(given)[1] == [(at, code)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        ({"from": "process"}, 7),
        ({"from": "subject"}, None),
        ({"from": "data.a/b"}, 5),
        ({"from": "data.order.lines.1.n"}, 2),
        ({"from": "answers.address.street"}, "Elm"),
        ({"from": "context"}, {}),
        ([{"x": {"from": "actor"}}, "y"], [{"x": "ann"}, "y"]),
        ({"from": "actor", "to": "x"}, {"from": "actor", "to": "x"}),
    ],
)
def test_paths_are_replaced_by_what_is_there(value: Any, expected: Any) -> None:
    assert resolved(value, SCOPE, Budget()) == expected


def test_what_was_read_is_not_read_again() -> None:
    assert resolved({"from": "data.order.note"}, SCOPE, Budget()) == {"from": "actor"}


@pytest.mark.parametrize(
    "path", ["context.x", "data.order.lines.2", "data.order.lines.-1", "actor.x", "subject.x"]
)
def test_a_path_that_leads_nowhere_is_named(path: str) -> None:
    with pytest.raises(Incorrect) as caught:
        resolved({"x": [{"from": path}]}, SCOPE, Budget())
    assert caught.value.code == "workflow.effect-path"
    assert path in caught.value.message
    assert caught.value.data == {"path": path}


def test_what_is_resolved_is_a_copy() -> None:
    given = {"a": [1]}
    answer = resolved(given, SCOPE, Budget())
    answer["a"].append(2)
    assert given == {"a": [1]}
