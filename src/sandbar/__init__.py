"""Sandbar: a self-describing, versioned database for people and AI agents."""

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

__version__ = "0.1.0"

__all__ = [
    "Conflict",
    "Database",
    "Fault",
    "Forbidden",
    "Incorrect",
    "Interrupted",
    "NotFound",
    "Problem",
    "TooMany",
    "Unauthenticated",
    "Unavailable",
    "Unsupported",
    "open",
]

# The command line is a part of this package too, and its help must not wait for the drivers: the
# database is loaded when it is first named.
_IN_DATABASE = {"Database": "Database", "open": "open_database"}


def __getattr__(name: str) -> Any:
    if name not in _IN_DATABASE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module("sandbar.database"), _IN_DATABASE[name])
    globals()[name] = found
    return found
