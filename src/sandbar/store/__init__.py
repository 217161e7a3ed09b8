"""The store: rows and transactions of workspaces, whatever they mean.

This package is its door: the model imports from here. The composition root, `database`, also enters
the two stores, which have pages of their own, and the files of backups (`archive`, `archive_file`,
`files`); nobody else knows them.
"""

from sandbar.store.answer import Answer
from sandbar.store.api import Snapshot, Store
from sandbar.store.examined import Examination
from sandbar.store.jobs import Claim, JobQueue
from sandbar.store.owed import Duty
from sandbar.store.pieces import CHOSEN_ID_MAX, Change, Pair
from sandbar.store.plan import Plan, Transaction
from sandbar.store.reading import Reads
from sandbar.store.rows import Head, Record, Row, State, Token, TxRow, Version
from sandbar.store.scan import Between, Equals, Found, Key, Position, Scan
from sandbar.store.search import GAP, AllOf, AnyOf, Sought, Term
from sandbar.store.trail import AuditRow, KeyUses, Note, RunEnd, Seal, Trail, accompanied, accompany
from sandbar.store.usage import (
    LIMIT_NAMES,
    Account,
    Limits,
    background_full,
    limits_of,
    over_budget,
)
from sandbar.store.wanted import NOTHING_WANTED, LookedUp, Wanted
from sandbar.store.watchers import Watch

__all__ = [
    "CHOSEN_ID_MAX",
    "GAP",
    "LIMIT_NAMES",
    "NOTHING_WANTED",
    "Account",
    "AllOf",
    "Answer",
    "AnyOf",
    "AuditRow",
    "Between",
    "Change",
    "Claim",
    "Duty",
    "Equals",
    "Examination",
    "Found",
    "Head",
    "JobQueue",
    "Key",
    "KeyUses",
    "Limits",
    "LookedUp",
    "Note",
    "Pair",
    "Plan",
    "Position",
    "Reads",
    "Record",
    "Row",
    "RunEnd",
    "Scan",
    "Seal",
    "Snapshot",
    "Sought",
    "State",
    "Store",
    "Term",
    "Token",
    "Trail",
    "Transaction",
    "TxRow",
    "Version",
    "Wanted",
    "Watch",
    "accompanied",
    "accompany",
    "background_full",
    "limits_of",
    "over_budget",
]
