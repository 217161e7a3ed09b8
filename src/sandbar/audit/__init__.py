"""Audit: a row for every request, a chain of seals over the rows, and the proof that both hold."""

from sandbar.audit.chain import RowsDigest, head_of, read_head, seal_hash
from sandbar.audit.exporting import SHOWN, export, row_object
from sandbar.audit.journal import Journal
from sandbar.audit.names import nameable, nameable_id
from sandbar.audit.verifying import Broken, Verdict, verify
from sandbar.model import AuditRow, Note, Seal, Trail, accompanied, accompany

__all__ = [
    "SHOWN",
    "AuditRow",
    "Broken",
    "Journal",
    "Note",
    "RowsDigest",
    "Seal",
    "Trail",
    "Verdict",
    "accompanied",
    "accompany",
    "export",
    "head_of",
    "nameable",
    "nameable_id",
    "read_head",
    "row_object",
    "seal_hash",
    "verify",
]
