"""What may be spent: the size of what processes keep, and of what one transition makes.

A value that was read can stand in many places at once and takes no memory by that, until somebody
writes it down: so it is weighed, and refused, before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbar.errors import Incorrect

DATA_BYTES_MAX = 256 * 1024  # what a process knows; the same for what it was told
EFFECTS_BYTES_MAX = 1 << 20  # what all effects of a transition write, together
RESULT_BYTES_MAX = 1_000_000
CHECKPOINT_BYTES_MAX = 256 * 1024
ERROR_BYTES_MAX = 32 * 1024
_NUMBER_BYTES = 8


class Budget:
    """What the effects of one transition may write."""

    __slots__ = ("_left",)

    def __init__(self, bytes_: int = EFFECTS_BYTES_MAX) -> None:
        self._left = bytes_

    def spend(self, value: Any) -> None:
        """Take the weight of a value off."""
        self._left -= weight(value, self._left)
        if self._left < 0:
            raise Incorrect(
                "workflow.effects-too-large",
                f"the effects of the transition would write more than {EFFECTS_BYTES_MAX:,} bytes",
                hint='read less with {"from": …}: one field rather than all of `data`',
            )


def weight(value: Any, most: int) -> int:
    """About how many bytes a value takes as JSON; counts little further than `most`."""
    total = 0
    open_: list[Iterable[Any]] = [(value,)]
    while open_ and total <= most:
        for item in open_.pop():
            kind = type(item)
            if kind is str:
                total += (len(item) if item.isascii() else _encoded(item)) + 2
            elif kind is dict or kind is list or kind is tuple:
                # Charged before its parts are looked at: they may be the same ones many times over.
                total += 2 + 2 * len(item)
                open_.append(item)
                if kind is dict:
                    open_.append(item.values())
            else:
                total += _NUMBER_BYTES
            if total > most:
                break
    return total


def _encoded(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def refuse_large_data(data: Any, what: str = "data") -> None:
    """Refuse what is too large for a process to know, or to be told."""
    if weight(data, DATA_BYTES_MAX) > DATA_BYTES_MAX:
        raise Incorrect(
            "process.data-too-large",
            f"the {what} of the process would take more than {DATA_BYTES_MAX:,} bytes",
            hint="keep it in entities, and in the process only their numbers",
        )


def refuse_large_work(value: Any, what: str, most: int) -> None:
    """Refuse what is too large for an activity to leave behind."""
    if weight(value, most) > most:
        raise Incorrect(
            "activity.too-large",
            f"the {what} of the activity takes more than {most:,} bytes",
            hint="let it keep that in entities, and leave their numbers behind",
        )
