"""The requests whose cost is measured, each against what a caller can make larger.

`python -m tests.model.costs [NAME …]` prints how each of them grows, on SQLite.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import sandbar
from sandbar.packs.folders import SeedEntity
from sandbar.packs.parting import in_parts
from sandbar.workflow import read_spec
from tests.model import schema_costs as schemas
from tests.model.complexity import Ground, Measure, Work, growth_of, on_sqlite, shown
from tests.model.schema_costs import TEXT, Slots, defined, flat

# --- filters --------------------------------------------------------------------------------------


def _crowd(ground: Ground) -> sandbar.Database:
    number = {"dt/range": "db.type/long", "dt/indexed?": True}
    slots = ["p/n", "p/plain", "p/next"]
    db = defined(
        ground,
        {"p/n": number, "p/plain": {"dt/range": "db.type/long"}, "p/next": {"dt/range": "c/N"}},
        {"c/N": {"dt/slots": slots}},
    )
    one = db.create("c/N", {}).entity_id
    some = [
        {"op": "create", "class": "c/N", "slots": {"p/n": n, "p/plain": n, "p/next": one}}
        for n in range(100)
    ]
    db.transact(some)
    return db


def ask_conditions(ground: Ground, size: int) -> Work:
    """A filter of many conditions that all hold."""
    db = _crowd(ground)
    where = {"and": [{"p/plain": {"!=": -n - 1}} for n in range(size)]}
    return lambda: db.query("c/N", where)


def ask_alternatives(ground: Ground, size: int) -> Work:
    """A filter of many conditions of which none holds."""
    db = _crowd(ground)
    where = {"or": [{"p/plain": -n - 1} for n in range(size)]}
    return lambda: db.query("c/N", where)


def ask_among(ground: Ground, size: int) -> Work:
    """A filter with a long list of values, of a slot with an index and of one without."""
    db = _crowd(ground)
    values = list(range(50, 50 + size))
    return lambda: (
        db.query("c/N", {"p/n": {"in": values}}),
        db.query("c/N", {"p/plain": {"in": values}}),
    )


def ask_deep(ground: Ground, size: int) -> Work:
    """A filter through so many references."""
    db = _crowd(ground)
    where: Slots = {"p/plain": {"exists": False}}
    for _ in range(size):
        where = {"p/next": where}
    return lambda: [db.query("c/N", where) for _ in range(10)]


def ask_wrongly(ground: Ground, size: int) -> Work:
    """A filter in which everything is wrong."""
    db = _crowd(ground)
    where = {f"p/wrong-{n}": 1 for n in range(size)}
    return lambda: [refused(lambda: db.query("c/N", where)) for _ in range(10)]


# --- transactions ---------------------------------------------------------------------------------


def _shop(ground: Ground) -> sandbar.Database:
    return defined(
        ground,
        {
            "p/name": {**TEXT, "db/unique": "identity", "dt/required?": True},
            "p/next": {"dt/range": "c/N"},
            "p/tags": {**TEXT, "db/cardinality": "many"},
        },
        {"c/N": {"dt/slots": ["p/name", "p/next", "p/tags"]}},
    )


def _creates(size: int) -> list[Slots]:
    """Each refers to the next."""
    return [
        {
            "op": "create",
            "class": "c/N",
            "temp": f"t{n}",
            "slots": {"p/name": f"n{n}", "p/next": f"t{(n + 1) % size}"},
        }
        for n in range(size)
    ]


def create_many(ground: Ground, size: int) -> Work:
    """Many entities that refer to each other, with names of their own."""
    db = _shop(ground)
    return lambda: db.transact(_creates(size))


def update_many(ground: Ground, size: int) -> Work:
    """Many entities, each by its name."""
    db = _shop(ground)
    db.transact(_creates(size))
    some = [
        {"op": "update", "entity": {"p/name": f"n{n}"}, "set": {"p/name": f"m{n}"}}
        for n in range(size)
    ]
    return lambda: db.transact(some)


def delete_many(ground: Ground, size: int) -> Work:
    """A circle of many, by one delete."""
    db = _shop(ground)
    made = db.transact(_creates(size)).outcomes[0].entity_id
    return lambda: db.delete(made, mode="cascade")


def fill_a_slot(ground: Ground, size: int) -> Work:
    """Many values of one slot, given and then added to."""
    db = _shop(ground)
    first, more = ([f"{word} {n}" for n in range(size // 2)] for word in ("a", "b"))

    def work() -> None:
        made = db.create("c/N", {"p/name": "x", "p/tags": first}).entity_id
        db.update(made, add={"p/tags": more})

    return work


def add_one_by_one(ground: Ground, size: int) -> Work:
    """Many operations on one slot of one entity: each adds a value, then each takes one away."""
    db = _shop(ground)
    made = db.create("c/N", {"p/name": "x"}).entity_id
    values = [f"v {n}" for n in range(size)]
    more = [{"op": "update", "entity": made, "add": {"p/tags": [one]}} for one in values]
    less = [{"op": "update", "entity": made, "remove": {"p/tags": [one]}} for one in values]
    return lambda: db.transact([*more, *less[1:]])


def detach_one_by_one(ground: Ground, size: int) -> Work:
    """Delete all that one entity refers to."""
    many = {"dt/range": "dt/Resource", "db/cardinality": "many"}
    db = defined(ground, {"p/all": many}, {"c/N": {"dt/slots": ["p/all"]}})
    made = db.transact([{"op": "create", "class": "c/N"}] * size).outcomes
    ids = [one.entity_id for one in made]
    db.create("c/N", {"p/all": ids})
    some = [{"op": "delete", "entity": id, "mode": "detach"} for id in ids]
    return lambda: db.transact(some)


def change_nothing_in_much(ground: Ground, size: int) -> Work:
    """Many updates, which change nothing, of an entity as large as they are together."""
    db = _shop(ground)
    slots = {"p/name": "x", "dt/label": "y", "db/doc": "z" * 100 * size}
    made = db.create("c/N", slots).entity_id
    again = {"op": "update", "entity": made, "set": {"db/doc": slots["db/doc"]}}
    some = [{"op": "update", "entity": made, "set": {"dt/label": "y"}}] * size
    return lambda: db.transact([again, *some])


def give_the_same(ground: Ground, size: int) -> Work:
    """Many entities with the same value of a unique slot."""
    db = _shop(ground)
    some = [{"op": "create", "class": "c/N", "slots": {"p/name": "x"}}] * size
    return lambda: refused(lambda: db.transact(some))


def create_abstract(ground: Ground, size: int) -> Work:
    """Many instances of a class that has none, but as many classes below it."""
    db = defined(ground, {}, flat(size, **{"dt/abstract?": True}))
    some = [{"op": "create", "class": "dt/Ref", "slots": {}}] * size
    return lambda: refused(lambda: db.transact(some))


def delete_beside_references(ground: Ground, size: int) -> Work:
    """Many entities at once, where many slots might refer to them."""
    slots = {f"p/r{n}": {"dt/range": "c/N"} for n in range(50)}
    db = defined(ground, slots, {"c/N": {"dt/slots": list(slots)}})
    made = db.transact([{"op": "create", "class": "c/N"}] * size).outcomes
    some = [{"op": "delete", "entity": one.entity_id} for one in made]
    return lambda: db.transact(some)


def refused(work: Work) -> sandbar.Problem:
    """Do what is to be refused."""
    try:
        work()
    except sandbar.Problem as problem:
        return problem
    raise AssertionError("it was not refused")


def write_wrongly(ground: Ground, size: int) -> Work:
    """Many operations that each have several things wrong with them."""
    db = _shop(ground)
    wrong = {"p/next": "no/body", "p/nmae": 1, "p/tags": [1, 2]}
    some = [{"op": "create", "class": "c/N", "slots": wrong} for _ in range(size)]
    return lambda: refused(lambda: db.transact(some))


def define_wrongly(ground: Ground, size: int) -> Work:
    """Many definitions that each have something wrong with them."""
    db = ground.workspace()
    properties = {f"p/t{n}": {**TEXT, "dt/pattern": "("} for n in range(size)}
    classes = {f"c/F{n}": {"dt/slots": [f"p/t{n + 1}"]} for n in range(size)}
    return lambda: refused(lambda: db.define(properties=properties, classes=classes))


# --- packs and workflows --------------------------------------------------------------------------


def part_seeds(ground: Ground, size: int) -> Work:
    """Seeds that each refer to the next."""
    seeds = [
        SeedEntity(class_="c/N", slots={"db/ident": f"s/n{n}", "p/next": f"s/n{n + 1}"})
        for n in range(size)
    ]
    return lambda: in_parts(seeds)


def read_workflow(ground: Ground, size: int) -> Work:
    """A workflow of states in a row."""
    states: list[Slots] = [{"name": f"s{n}"} for n in range(size)]
    states.append({"name": "end", "terminal?": True, "terminal-kind": "success"})
    states[0]["initial?"] = True
    names = [state["name"] for state in states]
    moves = [
        {"name": f"to-{after}", "from": [before], "to": after} for before, after in pairwise(names)
    ]
    spec = {"name": "w/long", "states": states, "transitions": moves}
    return lambda: read_spec(spec)


MEASURES = (
    Measure("depth: layers of two classes", (8, 16, 32, 64), schemas.define_layers, 64),
    Measure("depth: a class below a chain", (50, 100, 200, 400), schemas.define_at_the_bottom, 400),
    Measure("width: parents of a class", (100, 200, 400), schemas.define_with_parents),
    Measure("slots of a class", (100, 200, 400), schemas.define_with_slots),
    Measure("slots that change at once", (100, 200, 400), schemas.change_many_slots),
    Measure("classes in a transaction", (100, 200, 400), schemas.define_classes),
    Measure("classes below one that changes", (100, 200, 400), schemas.change_above_many),
    Measure("classes that are deleted", (100, 200, 400), schemas.delete_classes),
    Measure(
        "values of dt/one-of", (1_000, 2_000, 4_000, 8_000), schemas.define_with_values, 10_000
    ),
    Measure("classes with tools", (100, 200, 400), schemas.list_class_tools),
    Measure("slots that are described", (200, 400, 800), schemas.describe_broad),
    Measure("names that are alike", (500, 1_000, 2_000, 4_000), schemas.name_keys),
    Measure("validators that are inherited", (16, 32, 64, 128), schemas.inherit_validators, 128),
    Measure("length of validators", (50, 100, 200, 390), schemas.compile_validators, 390),
    Measure("length of patterns", (120, 240, 480, 960), schemas.match_patterns, 960),
    Measure("slots with patterns", (100, 200, 400), schemas.define_patterns),
    Measure("filter: conditions", (24, 48, 96, 192), ask_conditions, 192),
    Measure("filter: alternatives", (24, 48, 96, 192), ask_alternatives, 192),
    Measure("filter: values of in", (125, 250, 500, 1_000), ask_among, 1_000),
    Measure("filter: references", (2, 4, 8), ask_deep, 8),
    Measure("filter: findings", (25, 50, 100, 200), ask_wrongly, 200),
    Measure("transaction: creates", (250, 500, 1_000, 2_000), create_many, 10_000),
    Measure("transaction: updates", (250, 500, 1_000), update_many, 10_000),
    Measure("transaction: a cascade", (250, 500, 1_000), delete_many, 10_000),
    Measure("transaction: values of a slot", (1_000, 2_000, 4_000, 8_000), fill_a_slot, 10_000),
    Measure("transaction: changes of one slot", (250, 500, 1_000), add_one_by_one, 5_000),
    Measure("transaction: references that end", (250, 500, 1_000), detach_one_by_one, 10_000),
    Measure("transaction: updates of no effect", (250, 500, 1_000), change_nothing_in_much, 10_000),
    Measure("transaction: one value for all", (250, 500, 1_000), give_the_same, 10_000),
    Measure("transaction: deletes", (100, 200, 400), delete_beside_references, 10_000),
    Measure("transaction: of an abstract class", (100, 200, 400), create_abstract, 5_000),
    Measure("transaction: findings", (250, 500, 1_000), write_wrongly, 10_000),
    Measure("definitions that are wrong", (100, 200, 400), define_wrongly, 5_000),
    Measure("seeds of a pack", (1_100, 2_200, 4_400), part_seeds),
    Measure("states of a workflow", (45, 90, 180), read_workflow, 180),
)


def main() -> None:
    """Print how the cost of each grows, or of those whose names are given."""
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        ground = on_sqlite(Path(folder))
        for measure in MEASURES:
            if not wanted or any(word in measure.name for word in wanted):
                text = shown(measure.name, growth_of(measure, ground))
                sys.stdout.write(f"{text}\n")
        ground.close()


if __name__ == "__main__":
    main()
