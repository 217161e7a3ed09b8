"""The irreducible part of the metamodel: `core.json`, and the numbers of its entities.

The core has the same ids in every workspace, so that a document can be read before anything is
known about it. Entities that users make are numbered from FIRST_FREE_ID. The core may grow below
that: workspaces that were made with a smaller one are brought up to date when they are opened.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

FIRST_FREE_ID = 1000


class Entry(msgspec.Struct, frozen=True):
    """One entity of a metamodel dump; references are written as idents."""

    id: int
    class_: str = msgspec.field(name="class")
    slots: dict[str, Any]


def parse_entries(text: bytes) -> list[Entry]:
    """The entities of a dump."""
    return msgspec.json.decode(text, type=list[Entry])


CORE_TEXT = resources.files("sandbar.model").joinpath("core.json").read_bytes()
CORE = parse_entries(CORE_TEXT)
_ID = {entry.slots["db/ident"]: entry.id for entry in CORE}
LAST_ID = max(_ID.values())  # whoever has this one has all

CLASS = _ID["dt/Class"]
PROPERTY = _ID["dt/Property"]
RESOURCE = _ID["dt/Resource"]
LITERAL = _ID["dt/Literal"]
ANY_REF = _ID["db.type/ref"]

TYPE = _ID["dt/type"]
IDENT = _ID["db/ident"]
DOC = _ID["db/doc"]
LABEL = _ID["dt/label"]
SUBCLASS_OF = _ID["dt/subclass-of"]
SLOTS = _ID["dt/slots"]
ABSTRACT = _ID["dt/abstract?"]
VALIDATOR = _ID["dt/validator"]
NATIVE_CODEC = _ID["dt/native-codec"]
DOCUMENT = _ID["dt/document"]
RANGE = _ID["dt/range"]
CARDINALITY = _ID["db/cardinality"]
REQUIRED = _ID["dt/required?"]
UNIQUE = _ID["db/unique"]
DEFAULT = _ID["dt/default"]
ONE_OF = _ID["dt/one-of"]
PATTERN = _ID["dt/pattern"]
MIN = _ID["dt/min"]
MAX = _ID["dt/max"]
COMPONENT = _ID["dt/component?"]
INDEXED = _ID["dt/indexed?"]
SECRET = _ID["dt/secret?"]
INVERSE_OF = _ID["dt/inverse-of"]
DOMAIN = _ID["dt/domain"]
