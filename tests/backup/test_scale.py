"""How fast, and in how much memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from sandbar.database import backup_database, restore_database
from sandbar.model import Create
from tests.backup.conftest import Sites
from tests.conftest import Say

ENTITIES = 2_000
ENTITIES_LONG = 50_000
BATCH = 2_000
OLD_VERSIONS = 30_000
VERSION_BYTES = 4_000
GROWTH_KIB_MAX = 90 * 1024  # caches of the engine included; the data is 120 MB


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


@pytest.mark.parametrize("count", [ENTITIES, pytest.param(ENTITIES_LONG, marks=pytest.mark.long)])
def test_many_entities(sites: Sites, tmp_path: Path, say: Say, count: int) -> None:
    source, file = sites("sqlite"), tmp_path / "it.backup"
    with source.open() as db:
        db.load_pack("zorp")
        for first in range(0, count, BATCH):
            boots = ({"footwear/name": f"Boot {n}", "footwear/price": n} for n in range(BATCH))
            db.transact(
                [Create(class_="zorp/Boot", slots=slots) for slots in boots],
                reason=f"from {first} on",
            )
    backup_s = seconds(lambda: backup_database(source.address, file))
    size = file.stat().st_size
    say(f"sqlite: saved {count / backup_s:,.0f} entities/s, {size / 1e6:.1f} MB")
    for kind in ("sqlite", "postgres"):
        target = sites(kind)
        restore_s = seconds(lambda address=target.address: restore_database(file, address))  # type: ignore[misc]
        say(f"{kind}: restored {count / restore_s:,.0f} entities/s, index and checks included")
        with target.open() as db:
            assert db.workspace.validity.count("zorp/Boot") >= count
            assert db.search("boot 1999").items
    again_s = seconds(lambda: backup_database(target.address, tmp_path / "again.backup"))
    say(f"postgres: saved {count / again_s:,.0f} entities/s")
    assert source.raw.everything() == target.raw.everything()


_CHILD = """
import sys
from sandbar.database import backup_database, restore_database

if sys.argv[1] == "backup":
    backup_database(*sys.argv[2:])
else:
    restore_database(*sys.argv[2:])
"""


def peak_kib(*words: str) -> int:
    """The memory that a process had at most."""
    process = subprocess.Popen([sys.executable, "-c", _CHILD, *words])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


@pytest.mark.long
def test_memory_does_not_grow_with_the_data(sites: Sites, tmp_path: Path, say: Say) -> None:
    """Both ways over PostgreSQL: a file with a long past, of words that cannot be packed."""
    peaks: dict[str, list[int]] = {}
    for rows in (1, OLD_VERSIONS):
        source, middle, last = sites("sqlite"), sites("postgres"), sites("sqlite")
        source.open().close()
        file = apsw.Connection(source.address)
        file.execute(
            "WITH RECURSIVE row (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < ?2) "
            "INSERT INTO version SELECT 1, 100000 + n, 1, 1, hex(randomblob(?1)) FROM row",
            (VERSION_BYTES // 2, rows),
        )
        file.close()
        for words in (
            ("backup", source.address, str(tmp_path / f"{rows}.one")),
            ("restore", str(tmp_path / f"{rows}.one"), middle.address),
            ("backup", middle.address, str(tmp_path / f"{rows}.two")),
            ("restore", str(tmp_path / f"{rows}.two"), last.address),
        ):
            where = "postgres" if middle.address in words else "sqlite"
            peaks.setdefault(f"{words[0]} {where}", []).append(peak_kib(*words))
        assert last.raw.ask("SELECT count(*) FROM version") == [(rows,)]
    for what, (small, large) in peaks.items():
        say(f"{what}: {small // 1024} and {large // 1024} MiB")
    assert all(large - small < GROWTH_KIB_MAX for small, large in peaks.values())
