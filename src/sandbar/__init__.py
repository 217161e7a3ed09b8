"""Sandbar: a self-describing, versioned database for people and AI agents.

All that programs are to use by name is in `__all__`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sandbar.errors import (
    Conflict,
    Fault,
    Forbidden,
    Incorrect,
    Interrupted,
    NotFound,
    Problem,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unsupported,
)

if TYPE_CHECKING:
    from sandbar.database import Database
    from sandbar.database import open_database as open
    from sandbar.model import (
        Entity,
        HistoryEntry,
        Hit,
        Introspection,
        Outcome,
        Page,
        Purged,
        Receipt,
        SearchPage,
        SlotChange,
        TransactionEntry,
        Written,
    )
    from sandbar.packs import PackReport

__version__ = "0.1.0"

__all__ = [
    "Conflict",
    "Database",
    "Entity",
    "Fault",
    "Forbidden",
    "HistoryEntry",
    "Hit",
    "Incorrect",
    "Interrupted",
    "Introspection",
    "NotFound",
    "Outcome",
    "PackReport",
    "Page",
    "Problem",
    "Purged",
    "Receipt",
    "SearchPage",
    "SlotChange",
    "TooMany",
    "TransactionEntry",
    "Unauthenticated",
    "Unavailable",
    "Unsupported",
    "Written",
    "open",
]

# The command line is a part of this package too, and its help must not wait for the drivers: what
# is not here yet is loaded when it is first named. Type checkers are not shown this, since they
# would take every name for one of ours.
if not TYPE_CHECKING:
    _ELSEWHERE = {
        "Database": ("sandbar.database", "Database"),
        "PackReport": ("sandbar.packs", "PackReport"),
        "open": ("sandbar.database", "open_database"),
    }

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, there = _ELSEWHERE.get(name, ("sandbar.model", name))
        found = getattr(importlib.import_module(module), there)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
