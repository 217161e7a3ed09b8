"""Sandbar itself without audit and limits, so that it can be said what these cost.

It is `sandbar serve` in everything else: `-m MODULE PORT DATABASE`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from sandbar.app import make_app
from sandbar.audit import Journal, Note
from sandbar.cli import serving
from sandbar.database import family
from sandbar.settings import Settings


class Silence(Journal):
    """A journal that keeps no rows: every note that it opens counts as kept."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._kept = Note(0, "nobody", surface="bench", method="none", verb="none")
        self._kept.is_kept = self._kept.is_settled = True

    def open(self, *given: Any, **named: Any) -> Note:
        """The one note that there is."""
        del given, named
        return self._kept

    def settle(self, note: Note) -> None:
        """There is nothing to write."""

    def settle_at_once(self, notes: Sequence[Note]) -> bool:
        """Likewise."""
        del notes
        return True

    def used(self, ws: int, key_id: int) -> None:
        """When keys are used is a part of the audit's cost."""

    def start_sealing(self) -> None:
        """There is nothing to seal."""

    def close(self) -> None:
        """Nor to end."""


def serve(database: str, port: str) -> None:
    """Serve a database until a signal comes."""
    vars(family)["Journal"] = Silence
    vars(serving)["make_app"] = partial(make_app, is_recorded=False)
    settings = Settings.from_environment(database=database, port=int(port), log_level="error")
    serving.run_server(settings, lambda *_: [])


if __name__ == "__main__":
    serve(sys.argv[2], sys.argv[1])
