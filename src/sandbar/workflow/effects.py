"""Effects as data: what a transition changes besides the state, and where values are read from.

A value {"from": "path"} anywhere in an effect is replaced by what stands at the path when the
transition is made. What was read is taken as it is: a {"from": …} in it is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from sandbar.errors import Incorrect, Problem
from sandbar.findings import Findings, finding_of
from sandbar.keywords import parse_ident
from sandbar.workflow.budgets import Budget
from sandbar.workflow.findings import shown

EFFECTS_MAX = 50
STARTS_MAX = 10  # of them
_PATH_CHARACTERS_MAX = 255
_SINGLE = frozenset({"process", "subject", "actor", "now", "reason"})
_DEEP = frozenset({"data", "context", "answers"})
_INDEX = re.compile(r"[0-9]{1,6}")
_SHAPES = (
    'an effect is {"set": {…}, "entity"?: …}, {"create": "class", "slots"?: {…}}, '
    '{"start": "workflow", "subject"?: …, "data"?: {…}} or {"data": {…}}'
)
_PATHS = (
    "a path is process, subject, actor, now, reason, data.x.y, context.x.y or answers.key.field"
)


class SetSlots(msgspec.Struct, frozen=True, kw_only=True):
    """Set slots of an entity, of the subject if none is named; null clears a slot."""

    slots: dict[str, Any]
    entity: Any = None


class CreateEntity(msgspec.Struct, frozen=True, kw_only=True):
    """Make an entity."""

    class_: str
    slots: dict[str, Any] = {}


class StartProcess(msgspec.Struct, frozen=True, kw_only=True):
    """Start another process; without a subject it is about nothing."""

    workflow: str
    subject: Any = None
    data: dict[str, Any] = {}


class MergeData(msgspec.Struct, frozen=True, kw_only=True):
    """Put something into the data of the process."""

    data: dict[str, Any]


Effect: TypeAlias = SetSlots | CreateEntity | StartProcess | MergeData


def effect_of(effect: Mapping[str, Any]) -> Effect:
    """The effect that a checked spec describes."""
    if "set" in effect:
        return SetSlots(slots=effect["set"], entity=effect.get("entity"))
    if "create" in effect:
        return CreateEntity(class_=effect["create"], slots=effect.get("slots", {}))
    if "start" in effect:
        return StartProcess(
            workflow=effect["start"],
            subject=effect.get("subject"),
            data=effect.get("data", {}),
        )
    return MergeData(data=effect["data"])


def resolved(value: Any, scope: Mapping[str, Any], budget: Budget) -> Any:
    """The value with every {"from": "path"} in it replaced by what the scope has there.

    What was read counts with its full size, as often as it was read: nothing is written before.
    """
    found = _resolved(value, scope)
    budget.spend(found)
    return found


def _resolved(value: Any, scope: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        if _is_reading(value):
            return _read(value["from"], scope)
        return {key: _resolved(item, scope) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, scope) for item in value]
    return value


def read_effect(given: Any, at: str, findings: Findings) -> dict[str, Any] | None:
    """One effect in its canonical form; what is wrong with it goes to the findings."""
    if not isinstance(given, dict):
        findings.complain(
            "workflow.effect", at, f"an effect is an object, not {shown(given)}", _SHAPES
        )
        return None
    effect = {key.removeprefix(":"): value for key, value in given.items()}
    kind = next((kind for kind in _ALLOWED if kind in effect), None)
    if kind is None:
        findings.complain("workflow.effect", at, "this is none of the known effects", _SHAPES)
        return None
    for key in effect.keys() - _ALLOWED[kind].keys():
        findings.complain(
            "workflow.effect", at, f"an effect with `{kind}` has no {shown(key)}", _SHAPES
        )
    known = {key: effect[key] for key in _ALLOWED[kind] if effect.get(key) is not None}
    if kind not in known:
        findings.complain("workflow.effect", at, f"`{kind}` is null", _SHAPES)
    return {
        key: _ALLOWED[kind][key](value, f"{at}.{key}", findings) for key, value in known.items()
    }


def _ident(value: Any, at: str, findings: Findings) -> Any:
    try:
        return parse_ident(value)
    except Problem as problem:
        findings.add(finding_of(problem, at=at))
        return value


def _slots(value: Any, at: str, findings: Findings) -> Any:
    if not isinstance(value, dict) or _is_reading(value):
        findings.complain(
            "workflow.effect", at, f"slots are an object, not {shown(value)}", _SHAPES
        )
        return value
    return {
        _ident(slot, at, findings): _value(item, f"{at}.{slot[:60]}", findings)
        for slot, item in value.items()
    }


def _data(value: Any, at: str, findings: Findings) -> Any:
    if not isinstance(value, dict):
        findings.complain("workflow.effect", at, f"data is an object, not {shown(value)}", _SHAPES)
    elif _is_reading(value):
        findings.complain(
            "workflow.effect",
            at,
            "data is an object whose values may be read, not itself read from a path",
            'for example {"data": {"order": {"from": "context.order"}}}',
        )
    return _value(value, at, findings)


def _entity(value: Any, at: str, findings: Findings) -> Any:
    is_id = isinstance(value, int) and not isinstance(value, bool) and value > 0
    is_name = isinstance(value, str) and 0 < len(value) <= _PATH_CHARACTERS_MAX
    if not (is_id or is_name or (isinstance(value, dict) and _is_reading(value))):
        findings.complain(
            "workflow.effect",
            at,
            f"{shown(value)} names no entity",
            'give an id, an ident, or {"from": "data.x"}',
        )
    return _value(value, at, findings)


def _value(value: Any, at: str, findings: Findings) -> Any:
    """Any value; the paths in it must be well-formed."""
    if isinstance(value, dict):
        if _is_reading(value):
            _check_path(value["from"], at, findings)
            return value
        return {key: _value(item, at, findings) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item, at, findings) for item in value]
    return value


_Reader = Callable[[Any, str, Findings], Any]

# By the key that tells the kind; the order decides for objects that have several of them.
_ALLOWED: dict[str, dict[str, _Reader]] = {
    "set": {"set": _slots, "entity": _entity},
    "create": {"create": _ident, "slots": _slots},
    "start": {"start": _ident, "subject": _entity, "data": _data},
    "data": {"data": _data},
}


def _is_reading(value: dict[str, Any]) -> bool:
    return len(value) == 1 and "from" in value


def _check_path(path: Any, at: str, findings: Findings) -> None:
    root, *inner = path.split(".") if isinstance(path, str) else ("",)
    fits = (root in _SINGLE and not inner) or (root in _DEEP and all(inner))
    if not fits or len(path) > _PATH_CHARACTERS_MAX:
        findings.complain("workflow.effect", at, f"{shown(path)} is not a path", _PATHS)


def _read(path: str, scope: Mapping[str, Any]) -> Any:
    value: Any = scope
    for name in path.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise Incorrect(
                "workflow.effect-path",
                f"an effect of the transition reads {path}, and there is no {name[:80]!r}",
                hint=f"give it as `context` or `data` before this transition, as {path} says",
                data={"path": path},
            )
    return value
