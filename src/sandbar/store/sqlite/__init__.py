"""The store in a SQLite file, as `database` uses it."""

from sandbar.store.sqlite.archive import filling, reading
from sandbar.store.sqlite.examine import examine
from sandbar.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "examine", "filling", "reading"]
