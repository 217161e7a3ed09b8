"""Questions that a client was asked and left open: polling does not ask it again for a while."""

from __future__ import annotations

from collections import OrderedDict

from sandbar import clock
from sandbar.access import Caller

QUIET_S = 600.0
_REMEMBERED_MAX = 10_000

_Question = tuple[str, str, int, str]  # workspace, principal, process, key


class LeftOpen:
    """What each principal has left open of late; only this server knows, which is enough."""

    def __init__(self) -> None:
        self._until_s: OrderedDict[_Question, float] = OrderedDict()

    def note(self, caller: Caller, process_id: int, key: str) -> None:
        """It was asked this, and did not answer."""
        question = (caller.workspace, caller.principal, process_id, key)
        self._until_s[question] = clock.monotonic_s() + QUIET_S
        self._until_s.move_to_end(question)
        while len(self._until_s) > _REMEMBERED_MAX:
            self._until_s.popitem(last=False)

    def holds(self, caller: Caller, process_id: int, key: str) -> bool:
        """Whether it was asked this a while ago."""
        question = (caller.workspace, caller.principal, process_id, key)
        return self._until_s.get(question, 0.0) > clock.monotonic_s()
