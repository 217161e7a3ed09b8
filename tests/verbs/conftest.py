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
from tests.kept_postgres import open_for_tests
from tests.kept_rows import KeptRows

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


class _KeptZorp:
    """A workspace of PostgreSQL with the pack, as often as it is wanted."""

    def __init__(self, address: str, superusers_address: str) -> None:
        self._address, self._name = address, f"test-{uuid4()}"
        with open_for_tests(address, self._name) as db:
            db.load_pack("zorp")
            self.rows = KeptRows(superusers_address, db.workspace.number)

    def anew(self) -> sandbar.Database:
        """The workspace, with nothing that anybody has done to it since."""
        self.rows.put_back()
        return open_for_tests(self._address, self._name)


@pytest.fixture(scope="session")
def kept_zorp(shared_postgres: str, superusers_postgres: str) -> Iterator[_KeptZorp]:
    """One for all tests of this process, and likewise quicker than to load it."""
    kept = _KeptZorp(shared_postgres, superusers_postgres)
    yield kept
    kept.rows.close()


@pytest.fixture
def zorp(request: pytest.FixtureRequest, address: str) -> Iterator[sandbar.Database]:
    """A workspace with the pack."""
    with _zorp_at(request, address) as db:
        yield db


def _zorp_at(request: pytest.FixtureRequest, address: str) -> sandbar.Database:
    if not is_postgres(address):
        shutil.copy(request.getfixturevalue("zorp_file"), address)
        return sandbar.open(address, "test-zorp")
    if address == request.getfixturevalue("shared_postgres"):
        kept: _KeptZorp = request.getfixturevalue("kept_zorp")
        return kept.anew()
    db = open_for_tests(address, f"test-{uuid4()}")
    db.load_pack("zorp")
    return db


def caller_of(db: sandbar.Database, role: Role = "admin") -> Caller:
    """Somebody of that role; an admin sits at this machine."""
    is_admin = role == "admin"
    return Caller(
        f"test-{role}", role, db.workspace_name, is_operator=is_admin, is_at_machine=is_admin
    )


@pytest.fixture
def call(zorp: sandbar.Database) -> Call:
    """Calls verbs in the workspace."""

    def call(name: str, arguments: Any = None, *, role: Role = "admin") -> Any:
        given = {} if arguments is None else arguments
        answer = zorp.call_as(caller_of(zorp, role), name, given)
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
