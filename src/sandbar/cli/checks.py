"""The checks of `sandbar doctor`, one function each; none of them changes the database."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import stat
import statistics
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from sandbar import clock
from sandbar.access import entity_count
from sandbar.cli.counts import counted
from sandbar.cli.listeners import is_listening, is_sandbar
from sandbar.cli.next_steps import has_account
from sandbar.cli.ports import take_port
from sandbar.database import Database, examine_database, open_database
from sandbar.errors import NotFound, Problem, Unavailable
from sandbar.settings import Settings, unknown_variables

_SYNCS = 20
_SLOW_SYNC_MS = 50
_FREE_MIB_MIN = 500


class Check(NamedTuple):
    """One line of the report."""

    verdict: Literal["ok", "warn", "fail"]
    name: str
    text: str
    advice: str | None = None


def examine(settings: Settings) -> Iterator[Check]:
    """Every check that applies, in the order in which things are needed."""
    yield Check("ok", "Python", f"{platform.python_version()} on {platform.system()}")
    if settings.is_postgres:
        yield from _database(settings)
    else:
        yield Check("ok", "SQLite", f"{_sqlite_version()}, part of this installation")
        yield from _disk(Path(settings.database).absolute().parent)
        if Path(settings.database).exists():
            yield from _mode(Path(settings.database))
            yield from _database(settings)
        else:
            advice = "`sandbar serve`, `sandbar key mint` and `sandbar pack add` make it"
            yield Check("warn", "database", f"{settings.database} does not exist yet", advice)
    yield _port(settings)
    for variable in unknown_variables():
        advice = "docs/command-line.md lists the variables that do"
        yield Check("warn", "settings", f"{variable} sets nothing", advice)


def _sqlite_version() -> str:
    """The engine inside apsw, whose version begins with the engine's."""
    return metadata.version("apsw").rpartition(".")[0]


def _disk(folder: Path) -> Iterator[Check]:
    """Whether what is synced stays: every acknowledged write waits for this."""
    try:
        free_mib = shutil.disk_usage(folder).free // 2**20
        median_ms = statistics.median(_sync_times_ms(folder))
    except OSError as error:
        advice = "choose a folder that exists and that you may write to"
        yield Check("fail", "disk", f"{folder} cannot be written: {error.strerror}", advice)
        return
    if median_ms > _SLOW_SYNC_MS:
        advice = "use a local disk; each group of writes waits for one sync"
        yield Check("warn", "disk", f"a sync takes {median_ms:.1f} ms, which is slow", advice)
    else:
        yield Check("ok", "disk", f"a sync takes {median_ms:.2f} ms")
    if free_mib < _FREE_MIB_MIN:
        yield Check("warn", "disk", f"only {free_mib} MiB are free", "free some space")


def _mode(file: Path) -> Iterator[Check]:
    """Whether others on the machine can read the file: new ones are for their owner alone."""
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        text = f"other users of this machine may open {file} (mode {mode:04o})"
        yield Check(
            "warn", "file", text, f"unless that is meant: chmod 600 {shlex.quote(str(file))}*"
        )


def _sync_times_ms(folder: Path) -> list[float]:
    times = []
    with tempfile.NamedTemporaryFile(prefix=".sandbar-doctor-", dir=folder) as file:
        for _ in range(_SYNCS):
            file.write(bytes(4096))
            file.flush()
            start = clock.monotonic_s()
            os.fsync(file.fileno())
            times.append((clock.monotonic_s() - start) * 1000)
    return times


