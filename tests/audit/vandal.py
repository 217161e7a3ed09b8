"""Somebody who can write to the tables past the program: the owner of the file or the database."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import apsw
import psycopg

from sandbar.audit import AuditRow

RawRow = dict[str, Any]

AUDIT = ("ws", *AuditRow._fields)
LACKING: RawRow = dict.fromkeys(AUDIT) | AuditRow._field_defaults
SEAL = ("ws", "number", "run", "first_n", "last_n", "count", "at_us", "hash")


class RawLog(NamedTuple):
    """The rows and seals of some workspaces, as they stand in the tables."""

    rows: list[RawRow]
    seals: list[RawRow]

    def copy(self) -> RawLog:
        """The same, to be changed."""
        return RawLog([dict(row) for row in self.rows], [dict(seal) for seal in self.seals])


class Vandal(Protocol):
    """Reads and writes the tables."""

    def read(self, spaces: list[int]) -> RawLog:
        """All that is there."""

    def write(self, spaces: list[int], log: RawLog) -> None:
        """Put this in the place of all that is there."""

    def close(self) -> None:
        """Leave."""


def _list(spaces: list[int]) -> str:
    return ", ".join(map(str, spaces))


class SqliteVandal:
    """Has the file, and drops what protects it from accidents."""

    def __init__(self, path: str) -> None:
        self._connection = apsw.Connection(path)
        self._connection.set_busy_timeout(5000)
        triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN (?, ?)"
        for (name,) in self._connection.execute(triggers, ("audit", "seal")).fetchall():
            self._connection.execute(f"DROP TRIGGER {name}")

    def read(self, spaces: list[int]) -> RawLog:
        return RawLog(self._rows("audit", AUDIT, spaces), self._rows("seal", SEAL, spaces))

    def write(self, spaces: list[int], log: RawLog) -> None:
        with self._connection:
            for table, names, rows in (("audit", AUDIT, log.rows), ("seal", SEAL, log.seals)):
                self._connection.execute(f"DELETE FROM {table} WHERE ws IN ({_list(spaces)})")
                marks = ", ".join(f":{name}" for name in names)
                self._connection.executemany(
                    f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows
                )

    def close(self) -> None:
        self._connection.close()

    def _rows(self, table: str, names: tuple[str, ...], spaces: list[int]) -> list[RawRow]:
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE ws IN ({_list(spaces)}) ORDER BY 1,2,3"
        found: list[Any] = self._connection.execute(sql).fetchall()
        return [dict(zip(names, row, strict=True)) for row in found]


class PostgresVandal:
    """Owns the database, and no trigger fires for them."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("SET session_replication_role = replica")

    def read(self, spaces: list[int]) -> RawLog:
        return RawLog(self._rows("audit", AUDIT, spaces), self._rows("seal", SEAL, spaces))

    def write(self, spaces: list[int], log: RawLog) -> None:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            for table, names, rows in (("audit", AUDIT, log.rows), ("seal", SEAL, log.seals)):
                gone = f"DELETE FROM sandbar.{table} WHERE ws IN ({_list(spaces)})"
                cursor.execute(gone.encode())
                put = f"COPY sandbar.{table} ({', '.join(names)}) FROM STDIN"
                with cursor.copy(put.encode()) as copy:
                    for row in rows:
                        copy.write_row([row[name] for name in names])

    def close(self) -> None:
        self._connection.close()

    def _rows(self, table: str, names: tuple[str, ...], spaces: list[int]) -> list[RawRow]:
        sql = f"SELECT {', '.join(names)} FROM sandbar.{table} WHERE ws IN ({_list(spaces)})"
        found = self._connection.execute(f"{sql} ORDER BY 1,2,3".encode()).fetchall()
        return [dict(zip(names, row, strict=True)) for row in found]
