"""Backup and restore: a whole database as one file, and back, from either store into either.

A backup is read at one moment, while others write. A restore makes an empty database the same as
the one that was backed up: numbers, history, keys, the audit and its seals. Only what must not be
the same is made anew: the epoch of each workspace, who holds which job, and the search index.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import BinaryIO

import msgspec

from sandbar import clock
from sandbar.audit import verify
from sandbar.database.opening import address_of, is_postgres, open_store
from sandbar.errors import Conflict, Fault, Incorrect, Problem, Unavailable
from sandbar.model import Workspace
from sandbar.store import Store
from sandbar.store.archive import TABLES, Destination, Origin, Runs, WorkspaceRow
from sandbar.store.archive_file import (
    FORMAT,
    VERSION,
    ArchiveReader,
    ArchiveWriter,
    Header,
    check_archive,
    read_header,
)
from sandbar.store.files import put_in_place, put_over, remove
from sandbar.store.postgres import filling as filling_postgres
from sandbar.store.postgres import reading as reading_postgres
from sandbar.store.sqlite import filling as filling_sqlite
from sandbar.store.sqlite import reading as reading_sqlite

PART = ".part"  # what a backup is called until it is whole
_LOOK_S = 0.1

Progress = Callable[[str, int, int], None]  # what is being done, how far that is, of how much
Path = str | os.PathLike[str]


class WorkspaceReport(msgspec.Struct, frozen=True):
    """One workspace of a backup."""

    name: str
    number: int
    t: int
    rows: dict[str, int]  # by table


class BackupReport(msgspec.Struct, frozen=True):
    """What was written."""

    path: str
    bytes: int
    sha256: str
    made: str
    workspaces: list[WorkspaceReport]


class RestoreReport(msgspec.Struct, frozen=True):
    """What was restored."""

    made: str
    sandbar: str  # the version that wrote the backup
    workspaces: list[WorkspaceReport]
    broken: list[str]  # workspaces whose audit is not what was sealed, nor was it in the backup


def _say_nothing(what: str, done: int, total: int) -> None: ...


def backup_database(
    path_or_url: Path, file: Path, progress: Progress | None = None, *, force: bool = False
) -> BackupReport:
    """Write all workspaces of a database, as they are at this moment, to a new file.

    It holds all data and all hashes of secrets, and only its owner may read it. `force` lets it
    take the place of an earlier backup.
    """
    address, path = address_of(path_or_url), address_of(file)
    reading = reading_postgres if is_postgres(address) else reading_sqlite
    with _new_file(path, force=force) as out, reading(address) as origin:
        header = Header(FORMAT, VERSION, version("sandbar"), clock.instant_text(clock.now_us()))
        workspaces, digest = _write(out, header, origin, progress or _say_nothing)
        size = out.tell()
    return BackupReport(path, size, digest, header.made, workspaces)


def _write(
    out: BinaryIO, header: Header, origin: Origin, progress: Progress
) -> tuple[list[WorkspaceReport], str]:
    found = origin.workspaces()
    living = [row for row in found if not row.is_dropped]
    counts = {
        row.ws: {table.name: origin.count(row.ws, table) for table in TABLES.values()}
        for row in living
    }
    total, done = sum(sum(rows.values()) for rows in counts.values()), 0

    def wrote(rows: int) -> None:
        nonlocal done
        done += rows
        progress("saving", done, total)

    writer = ArchiveWriter(out, header, found)
    for row in living:
        for table in TABLES.values():
            written = writer.put(row.ws, table, origin.rows(row.ws, table), wrote)
            assert written == counts[row.ws][table.name], "one snapshot has one number of rows"
    return [_report(row, counts[row.ws]) for row in living], writer.finish()


def restore_database(
    file: Path, path_or_url: Path, progress: Progress | None = None
) -> RestoreReport:
    """Make an empty database what another one was when it was backed up.

    It is empty if its file is not there, or if it has no workspaces and never had any. All of it
    is restored, or nothing. `progress` may be told from another thread.
    """
    address, tell = address_of(path_or_url), progress or _say_nothing
    filling = filling_postgres if is_postgres(address) else filling_sqlite
    with _opened(address_of(file)) as archive:
        size = os.fstat(archive.fileno()).st_size
        header = check_archive(archive, size, lambda at: tell("checking", at, size))
        reader = ArchiveReader(archive)
        with filling(address) as destination:
            _fill(destination, reader, lambda at: tell("restoring", at, size))
            destination.commit()
    living = [row for row in reader.workspaces if not row.is_dropped]
    reports = [
        _report(row, {name: reader.counts[row.ws, name] for name in TABLES}) for row in living
    ]
    store = open_store(address)
    try:
        broken = [one.name for one in reports if not _is_intact(store, one, tell)]
        for row in living:
            _make_searchable(store, row, tell)
    finally:
        store.close()
    return RestoreReport(header.made, header.sandbar, reports, broken)


def _fill(destination: Destination, reader: ArchiveReader, progress: Callable[[int], None]) -> None:
    runs = Runs()
    destination.begin(reader.workspaces)
    for block in reader.blocks(progress):
        runs.look_at(block.table, block.rows)
        destination.put(block.ws, block.table, block.rows)
    for (ws, name), rows in reader.counts.items():
        if destination.count(ws, TABLES[name]) != rows:
            raise Fault(
                "backup.miscounted",
                f"{name} of workspace {ws} has not the {rows} rows that were put there",
                hint="nothing was restored; report it",
            )


def _is_intact(store: Store, workspace: WorkspaceReport, progress: Progress) -> bool:
    """Whether the audit is what was sealed."""
    rows = workspace.rows["audit"]
    verdict = verify(
        store.trail,
        workspace.number,
        progress=lambda done: progress("verifying", done, max(done, rows)),
    )
    return verdict.is_intact


def _make_searchable(store: Store, row: WorkspaceRow, progress: Progress) -> None:
    """Whoever opens a workspace goes on building its index, if we are stopped here."""
    is_built = threading.Event()

    def look() -> None:
        while not is_built.wait(_LOOK_S):
            try:
                with store.snapshot(row.ws) as snapshot:
                    after = snapshot.unsearched()
            except Problem:
                return  # whoever builds meets it, too
            progress("indexing", row.next_id if after is None else after, row.next_id)

    looker = threading.Thread(target=look, name="sandbar-progress", daemon=True)
    looker.start()
    try:
        Workspace.open(store, row.name)
    finally:
        is_built.set()
        looker.join()


def _report(row: WorkspaceRow, rows: dict[str, int]) -> WorkspaceReport:
    return WorkspaceReport(row.name, row.ws, row.t, rows)


# --- files ---------------------------------------------------------------------------------------


@contextmanager
def _new_file(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """A file that gets its name when all of it is on the disk; only its owner may read it."""
    is_there = os.path.lexists(path)
    if is_there and not force:
        raise _exists(path)
    if is_there:
        _require_backup(path)
    folder, name = os.path.split(os.path.abspath(path))
    try:
        handle, part = tempfile.mkstemp(PART, f"{name}.", folder)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if is_there:
            put_over(part, path)
        else:
            put_in_place(part, path)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        remove(part)


def _require_backup(path: str) -> None:
    """Never in place of something else: a database has a name like any other file."""
    try:
        with _opened(path) as file:
            read_header(file)
    except Problem as problem:
        if problem.code == "backup.newer":
            return
        raise Conflict(
            "backup.exists",
            f"{path} is there, and it is no backup",
            hint="only a backup is overwritten; choose another name",
        ) from problem


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """A file for reading; whatever else goes wrong meanwhile is no OSError."""
    try:
        if not os.path.isfile(path):
            why = "it is no file" if os.path.lexists(path) else "there is no such file"
            raise _unreadable(path, why)
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise _unreadable(path, error.strerror) from error


def _unreadable(path: str, why: str | None) -> Incorrect:
    return Incorrect(
        "backup.unreadable",
        f"{path} cannot be read: {why}",
        hint="give a file that `sandbar backup` has written",
    )


def _unwritable(path: str, error: OSError | ValueError) -> Unavailable:
    why = error.strerror if isinstance(error, OSError) else error
    return Unavailable(
        "backup.unwritable",
        f"{path} cannot be written: {why}",
        hint="name a file in a folder that is there, open to writing and large enough",
    )


def _exists(path: str) -> Conflict:
    return Conflict(
        "backup.exists",
        f"{path} is there already",
        hint="choose another name, or let it be overwritten: --force",
    )
