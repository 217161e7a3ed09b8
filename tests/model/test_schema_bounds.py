"""How large a metamodel may grow: refusals say the bound, and what is beyond it already stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sandbar
from bench.schema_shapes import chain, flat, layers
from sandbar.database import open_database
from sandbar.model import SchemaBounds
from tests.model.conftest import Place

Definitions = dict[str, dict[str, Any]]

SMALL = SchemaBounds(
    class_parents=3,
    class_depth=5,
    class_ancestors=8,
    class_slots=10,
    inheritance=310,
    definitions=99,
    definitions_at_once=20,
)


def texts(number: int) -> Definitions:
    return {f"p/t{n}": {"dt/range": "db.type/string"} for n in range(number)}


@pytest.fixture
def small(place: Place) -> Callable[[], sandbar.Database]:
    """Opens the workspace of the test where little is allowed."""

    def opened() -> sandbar.Database:
        db = open_database(place.address, place.workspace, bounds=SMALL)
        place._opened.append(db)
        return db

    return opened


def refused(
    db: sandbar.Database,
    bound: str,
    properties: Definitions | None = None,
    classes: Definitions | None = None,
) -> sandbar.Incorrect:
    before = db.t
    with pytest.raises(sandbar.Incorrect) as caught:
        db.define(properties=properties, classes=classes)
    problem = caught.value
    assert problem.code == "schema.too-large", problem
    assert problem.data["bound"] == bound, problem
    assert problem.data["actual"] > problem.data["most"]
    assert str(problem.data["most"]) in problem.message
    assert str(problem.data["actual"]) in problem.message
    name = bound.replace("-", "_")
    assert f"SANDBAR_{name.upper()}" in str(problem.hint)
    assert f"bounds=SchemaBounds({name}=…)" in str(problem.hint)
    assert db.t == before
    return problem


@pytest.mark.parametrize(("depth", "width"), [(24, 2), (20, 5), (60, 2), (8, 15)])
def test_layers_are_walked_once(db: sandbar.Database, depth: int, width: int) -> None:
    db.define(classes=layers(depth, width))
    last = f"shape/L{depth - 1}-0"
    assert len(db.schema.ancestors(last)) == (depth - 1) * width + 2
    assert len(db.schema.subclasses("shape/L0-0")) == (depth - 1) * width
    made = db.create(last, {"dt/label": "x"}).entity_id
    assert db.instance_of(made, "shape/L0-1")


def test_the_shapes_that_stopped_a_server_are_refused(db: sandbar.Database) -> None:
    refused(db, "class-parents", classes=layers(100, 20))
    refused(db, "class-depth", classes=chain(3_000))
    refused(db, "definitions-at-once", classes=flat(9_000))


def test_parents_are_bounded(small: Callable[[], sandbar.Database]) -> None:
    db = small()
    db.define(classes=flat(4))
    db.define(classes={"x/Heir": {"dt/subclass-of": list(flat(3))}})
    problem = refused(db, "class-parents", classes={"x/Rich": {"dt/subclass-of": list(flat(4))}})
    assert problem.message == "a class has at most 3 parents; x/Rich would have 4"
    refused(db, "class-parents", classes={"x/Heir": {"dt/subclass-of": list(flat(4))}})


def test_depth_is_bounded_also_from_above(small: Callable[[], sandbar.Database]) -> None:
    db = small()
    db.define(classes=chain(4))  # below dt/Ref: the last stands five steps below dt/Resource
    refused(db, "class-depth", classes={"x/Deep": {"dt/subclass-of": ["shape/L3-0"]}})
    db.define(classes={"x/Top": {"dt/subclass-of": ["dt/Ref"]}})
    refused(db, "class-depth", classes={"shape/L0-0": {"dt/subclass-of": ["x/Top"]}})


def test_ancestors_are_bounded(small: Callable[[], sandbar.Database]) -> None:
    db = small()
    db.define(classes=layers(3, 3))
    problem = refused(db, "class-ancestors", classes={"x/B": {"dt/subclass-of": ["shape/L2-0"]}})
    assert problem.data["actual"] == 9


def test_slots_are_bounded_inherited_ones_included(small: Callable[[], sandbar.Database]) -> None:
    db = small()
    db.define(properties=texts(12))
    names = list(texts(12))
    refused(db, "class-slots", classes={"x/Own": {"dt/slots": names[:11]}})
    db.define(classes={"x/Top": {"dt/slots": names[:4]}})
    db.define(classes={"x/Below": {"dt/subclass-of": ["x/Top"], "dt/slots": names[4:6]}})
    refused(db, "class-slots", classes={"x/Below": {"dt/slots": names[4:8]}})
    problem = refused(db, "class-slots", classes={"x/Top": {"dt/slots": [*names[:4], *names[8:]]}})
    assert "x/Top" in problem.message or "x/Below" in problem.message
    db.define(classes={"x/Below": {"dt/slots": names[:6]}})  # the same slot counts once


def test_all_classes_together_are_bounded(small: Callable[[], sandbar.Database]) -> None:
    db = small()
    db.define(properties=texts(6), classes={"x/Top": {"dt/slots": list(texts(5))}})
    below: Definitions = {f"x/B{n}": {"dt/subclass-of": ["x/Top"]} for n in range(60)}
    names = list(below)
    for start in range(0, 12, 6):
        db.define(classes={name: below[name] for name in names[start : start + 6]})
    refused(db, "inheritance", classes={name: below[name] for name in names[12:31]})
    refused(db, "inheritance", classes={"x/Top": {"dt/slots": list(texts(6))}})
    gone: list[dict[str, Any]] = [{"op": "delete", "entity": name} for name in names[:6]]
    one_more = {"op": "update", "entity": "x/Top", "add": {"dt/slots": ["p/t5"]}}
    db.transact([*gone, one_more])


def test_definitions_are_bounded_at_once_and_in_all(small: Callable[[], sandbar.Database]) -> None:
    db = small()
    refused(db, "definitions-at-once", properties=texts(10), classes=flat(11))
    problem = None
    for start in range(0, 100, 20):
        names = [f"p/n{n}" for n in range(start, start + 20)]
        try:
            db.define(properties={name: {"dt/range": "db.type/string"} for name in names})
        except sandbar.Incorrect as caught:
            problem = caught
            break
    assert problem is not None
    assert problem.data["bound"] == "definitions"


def test_what_is_beyond_a_bound_stays_and_is_used(
    place: Place, small: Callable[[], sandbar.Database]
) -> None:
    first = place.another()
    slots = list(texts(12))
    first.define(properties=texts(12), classes=chain(9) | flat(6))
    first.define(
        classes={
            "x/Broad": {"dt/slots": slots, "dt/subclass-of": ["shape/L8-0"]},
            "x/Heir": {"dt/subclass-of": list(flat(5))},
            "x/More": {"dt/subclass-of": ["shape/L7-0"]},
        }
    )
    db = small()
    made = db.create("x/Broad", dict.fromkeys(slots[:11], "x")).entity_id
    db.update(made, {"p/t0": "y"})
    assert db.get(made)["p/t0"] == "y"
    db.define(classes={"x/Broad": {"db/doc": "As before."}, "x/Heir": {"dt/label": "Heir"}})
    db.define(
        classes={"x/Broad": {"dt/slots": slots[:11]}, "x/More": {"dt/subclass-of": ["dt/Ref"]}}
    )
    refused(db, "class-slots", classes={"x/Broad": {"dt/slots": slots}})
    refused(db, "class-depth", classes={"x/Deep": {"dt/subclass-of": ["shape/L8-0"]}})
    refused(db, "class-parents", classes={"x/Heir": {"dt/subclass-of": list(flat(6))}})


def test_classes_of_classes_of_classes_are_bounded(db: sandbar.Database) -> None:
    def metaclasses(number: int) -> list[dict[str, Any]]:
        above = {"dt/subclass-of": ["dt/Class"]}
        kinds = ["dt/Class", *(f"x/M{n}" for n in range(number))]
        return [
            {"op": "create", "class": kind, "slots": {"db/ident": f"x/M{n}", **above}}
            for n, kind in enumerate(kinds[:-1])
        ]

    with pytest.raises(sandbar.Incorrect) as caught:
        db.transact(metaclasses(9))
    assert caught.value.code == "schema.too-nested"
    db.transact(metaclasses(8))
    assert db.get("x/M7").class_ == "x/M6"


def test_what_takes_long_to_read_is_bounded_in_all(db: sandbar.Database) -> None:
    slow = "[" * 15 + "{}" + "]" * 15 + ".map(x,x)" * 50 + ".size() > 0"
    classes: Definitions = {f"x/C{n}": {"dt/validator": slow.format(n)} for n in range(1_000)}
    with pytest.raises(sandbar.Incorrect) as caught:
        db.define(classes=classes)
    assert caught.value.code == "schema.too-costly"
    db.define(classes=dict(list(classes.items())[:5]))


def test_a_circle_is_still_told_as_one(db: sandbar.Database) -> None:
    circle: Definitions = {f"x/C{n}": {"dt/subclass-of": [f"x/C{(n + 1) % 3}"]} for n in range(3)}
    with pytest.raises(sandbar.Incorrect) as caught:
        db.define(classes=circle)
    assert {found["code"] for found in caught.value.data["findings"]} == {"class.cycle"}