def _database(settings: Settings) -> Iterator[Check]:
    try:
        found = examine_database(settings.database, settings.workspace)
    except Problem as problem:
        yield _failed("database", problem)
        return
    where = found.engine if settings.is_postgres else settings.database
    yield Check("ok", "database", f"{where}, tables of version {found.schema}")
    if found.role is not None:
        yield Check("ok", "role", f"{found.role}, bound by row-level security on every table")
    if found.is_served:
        who = f"process {found.server_pid}" if found.server_pid else "a process"
        yield Check("ok", "server", f"{who} serves this file")
    elif not settings.is_postgres:
        yield Check("ok", "server", "none runs on this file")
    if found.schema < found.schema_known:
        advice = f"the next command that opens it brings it to version {found.schema_known}"
        yield Check("warn", "tables", "of an older version of Sandbar", advice)
    elif found.schema == found.schema_known:
        yield from _workspace(settings, found.has_workspace)
        yield from _owed(settings)
    else:
        advice = "install that version or a later one"
        yield Check("fail", "tables", "of a newer version of Sandbar", advice)


def _workspace(settings: Settings, exists: bool) -> Iterator[Check]:
    name = f"workspace {settings.workspace}"
    if not exists:
        yield Check(
            "warn",
            name,
            "does not exist yet",
            f"sandbar workspace create {shlex.quote(settings.workspace)}",
        )
        return
    try:
        with open_database(settings.database, settings.workspace) as db:
            classes = len(db.schema.classes())
            entities = counted(entity_count(db.workspace), "entity", "entities")
            text = f"{db.t:,} transactions, {classes} classes, {entities}"
            yield Check("ok", name, text)
            yield _accounts(db)
    except Problem as problem:
        yield _failed(name, problem)


def _owed(settings: Settings) -> Iterator[Check]:
    """What is left to be done, now that the database has been opened."""
    for duty in examine_database(settings.database, settings.workspace).owed:
        since = f"since {clock.instant_text(duty.since_us)}, tried {duty.tries} times"
        if duty.is_scrub:
            text = f"what was erased is still to be overwritten in the file, {since}"
            advice = "end what reads the file for long, or free disk space; it is tried again"
        else:
            text = f"workspace {duty.workspace_name} is still to be made searchable, {since}"
            advice = "a server does it, or the next command that opens this workspace"
        yield Check("warn", "owed", text, advice)


def _accounts(db: Database) -> Check:
    if not has_account(db):
        advice = "sandbar key mint --name NAME --role writer"
        return Check("warn", "accounts", "nobody can sign in yet", advice)
    programs = counted(_number(db, "auth/ServiceAccount"), "program", "programs")
    people = counted(_number(db, "auth/User"), "person", "people")
    keys = counted(_number(db, "auth/Key"), "key", "keys")
    return Check("ok", "accounts", f"{programs}, {people}, {keys}")


def _number(db: Database, class_: str) -> int:
    try:
        return db.workspace.validity.count(class_)
    except NotFound:  # a workspace from before there were people, or keys with names
        return 0


def _port(settings: Settings) -> Check:
    try:
        take_port(settings.host, settings.port).close()
    except Unavailable as problem:
        return _who_listens(settings) or Check("warn", "port", problem.message, problem.hint)
    except Problem as problem:
        return _failed("port", problem)
    return Check("ok", "port", f"{settings.port} on {settings.host} is free")


def _who_listens(settings: Settings) -> Check | None:
    """Whose server has the port; None: it is another program."""
    if not is_sandbar(settings.host, settings.port):
        return None
    where = f"{settings.port} on {settings.host}"
    if settings.is_postgres:
        return Check("ok", "port", f"a Sandbar server answers at {where}")
    if _is_own(settings):
        return Check("ok", "port", f"the server of this database answers at {where}")
    advice = f"choose another port for this one, such as --port {settings.port + 1}"
    return Check(
        "warn", "port", f"the Sandbar server of another database answers at {where}", advice
    )


def _is_own(settings: Settings) -> bool:
    if not Path(settings.database).exists():
        return False
    try:
        pid = examine_database(settings.database, settings.workspace).server_pid
    except Problem:
        return False  # which has been said
    return pid is not None and is_listening(pid, settings.port)


def _failed(name: str, problem: Problem) -> Check:
    return Check("fail", name, f"{problem.message} ({problem.code})", problem.hint)
