"""The audit's rows as the store keeps them, for the floor above that gives them their meaning."""

from __future__ import annotations

from sandbar.store import (
    Answer,
    AuditRow,
    KeyUses,
    Note,
    RunEnd,
    Seal,
    Trail,
    accompanied,
    accompany,
)

__all__ = [
    "Answer",
    "AuditRow",
    "KeyUses",
    "Note",
    "RunEnd",
    "Seal",
    "Trail",
    "accompanied",
    "accompany",
]
