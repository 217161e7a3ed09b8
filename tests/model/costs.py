"""The requests whose cost is measured, each against what a caller can make larger.

`python -m tests.model.costs [NAME …]` prints how each of them grows, on SQLite.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import sandbar
from sandbar.access import local_caller
from sandbar.model import compile_expression, compile_pattern
from sandbar.packs.folders import SeedEntity
from sandbar.packs.parting import in_parts
from sandbar.verbs import class_tool_schema, class_tools
from sandbar.verbs.class_tools import portable_keys
from sandbar.workflow import read_spec
from tests.model.complexity import Ground, Measure, Work, growth_of, on_sqlite, shown

Slots = dict[str, Any]
Definitions = dict[str, Slots]

TEXT: Slots = {"dt/range": "db.type/string"}
_fresh = count()  # what is compiled once is kept: nothing is to be asked twice


# --- shapes of schemas ----------------------------------------------------------------------------


def chain(length: int) -> Definitions:
    """Classes, each below the one before it, each with a slot."""
    return layers(length, 1)


def layers(depth: int, width: int) -> Definitions:
    """Layers of classes, each below every class of the layer above it."""
    above = ["dt/Ref"]
    classes: Definitions = {}
    for level in range(depth):
        here = [f"c/L{level}-{n}" for n in range(width)]
        classes |= {name: {"dt/subclass-of": list(above)} for name in here}
        above = here
    return classes


def flat(number: int, **slots: Any) -> Definitions:
    """Classes side by side."""
    return {f"c/F{n}": {"dt/subclass-of": ["dt/Ref"], **slots} for n in range(number)}


def texts(number: int, **slots: Any) -> Definitions:
    """Properties of text."""
    return {f"p/t{n}": {**TEXT, **slots} for n in range(number)}


def defined(ground: Ground, properties: Definitions, classes: Definitions) -> sandbar.Database:
    """A workspace with these definitions."""
    db = ground.workspace()
    db.define(properties=properties, classes=classes)
    return db


# --- defining -------------------------------------------------------------------------------------


def define_layers(ground: Ground, size: int) -> Work:
    """Layers of two, each below both of the layer above."""
    db = ground.workspace()
    return lambda: db.define(classes=layers(size, 2))


def define_at_the_bottom(ground: Ground, size: int) -> Work:
    """One class below a chain, and an instance of it."""
    db = defined(ground, {}, chain(size))

    def work() -> None:
        db.define(classes={"c/Last": {"dt/subclass-of": [f"c/L{size - 1}-0"]}})
        db.create("c/Last", {"dt/label": "x"})
        db.schema.describe("c/Last")

    return work


def define_with_parents(ground: Ground, size: int) -> Work:
    """One class below many."""
    db = defined(ground, {}, flat(size))
    return lambda: db.define(classes={"c/Heir": {"dt/subclass-of": list(flat(size))}})


def define_with_slots(ground: Ground, size: int) -> Work:
    """A class with many slots, and then an instance that has them all."""
    db = ground.workspace()
    properties = texts(size, **{"dt/required?": True})

    def work() -> None:
        db.define(properties=properties, classes={"c/Broad": {"dt/slots": list(properties)}})
        db.create("c/Broad", dict.fromkeys(properties, "x"))

    return work


def define_classes(ground: Ground, size: int) -> Work:
    """Many classes side by side, each with a slot."""
    db = ground.workspace()
    classes = {f"c/F{n}": {"dt/slots": [f"p/t{n}"]} for n in range(size)}
    return lambda: db.define(properties=texts(size), classes=classes)


def change_above_many(ground: Ground, size: int) -> Work:
    """Another slot for a class that has many below it, each with an instance."""
    db = defined(ground, texts(2), {"c/Top": {"dt/slots": ["p/t0"]}})
    below = {f"c/B{n}": {"dt/subclass-of": ["c/Top"]} for n in range(size)}
    db.define(classes=below)
    db.transact([{"op": "create", "class": name, "slots": {"p/t0": "x"}} for name in below])
    return lambda: db.update("c/Top", add={"dt/slots": ["p/t1"]})


def change_many_slots(ground: Ground, size: int) -> Work:
    """All slots of a class become unique, and required, at once."""
    properties = texts(size)
    db = defined(ground, properties, {"c/Broad": {"dt/slots": list(properties)}})
    db.create("c/Broad", dict.fromkeys(properties, "x"))
    stricter = {"db/unique": "value", "dt/required?": True}
    return lambda: db.define(properties=dict.fromkeys(properties, stricter))


def define_with_values(ground: Ground, size: int) -> Work:
    """A slot that takes one of many values."""
    db = ground.workspace()
    values = [f"value {n}" for n in range(size)]
    return lambda: db.define(properties={"p/one": {**TEXT, "dt/one-of": values}})


def delete_classes(ground: Ground, size: int) -> Work:
    """Many classes at once."""
    db = defined(ground, {}, flat(size))
    return lambda: db.transact([{"op": "delete", "entity": name} for name in flat(size)])


# --- describing -----------------------------------------------------------------------------------


def list_class_tools(ground: Ground, size: int) -> Work:
    """The tools of many classes, with what they take."""
    db = defined(ground, texts(4), flat(size, **{"dt/slots": list(texts(4))}))

    def work() -> None:
        for tool in class_tools(db.schema):
            class_tool_schema(db.schema, tool.class_, is_portable=True)

    return work


def describe_broad(ground: Ground, size: int) -> Work:
    """All about a class with many slots, through the turnstile."""
    db = defined(ground, texts(size), {"c/Broad": {"dt/slots": list(texts(size))}})
    caller = local_caller(db.workspace_name)

    def work() -> None:
        db.call_as(caller, "class.describe", {"class": "c/Broad"})
        db.call_as(caller, "class.slots", {"class": "c/Broad"})

    return work


def name_keys(ground: Ground, size: int) -> Work:
    """Keys for slots whose names have the same long beginning."""
    names = [f"p/{'x' * 80}{n}" for n in range(size)]
    return lambda: portable_keys(names)


# --- validators and patterns ----------------------------------------------------------------------


def inherit_validators(ground: Ground, size: int) -> Work:
    """Instances of a class below many that each have a validator."""
    classes = chain(size)
    for number, slots in enumerate(classes.values()):
        slots["dt/validator"] = f'!("p/t0" in this) || size(this["p/t0"]) < {1000 + number}'
    last = {"c/Last": {"dt/subclass-of": [f"c/L{size - 1}-0"], "dt/slots": ["p/t0"]}}
    db = defined(ground, texts(1), classes | last)
    some = [{"op": "create", "class": "c/Last", "slots": {"p/t0": "x"}}] * 5
    return lambda: db.transact(some)


def compile_validators(ground: Ground, size: int) -> Work:
    """Validators of so many words: a few each of the forms that take the longest to read."""
    terms = [
        [f'this["a/{next(_fresh)}"] > 0' for _ in range(size // 7 - 1)],
        [f"this.a{next(_fresh)}.b.contains('c')" for _ in range(size // 11 - 1)],
        [f"[{next(_fresh)}].exists(x, x > 1)" for _ in range(size // 13 - 1)],
    ]
    texts = [" && ".join(some) for some in terms for _ in range(3)]
    made = [f"{text} && {next(_fresh)} > 0" for text in texts]
    return lambda: [compile_expression(text, frozenset({"this"})) for text in made]


def match_patterns(ground: Ground, size: int) -> Work:
    """Patterns of so many characters, compiled and matched."""
    made = [f"^{'(a|b)' * (size // 5)}{next(_fresh)}$" for _ in range(20)]
    value = "ab" * 100
    return lambda: [compile_pattern(text).matches(value) for text in made]


def define_patterns(ground: Ground, size: int) -> Work:
    """Many slots with patterns, and a value for each."""
    db = ground.workspace()
    start = next(_fresh)
    properties = {f"p/t{n}": {**TEXT, "dt/pattern": f"^{start}-{n}-[a-z]+$"} for n in range(size)}
    slots = {f"p/t{n}": f"{start}-{n}-x" for n in range(size)}

    def work() -> None:
        db.define(properties=properties, classes={"c/Broad": {"dt/slots": list(properties)}})
        db.create("c/Broad", slots)

    return work


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
    Measure("depth: layers of two classes", (8, 16, 32, 64), define_layers, 64),
    Measure("depth: a class below a chain", (50, 100, 200, 400), define_at_the_bottom, 400),
    Measure("width: parents of a class", (100, 200, 400), define_with_parents),
    Measure("slots of a class", (100, 200, 400), define_with_slots),
    Measure("slots that change at once", (100, 200, 400), change_many_slots),
    Measure("classes in a transaction", (100, 200, 400), define_classes),
    Measure("classes below one that changes", (100, 200, 400), change_above_many),
    Measure("classes that are deleted", (100, 200, 400), delete_classes),
    Measure("values of dt/one-of", (1_000, 2_000, 4_000, 8_000), define_with_values, 10_000),
    Measure("classes with tools", (100, 200, 400), list_class_tools),
    Measure("slots that are described", (200, 400, 800), describe_broad),
    Measure("names that are alike", (500, 1_000, 2_000, 4_000), name_keys),
    Measure("validators that are inherited", (16, 32, 64, 128), inherit_validators, 128),
    Measure("length of validators", (50, 100, 200, 390), compile_validators, 390),
    Measure("length of patterns", (120, 240, 480, 960), match_patterns, 960),
    Measure("slots with patterns", (100, 200, 400), define_patterns),
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
