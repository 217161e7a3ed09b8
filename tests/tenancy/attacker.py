"""Random calls: any verb of a catalogue, its arguments made from its own schema.

A verb that is added tomorrow is tried tomorrow. What an argument is filled with follows from its
name and its JSON type; nothing else is known about verbs here.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from sandbar.database import Database
from sandbar.verbs import Verb
from tests.tenancy.victim import Loot
from tests.tenancy.world import PLAYERS


class Own(NamedTuple):
    """Something that the attacker was told before: a cursor, a handle, an id of its own."""

    kind: str
    number: int


class Attempt(NamedTuple):
    """One call, before the attacker's own findings are filled in."""

    role: str
    verb: str
    arguments: dict[str, Any]


_OUR_NAMES: dict[str, list[Any]] = {
    "class": ["shared/Thing", "zorp/Boot", "zorp/Footwear", "zorp/SpaceBoot", "dt/Resource"],
    "property": ["shared/of-string", "shared/of-long", "shared/key", "footwear/name", "db/ident"],
    "entity": ["thing/n1", "thing/n2", "product/mud-lord", "product/moon-boot-pro", "zorp/Boot"],
    "workflow": ["order/fulfillment", "validation/resource"],
    "query": ["own", "our text", "boot", "text 3", "thing"],
    "moment": [1, 5, 12, 20, "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"],
    "account": ["spare", "service/spare", "main", "reader", "writer"],
    "key": ["our-1", "our-2", "our-3"],
}
# What an argument's name says about what goes into it; the first that fits counts.
_HINTS = (
    ("cursor", "cursor"),
    ("idempotency", "key"),
    ("as-of", "moment"),
    ("from", "moment"),
    ("to", "moment"),
    ("since", "moment"),
    ("expect-state", "workflow"),
    ("class", "class"),
    ("parent", "class"),
    ("child", "class"),
    ("propert", "property"),
    ("order-by", "property"),
    ("fields", "property"),
    ("workflow", "workflow"),
    ("transition", "transition"),
    ("query", "query"),
    ("process", "process"),
    ("task", "handle"),
    ("user", "account"),
    ("name", "account"),
    ("confirm", "account"),
    ("principal", "account"),
    ("entity", "entity"),
    ("subject", "entity"),
    ("lovedoneid", "entity"),
    ("verb", "verb"),
    ("reason", "reason"),
)


