"""Definitions as they come: read leniently, checked completely, kept in one form.

`read_spec` answers a `Spec` that has passed every check, or one error that carries every finding.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from sandbar.errors import Problem
from sandbar.findings import Findings, finding_of
from sandbar.keywords import parse_ident
from sandbar.model import door_check
from sandbar.workflow.effects import EFFECTS_MAX, STARTS_MAX, read_effect
from sandbar.workflow.findings import findings_of_definition, shown, unsound
from sandbar.workflow.forms import check_form
from sandbar.workflow.reading import LEAST_WAIT_S, Fields, read_fields
from sandbar.workflow.schema_checks import check_schema
from sandbar.workflow.shapes import (
    BACKOFF_S,
    KINDS,
    NOT_STARTER,
    After,
    Input,
    Kind,
    Move,
    Request,
    Spec,
    State,
)
from sandbar.workflow.soundness import check_soundness

SPEC_BYTES_MAX = 256 * 1024
STATES_MAX = 200
TRANSITIONS_MAX = 1_000
RETRIES_MAX = 100
REQUESTS_MAX = 20
ANSWERERS_MAX = 20
LABEL_CHARACTERS_MAX = 200
MESSAGE_CHARACTERS_MAX = 2_000
DESCRIPTION_CHARACTERS_MAX = 10_000
_DEPTH_MAX = 32
_VERSION_MAX = 1_000_000_000
_REQUEST_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_SINGLE_REQUEST = "answer"
_NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}

_SPEC_KEYS = (
    "name",
    "version",
    "description",
    "data-schema",
    "cancellable",
    "pausable",
    "states",
    "transitions",
)
_STATE_KEYS = (
    "name",
    "label",
    "initial",
    "terminal",
    "terminal-kind",
    "metadata",
    "activity",
    "timeout",
    "retries",
    "backoff",
    "on-error",
    "after",
    "input",
    "cancellable",
)
_TRANSITION_KEYS = (
    "name",
    "from",
    "to",
    "label",
    "guard",
    "requires-reason",
    "effects",
    "handler",
)
_STATE_EXAMPLE = '{"name": "order/pending", "initial?": true}'
_TRANSITION_EXAMPLE = '{"name": "confirm", "from": "order/pending", "to": "order/confirmed"}'
_EFFECT_EXAMPLE = '{"set": {"order/status": "paid"}}'
_AFTER_EXAMPLE = '{"seconds": 259200, "transition": "expire"}'
_REQUEST_EXAMPLE = '{"message": "Where to?", "schema": {"type": "object", "properties": {…}}}'
_INPUT_EXAMPLE = _REQUEST_EXAMPLE.removesuffix("}") + ', "accept": "confirm"}'
_SCHEMA_EXAMPLE = '{"type": "object", "properties": {"quantity": {"type": "integer"}}}'
_SPEC_EXAMPLE = (
    f'{{"name": "order/way", "states": [{_STATE_EXAMPLE}, …], "transitions": '
    f"[{_TRANSITION_EXAMPLE}, …]}}"
)
_INPUT_KEYS = ("requests", "message", "schema", "accept", "decline", "by")
_BY_EXAMPLE = f'"by": ["approver", "user/anna", "{NOT_STARTER}"]'


def read_spec(given: Any) -> Spec:
    """The definition that was given: a JSON object, or a text that holds one."""
    findings = findings_of_definition()
    plain = _plain_json(given, findings)
    fields = None if findings.count else read_fields(plain, "", _SPEC_KEYS, findings, _SPEC_EXAMPLE)
    if fields is None:
        raise unsound("this is not a workflow", findings)
    fields.require("name", "states")
    name = fields.name("name", parse_ident)
    states = fields.items("states", STATES_MAX, _STATE_EXAMPLE)
    transitions = fields.items("transitions", TRANSITIONS_MAX, _TRANSITION_EXAMPLE)
    spec = Spec(
        name=name or "",
        version=fields.integer("version", 1, _VERSION_MAX),
        description=fields.text("description", DESCRIPTION_CHARACTERS_MAX),
        data_schema=_read_data_schema(fields, findings),
        is_cancellable=fields.flag("cancellable", True),
        is_pausable=fields.flag("pausable", True),
        states=tuple(
            _read_state(item, f"states[{index}]", findings)
            for index, item in enumerate(states or ())
        ),
        transitions=tuple(
            _read_transition(item, f"transitions[{index}]", findings)
            for index, item in enumerate(transitions or ())
        ),
    )
    # Where a whole list is missing or refused, whatever names its members would be wrong, too.
    if "states" in fields and states is not None and transitions is not None:
        check_soundness(spec, findings)
    if findings.count:
        raise unsound(f"{f'workflow {name}' if name else 'the workflow'} is not sound", findings)
    return spec


def canonical(spec: Spec) -> str:
    """The spec as JSON, always the same for the same spec."""
    return msgspec.json.encode(spec).decode()


def with_version(spec: Spec, version: int | None) -> Spec:
    """The same definition as another version."""
    return msgspec.structs.replace(spec, version=version)


def fingerprint(spec: Spec) -> str:
    """Tells definitions apart, whatever their versions and the order of the keys in objects."""
    encoded = msgspec.json.encode(with_version(spec, None), order="deterministic")
    return hashlib.sha256(encoded).hexdigest()


def _plain_json(given: Any, findings: Findings) -> Any:
    """What was given as JSON of bounded size and depth, of which nobody else has a copy."""
    try:
        if isinstance(given, str):
            door_check(given, max_bytes=SPEC_BYTES_MAX)
            given = msgspec.json.decode(given)
        door_check(given, max_bytes=SPEC_BYTES_MAX, max_depth=_DEPTH_MAX)
    except Problem as problem:
        findings.add(finding_of(problem, at=""))
        return None
    except (msgspec.MsgspecError, RecursionError) as error:
        findings.complain(
            "workflow.form", "", f"the text is not JSON: {str(error)[:160]}", "give a JSON object"
        )
        return None
    encoded = msgspec.json.encode(given)
    if len(encoded) > SPEC_BYTES_MAX:
        findings.complain(
            "workflow.too-large",
            "",
            f"a definition of {len(encoded):,} bytes is too large",
            f"at most {SPEC_BYTES_MAX:,} bytes; split it: an effect can start another workflow",
        )
    return msgspec.json.decode(encoded)


def _read_data_schema(fields: Fields, findings: Findings) -> dict[str, Any] | None:
    schema = fields.get("data-schema")
    if schema is None:
        return None
    if not isinstance(schema, dict):
        findings.complain(
            "workflow.form",
            "data-schema",
            f"expected a JSON Schema, got {shown(schema)}",
            f"for example {_SCHEMA_EXAMPLE}",
        )
        return None
    check_schema(schema, "data-schema", findings)
    return schema


# --- states --------------------------------------------------------------------------------------


def _read_state(given: Any, at: str, findings: Findings) -> State:
    fields = read_fields(given, at, _STATE_KEYS, findings, _STATE_EXAMPLE)
    if fields is None:
        return State(name="")
    fields.require("name")
    is_terminal = fields.flag("terminal", False)
    retries = fields.integer("retries", 0, RETRIES_MAX)
    return State(
        name=fields.name("name") or "",
        label=fields.text("label", LABEL_CHARACTERS_MAX),
        is_initial=fields.flag("initial", False),
        is_terminal=is_terminal,
        kind=_read_kind(fields, is_terminal, at, findings),
        metadata=fields.get("metadata"),
        activity=fields.name("activity"),
        timeout_s=fields.seconds("timeout"),
        retries=retries or 0,
        backoff_s=fields.seconds("backoff", LEAST_WAIT_S) or BACKOFF_S,
        on_error=fields.name("on-error"),
        after=_read_after(fields, findings),
        input=_read_input(fields, findings),
        is_cancellable=fields.flag("cancellable", True),
    )


def _read_kind(fields: Fields, is_terminal: bool, at: str, findings: Findings) -> Kind | None:
    given = fields.get("terminal-kind")
    one_of = f"a terminal kind is {', '.join(KINDS)}"
    if given is None:
        if is_terminal:
            findings.complain(
                "workflow.terminal-without-kind", at, "a terminal state without a kind", one_of
            )
        return None
    plain = given.removeprefix(":") if isinstance(given, str) else given
    kind = next((kind for kind in KINDS if kind == plain), None)
    if kind is None:
        findings.complain(
            "workflow.invalid-terminal-kind", at, f"{shown(given)} is no terminal kind", one_of
        )
    if not is_terminal:
        findings.complain(
            "workflow.non-terminal-with-kind",
            at,
            "a state that is not terminal has a terminal kind",
            'add "terminal?": true, or remove terminal-kind',
        )
    return kind


def _read_after(fields: Fields, findings: Findings) -> After | None:
    given = fields.get("after")
    if given is None:
        return None
    keys = ("seconds", "transition")
    timer = read_fields(given, fields.at("after"), keys, findings, _AFTER_EXAMPLE)
    if timer is None:
        return None
    timer.require("seconds", "transition")
    seconds, transition = timer.seconds("seconds", LEAST_WAIT_S), timer.name("transition")
    if seconds is None or transition is None:
        return None
    return After(seconds=seconds, transition=transition)


def _read_input(fields: Fields, findings: Findings) -> Input | None:
    given = fields.get("input")
    if given is None:
        return None
    wanted = read_fields(given, fields.at("input"), _INPUT_KEYS, findings, _INPUT_EXAMPLE)
    if wanted is None:
        return None
    wanted.require("accept")
    requests = _read_requests(wanted, fields.at("input"), findings)
    accept, decline = wanted.name("accept"), wanted.name("decline")
    by = _read_by(wanted, findings)
    if accept is None:
        return None
    return Input(requests=requests, accept=accept, decline=decline, by=by)


def _read_by(wanted: Fields, findings: Findings) -> tuple[str, ...]:
    """Who may answer: one name, or several."""
    given = wanted.get("by")
    if given is None:
        return ()
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not 0 < len(names) <= ANSWERERS_MAX:
        findings.complain(
            "workflow.form",
            wanted.at("by"),
            f"expected a name, or 1 to {ANSWERERS_MAX} of them, got {shown(given)}",
            f"name roles, principals or {NOT_STARTER}, for example {_BY_EXAMPLE}",
        )
        return ()
    read = [wanted.as_name(name, f"{wanted.at('by')}[{n}]") for n, name in enumerate(names)]
    return tuple(dict.fromkeys(name for name in read if name is not None))


def _read_requests(wanted: Fields, at: str, findings: Findings) -> dict[str, Request]:
    if "requests" not in wanted:
        return {_SINGLE_REQUEST: _read_request(wanted, at, findings)}
    given = wanted.get("requests")
    if "message" in wanted or "schema" in wanted:
        findings.complain(
            "workflow.form", at, "message and schema stand beside requests", "put them inside"
        )
    if not isinstance(given, dict) or not 0 < len(given) <= REQUESTS_MAX:
        findings.complain(
            "workflow.form",
            f"{at}.requests",
            f"expected an object of 1 to {REQUESTS_MAX} requests, got {shown(given)}",
            f'for example {{"address": {_REQUEST_EXAMPLE}}}',
        )
        return {}
    requests: dict[str, Request] = {}
    for key, item in given.items():
        place = f"{at}.requests.{key[:64]}"
        if _REQUEST_KEY.fullmatch(key) is None:
            findings.complain(
                "workflow.form",
                place,
                f"{shown(key)} is no key of a request",
                "letters, digits, - and _, a letter first, at most 64 characters",
            )
        request = read_fields(item, place, ("message", "schema"), findings, _REQUEST_EXAMPLE)
        if request is not None:
            requests[key] = _read_request(request, place, findings)
    return requests


def _read_request(fields: Fields, at: str, findings: Findings) -> Request:
    fields.require("message")
    schema = fields.get("schema")
    if schema is None:
        schema = _NO_FIELDS
    if not isinstance(schema, dict):
        findings.complain(
            "workflow.form",
            f"{at}.schema",
            f"expected an object schema, got {shown(schema)}",
            f"for example {_SCHEMA_EXAMPLE}",
        )
        schema = _NO_FIELDS
    check_form(schema, f"{at}.schema", findings)
    return Request(message=fields.text("message", MESSAGE_CHARACTERS_MAX) or "", schema=schema)


# --- transitions ---------------------------------------------------------------------------------


def _read_transition(given: Any, at: str, findings: Findings) -> Move:
    aliases = {"on-transition": "handler"}
    fields = read_fields(given, at, _TRANSITION_KEYS, findings, _TRANSITION_EXAMPLE, aliases)
    if fields is None:
        return Move(name="", from_=(), to="")
    fields.require("name", "from", "to")
    effects = [
        read_effect(item, f"{at}.effects[{index}]", findings)
        for index, item in enumerate(fields.items("effects", EFFECTS_MAX, _EFFECT_EXAMPLE) or ())
    ]
    starts = sum(effect is not None and "start" in effect for effect in effects)
    if starts > STARTS_MAX:
        findings.complain(
            "workflow.too-large",
            fields.at("effects"),
            f"{starts} effects that start processes are too many",
            f"at most {STARTS_MAX}; those that are started can start others",
        )
    return Move(
        name=fields.name("name") or "",
        from_=_read_from(fields, findings),
        to=fields.name("to") or "",
        label=fields.text("label", LABEL_CHARACTERS_MAX),
        guard=fields.text("guard", MESSAGE_CHARACTERS_MAX),
        requires_reason=fields.flag("requires-reason", False),
        effects=tuple(effect for effect in effects if effect is not None),
        handler=fields.name("handler"),
    )


def _read_from(fields: Fields, findings: Findings) -> tuple[str, ...]:
    """The states that a transition leaves: one name, or several."""
    if not isinstance(fields.get("from"), list):
        name = fields.name("from")
        return () if name is None else (name,)
    if not fields.get("from"):
        findings.complain("workflow.missing", fields.at("from"), "no state is named", "name one")
    names = [
        fields.as_name(item, f"{fields.at('from')}[{index}]")
        for index, item in enumerate(fields.items("from", STATES_MAX, '"order/pending"') or ())
    ]
    return tuple(name for name in names if name is not None)
