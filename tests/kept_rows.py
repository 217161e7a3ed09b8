"""The rows of a workspace of PostgreSQL, kept to be put back before each test.

To make them anew, or to copy their database, takes longer than most tests do. They are kept as
temporary tables of the superuser's session, whom row-level security does not bind: no other session
sees them, and they go when it goes.
"""

from __future__ import annotations

import secrets
from typing import Any, LiteralString

import psycopg
from psycopg import sql

# Whatever has rows of workspaces, in tables of later migrations too.
_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'sandbar'::regnamespace AND c.relkind = 'r' AND a.attname = 'ws'
ORDER BY c.relname
"""
_SAVE: LiteralString = """
CREATE TEMPORARY TABLE {saved} AS SELECT * FROM sandbar.{table} WHERE ws = {ws}
"""
_ANALYZE: LiteralString = "ANALYZE {saved}"
# Whole rows are compared, in which nulls are equal. Few are ever changed, so few are written.
_REMOVE: LiteralString = """
DELETE FROM sandbar.{table} x
WHERE x.ws = {ws} AND NOT EXISTS (SELECT FROM pg_temp.{saved} y WHERE y = x)
"""
_ADD: LiteralString = """
INSERT INTO sandbar.{table} OVERRIDING SYSTEM VALUE SELECT y.* FROM pg_temp.{saved} y
WHERE NOT EXISTS (SELECT FROM sandbar.{table} x WHERE x.ws = {ws} AND x = y)
"""
_NEW_EPOCH = "UPDATE sandbar.workspace SET epoch = %s WHERE ws = %s"


def tables_of_workspaces(superuser: psycopg.Connection[Any]) -> list[str]:
    """The tables that have rows of workspaces."""
    return [table for (table,) in superuser.execute(_TABLES)]


class KeptRows:
    """All that the database has of a workspace now."""

    def __init__(self, superusers_address: str, ws: int) -> None:
        self._ws = ws
        # Tables grow while the tests run, and their statistics are old or missing.
        planner = "-c enable_seqscan=off -c jit=off -c lock_timeout=10s"
        self._connection = psycopg.connect(superusers_address, autocommit=True, options=planner)
        tables = tables_of_workspaces(self._connection)
        for table in tables:
            self._connection.execute(self._statement(_SAVE, table))
            self._connection.execute(self._statement(_ANALYZE, table))
        self._statements = [self._statement(form, t) for t in tables for form in (_REMOVE, _ADD)]

    def put_back(self) -> None:
        """As a restore does, with another epoch: each t will mean something else from now on."""
        with self._connection.transaction(), self._connection.pipeline():
            for statement in self._statements:
                self._connection.execute(statement, prepare=True)
            self._connection.execute(_NEW_EPOCH, (secrets.randbits(52), self._ws), prepare=True)

    def close(self) -> None:
        """Let them go."""
        self._connection.close()

    def _statement(self, form: LiteralString, table: str) -> sql.Composed:
        saved = sql.Identifier(f"saved_{table}")
        return sql.SQL(form).format(
            table=sql.Identifier(table), saved=saved, ws=sql.Literal(self._ws)
        )
