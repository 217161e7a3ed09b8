"""The classes of these tests: one with a slot of every kind, and notes with all a document has."""

from __future__ import annotations

from typing import Any

from sandbar import Database

KINDS = [
    *("string", "boolean", "long", "double", "float", "bigint", "bigdec", "instant"),
    *("keyword", "symbol", "uuid", "uri", "bytes", "tuple", "json"),
]


def _kinds() -> dict[str, dict[str, Any]]:
    ranges = {kind: f"db.type/{kind}" for kind in KINDS} | {
        "ref": "kind/Every",
        "any": "db.type/ref",
    }
    one = {f"one/{kind}": {"dt/range": range} for kind, range in ranges.items()}
    many = {
        f"many/{kind}": {"dt/range": range, "db/cardinality": "many"}
        for kind, range in ranges.items()
    }
    return one | many


_TEXT = {"dt/range": "db.type/string"}

PROPERTIES: dict[str, dict[str, Any]] = {
    **_kinds(),
    "kind/from": {"dt/range": "kind/Every", "db/cardinality": "many", "dt/inverse-of": "one/ref"},
    "note/name": {**_TEXT, "dt/required?": True},
    "note/type": {"dt/range": "db.type/keyword"},
    "note/size": {"dt/range": "db.type/long"},
    "note/pinned?": {"dt/range": "db.type/boolean"},
    "note/created": {"dt/range": "db.type/instant"},
    "note/version": _TEXT,
    "note/status": {"dt/range": "db.type/keyword", "dt/one-of": ["open", "done"]},
    "note/class": _TEXT,
    "other/size": {"dt/range": "db.type/long"},
    "note/cites": {"dt/range": "book/Note", "db/cardinality": "many"},
    "note/cited-by": {
        "dt/range": "book/Note",
        "db/cardinality": "many",
        "dt/inverse-of": "note/cites",
    },
    "note/key": {**_TEXT, "dt/secret?": True},
    "note/body": _TEXT,
    "note/extra": {"dt/range": "db.type/json"},
    "memory/name": {**_TEXT, "dt/required?": True},
    "memory/type": {"dt/range": "db.type/keyword", "dt/one-of": ["idea", "decision"]},
    "memory/body": _TEXT,
}

_NOTE_SLOTS = [name for name in PROPERTIES if name.startswith("note/") and name != "note/extra"] + [
    "other/size"
]

CLASSES: dict[str, dict[str, Any]] = {
    "kind/Every": {
        "dt/subclass-of": ["dt/Ref"],
        "dt/slots": [*_kinds(), "kind/from"],
    },
    "book/Note": {
        "dt/subclass-of": ["dt/Ref"],
        "dt/slots": [*_NOTE_SLOTS, "note/extra"],
        "dt/native-codec": "markdown",
        "dt/document": {
            "body": "note/body",
            "rest": "note/extra",
            "keys": {"title": "note/name", "description": "db/doc"},
            "types": ["note"],
            "order": ["note/name", "db/doc", "note/type"],
            "ident": {"from": "note/name", "in": "nb"},
        },
    },
    "book/Letter": {"dt/subclass-of": ["book/Note"]},
    # The same slots, but nothing is kept that nobody declared, and nothing stands below.
    "book/Card": {
        "dt/subclass-of": ["dt/Ref"],
        "dt/slots": _NOTE_SLOTS,
        "dt/document": {"types": ["card"]},
    },
    "mm/Memory": {
        "dt/subclass-of": ["dt/Ref"],
        "dt/slots": ["memory/name", "memory/type", "memory/body"],
        "dt/native-codec": "markdown",
        "dt/document": {
            "body": "memory/body",
            "keys": {"description": "db/doc"},
            "types": ["memory"],
            "order": ["memory/name", "memory/type"],
            "ident": {"from": "memory/name", "in": "mm"},
        },
    },
}


def define(db: Database) -> None:
    """Define them all."""
    db.define(properties=PROPERTIES, classes=CLASSES)
