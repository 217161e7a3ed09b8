"""Opening, preparing and examining databases: the only place that knows both stores."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sandbar.database.house import Database
from sandbar.errors import Incorrect
from sandbar.model import BOUNDS, Limits, SchemaBounds, Workspace, usual_limits
from sandbar.store import Examination, Store
from sandbar.store.postgres import PostgresStore, prepare
from sandbar.store.postgres import examine as examine_postgres
from sandbar.store.sqlite import SqliteStore
from sandbar.store.sqlite import examine as examine_sqlite

_POSTGRES_PREFIXES = ("postgresql://", "postgres://")


def open_database(
    path_or_url: str | os.PathLike[str],
    workspace: str = "main",
    *,
    principal: str = "local",
    metamodel: bytes | None = None,
    server: bool = False,
    bounds: SchemaBounds = BOUNDS,
    limits: Sequence[str] = (),
) -> Database:
    """Open a SQLite file (made if need be) or a PostgreSQL database, and one workspace in it.

    `principal` is who the history says has written. `metamodel` is a dump with which a new
    workspace begins instead of the bare core. `server` claims the file for a server: a second
    one is refused, while the library and the command line may work beside it. `bounds` are how
    large the metamodels of its workspaces may grow. `limits` are the budgets of workspaces for
    which no others were set, such as "entities=10000"; see `docs/limits.md`.
    """
    address, usual = address_of(path_or_url), usual_limits(limits)
    store = open_store(address, server=server, home=workspace, limits=usual)
    try:
        opened = Workspace.open(store, workspace, metamodel, bounds)
        return Database(store, opened, principal, workspace)
    except BaseException:
        store.close()
        raise


def open_store(
    address: str,
    *,
    server: bool = False,
    home: str | None = None,
    limits: Limits | None = None,
) -> Store:
    """The store at an address, without looking at any workspace."""
    if is_postgres(address):
        return PostgresStore(address, server=server, limits=limits)
    return SqliteStore(address, server=server, home=home, limits=limits)


def is_postgres(address: str) -> bool:
    """Whether an address is a URL of PostgreSQL; else it is the path of a SQLite file."""
    return address.startswith(_POSTGRES_PREFIXES)


def address_of(given: object) -> str:
    """What to open, as text; anything else would make a file of an odd name."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str):
        raise Incorrect(
            "store.cannot-open",
            "a database is opened by its path or its URL",
            hint='for example "shop.db"',
        )
    return text


def prepare_postgres(admin_url: str, *, role: str, password: str | None = None) -> str:
    """Make or update the tables of a PostgreSQL database; returns the URL to open it with."""
    return prepare(admin_url, role=role, password=password)


def examine_database(path_or_url: str | os.PathLike[str], workspace: str = "main") -> Examination:
    """What can be told of a database that exists, without changing it."""
    target = address_of(path_or_url)
    examine = examine_postgres if is_postgres(target) else examine_sqlite
    return examine(target, workspace)
