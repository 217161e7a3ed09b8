"""What to do with a file and an entity that belong together, by what became of each.

Everything else is carrying this out.
"""

from __future__ import annotations

from typing import Literal

State = Literal["absent", "same", "changed"]

Step = Literal[
    "nothing",
    "create",  # an entity from the file
    "write",  # the file from the entity
    "update",  # the entity from the file
    "compare",  # both changed: if they mean the same they agree, else it is a conflict
    "delete",  # the entity, as the file was deleted
    "throw-away",  # the file, as the entity was deleted
    "write-again",  # the file was deleted, but the entity has changed: what changed survives
    "revive",  # the entity was deleted, but the file has changed: what changed survives
    "forget",  # both are gone
]

# State of the file, state of the entity. `same` is as both were when they last agreed.
_AGREED: dict[tuple[State, State], Step] = {
    ("same", "same"): "nothing",
    ("changed", "same"): "update",
    ("same", "changed"): "write",
    ("changed", "changed"): "compare",
    ("absent", "same"): "delete",
    ("same", "absent"): "throw-away",
    ("absent", "changed"): "write-again",
    ("changed", "absent"): "revive",
    ("absent", "absent"): "forget",
}
# Where nothing was ever agreed on, whatever is there has changed.
_NEVER_AGREED: dict[tuple[State, State], Step] = {
    ("changed", "absent"): "create",
    ("absent", "changed"): "write",
    ("changed", "changed"): "compare",
    ("absent", "absent"): "nothing",
}


def step_for(file: State, entity: State, *, have_agreed: bool) -> Step:
    """The step that a pair is due."""
    return (_AGREED if have_agreed else _NEVER_AGREED)[file, entity]


def state_of(now: object, then: object) -> State:
    """What became of a side: `now` is None if it is not there, `then` if nothing was agreed on."""
    if now is None:
        return "absent"
    return "same" if now == then else "changed"
