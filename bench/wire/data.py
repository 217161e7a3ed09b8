"""What is read and written: the same thousand items for everybody who has a database."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import apsw

from bench import subject
from bench.wire.requests import BARE, Call, Road, post, tool_call
from sandbar.access import add_account, install_access
from sandbar.database import open_database

ITEMS = 1_000
TOOLBOX_TOOL = "find_item"

_ACCOUNT = "bench"
_PER_MINUTE = 1_000_000
_TABLE = "CREATE TABLE item (ident TEXT PRIMARY KEY, name, kind, rank, weight, note, flag)"
_INSERT = "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?)"
_TOOLBOX = """\
kind: source
name: items
type: sqlite
database: {path}
---
kind: tool
name: {tool}
type: sqlite-sql
source: items
description: One item by its ident.
parameters:
  - name: ident
    type: string
    description: The ident of the item.
statement: SELECT * FROM item WHERE ident = ?
"""


class Prepared(NamedTuple):
    """A database that Sandbar can serve, and how to sign in to it."""

    path: Path
    token: str
    ident_property: int


def prepare(path: Path) -> Prepared:
    """Make a database with the items, every one of them named, and an account."""
    with open_database(str(path)) as db:
        install_access(db.workspace)
        subject.define(db)
        db.transact(
            [
                {"op": "create", "class": subject.CLASS, "slots": _slots(number)}
                for number in range(ITEMS)
            ]
        )
        made = add_account(db.workspace, _ACCOUNT, role="writer")
        # It is counted like every other, and never comes to its end.
        db.update(made.account.entity_id, {"auth/rate-limit": _PER_MINUTE, "auth/burst": 1_000_000})
        return Prepared(path, made.token, db.get("db/ident").entity_id)


def count_items(path: Path) -> int:
    """How many items the file holds after the servers are gone."""
    with open_database(str(path)) as db:
        return sum(1 for _ in db.each(subject.CLASS, page_size=500))


def count_rows(path: Path) -> int:
    """How many requests from outside the file's audit has."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        ((count,),) = connection.execute("SELECT count(*) FROM audit WHERE surface = 'mcp'")
        return int(count)
    finally:
        connection.close()


def prepare_toolbox(folder: Path) -> Path:
    """Make a table with the same items, and the configuration that offers it as a tool."""
    path, config = folder / "toolbox.db", folder / "toolbox.yaml"
    connection = apsw.Connection(str(path))
    connection.execute(_TABLE)
    with connection:
        connection.executemany(
            _INSERT, [(subject.ident(n), *subject.slots(n, ITEMS).values()) for n in range(ITEMS)]
        )
    connection.close()
    config.write_text(_TOOLBOX.format(path=path, tool=TOOLBOX_TOOL))
    return config


def finds(road: Road, token: str) -> list[Call]:
    """`entity.find` of every item, by ident; an answer must hold the item's name."""
    verb = "sandbar.entity.find" if road == BARE else "sandbar_entity_find"
    return [
        Call(tool_call(road, verb, {"entity": subject.ident(n)}, token), _name(n))
        for n in range(ITEMS)
    ]


def creates(road: Road, token: str) -> list[Call]:
    """`entity.create` of items without an ident."""
    verb = "sandbar.entity.create" if road == BARE else "sandbar_entity_create"
    arguments = (
        {"class": subject.CLASS, "slots": subject.slots(n, ITEMS)} for n in range(ITEMS, 2 * ITEMS)
    )
    return [Call(tool_call(road, verb, each, token), b'"created":true') for each in arguments]


def noops(road: Road) -> list[Call]:
    """The tool that does nothing but to return its argument."""
    idents = [subject.ident(n) for n in range(ITEMS)]
    return [Call(tool_call(road, "noop", {"ident": one}), one.encode()) for one in idents]


def toolbox_finds(road: Road) -> list[Call]:
    """Toolbox's tool, for every item."""
    return [
        Call(tool_call(road, TOOLBOX_TOOL, {"ident": subject.ident(n)}), _name(n))
        for n in range(ITEMS)
    ]


def plain_finds() -> list[Call]:
    """What the bare app understands."""
    return [
        Call(post("/", {}, b'{"ident":"%s"}' % subject.ident(n).encode()), _name(n))
        for n in range(ITEMS)
    ]


def _slots(number: int) -> dict[str, object]:
    return {**subject.slots(number, ITEMS), "db/ident": subject.ident(number)}


def _name(number: int) -> bytes:
    return str(subject.slots(number, ITEMS)[subject.NAME]).encode()
