"""One transaction that changes definitions and the data under them: as if done one after the other.

Promised: it does what two transactions would have done, or more, since it may repair what the
change would break; it is refused with a Problem or kept whole; nothing is lost without a word.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from sandbar import Database, Problem
from tests.conftest import Say
from tests.model.conftest import Place
from tests.model.shop import codes_of, problem_of

Operation = dict[str, Any]

STRING, LONG = {"dt/range": "db.type/string"}, {"dt/range": "db.type/long"}
MANY, ONE = {"db/cardinality": "many"}, {"db/cardinality": "one"}


def update(entity: Any, **how: Any) -> Operation:
    """An operation that changes an entity: `set`, `add` or `remove`."""
    return {"op": "update", "entity": entity, **how}


def define(db: Database, **slots: dict[str, Any]) -> None:
    """A class `x/C` with these slots, named `x/…`."""
    properties = {f"x/{name}": slot for name, slot in slots.items()}
    db.define(properties=properties, classes={"x/C": {"dt/slots": list(properties)}})


def made(db: Database, **slots: Any) -> int:
    """An instance of it."""
    return db.create("x/C", {f"x/{name}": value for name, value in slots.items()}).entity_id


def seen(db: Database, id: int) -> dict[str, Any]:
    """What an instance holds."""
    return dict(db.get(id).slots)


# --- another cardinality ---------------------------------------------------------------------


def test_a_text_becomes_a_list_before_something_is_removed_from_it(db: Database) -> None:
    define(db, a=STRING)
    id = made(db, a="abc")
    db.transact([update("x/a", set=MANY), update(id, remove={"x/a": "zzz"})])
    assert seen(db, id) == {"x/a": ["abc"]}


@pytest.mark.parametrize(("value", "more"), [("abc", "d"), (5, 6)])
def test_a_value_becomes_a_list_before_something_is_added_to_it(
    db: Database, value: Any, more: Any
) -> None:
    define(db, a=STRING if isinstance(value, str) else LONG)
    id = made(db, a=value)
    db.transact([update("x/a", set=MANY), update(id, add={"x/a": more})])
    assert seen(db, id) == {"x/a": [value, more]}


def test_a_reference_that_became_single_is_set_as_a_repair(db: Database) -> None:
    define(db, r={"dt/range": "x/C", **MANY})
    a, b = made(db), made(db)
    c = made(db, r=[a, b])
    db.transact([update("x/r", set=ONE), update(c, set={"x/r": b})])
    assert seen(db, c) == {"x/r": b}
    assert [e.entity_id for e in db.query("x/C", {"x/r": b}).items] == [c]
    assert db.query("x/C", {"x/r": a}).items == []


@pytest.mark.parametrize("mode", ["detach", "cascade"])
def test_the_target_of_a_reference_that_became_single_is_deleted(db: Database, mode: str) -> None:
    define(db, r={"dt/range": "x/C", **MANY})
    a = made(db)
    b = made(db, r=[a])
    db.transact([update("x/r", set=ONE), {"op": "delete", "entity": a, "mode": mode}])
    left = {e.entity_id: dict(e.slots) for e in db.query("x/C").items}
    assert left == ({b: {}} if mode == "detach" else {})


def test_what_is_owned_goes_with_its_owner_whatever_the_cardinality(db: Database) -> None:
    define(db, part={"dt/range": "x/C", "dt/component?": True, **MANY})
    a, b, c = made(db), made(db), made(db)
    one, two = made(db, part=[a]), made(db, part=[b, c])
    delete = [{"op": "delete", "entity": owner} for owner in (one, two)]
    db.transact([update("x/part", set=ONE), *delete])
    assert db.query("x/C").items == []


def test_a_detach_does_not_drop_the_other_references_of_a_slot_that_became_single(
    db: Database,
) -> None:
    define(db, r={"dt/range": "x/C", **MANY})
    a, b = made(db), made(db)
    c = made(db, r=[a, b])
    delete = {"op": "delete", "entity": a, "mode": "detach"}
    problem = problem_of(lambda: db.transact([update("x/r", set=ONE), delete]))
    assert problem.code == "schema.would-break"
    assert seen(db, c) == {"x/r": [a, b]}


def test_what_was_written_inside_follows_a_new_cardinality(db: Database) -> None:
    define(db, a={**STRING, "dt/indexed?": True})

    def work() -> int:
        id = made(db, a="abc")
        db.update("x/a", MANY)
        assert seen(db, id) == {"x/a": ["abc"]}
        db.update(id, add={"x/a": "d"})
        return id

    id = db.run(work)
    assert seen(db, id) == {"x/a": ["abc", "d"]}
    assert [e.entity_id for e in db.query("x/C", {"x/a": "d"}).items] == [id]


def test_a_refused_change_inside_leaves_the_form_as_it_was(db: Database) -> None:
    define(db, a=STRING)

    def work() -> int:
        id = made(db, a="abc")
        refused = [update("x/a", set=MANY), update(id, add={"x/a": 5})]
        assert problem_of(lambda: db.transact(refused)).code == "value.type"
        assert seen(db, id) == {"x/a": "abc"}
        return id

    assert seen(db, db.run(work)) == {"x/a": "abc"}


# --- another type ----------------------------------------------------------------------------


def test_a_value_of_the_old_type_is_replaced_or_cleared_as_a_repair(db: Database) -> None:
    define(db, a={**STRING, "dt/indexed?": True})
    one, two = made(db, a="abc"), made(db, a="def")
    repairs = [update(one, set={"x/a": 5}), update(two, set={"x/a": None})]
    db.transact([update("x/a", set=LONG), *repairs])
    assert (seen(db, one), seen(db, two)) == ({"x/a": 5}, {})
    assert [e.entity_id for e in db.query("x/C", {"x/a": {">": 1}}).items] == [one]


def test_a_repair_must_be_valid_itself(db: Database) -> None:
    define(db, a=STRING)
    db.update("x/C", {"dt/validator": "!('x/a' in this) || this['x/a'] != 5"})
    id = made(db, a="abc")
    problem = problem_of(lambda: db.transact([update("x/a", set=LONG), update(id, set={"x/a": 5})]))
    assert "class.validator" in codes_of(problem)
    db.transact([update("x/a", set=LONG), update(id, set={"x/a": 6})])
    assert seen(db, id) == {"x/a": 6}


def test_adding_is_no_repair(db: Database) -> None:
    define(db, a={**STRING, **MANY})
    id = made(db, a=["abc"])
    problem = problem_of(lambda: db.transact([update("x/a", set=LONG), update(id, add={"x/a": 5})]))
    assert problem.code == "schema.would-break"
    assert seen(db, id) == {"x/a": ["abc"]}


@pytest.mark.parametrize("also", [{}, {"db/doc": "changed"}])
def test_whoever_is_not_repaired_is_reported(db: Database, also: dict[str, Any]) -> None:
    define(db, a={**STRING, "dt/required?": True}, b=STRING)
    id = made(db, a="abc")
    problem = problem_of(lambda: db.transact([update("x/a", set=LONG), update(id, set=also)]))
    assert problem.code == "schema.would-break"
    found = problem.data["entities"][0]
    assert (found["entity-id"], found["findings"][0]["code"]) == (id, "value.type")


def test_the_owner_of_what_is_no_reference_is_deleted(db: Database) -> None:
    define(db, a=STRING)
    id = made(db, a="text")
    to_owned = {"dt/range": "x/C", "dt/component?": True}
    db.transact([update("x/a", set=to_owned), {"op": "delete", "entity": id}])
    assert db.query("x/C").items == []


def test_a_type_that_is_set_back_inside_brings_the_value_back(db: Database) -> None:
    define(db, a=STRING)
    id = made(db, a="abc")

    def work() -> None:
        db.update("x/a", LONG)
        db.update(id, {"db/doc": "still there"})
        db.update("x/a", STRING)

    db.run(work)
    assert seen(db, id) == {"x/a": "abc", "db/doc": "still there"}


@pytest.mark.parametrize("is_looked_at", [False, True])
@pytest.mark.parametrize(
    ("rule", "code"),
    [({"db/unique": "value"}, "slot.not-unique"), ({"dt/max": 2}, "value.out-of-bounds")],
)
def test_rules_of_a_new_slot_that_are_tightened_inside_hold_for_what_was_made_between(
    db: Database, rule: dict[str, Any], code: str, is_looked_at: bool
) -> None:
    db.define(classes={"x/C": {}})

    def work() -> None:
        define(db, a=STRING)
        for _ in range(2):
            made(db, a="same")
        if is_looked_at:
            assert len(db.query("x/C").items) == 2
        db.update("x/a", rule)

    problem = problem_of(lambda: db.run(work))
    assert problem.code == "schema.would-break"
    found = {one["code"] for entity in problem.data["entities"] for one in entity["findings"]}
    assert found == {code}


LOOKS: list[Callable[[Database, int], Any]] = [
    lambda db, id: db.get(id),
    lambda db, id: db.query("x/C"),
    lambda db, id: db.query("x/C", {"x/a": {">": 1}}),
]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    "change",
    [
        update("x/a", set={"dt/range": "db.type/long", "dt/indexed?": True}),
        update("x/a", set={"dt/range": "x/C"}),
        update("x/a", set={"dt/secret?": True}),
        update("x/C", remove={"dt/slots": "x/a"}),
    ],
)
def test_a_look_inside_at_what_does_not_fit_is_a_problem(
    db: Database, look: Callable[[Database, int], Any], change: Operation
) -> None:
    define(db, a=STRING, b=STRING)
    id = made(db, a="abc")

    def work() -> None:
        db.transact([change])
        look(db, id)

    known = {"schema.would-break", "slot.unknown", "filter.type", "filter.secret", "query.invalid"}
    problem = problem_of(lambda: db.run(work))
    assert problem.code in known or problem.code.startswith(("filter.", "value.", "reference."))
    assert seen(db, id) == {"x/a": "abc"}


# --- many random ones ------------------------------------------------------------------------

_KINDS = {"text": "string", "texts": "string", "long": "long", "key": "keyword", "any": "json"}
_REFERENCES = {"ref": "g/C", "refs": "g/C", "part": "g/D"}
_RANGES = ["db.type/string", "db.type/long", "db.type/keyword", "db.type/json", "db.type/double"]
_RANGES += ["db.type/bigdec", "g/C", "g/D", "dt/Ref"]
_NAMES = ["h/a", "h/b", "h/c", "h/d"]
_VALUES = ["abc", "x", 1, 7, "h/a", "h/b", "key", ["x", "w"], ["h/b"], [1, 2], None, "5"]


def populate(db: Database) -> None:
    """Three classes with slots of all kinds, and an entity or two of each."""
    ranges = {name: f"db.type/{kind}" for name, kind in _KINDS.items()} | _REFERENCES
    slots: dict[str, dict[str, Any]] = {f"g/{n}": {"dt/range": r} for n, r in ranges.items()}
    slots["g/texts"] |= MANY
    slots["g/refs"] |= MANY
    slots["g/text"]["dt/indexed?"] = True
    slots["g/long"]["db/unique"] = "value"
    slots["g/part"]["dt/component?"] = True
    classes = {
        "g/C": {"dt/slots": list(slots)},
        "g/D": {"dt/slots": ["g/text", "g/ref"]},
        "g/E": {"dt/subclass-of": ["g/C"]},
    }
    db.define(properties=slots, classes=classes)
    a = {"g/text": "abc", "g/long": 1, "g/ref": "h/b", "g/refs": ["h/b", "h/c"], "g/part": "h/d"}
    a |= {"g/texts": ["x", "yz"], "g/key": "key", "g/any": [1]}
    b = {"g/text": "5", "g/refs": ["h/a"], "g/texts": ["q"], "g/long": 2, "g/key": "key"}
    c, d = {"g/ref": "h/c", "g/long": 7}, {"g/ref": "h/a", "g/text": "d"}
    entities: dict[str, tuple[str, dict[str, Any]]] = {
        "h/a": ("g/C", a), "h/b": ("g/C", b), "h/c": ("g/E", c), "h/d": ("g/D", d),
    }  # fmt: skip
    db.transact(
        [
            {"op": "create", "class": cls, "slots": {"db/ident": name, **given}}
            for name, (cls, given) in entities.items()
        ]
    )


def definition(random: Random, slot: str) -> Operation:
    """A change of the metamodel."""
    changes = [
        update(slot, set={"db/cardinality": random.choice(["one", "many"])}),
        update(slot, set={"dt/range": random.choice(_RANGES)}),
        update(slot, set={"dt/indexed?": random.choice([True, False])}),
        update(slot, set={"db/unique": random.choice(["value", None])}),
        update(slot, set={"dt/component?": random.choice([True, False])}),
        update(slot, set={"dt/secret?": True}),
        update(slot, set={"dt/inverse-of": "g/ref"}),
        update(random.choice(["g/C", "g/D", "g/E"]), remove={"dt/slots": slot}),
        update("g/E", set={"dt/subclass-of": random.choice([[], ["g/D"], ["g/C", "g/D"]])}),
        {"op": "delete", "entity": random.choice([slot, "g/E", "g/D"]), "mode": "cascade"},
    ]
    return random.choices(changes, weights=[6, 4, 2, 1, 1, 1, 1, 1, 1, 1])[0]


def change(random: Random, slot: str) -> Operation:
    """A change of data."""
    name, value = random.choice(_NAMES), random.choice(_VALUES)
    delete = {"op": "delete", "mode": random.choice(["refuse", "detach", "cascade"])}
    changes: list[Operation] = [
        update(name, set={slot: value}),
        update(name, add={slot: value}),
        update(name, remove={slot: value}),
        delete | {"entity": name},
        {"op": "create", "class": "g/C", "slots": {"db/ident": "h/z", slot: value}},
        update({"g/long": 1}, set={"dt/label": "one"}),
        {"op": "migrate", "class": "g/C", "clear": [slot]},
    ]
    return random.choices(changes, weights=[6, 4, 3, 4, 1, 1, 1])[0]


def outcome(call: Callable[[], Any]) -> str:
    """The code of the problem, if it is one; any other error is the test's."""
    try:
        call()
    except Problem as problem:
        return problem.code
    return "done"


