"""Definitions from people who mean harm, and from chance: refused clearly, and soon."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbar.errors import Incorrect
from sandbar.workflow.diagrams import diagram_of, outline_of
from sandbar.workflow.findings import FINDINGS_MAX
from sandbar.workflow.machines import machine_of
from sandbar.workflow.shapes import Spec
from sandbar.workflow.specs import canonical, read_spec
from tests.workflow.definitions import EVERYTHING, codes_of, drop, put, spoiled

SOON_S = 0.25  # of processor time: others may be working, too
LONG_NAME = "order/" + "a" * 200


def refused_soon(given: Any, within_s: float = SOON_S) -> Incorrect:
    """The refusal of a definition; whatever else happens is a failure."""
    with pytest.raises(Incorrect) as caught:
        read_spec(given)
    assert _least_s(given) < within_s
    assert caught.value.code == "workflow.invalid"
    assert len(caught.value.data["findings"]) <= FINDINGS_MAX
    assert len(json.dumps(caught.value.data)) < 200_000
    assert len(str(caught.value)) < 8_000
    return caught.value


def _least_s(given: Any) -> float:
    """Processor time of reading, the least of three: garbage may be collected in one."""
    least = math.inf
    for _ in range(3):
        began = time.thread_time()
        with contextlib.suppress(Incorrect):
            read_spec(given)
        least = min(least, time.thread_time() - began)
        if least < SOON_S:
            break
    return least


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"states": [value]}
    return value


HOSTILE: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "a list": [EVERYTHING],
    "an empty object": {},
    "no JSON": "{name: order}",
    "JSON of no object": "[1, 2]",
    "an empty text": "",
    "a text with a lone surrogate": '{"name": "\ud800"}',
    "JSON with a lone surrogate": '{"name": "\\ud800"}',
    "a lone surrogate": {"name": "a/\ud800", "states": []},
    "a key with a lone surrogate": {"\ud800": 1},
    "a deep text": "[" * 100_000,
    "a deep object": _nested(5_000),
    "a deep object as text": '{"a":' * 900 + "1" + "}" * 900,
    "a long text": "x" * 10_000_000,
    "a hundred thousand states": {"name": "a/b", "states": [{"name": "s"}] * 100_000},
    "as many transitions": {"name": "a/b", "states": [], "transitions": [{}] * 100_000},
    "as many keys": {f"k{n}": n for n in range(100_000)},
    "many unknown keys": {"name": "a/b", "states": [{f"stat{n}": 0 for n in range(9_000)}]},
    "wrong types everywhere": dict.fromkeys(EVERYTHING, 5),
    "lists everywhere": {key: [[]] for key in EVERYTHING},
    "nulls everywhere": dict.fromkeys(EVERYTHING),
    "NaN": {"name": "a/b", "version": float("nan"), "states": []},
    "an infinite timer": spoiled(put("states.1.after.seconds", float("inf"))),
    "a huge number": {"name": "a/b", "version": 10**5000, "states": []},
    "a set": {"name": "a/b", "states": {1, 2}},
    "bytes": {"name": b"a/b", "states": []},
    "keys that are numbers": {1: 2},
    "NUL": {"name": "a/b", "states": [{"name": "x\0"}]},
    "a long name": {"name": "a/" + "b" * 300, "states": []},
    "a thousand wrong names": {
        "name": "a/b",
        "states": [{"name": f"{LONG_NAME}{n}", "initial": n == 0} for n in range(200)],
        "transitions": [
            {"name": f"t{n}", "from": f"order/{'a' * 57}b{n}", "to": f"order/{'a' * 57}c{n}"}
            for n in range(700)
        ],
    },
    "many wrong guards": {
        "name": "a/b",
        "states": [{"name": "x", "initial": True}],
        "transitions": [
            {"name": f"t{n}", "from": "x", "to": "x", "guard": f"{n} + (" * 10} for n in range(300)
        ],
    },
    "a pattern that explodes": spoiled(put("data-schema.pattern", "((a{1,100}){1,100}){1,100}")),
    "many patterns": spoiled(
        put("data-schema.patternProperties", {f"({n}(?=": True for n in range(2_000)})
    ),
    "a large schema": spoiled(
        put("data-schema.properties", {f"p{n}": {"colour": 1} for n in range(5_000)})
    ),
    "a wide form": spoiled(
        put(
            "states.1.input.requests.address.schema.properties",
            {f"p{n}": {"type": "string"} for n in range(5_000)},
        )
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_hostile_is_refused_soon(case: str) -> None:
    refused_soon(HOSTILE[case])


def test_shared_objects_are_not_followed_for_ever() -> None:
    value: Any = ["x"]
    for _ in range(30):
        value = [value, value, value]
    refused_soon({"name": "a/b", "states": value})


def test_an_object_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {"name": "a/b"}
    value["states"] = [value]
    refused_soon(value)


def test_the_longest_guards_that_are_allowed_take_less_than_a_few_seconds() -> None:
    chain = " && ".join(f"context.a{n} > {n}" for n in range(45))
    ways: list[dict[str, Any]] = [
        {"name": f"t{n}", "from": "x", "to": "x", "guard": f"{chain} && context.n == {n}"}
        for n in range(32)
    ]
    spec = {"name": "a/b", "states": [{"name": "x", "initial": True}], "transitions": ways}
    began = time.thread_time()
    assert len(read_spec(spec).transitions) == 32
    assert time.thread_time() - began < 5.0


# --- chance --------------------------------------------------------------------------------------

_KEYS = st.sampled_from(
    [
        *EVERYTHING,
        *{key for state in EVERYTHING["states"] for key in state},
        *{key for way in EVERYTHING["transitions"] for key in way},
        "requests",
        "message",
        "schema",
        "set",
        "create",
        "start",
        "$ref",
        "allOf",
        "properties",
        "type",
        ":name",
    ]
)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["a/b", "x", "order/pending", "confirm", "success", "#", "#/$defs/x", ""]),
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(_KEYS | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=40,
)


@given(_JSON)
@settings(max_examples=50, deadline=None, print_blob=True)
def test_arbitrary_json_is_read_or_refused(given: Any) -> None:
    _read_or_refused(given)


@given(st.data())
@settings(max_examples=60, deadline=None, print_blob=True)
def test_a_sound_definition_with_something_arbitrary_in_it_is_read_or_refused(
    data: st.DataObject,
) -> None:
    _read_or_refused(_spoiled_somewhere(data))


@pytest.mark.long
@given(_JSON, st.data())
@settings(max_examples=2000, deadline=None, print_blob=True)
def test_whatever_is_arbitrary_is_read_or_refused_in_a_long_run(
    given: Any, data: st.DataObject
) -> None:
    _read_or_refused(given)
    _read_or_refused(_spoiled_somewhere(data))


def _spoiled_somewhere(data: st.DataObject) -> dict[str, Any]:
    """A sound definition with something arbitrary in it."""
    spec = copy.deepcopy(EVERYTHING)
    place: Any = spec
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            place[key] = data.draw(_JSON)
            break
        place = place[key]
    return spec


def _read_or_refused(given: Any) -> None:
    refusal = None
    try:
        _works(read_spec(given))
    except Incorrect as problem:
        refusal = problem
    if refusal is not None:
        assert refusal.code == "workflow.invalid"
        assert refusal.data["findings"]
        json.dumps(refusal.data).encode()
    assert _least_s(given) < SOON_S


def _works(spec: Spec) -> None:
    """What was read can be kept, read again and shown."""
    assert read_spec(canonical(spec)) == spec
    made = machine_of(canonical(spec))
    assert diagram_of(made).startswith("stateDiagram-v2\n")
    assert outline_of(made).startswith("- ")


@st.composite
def sound_machines(draw: st.DrawFn) -> dict[str, Any]:
    """A definition that is sound by its making: a tree from the initial state, with ends."""
    count = draw(st.integers(1, 8))
    names = [f"state/s{n}" for n in range(count)]
    kinds = draw(st.lists(st.sampled_from(["success", "failure", "cancel"]), max_size=3))
    ends = [f"state/end{n}" for n in range(len(kinds))]
    parents = [draw(st.integers(0, n - 1)) for n in range(1, count)]
    ways: list[dict[str, Any]] = [
        {"name": f"to{n + 1}", "from": names[parent], "to": names[n + 1]}
        for n, parent in enumerate(parents)
    ]
    if not ends:
        ways += [{"name": "stay", "from": name, "to": name} for name in names]
    else:
        ways += [{"name": "finish", "from": names, "to": ends[0]}]
        ways += [
            {"name": f"end{n}", "from": draw(st.sampled_from(names)), "to": end}
            for n, end in enumerate(ends)
        ]
    extra = draw(st.lists(st.tuples(st.sampled_from(names + ends), st.sampled_from(names))))
    ways += [{"name": f"x{n}", "from": one, "to": other} for n, (one, other) in enumerate(extra)]
    for way in ways:
        way |= draw(st.fixed_dictionaries({}, optional={"guard": st.just("context.ok")}))
    states: list[dict[str, Any]] = [{"name": name} for name in names]
    states[0]["initial?"] = True
    states += [
        {"name": end, "terminal?": True, "terminal-kind": kind}
        for end, kind in zip(ends, kinds, strict=True)
    ]
    order = draw(st.randoms(use_true_random=False))
    _shuffle(states, order)
    _shuffle(ways, order)
    return {"name": "any/machine", "states": states, "transitions": ways}


def _shuffle(items: list[Any], order: random.Random) -> None:
    order.shuffle(items)


@given(sound_machines())
@settings(max_examples=30, deadline=None, print_blob=True)
def test_any_machine_that_is_made_sound_passes(spec: dict[str, Any]) -> None:
    _works(read_spec(spec))


@given(sound_machines(), st.data())
@settings(max_examples=30, deadline=None, print_blob=True)
def test_any_machine_with_a_state_cut_off_is_refused(
    spec: dict[str, Any], data: st.DataObject
) -> None:
    _refused_if_cut_off(spec, data)


@pytest.mark.long
@given(sound_machines(), st.data())
@settings(max_examples=2000, deadline=None, print_blob=True)
def test_any_machine_passes_until_a_state_is_cut_off_in_a_long_run(
    spec: dict[str, Any], data: st.DataObject
) -> None:
    _works(read_spec(spec))
    _refused_if_cut_off(spec, data)


def _refused_if_cut_off(spec: dict[str, Any], data: st.DataObject) -> None:
    lost = data.draw(st.sampled_from(spec["states"]))["name"]
    index = next(n for n, state in enumerate(spec["states"]) if state["name"] == lost)
    is_first = spec["states"][index].get("initial?", False)
    spec["transitions"] = [way for way in spec["transitions"] if way["to"] != lost]
    if is_first and not spec["transitions"]:
        assert (f"states[{index}]", "workflow.dead-end") in codes_of(spec)
    elif is_first:
        _works(read_spec(spec))  # processes begin there: nothing has to lead to it
    else:
        assert (f"states[{index}]", "workflow.unreachable") in codes_of(spec)


def test_what_is_dropped_at_random_is_missed_or_not_needed() -> None:
    needed = {"name", "states"}
    for key in EVERYTHING:
        if key in needed:
            assert codes_of(spoiled(drop(key)))
        elif key != "transitions":
            read_spec(spoiled(drop(key)))
