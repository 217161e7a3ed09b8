"""Workspaces with the pack memory, SQLite and PostgreSQL in turn.

`memory`  a database with the pack
`call`    calls a verb there and answers in plain JSON
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, Role
from sandbar.packs import code_of
from sandbar.verbs import Catalogue, base_verbs
from tests.kept_postgres import open_for_tests

CATALOGUE = Catalogue([*base_verbs(), *code_of(["memory"]).verbs])


class Call(Protocol):
    """Calls a verb and answers in plain JSON."""

    def __call__(self, name: str, arguments: Any = None, *, role: Role = "admin") -> Any: ...


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sandbar.Database]:
    """A new workspace with the pack."""
    address = str(tmp_path / "memory.db")
    if request.param == "postgres":
        address = request.getfixturevalue("shared_postgres")
    with open_for_tests(address, f"test-{uuid4()}") as db:
        db.load_pack("memory")
        yield db


@pytest.fixture
def call(memory: sandbar.Database) -> Call:
    """Calls verbs in the workspace."""

    def call(name: str, arguments: Any = None, *, role: Role = "admin") -> Any:
        caller = Caller(f"test-{role}", role, memory.workspace_name)
        answer = memory.call_as(caller, name, arguments or {})
        return msgspec.json.decode(msgspec.json.encode(answer))

    return call


def remember(db: sandbar.Database, ident: str, **slots: Any) -> int:
    """Make a memory; `cites=[…]` is short for memory/cites."""
    given = {f"memory/{name.replace('_', '-')}": value for name, value in slots.items()}
    named = {"db/ident": ident, "memory/name": ident.partition("/")[2].title()}
    return db.create("mm/Memory", {**named, **given}).entity_id
