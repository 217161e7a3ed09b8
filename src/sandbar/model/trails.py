"""The audit's rows as the store keeps them, for the floor above that gives them their meaning."""

from __future__ import annotations

from sandbar.store.answer import Answer
from sandbar.store.trail import AuditRow, KeyUses, Note, RunEnd, Seal, Trail, accompanied, accompany

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
