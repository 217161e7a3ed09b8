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
            raise forked("this database was opened before a fork")


def forked(message: str) -> Fault:
    """What to raise in a child for what its parent had open."""
    return Fault(
        "store.forked",
        message,
        hint="open it in the child only; a SQLite file must be closed before the fork, or the"
        " process started with spawn or forkserver",
    )
