"""Definitions: each check refuses what it is for, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from sandbar.workflow.shapes import Spec as Definition
from sandbar.workflow.specs import canonical, fingerprint, read_spec, with_version
from tests.workflow.definitions import EVERYTHING, Spoil, codes_of, drop, findings_of, put, spoiled

FEW = [{"name": f"s{n}"} for n in range(300)]
MANY = [{"name": f"t{n}", "from": "order/pending", "to": "order/asking"} for n in range(1001)]


def test_a_sound_definition_is_read_whole() -> None:
    spec = read_spec(EVERYTHING)
    assert (spec.name, spec.version, spec.is_cancellable, spec.is_pausable) == (
        "order/fulfillment",
        2,
        True,
        False,
    )
    pending, asking, packing, delivered, *_ = spec.states
    assert pending.is_initial
    assert pending.label == "Pending"
    assert pending.metadata == {"colour": 1}
    assert asking.input is not None
    assert asking.input.requests["address"].message == "Where to?"
    assert asking.after is not None
    assert asking.after.seconds == 3600.0
    assert (packing.activity, packing.timeout_s, packing.retries) == ("order/pack", 30.0, 3)
    assert (packing.backoff_s, packing.on_error, packing.is_cancellable) == (0.5, "fail", False)
    assert delivered.is_terminal
    assert delivered.kind == "success"
    assert spec.transitions[0].from_ == ("order/pending",)
    assert spec.transitions[1].handler == "order/tell"
    assert spec.transitions[3].requires_reason


def test_what_is_kept_can_be_read_again_and_is_the_same() -> None:
    spec = read_spec(EVERYTHING)
    text = canonical(spec)
    assert read_spec(text) == spec == read_spec(msgspec.json.decode(text))
    assert msgspec.json.decode(text, type=Definition) == spec
    assert canonical(read_spec(text)) == text


def _respelled(value: Any) -> Any:
    """The same definition as another hand would write it."""
    if isinstance(value, list):
        return [_respelled(item) for item in value]
    if not isinstance(value, dict):
        return value
    spelled = {
        "name": ":name",
        "data-schema": "dataSchema",
        "pausable?": "pausable",
        "initial?": ":initial?",
        "terminal?": "terminal",
        "terminal-kind": "terminal_kind",
        "on-error": "onError",
        "cancellable?": "is-cancellable"[3:],
        "requires-reason?": "requires_reason",
        "handler": "on-transition",
    }
    return {spelled.get(key, key): _respelled(item) for key, item in value.items()}


def test_other_spellings_mean_the_same() -> None:
    other = _respelled(EVERYTHING)
    assert other.keys() != EVERYTHING.keys()
    other[":name"] = ":order/fulfillment"
    other["states"][3]["terminal_kind"] = ":success"
    other["transitions"][0]["from"] = [":order/pending"]
    other["transitions"][1]["effects"][0] = {":set": {":order/status": "status/confirmed"}}
    other["description"] = EVERYTHING["description"]
    other["states"][0]["activity"] = None
    assert read_spec(other) == read_spec(EVERYTHING)


def test_the_short_form_of_an_input_is_one_request() -> None:
    short = {"message": "Sure?", "accept": "confirm"}
    state = read_spec(spoiled(put("states.1.input", short))).states[1]
    assert state.input is not None
    assert list(state.input.requests) == ["answer"]
    assert state.input.requests["answer"].schema == {"type": "object", "properties": {}}
    assert state.input.decline is None


def test_a_fingerprint_ignores_the_version_and_the_order_of_keys_and_nothing_else() -> None:
    spec = read_spec(EVERYTHING)
    reordered = {key: EVERYTHING[key] for key in reversed(EVERYTHING)}
    reordered["states"] = [dict(reversed(state.items())) for state in EVERYTHING["states"]]
    assert fingerprint(read_spec(reordered)) == fingerprint(spec)
    assert fingerprint(with_version(spec, 9)) == fingerprint(spec)
    assert fingerprint(read_spec(spoiled(drop("version")))) == fingerprint(spec)
    for other in (
        put("description", "Another."),
        put("states.0.label", "Waiting"),
        put("transitions.1.guard", "true"),
        put("transitions.1.effects.0.set", {"order/status": "status/other"}),
        put("data-schema.required", []),
    ):
        assert fingerprint(read_spec(spoiled(other))) != fingerprint(spec)


def test_what_was_given_is_neither_changed_nor_kept() -> None:
    given = copy.deepcopy(EVERYTHING)
    spec = read_spec(given)
    assert given == EVERYTHING
    given["states"][1]["input"]["requests"]["address"]["schema"]["properties"].clear()
    given["transitions"][1]["effects"][0]["set"]["order/status"] = "status/spoiled"
    assert spec == read_spec(EVERYTHING)


# --- one check after the other -------------------------------------------------------------------

UNSOUND = {
    "no name": (drop("name"), [("", "workflow.missing")]),
    "a name without namespace": (put("name", "order"), [("name", "keyword.malformed")]),
    "a name that is none": (put("name", 5), [("name", "keyword.malformed")]),
    "version zero": (put("version", 0), [("version", "workflow.range")]),
    "a version in words": (put("version", "2"), [("version", "workflow.form")]),
    "version true": (put("version", True), [("version", "workflow.form")]),
    "no states": (
        lambda spec: spec.update(states=[], transitions=[]),
        [("states", "workflow.no-states")],
    ),
    "states left out": (
        lambda spec: (spec.pop("states"), spec.pop("transitions")),
        [("", "workflow.missing")],
    ),
    "a state that is a text": (
        lambda spec: spec["states"].append("order/lost"),
        [("states[6]", "workflow.form")],
    ),
    "an unknown key": (put("colour", 1), [("", "workflow.unknown-key")]),
    "an unknown key of a state": (
        put("states.0.colour", 1),
        [("states[0]", "workflow.unknown-key")],
    ),
    "an unknown key of a timer": (
        put("states.1.after.minutes", 1),
        [("states[1].after", "workflow.unknown-key")],
    ),
    "a key in two spellings": (
        put("states.0.initial", True),
        [("states[0]", "workflow.repeated-key")],
    ),
    "no initial state": (drop("states.0.initial?"), [("states", "workflow.no-initial")]),
    "two initial states": (
        put("states.1.initial?", True),
        [("states", "workflow.several-initial")],
    ),
    "two states of one name": (
        lambda spec: spec["states"].append({"name": "order/packing"}),
        [("states[6]", "workflow.repeated-state")],
    ),
    "a terminal state without a kind": (
        drop("states.3.terminal-kind"),
        [("states[3]", "workflow.terminal-without-kind")],
    ),
    "a kind on a state that is not terminal": (
        put("states.0.terminal-kind", "success"),
        [("states[0]", "workflow.non-terminal-with-kind")],
    ),
    "a kind that is none": (
        put("states.3.terminal-kind", "happy"),
        [("states[3]", "workflow.invalid-terminal-kind")],
    ),
    "an activity at the end": (
        put("states.3.activity", "a/b"),
        [("states[3]", "workflow.terminal-with-work")],
    ),
    "a timer at the end": (
        put("states.4.after", {"seconds": 1, "transition": "retry"}),
        [("states[4]", "workflow.terminal-with-work")],
    ),
    "an input at the end": (
        put("states.4.input", {"message": "?", "accept": "retry"}),
        [("states[4]", "workflow.terminal-with-work")],
    ),
    "an end where it begins": (
        lambda spec: spec["states"][0].update({"terminal?": True, "terminal-kind": "success"}),
        [
            ("states[0]", "workflow.initial-terminal"),
            ("transitions[3]", "workflow.terminal-to-terminal"),
        ],
    ),
    "a transition from nowhere": (
        put("transitions.0.from", ["order/pending", "order/pendign"]),
        [("transitions[0]", "workflow.unknown-state")],
    ),
    "a transition to nowhere": (
        put("transitions.6.to", "order/pakcing"),
        [("transitions[6]", "workflow.unknown-state")],
    ),
    "a transition that leaves nothing": (
        put("transitions.6.from", []),
        [("transitions[6].from", "workflow.missing")],
    ),
    "two transitions of one name leave a state": (
        put("transitions.5.name", "done"),
        [
            ("transitions[5]", "workflow.repeated-transition"),
            ("states[2].on-error", "workflow.unknown-transition"),
        ],
    ),
    "a transition leaves a state twice": (
        put("transitions.0.from", ["order/pending", "order/pending"]),
        [("transitions[0]", "workflow.repeated-transition")],
    ),
    "a state that nothing leads to": (
        lambda spec: spec["states"].append({"name": "order/lost"}),
        [("states[6]", "workflow.unreachable")],
    ),
    "an island": (
        lambda spec: (
            spec["states"].extend([{"name": "one"}, {"name": "two"}]),
            spec["transitions"].append({"name": "a", "from": "one", "to": "two"}),
            spec["transitions"].append({"name": "b", "from": "two", "to": "one"}),
        ),
        [("states[6]", "workflow.unreachable"), ("states[7]", "workflow.unreachable")],
    ),
    "a state that nothing leads from": (
        lambda spec: (
            spec["states"].append({"name": "order/stuck"}),
            spec["transitions"].append(
                {"name": "stick", "from": "order/pending", "to": "order/stuck"}
            ),
        ),
        [("states[6]", "workflow.dead-end")],
    ),
    "from one end to another": (
        put("transitions.6.to", "order/cancelled"),
        [("transitions[6]", "workflow.terminal-to-terminal")],
    ),
    "an error that leads nowhere": (
        put("states.2.on-error", "flee"),
        [("states[2].on-error", "workflow.unknown-transition")],
    ),
    "a timer for a transition of another state": (
        put("states.1.after.transition", "done"),
        [("states[1].after.transition", "workflow.unknown-transition")],
    ),
    "an answer that leads nowhere": (
        put("states.1.input.accept", "done"),
        [("states[1].input.accept", "workflow.unknown-transition")],
    ),
    "a refusal that leads nowhere": (
        put("states.1.input.decline", "done"),
        [("states[1].input.decline", "workflow.unknown-transition")],
    ),
    "an activity without outcome": (
        lambda spec: (
            spec["states"].append({"name": "busy", "activity": "a/b"}),
            spec["transitions"].append({"name": "work", "from": "order/pending", "to": "busy"}),
        ),
        [("states[6]", "workflow.activity-without-exit"), ("states[6]", "workflow.dead-end")],
    ),
    "retries of nothing": (
        put("states.0.retries", 1),
        [("states[0]", "workflow.without-activity")],
    ),
    "a timeout of nothing": (
        put("states.0.timeout", 1),
        [("states[0]", "workflow.without-activity")],
    ),
    "a guard that does not parse": (
        put("transitions.0.guard", "context.amount >"),
        [("transitions[0].guard", "expression.malformed")],
    ),
    "a guard over what is not there": (
        put("transitions.0.guard", "this.amount > 1"),
        [("transitions[0].guard", "expression.unknown-variable")],
    ),
    "a guard that is a number": (
        put("transitions.0.guard", 1),
        [("transitions[0].guard", "workflow.form")],
    ),
    "no time at all": (
        put("states.1.after.seconds", 0),
        [("states[1].after.seconds", "workflow.range")],
    ),
    "twenty years": (
        put("states.1.after.seconds", 20 * 366 * 86400),
        [("states[1].after.seconds", "workflow.range")],
    ),
    "time that runs backwards": (
        put("states.2.timeout", -1),
        [("states[2].timeout", "workflow.range")],
    ),
    "no backoff": (put("states.2.backoff", 0.0), [("states[2].backoff", "workflow.range")]),
    "a hundred and one retries": (
        put("states.2.retries", 101),
        [("states[2].retries", "workflow.range")],
    ),
    "half a retry": (put("states.2.retries", 0.5), [("states[2].retries", "workflow.form")]),
    "a flag that is none": (
        put("states.2.cancellable?", "yes"),
        [("states[2].cancellable", "workflow.form")],
    ),
    "a timer without transition": (
        drop("states.1.after.transition"),
        [("states[1].after", "workflow.missing")],
    ),
    "an input without a way on": (
        drop("states.1.input.accept"),
        [("states[1].input", "workflow.missing")],
    ),
    "a request without words": (
        drop("states.1.input.requests.address.message"),
        [("states[1].input.requests.address", "workflow.missing")],
    ),
    "a request with a wild key": (
        lambda spec: spec["states"][1]["input"]["requests"].update({"a.b": {"message": "?"}}),
        [("states[1].input.requests.a.b", "workflow.form")],
    ),
    "no requests": (
        put("states.1.input.requests", {}),
        [("states[1].input.requests", "workflow.form")],
    ),
    "a request whose schema is a list": (
        put("states.1.input.requests.address.schema", []),
        [("states[1].input.requests.address.schema", "workflow.form")],
    ),
    "both forms of an input": (
        put("states.1.input.message", "Where?"),
        [("states[1].input", "workflow.form")],
    ),
    "a long label": (put("states.0.label", "x" * 201), [("states[0].label", "workflow.too-large")]),
    "a long description": (
        put("description", "x" * 10_001),
        [("description", "workflow.too-large")],
    ),
    "a data schema that is a list": (put("data-schema", []), [("data-schema", "workflow.form")]),
    "a data schema with a wrong operand": (
        put("data-schema.required", "total"),
        [("data-schema.required", "workflow.schema")],
    ),
    "an effect of no kind": (
        put("transitions.1.effects.0", {"sett": {}}),
        [("transitions[1].effects[0]", "workflow.effect")],
    ),
    "an activity that is a list": (
        put("states.2.activity", ["a/b"]),
        [
            ("states[2].activity", "keyword.malformed"),
            ("states[2]", "workflow.without-activity"),
        ],
    ),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_what_is_unsound_is_refused_for_just_that(case: str) -> None:
    spoil, expected = UNSOUND[case]
    assert codes_of(spoiled(spoil)) == expected


def test_every_finding_has_a_place_and_almost_all_a_hint() -> None:
    without = set()
    for case, (spoil, _) in UNSOUND.items():
        for finding in findings_of(spoiled(spoil)):
            assert finding.keys() <= {"place", "at", "code", "message", "hint"}, case
            assert finding["place"] == (finding["at"] or "definition"), case
            if "hint" not in finding:
                without.add(finding["code"])
    assert without <= {"workflow.form", "workflow.schema"}  # the message says what was expected


def test_of_many_unknown_keys_a_few_are_named_and_the_rest_counted() -> None:
    found = findings_of(spoiled(lambda spec: spec.update({f"k{n}": n for n in range(20)})))
    assert [one["code"] for one in found] == ["workflow.unknown-key"] * 9
    assert "12 more" in found[-1]["message"]


@pytest.mark.parametrize("text", ["", "{name: order}", '{"a":' * 5000])
def test_a_text_that_is_not_json_is_refused_as_that(text: str) -> None:
    assert codes_of(text) == [("", "workflow.form")]
    assert "not JSON" in findings_of(text)[0]["message"]


def test_all_findings_come_at_once_and_hints_say_what_was_meant() -> None:
    spec = spoiled(put("states.2.on-error", "fial"))
    spec["staets"] = spec.pop("version")
    spec["transitions"][4]["to"] = "order/deliverd"
    spec["transitions"][0]["guard"] = "1 +"
    found = {finding["code"]: finding for finding in findings_of(spec)}
    assert found.keys() == {
        "workflow.unknown-key",
        "workflow.unknown-transition",
        "workflow.unknown-state",
        "workflow.unreachable",
        "expression.malformed",
    }
    assert "did you mean states?" in found["workflow.unknown-key"]["hint"]
    assert "did you mean fail?" in found["workflow.unknown-transition"]["hint"]
    assert "did you mean order/delivered?" in found["workflow.unknown-state"]["hint"]
    assert "context" in found["expression.malformed"]["hint"]


def test_a_machine_without_any_end_may_run_for_ever() -> None:
    states = [{"name": "day", "initial?": True}, {"name": "night"}]
    ways = [
        {"name": "dusk", "from": "day", "to": "night"},
        {"name": "dawn", "from": "night", "to": "day"},
    ]
    assert len(read_spec({"name": "a/day", "states": states, "transitions": ways}).states) == 2


def test_without_any_end_some_way_leads_on_from_every_state() -> None:
    only = {"name": "a/only", "states": [{"name": "x", "initial": True}]}
    (found,) = findings_of(only)
    assert (found["at"], found["code"]) == ("states[0]", "workflow.dead-end")
    assert "terminal-kind" in found["hint"]
    door = {"name": "a/door", "states": [{"name": "open", "initial": True}, {"name": "shut"}]}
    shut = {"name": "shut", "from": "open", "to": "shut"}
    assert codes_of({**door, "transitions": [shut]}) == [("states[1]", "workflow.dead-end")]


SHAPES: dict[str, tuple[Spoil, str]] = {
    "states": (put("states", {"order/pending": {}}), '[{"name": "order/pending"'),
    "transitions": (put("transitions", "confirm"), '[{"name": "confirm", "from"'),
    "states[1].after": (put("states.1.after", "3 days"), '"seconds": 259200'),
    "states[1].input": (put("states.1.input", "Where to?"), '"accept": "confirm"'),
    "states[0]": (put("states.0", "order/pending"), '{"name": "order/pending"'),
    "transitions[0]": (put("transitions.0", "ask"), '{"name": "confirm"'),
    "transitions[1].effects": (put("transitions.1.effects", {}), '[{"set"'),
    "version": (put("version", "1.0"), '"version": 2'),
    "pausable": (put("pausable?", "yes"), '"pausable?": true'),
    "states[1].after.seconds": (put("states.1.after.seconds", "3d"), '"seconds": 3600'),
    "states[0].label": (put("states.0.label", 1), '"label": "'),
    "data-schema": (put("data-schema", "number"), '"properties"'),
    "states[1].input.requests.address.schema": (
        put("states.1.input.requests.address.schema", "text"),
        '"type": "object"',
    ),
}


@pytest.mark.parametrize("at", SHAPES)
def test_where_the_shape_is_wrong_an_example_is_given(at: str) -> None:
    spoil, example = SHAPES[at]
    found = next(one for one in findings_of(spoiled(spoil)) if one["at"] == at)
    assert found["code"] == "workflow.form"
    assert found["hint"].startswith("for example ")
    assert example in found["hint"]


def test_what_is_no_object_at_all_is_shown_one() -> None:
    (found,) = findings_of(["order/pending"])
    assert '"states": [{' in found["hint"]


def test_bounds_are_refused_as_bounds() -> None:
    assert codes_of({"name": "a/b", "states": FEW}) == [("states", "workflow.too-large")]
    many = spoiled(lambda spec: spec["transitions"].extend(MANY))
    assert codes_of(many) == [("transitions", "workflow.too-large")]
    large = spoiled(put("states.0.metadata", "x" * 262_000))
    assert codes_of(large) == [("", "value.too-large")]
    escaped = spoiled(put("states.0.metadata", "\n" * 150_000))
    assert codes_of(escaped) == [("", "workflow.too-large")]
    guards = [
        {"name": f"t{n}", "from": "order/pending", "to": "order/asking", "guard": f"{n} > {n:0900}"}
        for n in range(40)
    ]
    many = spoiled(lambda spec: spec["transitions"].extend(guards))
    assert codes_of(many) == [("transitions", "workflow.too-large")]


def test_what_is_just_within_the_bounds_passes() -> None:
    states = [{"name": "s0", "initial": True}, *FEW[1:200]]
    transitions = [
        {"name": f"t{n}", "from": f"s{n % 200}", "to": f"s{(n + 1) % 200}"} for n in range(1000)
    ]
    read = read_spec({"name": "a/b", "states": states, "transitions": transitions})
    assert (len(read.states), len(read.transitions)) == (200, 1000)
    read_spec(spoiled(put("states.0.metadata", "x" * 255_000)))
    read_spec(spoiled(put("states.1.after.seconds", 10 * 366 * 86400)))
    read_spec(spoiled(put("states.2.retries", 100)))
    read_spec(spoiled(put("states.0.label", "x" * 200)))
