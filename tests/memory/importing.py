"""Importing a folder or a file into a workspace, as the verb does it."""

from __future__ import annotations

from pathlib import Path

import sandbar
from sandbar.access import local_caller
from sandbar.codecs import base_codecs
from sandbar.packs import code_of
from sandbar.projects import (
    Imported,
    RootedFolder,
    apply_import,
    built_in_sources,
    choose_source,
    plan_import,
)

SOURCES = (*code_of(["memory"]).sources, *built_in_sources())


def imported(
    db: sandbar.Database, path: Path, source: str | None = None, *, is_dry: bool = False
) -> Imported:
    """Import a folder, or a file."""
    run = plan_import if is_dry else apply_import
    guarded = db.guarded(local_caller(db.workspace_name))
    with RootedFolder.of(path) as folder:
        chosen = choose_source(folder, SOURCES, source)
        return run(guarded, db.workflows, base_codecs(), folder, chosen)


def last_t(db: sandbar.Database) -> int:
    """The number of the last transaction."""
    return db.query("dt/Class", limit=1).t
