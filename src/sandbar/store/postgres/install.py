"""Making and upgrading the tables, and checking that a server may use them.

The owner of the database installs; servers connect as a role that owns nothing, so that row-level
security binds them.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict

from sandbar.errors import Conflict, Fault, Forbidden, Incorrect, Unavailable
from sandbar.sql import load_queries
from sandbar.store.migrate import migrations_of, schema_of
from sandbar.store.postgres.connection import Connection, open_owner, translated

PACKAGE = "sandbar.store.postgres"
ROLE = "sandbar_app"
_Q = load_queries(PACKAGE, "install.sql")
_HOW = "prepare it with `sandbar migrate URL`, then open the URL that it prints"


def install(admin_url: str, *, role: str = ROLE, password: str | None = None) -> str:
    """Bring the database up to date as its owner; returns the URL that servers are to use."""
    with translated(), open_owner(admin_url) as connection:
        try:
            _install(connection, role, password)
        except errors.InsufficientPrivilege as error:
            raise Incorrect(
                "store.refused",
                f"the role {connection.info.user} may not prepare this database:"
                f" {error.diag.message_primary}",
                hint="give the URL of the database's owner, who may make roles and tables",
            ) from error
    return _url_of_role(admin_url, role, password)


def _install(connection: Connection, role: str, password: str | None) -> None:
    _make_role(connection, role)
    if password is not None:
        hashed = connection.pgconn.encrypt_password(password.encode(), role.encode())
        connection.execute(_for_role(_Q.set_password, role, password=hashed.decode()))
    with connection.transaction():
        connection.execute(_Q.lock)
        migrate(connection)
        connection.execute(_for_role(_Q.grant_all, role))


def migrate(connection: Connection) -> None:
    """Make the tables of a new database, or run the migrations that an old one lacks."""
    migrations = migrations_of(PACKAGE)
    if _value(connection, _Q.is_installed):
        number = _value(connection, _Q.last_migration)
        missing = [m for m in migrations if m.number > number]
        _refuse_newer(number, len(migrations))
        for migration in missing:
            connection.execute(migration.sql)
    else:
        missing = migrations
        connection.execute(_Q.create_schema)
        connection.execute(schema_of(PACKAGE))
    for migration in missing:
        connection.execute(_Q.note_migration, migration[:2])


def check(connection: Connection) -> None:
    """Refuse a database that is not ours or not of our version, and a role that may too much."""
    try:
        _check(connection)
    except errors.InsufficientPrivilege as error:
        raise Incorrect(
            "store.refused",
            f"the role {connection.info.user} may not use the tables of Sandbar in this database",
            hint=f"connect as the role {ROLE}: {_HOW}",
        ) from error


def _check(connection: Connection) -> None:
    if not _value(connection, _Q.is_installed):
        raise Unavailable("store.not-installed", "this database has no Sandbar tables", hint=_HOW)
    privilege = _value(connection, _Q.privilege)
    if privilege is not None:
        raise Forbidden(
            "store.privileged-role",
            f"the role {connection.info.user} is {privilege}: row-level security does not bind it",
            hint=f"connect as the role {ROLE}: {_HOW}",
        )
    number, known = _value(connection, _Q.last_migration), len(migrations_of(PACKAGE))
    _refuse_newer(number, known)
    if number < known:
        raise Unavailable("store.older", "this database has not been upgraded yet", hint=_HOW)
    open_tables = _value(connection, _Q.unprotected)
    if open_tables is not None:
        raise Fault("store.unprotected", f"row-level security is off: {open_tables}", hint=_HOW)


def _refuse_newer(number: int, known: int) -> None:
    if number > known:
        raise Conflict(
            "store.newer",
            "this database was upgraded by a newer version of Sandbar",
            hint="install that version or a later one",
        )


def _make_role(connection: Connection, role: str) -> None:
    """Roles belong to the whole server, where another database may be installing too."""
    if not connection.execute(_Q.role, (role,)).fetchone():
        try:
            connection.execute(_for_role(_Q.create_role, role))
        except (errors.DuplicateObject, errors.UniqueViolation):
            pass
    if _value(connection, _Q.role, (role,)):
        raise Forbidden(
            "store.privileged-role",
            f"the role {role} is a superuser or exempt from row-level security",
            hint="name a role without privileges, or one that does not exist yet",
        )


def _for_role(statement: str, role: str, **literals: str) -> sql.Composed:
    values = {name: sql.Literal(value) for name, value in literals.items()}
    return sql.SQL(statement).format(role=sql.Identifier(role), **values)


def _value(connection: Connection, statement: str, bindings: tuple[str, ...] = ()) -> Any:
    row = connection.execute(statement, bindings).fetchone()
    return None if row is None else row[0]


def _url_of_role(admin_url: str, role: str, password: str | None) -> str:
    parts = {k: str(v) for k, v in conninfo_to_dict(admin_url).items() if v is not None}
    for name in ("user", "password", "passfile"):
        parts.pop(name, None)
    who = quote(role, safe="") + (f":{quote(password, safe='')}" if password is not None else "")
    database = quote(parts.pop("dbname", ""), safe="")
    host, port = parts.get("host", ""), parts.get("port", "")
    where = ""
    if host and not set(host) & set(",/:"):
        where = host + (f":{port}" if port else "")
        parts.pop("host")
        parts.pop("port", None)
    rest = f"?{urlencode(parts)}" if parts else ""
    return f"postgresql://{who}@{where}/{database}{rest}"
