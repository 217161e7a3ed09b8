"""News: what a commit changed, told to whoever listens in that workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from sandbar.model import EntityChange

EntityNews = EntityChange  # id, ident, class_ and kind: created, updated or deleted


class News(msgspec.Struct, frozen=True):
    """One committed transaction; `is_partial` if it changed more entities than are listed.

    A restored backup, and whatever could not be read, is told as one partial change of the schema:
    look again at all that you have.
    """

    workspace: str
    t: int
    is_schema: bool
    entities: tuple[EntityNews, ...]
    is_partial: bool = False


Listener = Callable[[News], None]  # called on a thread of the hub: must not block


class Subscription(Protocol):
    """A listener that is being told."""

    def close(self) -> None:
        """Stop being told; a call that is under way may still come to its end."""


class Hub(Protocol):
    """Where listeners subscribe; asks for other processes' commits only while somebody listens."""

    def subscribe(self, workspace: str, listener: Listener) -> Subscription:
        """Be told of every commit in a workspace from now on, whoever made it.

        Reads where the workspace stands, so on PostgreSQL it is no call for an event loop's thread.
        """

    def close(self) -> None:
        """Stop telling anybody."""
