"""Connections and writer threads do not survive a fork: whoever uses them there is told."""

from __future__ import annotations

import os

from sandbar.errors import Fault


class Home:
    """The process in which a store was opened."""

    __slots__ = ("_pid",)

    def __init__(self) -> None:
        self._pid = os.getpid()

    def is_here(self) -> bool:
        """Whether this is that process."""
        return os.getpid() == self._pid

    def require(self) -> None:
        """Go on only there: in a copy of it writes wait for ever, and connections speak for two."""
        if not self.is_here():
            raise Fault(
                "store.forked",
                "this database was opened before a fork",
                hint="open it again in the child process",
            )
