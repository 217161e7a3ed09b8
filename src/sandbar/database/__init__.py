"""The embedded house: a store and one workspace of it, with methods that read like the verbs.

    import sandbar

    db = sandbar.open("shop.db")
    boot = db.create("zorp/Boot", {"footwear/name": "Moonwalker"})
    db.get(boot.entity_id)["footwear/name"]

No network, no configuration. A `Database` may be used from any number of threads; other
processes may have the same file open, and each sees the others' changes on its next call.
"""

from sandbar.database.backup import (
    BackupReport,
    RestoreReport,
    WorkspaceReport,
    backup_database,
    restore_database,
)
from sandbar.database.house import Database
from sandbar.database.offers import Offer
from sandbar.database.opening import examine_database, open_database, prepare_postgres

__all__ = [
    "BackupReport",
    "Database",
    "Offer",
    "RestoreReport",
    "WorkspaceReport",
    "backup_database",
    "examine_database",
    "open_database",
    "prepare_postgres",
    "restore_database",
]
