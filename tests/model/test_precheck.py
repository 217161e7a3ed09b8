"""Large populations are checked before the writer is held up, and nothing slips through."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import sandbar
from sandbar.model import impact
from sandbar.model.preview import Preview
from tests.model.conftest import Place

POPULATION = 1200


@pytest.fixture
def crowd(place: Place) -> sandbar.Database:
    """A class with more instances than one page."""
    db = place.another()
    db.define(
        properties={
            "a/rank": {"dt/range": "db.type/long"},
            "a/note": {"dt/range": "db.type/string"},
        },
        classes={"a/Thing": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["a/rank", "a/note"]}},
    )
    operations = [
        {"op": "create", "class": "a/Thing", "slots": {"a/rank": n}} for n in range(POPULATION)
    ]
    db.transact(operations)
    return db


def test_the_writer_does_not_scan_what_was_checked_before(
    crowd: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned = []
    scan, here = impact.instances, threading.get_ident()

    def watched(unit: Any, cls: Any) -> Any:
        if threading.get_ident() != here:
            scanned.append(cls.ident)
        return scan(unit, cls)

    monkeypatch.setattr(impact, "instances", watched)
    crowd.define(properties={"a/rank": {"dt/max": POPULATION}})
    assert scanned == []
    with pytest.raises(sandbar.Incorrect):
        crowd.create("a/Thing", {"a/rank": POPULATION + 1})


def test_a_change_that_would_break_many_is_refused_with_the_count(crowd: sandbar.Database) -> None:
    before = crowd.t
    with pytest.raises(sandbar.Conflict) as caught:
        crowd.define(properties={"a/rank": {"dt/max": 99}})
    assert (caught.value.code, caught.value.data["broken"]) == (
        "schema.would-break",
        POPULATION - 100,
    )
    assert crowd.t == before


@pytest.mark.parametrize("way", ["create", "update"])
def test_what_slips_in_between_is_checked_by_the_writer(
    crowd: sandbar.Database, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    foresee = Preview.foresee
    first = crowd.query("a/Thing", limit=1).items[0].entity_id

    def overtaken(preview: Preview, operations: Any) -> Any:
        checked = foresee(preview, operations)
        monkeypatch.setattr(Preview, "foresee", foresee)
        if way == "create":
            crowd.create("a/Thing", {"a/rank": 10**6})
        else:
            crowd.update(first, {"a/rank": 10**6})
        return checked

    monkeypatch.setattr(Preview, "foresee", overtaken)
    with pytest.raises(sandbar.Conflict) as caught:
        crowd.define(properties={"a/rank": {"dt/max": POPULATION}})
    assert caught.value.data["broken"] == 1


def test_a_schema_that_changed_in_between_voids_the_check(
    crowd: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    foresee = Preview.foresee

    def overtaken(preview: Preview, operations: Any) -> Any:
        checked = foresee(preview, operations)
        monkeypatch.setattr(Preview, "foresee", foresee)
        crowd.define(classes={"a/Thing": {"dt/validator": "this['a/rank'] >= 0"}})
        return checked

    monkeypatch.setattr(Preview, "foresee", overtaken)
    crowd.define(properties={"a/rank": {"dt/max": POPULATION}})
    assert crowd.schema.describe_property("a/rank")["max"] == POPULATION
