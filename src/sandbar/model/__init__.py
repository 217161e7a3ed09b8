"""The model: what rows mean. Classes, properties, entities, validity, history.

This package is the model's only door; nobody imports its rooms.
"""

from sandbar.model.commits import Commit, EntityChange, Standing
from sandbar.model.credentials import Credentials
from sandbar.model.cursors import Cursor, question_digest, read_cursor, write_cursor
from sandbar.model.definitions import definition_operations
from sandbar.model.findings import Finding, did_you_mean
from sandbar.model.guarding import Guard, Touched
from sandbar.model.introspection import Introspection
from sandbar.model.moments import Moment
from sandbar.model.operations import (
    Create,
    Delete,
    DeleteMode,
    Migrate,
    Operation,
    Restore,
    Update,
    malformed_operations,
)
from sandbar.model.plain_words import said_plainly, what_it_takes
from sandbar.model.purging import PurgeMode
from sandbar.model.results import (
    Entity,
    HistoryEntry,
    Hit,
    Outcome,
    Page,
    Purged,
    Receipt,
    SearchPage,
    SlotChange,
    TransactionEntry,
    Written,
)
from sandbar.model.workspace import Workspace

__all__ = [
    "Commit",
    "Create",
    "Credentials",
    "Cursor",
    "Delete",
    "DeleteMode",
    "Entity",
    "EntityChange",
    "Finding",
    "Guard",
    "HistoryEntry",
    "Hit",
    "Introspection",
    "Migrate",
    "Moment",
    "Operation",
    "Outcome",
    "Page",
    "PurgeMode",
    "Purged",
    "Receipt",
    "Restore",
    "SearchPage",
    "SlotChange",
    "Standing",
    "Touched",
    "TransactionEntry",
    "Update",
    "Workspace",
    "Written",
    "definition_operations",
    "did_you_mean",
    "malformed_operations",
    "question_digest",
    "read_cursor",
    "said_plainly",
    "what_it_takes",
    "write_cursor",
]
