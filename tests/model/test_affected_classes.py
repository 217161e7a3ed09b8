"""Which classes a change of the metamodel concerns: found without a look at all the others."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import sandbar
from sandbar.model import core
from sandbar.model.affected import compare, concerned
from sandbar.model.bootstrap import compile_entries
from sandbar.model.schema import Class, Schema
from tests.conftest import Say

FIRST = core.FIRST_FREE_ID
STRING = next(e.id for e in core.CORE if e.slots["db/ident"] == "db.type/string")
CORE = compile_entries(core.CORE)
Entry = tuple[int, dict[str, Any]]


def drawn_property(random: Random, classes: list[int]) -> Entry:
    doc: dict[str, Any] = {str(core.IDENT): f"p/n{random.randrange(10**9)}"}
    doc[str(core.RANGE)] = random.choice([STRING, *classes])
    if random.random() < 0.3:
        doc[str(core.REQUIRED)] = True
    return core.PROPERTY, doc


def drawn_class(random: Random, above: list[int], properties: list[int]) -> Entry:
    doc: dict[str, Any] = {str(core.IDENT): f"c/n{random.randrange(10**9)}"}
    parents = random.sample(above, min(len(above), random.randrange(3)))
    if parents:
        doc[str(core.SUBCLASS_OF)] = parents
    doc[str(core.SLOTS)] = random.sample(properties, random.randrange(4))
    if random.random() < 0.2:
        doc[str(core.ABSTRACT)] = True
    return core.CLASS, doc


def drawn_schemas(random: Random) -> tuple[Schema, Schema]:
    """A metamodel, and what becomes of it when a few definitions change, come or go."""
    classes = list(range(FIRST, FIRST + 12))
    properties = list(range(FIRST + 20, FIRST + 32))

    def draw(id: int) -> Entry:
        if id in properties:
            return drawn_property(random, classes)
        return drawn_class(random, classes[: classes.index(id)], properties)

    old = CORE.evolve({id: draw(id) for id in classes + properties})
    changes: dict[int, Entry | None] = {
        id: draw(id) for id in random.sample(classes + properties, random.randrange(1, 4))
    }
    if random.random() < 0.3:
        changes[classes[-1]] = None  # nobody is below the last
    return old, old.evolve(changes)


def by_looking_at_all(old: Schema, new: Schema) -> dict[int, Any]:
    """The same question, answered the slow way: every class is compared."""
    kept = [id for id in old.class_ids if new.has_class(id)]
    lost: set[int] = set()
    for id in kept:
        lost |= old.class_by_id(id).lineage - new.class_by_id(id).lineage
    found = {}
    for id in kept:
        item = compare(old.class_by_id(id), new.class_by_id(id))
        narrowed = [p for p in item.cls.slots.values() if p.target in lost]
        item.recheck.extend(p for p in narrowed if p not in item.recheck)
        if any(item[1:]):
            found[id] = item
    return found


def test_none_is_missed_and_none_is_blamed(seed: str, say: Say) -> None:
    random, count = Random(seed), 0
    for _ in range(150):
        old, new = drawn_schemas(random)
        found = {item.cls.id: item for item in concerned(old, new)}
        assert found == by_looking_at_all(old, new)
        count += len(found)
    say(f"{count} classes were concerned")
    assert count > 150


def test_classes_that_are_not_concerned_cost_nothing(
    db: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    compile_class = Class.__init__

    def counting(self: Class, *given: Any) -> None:
        nonlocal made
        made += 1
        compile_class(self, *given)

    def define(prefix: str, count: int) -> None:
        names = {f"{prefix}/c{n}": f"{prefix}/p{n}" for n in range(count)}
        db.define(
            properties={slot: {"dt/range": "db.type/string"} for slot in names.values()},
            classes={name: {"dt/slots": [slot]} for name, slot in names.items()},
        )

    define("first", 1)
    monkeypatch.setattr(Class, "__init__", counting)
    define("few", 1)
    few, made = made, 0
    define("many", 100)
    made = 0
    define("last", 1)
    assert made <= few
