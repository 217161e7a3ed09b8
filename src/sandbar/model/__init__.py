"""The model: what rows mean. Classes, properties, entities, validity, history.

This package is the model's only door; nobody imports its rooms.
"""

from sandbar.model.findings import Finding
from sandbar.model.introspection import Introspection
from sandbar.model.moments import Moment
from sandbar.model.operations import Create, Delete, DeleteMode, Migrate, Operation, Update
from sandbar.model.results import (
    Entity,
    HistoryEntry,
    Outcome,
    Page,
    Receipt,
    SlotChange,
    TransactionEntry,
    Written,
)
from sandbar.model.workspace import Workspace

__all__ = [
    "Create",
    "Delete",
    "DeleteMode",
    "Entity",
    "Finding",
    "HistoryEntry",
    "Introspection",
    "Migrate",
    "Moment",
    "Operation",
    "Outcome",
    "Page",
    "Receipt",
    "SlotChange",
    "TransactionEntry",
    "Update",
    "Workspace",
    "Written",
]
