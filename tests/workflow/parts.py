"""Instances to be validated: many small ones of a class and its subclass, some of them broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sandbar
from sandbar import clock
from sandbar.workflow import Tally, tally_of

PART, SCREW = "load/Part", "load/Screw"
_AT_ONCE = 1000

PROPERTIES: dict[str, dict[str, Any]] = {
    "part/name": {"dt/range": "db.type/string", "dt/required?": True},
    "part/code": {"dt/range": "db.type/string", "db/unique": "value"},
    "part/weight": {"dt/range": "db.type/double"},
    "part/like": {"dt/range": PART},
}
CLASSES: dict[str, dict[str, Any]] = {
    PART: {"dt/slots": list(PROPERTIES)},
    SCREW: {"dt/subclass-of": [PART]},
}


def make_parts(db: sandbar.Database, count: int, *, heavy: int = 0) -> None:
    """That many parts, every other one a screw, the first `heavy` ones too heavy."""
    db.define(properties=PROPERTIES, classes=CLASSES)
    for start in range(0, count, _AT_ONCE):
        db.transact([_made(number, heavy) for number in range(start, min(start + _AT_ONCE, count))])


def _made(number: int, heavy: int) -> dict[str, Any]:
    slots = {
        "part/name": f"Part {number}",
        "part/code": f"c-{number}",
        "part/weight": 1000.0 if number < heavy else 1.5,
    }
    return {"op": "create", "class": SCREW if number % 2 else PART, "slots": slots}


def allow_up_to(db: sandbar.Database, weight: float) -> None:
    """A rule that heavy parts may not keep."""
    break_rule(db, PART, f'this["part/weight"] < {weight}')


def break_rule(db: sandbar.Database, cls: str, validator: str) -> None:
    """Give a class a rule past the checks that would refuse it for the sake of its instances."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sandbar.model.impact.report_on", lambda *_: None)
        db.update(cls, {"dt/validator": validator})


def until(is_so: Callable[[], Any], within_s: float = 30.0) -> Any:
    """Wait until something is the case; answers with what it was."""
    end_s = clock.monotonic_s() + within_s
    while not (found := is_so()):
        assert clock.monotonic_s() < end_s, "it did not come to pass"
        clock.pause_s(0.005)
    return found


def ended(db: sandbar.Database, process_id: int, within_s: float = 30.0) -> Any:
    """The view of a process once it has ended."""
    until(lambda: db.workflows.view(process_id).is_complete, within_s)
    return db.workflows.view(process_id)


def found_by(db: sandbar.Database, process_id: int) -> Tally:
    """What a validation has found."""
    tally = tally_of(db.workflows, db.workflows.view(process_id))
    assert tally is not None
    return tally


def is_idle(db: sandbar.Database) -> bool:
    """Whether no activity runs here."""
    worker = db._family._worker
    return worker is None or not worker._running
