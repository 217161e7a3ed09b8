"""Verbs of a test's own in the catalogue of a running server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sandbar.patience import current
from sandbar.verbs import Catalogue, Verb
from tests.mcp.served import Served

Plant = Callable[[str, Callable[[Any, Any], Any]], str]


class Nothing(msgspec.Struct):
    """No arguments."""


class Done(msgspec.Struct):
    """Something."""

    ok: bool = True


class Endless:
    """A verb that works until somebody stops it; it knows when it was begun and stopped."""

    def __init__(self, for_s: float = 10.0) -> None:
        self.begun = threading.Event()
        self.stopped = threading.Event()
        self._for_s = for_s

    def __call__(self, context: Any, arguments: Any) -> Done:
        """Run."""
        self.begun.set()
        patience = current()
        assert patience is not None
        end = time.monotonic() + self._for_s
        while time.monotonic() < end:
            if patience.is_over():
                self.stopped.set()
                patience.check()
            time.sleep(0.01)
        return Done()


def plant_in(served: Served, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """What puts a verb into the catalogue and returns its name."""

    def plant(name: str, run: Callable[[Any, Any], Any]) -> str:
        verb = Verb(
            name=name,
            title=name,
            description=name,
            access="read",
            arguments=Nothing,
            result=Done,
            run=run,
            is_exact=True,
        )
        offer = served.db.offer
        changed = offer._replace(catalogue=Catalogue((*offer.catalogue, verb)))
        monkeypatch.setattr(served.db, "_offer", changed)
        return name

    return plant