def state(db: Database) -> list[Any]:
    """All that there is besides the core, in one order."""
    entities = [e for e in db.each("dt/Resource") if e.entity_id >= 1000]
    return sorted(
        json.dumps([e.ident, e.class_, e.slots], sort_keys=True, default=str) for e in entities
    )


def are_alike(pair: tuple[Place, Place], first: list[Operation], then: list[Operation]) -> bool:
    """Whether both can be done one after the other; done together, they come to the same.

    On SQLite in one transaction, in two, and in a function; on PostgreSQL in one.
    """
    ours, theirs = pair
    name = str(uuid4())
    together, apart, inside = (ours.open(f"{name}-{n}") for n in range(3))
    beside = theirs.another(name)
    for db in (together, apart, inside, beside):
        populate(db)
    at_once = outcome(lambda: together.transact(first + then))
    assert outcome(lambda: beside.transact(first + then)) == at_once
    assert state(beside) == state(together)
    assert together.workspace.validity.page("dt/Resource", None, limit=500).invalid == []
    within = outcome(lambda: inside.run(lambda: (inside.transact(first), inside.transact(then))))
    is_possible = outcome(lambda: apart.transact(first)) == "done"
    is_possible = is_possible and outcome(lambda: apart.transact(then)) == "done"
    if is_possible:
        assert (at_once, within) == ("done", "done")
        assert state(together) == state(apart) == state(inside)
    ours.close()
    theirs.close()
    return is_possible


def test_together_or_one_after_the_other_is_the_same(
    pair: tuple[Place, Place], seed: str, say: Say
) -> None:
    possible = 0
    for number in range(40):
        random = Random(f"{seed}-{number}")
        slot = "g/" + random.choice([*_KINDS, *_REFERENCES])
        first = [definition(random, slot) for _ in range(random.choice([1, 1, 2]))]
        then = [change(random, slot) for _ in range(random.choice([1, 1, 2]))]
        try:
            possible += are_alike(pair, first, then)
        except Exception:
            say(f"number {number}: {first} {then}")
            raise
    say(f"{possible} of 40 were possible one after the other")
    assert possible
