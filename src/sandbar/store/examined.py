"""What can be told of a database without opening it for work: for `sandbar doctor`."""

from __future__ import annotations

from typing import NamedTuple

from sandbar.store.owed import Duty


class Examination(NamedTuple):
    """The engine, the tables, one workspace, who is connected, and who serves the file."""

    engine: str
    schema: int  # 0: there are no tables yet
    schema_known: int  # the newest version that this program knows
    has_workspace: bool
    workspaces: tuple[str, ...]  # all that there are
    role: str | None = None  # on PostgreSQL; bound by row-level security, or it would be refused
    is_served: bool = False  # on SQLite: a server has claimed the file
    server_pid: int | None = None  # if the system tells
    owed: tuple[Duty, ...] = ()  # what commits have left to be done
