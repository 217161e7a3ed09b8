"""Workspaces with the pack zorp, SQLite and PostgreSQL in turn, and calls as a caller of any role.

`zorp`  a database with the pack
`call`  calls a verb there and answers in plain JSON: `call("entity.find", {…}, role="reader")`
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, Role
from sandbar.database.opening import is_postgres
from sandbar.errors import Problem
from sandbar.store.postgres.install import install
from sandbar.verbs import Context, base_catalogue, dispatch
from tests.kept_postgres import open_for_tests

# These look at every workspace, and would look at those of hundreds of other tests.
_ABOUT_ALL_WORKSPACES = ("workspace.list", "list_of_workspaces")


class Call(Protocol):
    """Calls a verb and answers in plain JSON."""

    def __call__(self, name: str, arguments: Any = None, *, role: Role = "admin") -> Any: ...


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database lives."""
    if request.param == "sqlite":
        return str(tmp_path / "verbs.db")
    if any(words in request.node.name for words in _ABOUT_ALL_WORKSPACES):
        return install(request.getfixturevalue("fresh_postgres"))
    return str(request.getfixturevalue("shared_postgres"))


@pytest.fixture(scope="session")
def zorp_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the pack, which tests copy: to load it takes several times as long."""
    path = tmp_path_factory.mktemp("zorp") / "zorp.db"
    with sandbar.open(path, "test-zorp") as db:
        db.load_pack("zorp")
    return path


@pytest.fixture
def zorp(address: str, zorp_file: Path) -> Iterator[sandbar.Database]:
    """A workspace with the pack."""
    if not is_postgres(address):
        shutil.copy(zorp_file, address)
        with sandbar.open(address, "test-zorp") as db:
            yield db
        return
    with open_for_tests(address, f"test-{uuid4()}") as db:
        db.load_pack("zorp")
        yield db


def context_of(db: sandbar.Database, role: Role = "admin") -> Context:
    """What a verb is given when somebody of that role calls it."""
    caller = Caller(f"test-{role}", role, db.workspace_name, is_operator=role == "admin")
    return Context(
        db.guarded(caller),
        base_catalogue(),
        engine=db.workflows,
        neighbours=db.neighbours,
        audit=db.journal,
    )


@pytest.fixture
def call(zorp: sandbar.Database) -> Call:
    """Calls verbs in the workspace."""

    def call(name: str, arguments: Any = None, *, role: Role = "admin") -> Any:
        given = {} if arguments is None else arguments
        answer = dispatch(context_of(zorp, role), name, given)
        return msgspec.json.decode(msgspec.json.encode(answer))

    return call


def refusal(call: Call, name: str, arguments: Any = None, *, role: Role = "admin") -> Problem:
    """The problem that a call ends in."""
    with pytest.raises(Problem) as caught:
        call(name, arguments, role=role)
    return caught.value


def findings(problem: Problem) -> list[tuple[str, str]]:
    """What is wrong, as pairs of argument and code."""
    return [(one["argument"], one["code"]) for one in problem.data["findings"]]