class Attacker:
    """Chooses calls; everything follows from its seed, and from how much it was told before."""

    def __init__(self, random: Random, ours: Database, loot: Loot) -> None:
        self._random = random
        self._loot = loot
        self._verbs: list[Verb] = list(ours.offer.catalogue)
        self._bag: list[Verb] = []  # each verb has its turn before any has a second one
        self._calls: dict[str, list[dict[str, Any]]] = {}
        for verb, arguments in loot.calls:
            self._calls.setdefault(verb, []).append(arguments)
        self._pools: dict[str, list[Any]] = {
            **_OUR_NAMES,
            "cursor": [],
            "handle": [],
            "process": [],
            "transition": ["confirm", "ship", "cancel"],
            "reason": ["because"],
            "verb": [verb.name for verb in self._verbs],
        }
        self._theirs: dict[str, list[Any]] = {
            "class": loot.classes,
            "property": loot.properties,
            "entity": [*loot.ids, *loot.idents, *loot.lookups, *loot.processes, *loot.handles],
            "workflow": loot.workflows,
            "query": loot.words,
            "moment": loot.moments,
            "account": [*loot.accounts, *loot.workspaces],
            "key": loot.keys,
            "cursor": loot.cursors,
            "handle": loot.handles,
            "process": [*loot.processes, *loot.handles],
        }

    def attempt(self, told: int) -> Attempt:
        """The next call, when so many things have been told before."""
        pick = self._random
        role = pick.choice(PLAYERS) if pick.random() < 0.6 else "admin"
        if pick.random() < 0.03:
            return Attempt(role, self._class_tool(), self._filled({}, "attributes", told))
        if not self._bag:
            self._bag = pick.sample(self._verbs, len(self._verbs))
        verb = self._bag.pop()
        overheard = self._calls.get(verb.name)
        if overheard and pick.random() < 0.3:
            return Attempt(role, verb.name, pick.choice(overheard))
        schema = verb.takes
        needed = set(schema.get("required", ()))
        arguments = {
            name: self._value(name, kind, told)
            for name, kind in schema["properties"].items()
            if name in needed or pick.random() < 0.45
        }
        spelling = pick.choice((verb.name, verb.name, verb.dotted, verb.portable))
        return Attempt(role, spelling, arguments)

    def _class_tool(self) -> str:
        cls = self._random.choice([*self._loot.classes, "zorp/Boot"])
        return f"sandbar.class.{cls.replace('/', '.')}"

    def _value(self, name: str, schema: dict[str, Any], told: int) -> Any:
        pick = self._random
        if pick.random() < 0.02:
            return pick.choice([None, "", [], {}, -1, 10**30, "\x00", True])
        if "enum" in schema:
            return pick.choice(schema["enum"])
        types = schema.get("type", "string")
        kind = pick.choice(types) if isinstance(types, list) else types
        makers: dict[str, Callable[[], Any]] = {
            "boolean": lambda: pick.random() < 0.5,
            "integer": lambda: self._integer(name, schema, told),
            "number": lambda: pick.random() * 100,
            "array": lambda: self._array(name, schema, told),
            "object": lambda: self._filled(schema, name, told),
        }
        return makers[kind]() if kind in makers else self._named(name, told)

    def _integer(self, name: str, schema: dict[str, Any], told: int) -> Any:
        if "maximum" in schema:
            return self._random.choice((1, 2, 5, schema["maximum"], self._random.randint(1, 50)))
        named = self._named(name, told)
        return named if isinstance(named, int | Own) else self._random.choice(self._loot.ids)

    def _array(self, name: str, schema: dict[str, Any], told: int) -> list[Any]:
        if name == "operations":
            return [self._operation(told) for _ in range(self._random.randint(1, 3))]
        items = schema.get("items", {})
        return [self._value(name, items, told) for _ in range(self._random.randint(0, 3))]

    def _operation(self, told: int) -> dict[str, Any]:
        pick = self._random
        op = pick.choice(("create", "update", "delete", "restore"))
        if op == "create":
            return {
                "op": op,
                "class": self._named("class", told),
                "slots": self._filled({}, "slots", told),
            }
        operation: dict[str, Any] = {"op": op, "entity": self._named("entity", told)}
        if op == "update":
            operation["set"] = self._filled({}, "set", told)
        return operation

    def _filled(self, schema: dict[str, Any], name: str, told: int) -> dict[str, Any]:
        """An object: slots with values for the most part, filters, or what a schema says."""
        pick = self._random
        if schema.get("properties"):
            inner = schema["properties"].items()
            return {key: self._value(key, kind, told) for key, kind in inner}
        if name in ("entity", "subject") and pick.random() < 0.9:
            lookups = [*self._loot.lookups, {"shared/key": "our key 3"}]
            return dict(pick.choice(lookups))
        if name == "spec":
            return self._spec(told)
        if name == "where":
            return dict(self._filter(told) for _ in range(pick.randint(0, 2)))
        slots = {self._named("property", told): self._slot(told) for _ in range(pick.randint(0, 3))}
        if pick.random() < 0.2:
            slots["db/ident"] = self._named("entity", told)
        return {str(slot): value for slot, value in slots.items()}

    def _slot(self, told: int) -> Any:
        pick = self._random
        kinds = ("entity", "query", "account", "moment", "key")
        return pick.choice((1, 2.5, True, "words of ours", self._named(pick.choice(kinds), told)))

    def _filter(self, told: int) -> tuple[str, Any]:
        pick = self._random
        slot = pick.choice((*self._loot.properties, *_OUR_NAMES["property"]))
        value = self._slot(told)
        operator = pick.choice(("=", ">", "<", "starts-with", "in", None))
        return slot, value if operator is None else {operator: value}

    def _spec(self, told: int) -> dict[str, Any]:
        name = f"ours/flow-{self._random.randint(1, 6)}"
        if self._random.random() < 0.3:
            name = str(self._named("workflow", told))
        ways = [{"name": "go", "from": "s/one", "to": "s/two"}]
        states = [
            {"name": "s/one", "initial?": True},
            {"name": "s/two", "terminal?": True, "terminal-kind": "success"},
        ]
        return {"name": name, "states": states, "transitions": ways}

    def _named(self, name: str, told: int) -> Any:
        """Something of the victim's, of our own, or that we were told."""
        pick = self._random
        kind = next((kind for hint, kind in _HINTS if hint in name.lower()), None)
        if kind is None:
            kind = pick.choice(sorted(self._theirs))
        theirs, ours = self._theirs.get(kind, []), self._pools.get(kind, [])
        chance = pick.random()
        if told and kind in ("cursor", "handle", "process", "entity") and chance < 0.35:
            return Own(kind, pick.randrange(1 << 30))
        return pick.choice(theirs if theirs and (chance < 0.7 or not ours) else ours or ["x"])


def filled_in(value: Any, told: dict[str, list[Any]]) -> Any:
    """The same with what this attacker was told in place of each `Own`."""
    if isinstance(value, Own):
        pool = told.get(value.kind) or told["entity"]
        return pool[value.number % len(pool)] if pool else "nothing"
    if isinstance(value, dict):
        return {key: filled_in(item, told) for key, item in value.items()}
    if isinstance(value, list):
        return [filled_in(item, told) for item in value]
    return value
