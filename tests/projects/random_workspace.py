"""Workspaces made by chance: every value type, hostile texts and names, cycles, workflows."""

from __future__ import annotations

import base64
from random import Random
from typing import Any
from uuid import UUID

import sandbar

TEXTS = [
    "",
    "plain",
    "two\nlines\n",
    "---\nname: fence\n---\n",
    "# Heading\n\n```\n# none\n```",
    " spaces at the ends ",
    "\ttab",
    "no",
    "null",
    "1.10",
    "2026-01-01",
    "- item: [x, {y: z}]",
    "'quoted' \"twice\" \\back",
    "carriage\r\nreturn\rhere",
    "Ünïcödé 漢字 😀 \u2028 \u00a0 \ufeff \u200b",
    "%2E%2E/../..",
    "&amp; *alias !tag | > %",
    "x" * 5000,
    "\x01\x1b[31m\x7f",
]
NAMES = ["..", ".", "CON", "nul.txt", "a.", "Boot", "boot", "BOOT", "a?b*c", "100%", "ä" * 100]
NAMES += ["x" * 200, "é", "-dash", "#1", "1042", "it's", "<x>", "Ünï", "k", "\u212a"]

VALUES: dict[str, list[Any]] = {
    "string": TEXTS,
    "boolean": [True, False],
    "long": [0, -1, 7, 2**63 - 1, -(2**63)],
    "double": [0.0, 1.5, -2.5e-300, 1e300, 3.0],
    "float": [0.25],
    "bigint": ["0", "123456789012345678901234567890"],
    "bigdec": ["1.10", "-0.000000000000000000001", "3"],
    "instant": ["2026-01-01T00:00:00Z", "1969-12-31T23:59:59.123456Z"],
    "keyword": ["status/open", "bare", "x/.."],
    "symbol": ["bare", "x-y"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
    "uri": ["https://example.com/a?b=c#d", "urn:x:y"],
    "tuple": [[1, "two", True], ["only", 1]],
    "json": [{"b": [1, None, {"a": "x"}], "a": 1.0}, [], "text", 0, False, {"": {"--- ": "\n"}}],
}


def define_everything(db: sandbar.Database) -> None:
    """Classes with a slot of every type, single and many, for JSON and for Markdown."""
    properties: dict[str, dict[str, Any]] = {}
    for kind in [*VALUES, "bytes"]:
        for many in ("one", "many"):
            definition: dict[str, Any] = {"dt/range": f"db.type/{kind}", "db/cardinality": many}
            properties[f"all/{kind}-{many}"] = definition
    thing = {"dt/range": "all/Thing"}
    properties |= {
        "all/ref": {"dt/range": "db.type/ref"},
        "all/friend": thing,
        "all/friends": {**thing, "db/cardinality": "many"},
        "all/part": {**thing, "dt/component?": True},
        "all/befriended": {**thing, "db/cardinality": "many", "dt/inverse-of": "all/friend"},
        "all/needs": {**thing, "dt/required?": True},
        "all/mood": {"dt/range": "db.type/string", "dt/default": "calm"},
        "all/code": {"dt/range": "db.type/string", "db/unique": "identity"},
        "all/password": {"dt/range": "db.type/string", "dt/secret?": True},
        "all/odd?": {"dt/range": "db.type/boolean", "db/doc": TEXTS[14]},
    }
    slots = [name for name in properties if name != "all/needs"]
    base = {"dt/subclass-of": ["all/Thing"]}
    db.define(
        properties=properties,
        classes={
            "all/Thing": {"dt/subclass-of": ["dt/Ref"], "dt/slots": slots, "dt/abstract?": True},
            "all/Plain": {**base, "db/doc": "Written as JSON."},
            "all/plain": base,
            "all/Needy": {**base, "dt/slots": ["all/needs"]},
            "all/Note": {
                **base,
                "dt/native-codec": "markdown",
                "dt/document": {
                    "body": "all/string-one",
                    "keys": {"code": "all/code"},
                    "ident": {"from": "all/code", "in": "note"},
                },
            },
        },
    )


def fill(db: sandbar.Database, random: Random, count: int) -> None:
    """Entities with and without ident, which refer to each other in circles."""
    operations: list[dict[str, Any]] = []
    for n in range(count):
        cls = random.choice(["all/Plain", "all/plain", "all/Note", "all/Note"])
        slots = values(random)
        if random.random() < 0.7:
            slots["db/ident"] = (
                f"{random.choice(['x', 'X', 'con', 'ä.b'])}/{random.choice(NAMES)}-{n}"
            )
            if n < len(NAMES):
                slots["db/ident"] = f"x/{NAMES[n]}"
        if random.random() < 0.5:
            slots["all/code"] = f"Code {n}"
        if random.random() < 0.3:
            slots["all/mood"] = None  # there is a default, but not here
        if random.random() < 0.2:
            slots["all/password"] = "secret"
        operations.append({"op": "create", "class": cls, "slots": slots, "temp": f"t{n}"})
    for slots in (operation["slots"] for operation in operations):
        if random.random() < 0.6:
            slots["all/friend"] = f"t{random.randrange(count)}"
        if random.random() < 0.4:
            slots["all/friends"] = [f"t{n}" for n in random.sample(range(count), 3)]
        if random.random() < 0.3:
            slots["all/ref"] = random.choice([f"t{random.randrange(count)}", "all/Plain", 1])
    for n in range(6):  # each needs the next, the last the first
        slots = {"db/ident": f"needy/{n}", "all/needs": f"needy/{(n + 1) % 6}"}
        operations.append({"op": "create", "class": "all/Needy", "slots": slots})
    written = db.transact(operations)
    gone = db.create("all/Plain", {"db/ident": "x/gone"})
    db.delete(gone.entity_id)
    owner, part = written.temps["t0"], db.create("all/Plain", {}).entity_id
    db.update(owner, {"all/part": part})


def values(random: Random) -> dict[str, Any]:
    """Some slots with values of their types."""
    slots: dict[str, Any] = {}
    for kind, known in VALUES.items():
        if random.random() < 0.5:
            slots[f"all/{kind}-one"] = random.choice(known)
        if random.random() < 0.4:
            count = random.randrange(1, len(known) + 1)
            slots[f"all/{kind}-many"] = random.sample(known, count)
    if random.random() < 0.5:
        slots["all/bytes-one"] = base64.b64encode(random.randbytes(20)).decode()
    if random.random() < 0.3:
        slots["all/uuid-many"] = [str(UUID(int=random.getrandbits(128))) for _ in range(2)]
    if random.random() < 0.3:
        slots["db/doc"] = random.choice(TEXTS)
    slots["all/odd?"] = random.random() < 0.5
    return slots


def define_workflows(db: sandbar.Database) -> None:
    """Two workflows, one of them in its third version."""
    for guard in ("true", "1 < 2", "2 < 3"):
        db.workflows.define(way("order/way", guard), principal="test")
    db.workflows.define(way("con/Aux", "true"), principal="test")


def way(name: str, guard: str) -> dict[str, Any]:
    """A small workflow."""
    return {
        "name": name,
        "description": TEXTS[14],
        "data-schema": {"type": "object", "properties": {"z": {}, "a": {"type": "integer"}}},
        "states": [
            {"name": "begun", "initial?": True},
            {"name": "done", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [{"name": "finish", "from": "begun", "to": "done", "guard": guard}],
    }
