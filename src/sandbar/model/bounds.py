"""How large a metamodel may grow: each bound keeps the work of one call short.

Inheriting costs as much as there is to inherit, for every class anew. So it is bounded what a class
inherits, what all classes inherit together, and how much of it one transaction changes. A
workspace that is beyond a bound already stays as it is; only what would lead further is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from sandbar.errors import Incorrect


class SchemaBounds(NamedTuple):
    """The most that there may be of each; see `docs/schema.md`."""

    class_parents: int = 16  # classes directly above one
    class_depth: int = 64  # steps from a class up to dt/Resource, on the longest way
    class_ancestors: int = 128  # classes above one, directly or not
    class_slots: int = 1_000  # slots of one class, inherited ones included
    inheritance: int = 250_000  # slots and ancestors of each class, of all together
    definitions: int = 50_000  # classes and properties of a workspace
    definitions_at_once: int = 5_000  # that one transaction makes or changes


BOUNDS = SchemaBounds()  # unless a server sets others

_NEXT = {
    "class_parents": "give it fewer dt/subclass-of, for example one class that stands for several",
    "class_depth": "leave out levels that add nothing, and use a slot for what they tell apart",
    "class_ancestors": "give it, or the classes above it, fewer dt/subclass-of",
    "class_slots": "put slots that belong together into a class of its own, and refer to it",
    "inheritance": "let fewer classes inherit as much, or delete classes that nothing uses",
    "definitions": "delete classes and properties that nothing uses, or use another workspace",
    "definitions_at_once": "define them in several transactions",
}


def beyond(bound: str, said: str, most: int, actual: int) -> Incorrect:
    """The refusal of what would lead beyond a bound of this name."""
    setting = f"SANDBAR_{bound.upper()}"
    return Incorrect(
        "schema.too-large",
        said,
        hint=f"{_NEXT[bound]}; another bound is set on the server by {setting}, in a program by"
        f" sandbar.open(…, bounds=SchemaBounds({bound}=…))",
        data={"bound": bound.replace("_", "-"), "most": most, "actual": actual},
    )
