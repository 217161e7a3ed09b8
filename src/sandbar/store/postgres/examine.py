"""Looking at a PostgreSQL database as the role that would serve it."""

from __future__ import annotations

from sandbar.store.examined import Examination
from sandbar.store.migrate import migrations_of
from sandbar.store.postgres.connection import open_reader, translated
from sandbar.store.postgres.install import PACKAGE, check
from sandbar.store.postgres.owed import duties_of
from sandbar.store.postgres.reads import QUERIES


def examine(url: str, workspace: str) -> Examination:
    """What a database is; one that could not be served is refused as a server would refuse it."""
    connection = open_reader(url)
    try:
        with translated():
            check(connection)
            rows = connection.execute(QUERIES.all_workspaces).fetchall()
            names = tuple(name for _, name in rows)
            known = len(migrations_of(PACKAGE))  # an older or a newer one has been refused
            return Examination(
                f"PostgreSQL {connection.info.server_version // 10_000}",
                known,
                known,
                has_workspace=workspace in names,
                workspaces=names,
                role=connection.info.user,
                owed=duties_of(connection),
            )
    finally:
        connection.close()
