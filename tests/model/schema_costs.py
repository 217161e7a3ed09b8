"""What schemas cost as they grow: defining, describing, validators and patterns."""

from __future__ import annotations

from itertools import count
from typing import Any

import sandbar
from sandbar.access import local_caller
from sandbar.model import compile_expression, compile_pattern
from sandbar.verbs import class_tool_schema, class_tools
from sandbar.verbs.class_tools import portable_keys
from tests.model.complexity import Ground, Work

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
