"""Workspaces that are exported and imported, on both stores.

`place`     a new workspace in SQLite
`either`    a new workspace in SQLite and in PostgreSQL in turn
`new_place` makes further ones
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import sandbar
from sandbar.access import Caller, Guarded, Role
from sandbar.codecs import base_codecs
from sandbar.projects import (
    Exported,
    FolderTarget,
    Imported,
    RootedFolder,
    Wishes,
    apply_import,
    built_in_sources,
    choose_source,
    export_project,
    plan_import,
)
from tests.kept_postgres import open_for_tests


class Place:
    """A workspace, with what these tests do to it."""

    def __init__(self, db: sandbar.Database) -> None:
        self.db = db

    def guarded(self, role: Role = "admin") -> Guarded:
        """The workspace as somebody of that role sees it."""
        return self.db.guarded(Caller(f"test-{role}", role, self.db.workspace_name))

    def export(self, folder: Path, *, role: Role = "admin", **more: Any) -> Exported:
        """Export to a folder."""
        with RootedFolder(folder, is_made=True) as rooted:
            target = FolderTarget(rooted)
            return export_project(self.guarded(role), base_codecs(), target, **more)

    def plan(self, folder: Path, *, role: Role = "admin", **wishes: Any) -> Imported:
        """What an import would do."""
        return self._import(plan_import, folder, role, wishes)

    def apply(self, folder: Path, *, role: Role = "admin", **wishes: Any) -> Imported:
        """Import a folder or a file."""
        return self._import(apply_import, folder, role, wishes)

    def _import(
        self, run: Callable[..., Imported], folder: Path, role: Role, wishes: dict[str, Any]
    ) -> Imported:
        sources = built_in_sources(wishes.pop("class_", None))
        with RootedFolder.of(folder) as rooted:
            source = choose_source(rooted, sources, wishes.pop("source", None))
            db = self.guarded(role)
            return run(db, self.db.workflows, base_codecs(), rooted, source, Wishes(**wishes))


NewPlace = Callable[[], Place]


@pytest.fixture
def new_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewPlace]:
    """Makes new workspaces in SQLite, not among the files that are imported."""
    folder = tmp_path_factory.mktemp("databases")
    opened: list[sandbar.Database] = []

    def new() -> Place:
        opened.append(sandbar.open(folder / f"{uuid4()}.db"))
        return Place(opened[-1])

    yield new
    for db in opened:
        db.close()


@pytest.fixture
def place(new_place: NewPlace) -> Place:
    """A new workspace."""
    return new_place()


@pytest.fixture
def new_postgres(shared_postgres: str) -> Iterator[NewPlace]:
    """Makes new workspaces in PostgreSQL."""
    opened: list[sandbar.Database] = []

    def new() -> Place:
        opened.append(open_for_tests(shared_postgres, f"test-{uuid4()}"))
        return Place(opened[-1])

    yield new
    for db in opened:
        db.close()


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest) -> Place:
    """A new workspace in one store, then in the other."""
    name = "new_place" if request.param == "sqlite" else "new_postgres"
    new: NewPlace = request.getfixturevalue(name)
    return new()


NOTE: dict[str, Any] = {
    "properties": {
        "note/name": {"dt/range": "db.type/string", "dt/required?": True},
        "note/body": {"dt/range": "db.type/string"},
        "note/mood": {"dt/range": "db.type/string", "dt/default": "calm"},
        "note/cites": {"dt/range": "note/Note", "db/cardinality": "many"},
        "note/about": {"dt/range": "note/Note"},
    },
    "classes": {
        "note/Note": {
            "dt/subclass-of": ["dt/Ref"],
            "dt/slots": ["note/name", "note/body", "note/mood", "note/cites", "note/about"],
            "dt/native-codec": "markdown",
            "dt/document": {"body": "note/body", "ident": {"from": "note/name", "in": "n"}},
        }
    },
}


@pytest.fixture
def notes(place: Place) -> Place:
    """A workspace that knows notes, which are written as Markdown."""
    place.db.define(**NOTE)
    return place


@pytest.fixture
def new_notes(new_place: NewPlace) -> Place:
    """Another one that does."""
    place = new_place()
    place.db.define(**NOTE)
    return place


@pytest.fixture
def either_notes(either: Place) -> Place:
    """The same in one store, then in the other."""
    either.db.define(**NOTE)
    return either


def tree(folder: Path) -> dict[str, bytes]:
    """Every file with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write(folder: Path, path: str, text: str) -> Path:
    """Write a file, with the folders that it is in."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def note(folder: Path, name: str, front: str = "", body: str = "") -> None:
    """A note as a file."""
    write(folder, f"note/Note/{name}.md", f"---\nname: {name}\n{front}---\n{body}")


def codes(result: Imported) -> list[tuple[str, str]]:
    """Which files have which findings."""
    return [(one.path or "", one.code) for one in result.findings]
