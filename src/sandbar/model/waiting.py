"""Waiting for a write while the writer is inside somebody's function.

The function may itself wait for the very thread that waits here: nobody can see that, so whoever
has no deadline of its own gets one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sandbar.errors import Unavailable
from sandbar.patience import current
from sandbar.store import Answer

T = TypeVar("T")

RUN_PATIENCE_S = 10.0  # as long as one process waits for another's transaction


def outcome_of(answer: Answer[T], running: Callable[[], object | None]) -> T:
    """What a write came to; refused if one function holds it up for long (`running`: which)."""
    while (before := running()) is not None and current() is None:
        if _is_there(answer):
            break
        if running() is before and answer.cancel():
            raise _held_up()
    return answer.result()


def _is_there(answer: Answer[T]) -> bool:
    """Whether an answer comes in time, be it an error, of whatever kind."""
    try:
        answer.exception(RUN_PATIENCE_S)
    except TimeoutError:
        return answer.done()
    return True


def _held_up() -> Unavailable:
    return Unavailable(
        "write.held-up",
        f"a function inside db.run has held up this write for {RUN_PATIENCE_S:g} s",
        hint="retry; a thread that such a function waits for must not write",
    )
