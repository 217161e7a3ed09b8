"""Connections and writer threads do not survive a fork: whoever uses them there is told.

Forks are counted rather than processes compared, because asking for the process id is a system
call, and every read would make it.
"""

from __future__ import annotations

import os

from sandbar.errors import Fault

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class Home:
    """The process in which a store was opened."""

    __slots__ = ("_forks",)

    def __init__(self) -> None:
        self._forks = _forks

    def is_here(self) -> bool:
        """Whether this is that process."""
        return self._forks == _forks

    def require(self) -> None:
        """Go on only there: in a copy of it writes wait for ever, and connections speak for two."""
        if self._forks != _forks:
            raise Fault(
                "store.forked",
                "this database was opened before a fork",
                hint="open it again in the child process",
            )
