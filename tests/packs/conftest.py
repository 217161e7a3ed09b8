"""Workspaces with packs, on both stores, as an administrator sees them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sandbar.access import Guarded, local_caller
from sandbar.model import Workspace
from sandbar.packs import load_pack
from sandbar.store.api import Store
from sandbar.store.sqlite.store import SqliteStore
from tests.kept_postgres import kept_store


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A new workspace in a SQLite file."""
    store = SqliteStore(str(tmp_path / "packs.db"))
    yield Workspace.open(store, "main")
    store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """A new workspace in SQLite or in PostgreSQL."""
    store: Store
    if request.param == "sqlite":
        store = SqliteStore(str(tmp_path / "packs.db"))
    else:
        store = kept_store(request.getfixturevalue("shared_postgres"))
    yield Workspace.open(store, f"packs-{uuid4()}")
    store.close()


@pytest.fixture
def zorp(workspace: Workspace) -> Guarded:
    """The tutorial's shop."""
    load_pack(workspace, "zorp")
    return Guarded(workspace, local_caller("main"))


@pytest.fixture
def everything(workspace: Workspace) -> Guarded:
    """The fixtures of the conformance suites."""
    load_pack(workspace, "everything")
    return Guarded(workspace, local_caller("main"))


WritePack = Callable[..., Path]


@pytest.fixture
def write_pack(tmp_path: Path) -> WritePack:
    """Writes a pack's folder: `write_pack(name, schema=…, workflows=…, …, **manifest)`."""

    def write(name: str, /, **given: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        files: dict[str, Any] = {
            f: given.pop(f) for f in ("schema", "entities", "prompts", "workflows") if f in given
        }
        files["pack"] = {"name": name, "title": name, **given}
        for file, contents in files.items():
            (folder / f"{file}.json").write_text(json.dumps(contents))
        return folder

    return write
