"""Definitions for tests: one that uses everything, and ways to spoil it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from sandbar.errors import Incorrect
from sandbar.workflow.specs import read_spec

Spec = dict[str, Any]
Spoil = Callable[[Spec], None]

FORM = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "title": "Street", "minLength": 1, "maxLength": 80},
        "mail": {"type": "string", "format": "email"},
        "floor": {"type": "integer", "minimum": 0, "maximum": 99, "default": 0},
        "weight": {"type": "number"},
        "gift": {"type": "boolean", "default": False},
        "speed": {"type": "string", "enum": ["slow", "fast"], "enumNames": ["Slow", "Fast"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
        "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
        "hours": {
            "type": "array",
            "items": {"anyOf": [{"const": "am", "title": "Morning"}]},
            "minItems": 1,
            "maxItems": 1,
            "default": ["am"],
        },
    },
    "required": ["street"],
}

EVERYTHING: Spec = {
    "name": "order/fulfillment",
    "version": 2,
    "description": "From the order to the door.",
    "data-schema": {
        "type": "object",
        "properties": {"total": {"type": "number", "minimum": 0}, "note": {"type": "string"}},
        "required": ["total"],
    },
    "pausable?": False,
    "states": [
        {"name": "order/pending", "label": "Pending", "initial?": True, "metadata": {"colour": 1}},
        {
            "name": "order/asking",
            "input": {
                "requests": {"address": {"message": "Where to?", "schema": FORM}},
                "accept": "confirm",
                "decline": "cancel",
            },
            "after": {"seconds": 3600, "transition": "expire"},
        },
        {
            "name": "order/packing",
            "activity": "order/pack",
            "timeout": 30,
            "retries": 3,
            "backoff": 0.5,
            "on-error": "fail",
            "cancellable?": False,
        },
        {"name": "order/delivered", "terminal?": True, "terminal-kind": "success"},
        {"name": "order/failed", "terminal?": True, "terminal-kind": "failure"},
        {"name": "order/cancelled", "terminal?": True, "terminal-kind": "cancel"},
    ],
    "transitions": [
        {"name": "ask", "from": "order/pending", "to": "order/asking", "label": "Ask for it"},
        {
            "name": "confirm",
            "from": ["order/pending", "order/asking"],
            "to": "order/packing",
            "guard": "process.data.total < 100.0 || actor == 'boss'",
            "effects": [
                {"set": {"order/status": "status/confirmed"}},
                {"set": {"order/by": {"from": "actor"}}, "entity": {"from": "data.order"}},
                {"create": "order/Note", "slots": {"order/text": {"from": "reason"}}},
                {"start": "order/invoice", "subject": {"from": "subject"}, "data": {"n": 1}},
                {"data": {"to": {"from": "answers.address.street"}}},
            ],
            "handler": "order/tell",
        },
        {"name": "expire", "from": "order/asking", "to": "order/cancelled"},
        {
            "name": "cancel",
            "from": ["order/pending", "order/asking"],
            "to": "order/cancelled",
            "requires-reason?": True,
        },
        {"name": "done", "from": "order/packing", "to": "order/delivered"},
        {"name": "fail", "from": "order/packing", "to": "order/failed"},
        {"name": "retry", "from": "order/failed", "to": "order/packing"},
    ],
}


def spoiled(spoil: Spoil) -> Spec:
    """Everything, but for one thing."""
    spec = copy.deepcopy(EVERYTHING)
    spoil(spec)
    return spec


def put(path: str, value: Any) -> Spoil:
    """Put a value at a path such as `states.1.input.accept`."""

    def spoil(spec: Spec) -> None:
        *inner, last = path.split(".")
        place: Any = spec
        for name in inner:
            place = place[int(name)] if isinstance(place, list) else place[name]
        if isinstance(place, list):
            place[int(last)] = value
        else:
            place[last] = value

    return spoil


def drop(path: str) -> Spoil:
    """Remove what is at a path."""

    def spoil(spec: Spec) -> None:
        *inner, last = path.split(".")
        place: Any = spec
        for name in inner:
            place = place[int(name)] if isinstance(place, list) else place[name]
        del place[int(last) if isinstance(place, list) else last]

    return spoil


def findings_of(given: Any) -> list[dict[str, Any]]:
    """What is wrong with a definition that must be refused."""
    with pytest.raises(Incorrect) as caught:
        read_spec(given)
    assert caught.value.code == "workflow.invalid"
    found: list[dict[str, Any]] = caught.value.data["findings"]
    assert found
    assert all(one["message"] and one["code"] for one in found)
    return found


def codes_of(given: Any) -> list[tuple[str, str]]:
    """Where a definition is wrong, and the codes of what is wrong there."""
    return [(one["at"], one["code"]) for one in findings_of(given)]
