"""The store in a PostgreSQL database, as `database` uses it."""

from sandbar.store.postgres.archive import filling, reading
from sandbar.store.postgres.examine import examine
from sandbar.store.postgres.install import install as prepare
from sandbar.store.postgres.store import PostgresStore

__all__ = ["PostgresStore", "examine", "filling", "prepare", "reading"]
