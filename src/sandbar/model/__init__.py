"""The model: what rows mean. Classes, properties, entities, validity, history.

This package is the model's only door; nobody imports its rooms.
"""

from sandbar.model.asking import Askable
from sandbar.model.bounds import BOUNDS, SchemaBounds
from sandbar.model.budgets import (
    LIMIT_NAMES,
    Account,
    Budgets,
    Limits,
    Waiting,
    is_over_budget,
    over_budget,
    read_limits,
    usual_limits,
)
from sandbar.model.commits import Commit, EntityChange, Standing
from sandbar.model.core import FIRST_FREE_ID
from sandbar.model.credentials import Credentials
from sandbar.model.cursors import Cursor, question_digest, read_cursor, write_cursor
from sandbar.model.definitions import definition_operations
from sandbar.model.document_rules import Document
from sandbar.model.drafts import SecretNotHashed
from sandbar.model.expressions import Expression, compile_expression
from sandbar.model.former import Former
from sandbar.model.guarding import Guard, Touched
from sandbar.model.hiding import AllBut
from sandbar.model.introspection import Introspection
from sandbar.model.jobs import Claim, JobQueue, Jobs
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
from sandbar.model.parts import definition_parts
from sandbar.model.patterns import compile_pattern
from sandbar.model.placing import Place
from sandbar.model.plain_words import UNREADABLE, said_plainly, what_it_takes
from sandbar.model.preview import Preview
from sandbar.model.purging import PurgeMode
from sandbar.model.queries import Question
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
from sandbar.model.searching import Search
from sandbar.model.trails import (
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
from sandbar.model.validity import Invalid, Judged, Walk
from sandbar.model.values import door_check
from sandbar.model.values.refusals import shown, typed
from sandbar.model.workspace import Workspace

__all__ = [
    "BOUNDS",
    "FIRST_FREE_ID",
    "LIMIT_NAMES",
    "UNREADABLE",
    "Account",
    "AllBut",
    "Answer",
    "Askable",
    "AuditRow",
    "Budgets",
    "Claim",
    "Commit",
    "Create",
    "Credentials",
    "Cursor",
    "Delete",
    "DeleteMode",
    "Document",
    "Entity",
    "EntityChange",
    "Expression",
    "Former",
    "Guard",
    "HistoryEntry",
    "Hit",
    "Introspection",
    "Invalid",
    "JobQueue",
    "Jobs",
    "Judged",
    "KeyUses",
    "Limits",
    "Migrate",
    "Moment",
    "Note",
    "Operation",
    "Outcome",
    "Page",
    "Place",
    "Preview",
    "PurgeMode",
    "Purged",
    "Question",
    "Receipt",
    "Restore",
    "RunEnd",
    "SchemaBounds",
    "Seal",
    "Search",
    "SearchPage",
    "SecretNotHashed",
    "SlotChange",
    "Standing",
    "Touched",
    "Trail",
    "TransactionEntry",
    "Update",
    "Waiting",
    "Walk",
    "Workspace",
    "Written",
    "accompanied",
    "accompany",
    "compile_expression",
    "compile_pattern",
    "definition_operations",
    "definition_parts",
    "door_check",
    "is_over_budget",
    "malformed_operations",
    "over_budget",
    "question_digest",
    "read_cursor",
    "read_limits",
    "said_plainly",
    "shown",
    "typed",
    "usual_limits",
    "what_it_takes",
    "write_cursor",
]
