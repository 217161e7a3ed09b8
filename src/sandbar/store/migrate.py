"""Schema versions: `schema.sql` makes a new database, numbered files bring old ones up to date."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

_FILE = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


class Migration(NamedTuple):
    """One forward step."""

    number: int
    name: str
    sql: str


@cache  # the files come with the program: a program that opens many databases reads them once
def migrations_of(package: str) -> list[Migration]:
    """The numbered migrations of a store, in order and without gaps."""
    found = []
    for entry in resources.files(package).joinpath("migrations").iterdir():
        match = _FILE.fullmatch(entry.name)
        if match:
            found.append(Migration(int(match[1]), entry.name, entry.read_text(encoding="utf-8")))
    found.sort()
    assert [m.number for m in found] == list(range(1, len(found) + 1)), "migrations have gaps"
    return found


@cache
def schema_of(package: str) -> str:
    """The whole schema for a new database."""
    return resources.files(package).joinpath("schema.sql").read_text(encoding="utf-8")
