"""Sandbar: a self-describing, versioned database for people and AI agents."""

from sandbar.database import Database
from sandbar.database import open_database as open
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
