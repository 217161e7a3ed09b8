"""Writing a workspace to a folder: what `sandbar workspace delete` offers before it erases one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from sandbar.access import METAMODEL
from sandbar.audit import export
from sandbar.database import Database
from sandbar.errors import Incorrect, Unavailable

_PAGE = 500
_ROOT = "dt/Resource"
_encode = msgspec.json.Encoder(decimal_format="string").encode

Progress = Callable[[int, int], None]


def prepare_folder(folder: Path) -> None:
    """Make the folder, or see that it is empty."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Incorrect(
                "workspace.export-folder",
                f"{folder} is not empty",
                hint="name a folder that is new or empty",
            )
    except OSError as error:
        raise _unwritable(folder, error) from error


def export_workspace(db: Database, folder: Path, progress: Progress) -> None:
    """Write entities, metamodel and audit; all of it is on the disk when this returns."""
    try:
        _write(folder / "metamodel.json", [db.schema.dump()])
        rows = export(db.journal.trail, db.workspace.number, db.workspace_name)
        _write(folder / "audit.jsonl", (_encode(row) + b"\n" for row in rows))
        _write(folder / "entities.jsonl", _entities(db, progress))
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> Unavailable:
    return Unavailable(
        "workspace.export-failed",
        f"{folder} cannot be written: {error.strerror}",
        hint="nothing was deleted; name another place",
    )


def _entities(db: Database, progress: Progress) -> Iterator[bytes]:
    """All entities but the metamodel, as they were when the first page was read."""
    total = db.workspace.validity.count(_ROOT, hidden=METAMODEL)
    done, cursor = 0, None
    while True:
        page = db.workspace.query(_ROOT, limit=_PAGE, cursor=cursor, hidden=METAMODEL)
        for entity in page.items:
            head: dict[str, Any] = {"_class": entity.class_, "_id": entity.entity_id}
            yield _encode(head | entity.slots) + b"\n"
        done += len(page.items)
        progress(done, max(total, done))
        cursor = page.cursor
        if cursor is None:
            return


def _write(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that only its owner reads."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
