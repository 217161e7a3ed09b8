"""Files that somebody made to do harm: refused by name, in bounded time and memory."""

from __future__ import annotations

import json
import resource
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sandbar.database import backup_database, restore_database
from sandbar.errors import Problem
from tests.backup.conftest import Site, Sites
from tests.backup.filling import fill
from tests.backup.forging import Change, Forgery, Part, block_of, bomb, forged, packed, signed
from tests.cli.program import Answer
from tests.forked import run_within

MEMORY_BYTES = 1 << 30
REFUSED_S_MAX = 15.0  # on two busy cores; most take milliseconds
HUGE = (1 << 63, (1 << 64) - 1)


@pytest.fixture
def file(sites: Sites, tmp_path: Path) -> Path:
    """A backup that is well."""
    source = sites("sqlite")
    fill(source)
    path = tmp_path / "good.backup"
    backup_database(source.address, path)
    return path


def put(table: str, column: int, value: Any) -> Change:
    """Another value in the last row of a table."""

    def change(forgery: Forgery) -> None:
        forgery.table(table).rows[-1][column] = value

    return change


def twice(table: str) -> Change:
    """A row that is there once more."""

    def change(forgery: Forgery) -> None:
        rows = forgery.table(table).rows
        rows.append(rows[0])
        forgery.recount()

    return change


def added(what: str, ws: int, rows: Any) -> Change:
    """One more block."""
    return lambda forgery: forgery.parts.insert(1, Part(what, ws, rows))


def raw(*blocks: bytes) -> Change:
    """Bytes before the end."""
    return lambda forgery: forgery.raw.extend(blocks)


def raw_when_needed(make: Callable[[], bytes]) -> Change:
    """The same, of bytes that take a while to make."""
    return lambda forgery: forgery.raw.append(make())


def without(what: str) -> Change:
    """No block of this kind."""

    def change(forgery: Forgery) -> None:
        forgery.parts = [part for part in forgery.parts if part.what != what]

    return change


def header(key: str, value: Any) -> Change:
    """Another first line."""
    return lambda forgery: forgery.header.update({key: value})


NESTED = b"\x93\xa2tx\x01" + b"\x91" * 100_000 + b"\xc0"
CLAIMED = b"\x93\xa2tx\x01\xdd\xff\xff\xff\xff\x97"
DEEP = b"\x93\xa2tx\x01\xdd\0\0\0\1" + b"\x91" * 100_000 + b"\xc0"
MANY = Part("workspace", 0, [[1, "x", 1, 1, 1, 1]] * 1_000_001)
LARGE = {"a bomb", "half a million rows", "a million workspaces and one"}
CHANGES: dict[str, tuple[Change, str]] = {
    "unknown table": (added("bucket", 1, [[1, 1, 1]]), "'bucket'"),
    "the table of migrations": (added("migration", 1, [[99, "x"]]), "'migration'"),
    "sql for a table": (added("tx; DROP TABLE tx", 1, [[1]]), "unknown"),
    "unknown workspace": (added("job", 99, [[1, 1]]), "99"),
    "a dropped workspace": (added("job", 3, [[1, 1]]), "3"),
    "no workspaces": (without("workspace"), "workspaces"),
    "no end": (without("end"), "end"),
    "rows that are not counted": (added("job", 1, [[77, 1]]), "other rows"),
    "an empty block": (added("job", 1, []), "no rows"),
    "a bomb": (raw_when_needed(lambda: bomb(1 << 28)), "too large"),
    "a block of 4 GiB": (raw(b"\xff\xff\xff\xff"), "too large"),
    "no zlib": (raw(b"\0\0\0\4abcd"), "unpacked"),
    "half a block": (raw((8).to_bytes(4, "big") + zlib.compress(bytes(999))[:8]), "cut off"),
    "too deep": (raw(packed(NESTED)), "malformed"),
    "too deep in a row": (raw(packed(DEEP)), "malformed"),
    "4 billion rows claimed": (raw(packed(CLAIMED)), "malformed"),
    "50,000 rows claimed": (raw(packed(CLAIMED[:6] + b"\0\0\xc3\x50")), "malformed"),
    "half a million rows": (
        raw_when_needed(lambda: packed(block_of("job", 1, [[1, 1]] * 500_000))),
        "too many",
    ),
    "no msgpack": (raw(packed(b"\xc1\xc1")), "malformed"),
    "text for a number": (put("entity", 1, "7"), "malformed"),
    "a number for text": (put("entity", 3, 7), "malformed"),
    "nothing for text": (put("entity", 3, None), "malformed"),
    "too few columns": (added("job", 1, [[1]]), "malformed"),
    "too many columns": (added("job", 1, [[1, 2, 3]]), "malformed"),
    "a NUL": (put("entity", 3, '{"1": "\0"}'), "NUL"),
    "entity 0": (put("entity", 0, 0), "impossible"),
    "an entity of another workspace": (put("entity", 0, (2 << 40) + 1), "impossible"),
    "a level beyond 32 bits": (put("past", 2, 1 << 40), "malformed"),
    "an entity twice": (twice("entity"), "twice"),
    "a key twice": (twice("token"), "twice"),
    "a transaction twice": (twice("tx"), "twice"),
    "a row of the audit twice": (twice("audit"), "twice"),
    "workspace 0": (put("workspace", 0, 0), "malformed"),
    "workspace 2^23": (put("workspace", 0, 1 << 23), "malformed"),
    "a million workspaces and one": (lambda f: f.parts.__setitem__(0, MANY), "too many"),
    "a workspace twice": (twice("workspace"), "the same"),
    "a workspace without a name": (lambda f: f.parts[0].rows[0].__setitem__(1, ""), "name"),
    "t below 0": (put("workspace", 2, -2), "malformed"),
    **{f"instant {n}": (put("tx", 1, n), "malformed") for n in HUGE},
}
# A number of SQLite is made of workspace and id: PostgreSQL has room for these, and takes them.
# What is too large is refused while it is read, before any store has a part in it.
ONLY_SQLITE = {"entity 0", "an entity of another workspace", *LARGE}


def refused(file: Path, target: Site) -> Problem:
    """How a file is refused, in time, and without a trace."""
    began_s = time.monotonic()
    with pytest.raises(Problem) as caught:
        restore_database(file, target.address)
    assert time.monotonic() - began_s < REFUSED_S_MAX
    assert target.is_untouched()
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_whatever_we_would_not_write_is_refused(sites: Sites, file: Path, kind: str) -> None:
    target = sites(kind)
    with target.raw.kept():
        for name, (change, word) in CHANGES.items():
            if kind == "sqlite" or name not in ONLY_SQLITE:
                problem = refused(forged(file, change), target)
                assert problem.code == "backup.damaged", name
                assert word in problem.message, (name, problem.message)
    restore_database(forged(file, lambda forgery: None), target.address)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("version", 3, "backup.newer"),
        ("version", 0, "backup.foreign"),
        ("version", "1", "backup.foreign"),
        ("format", "other", "backup.foreign"),
        ("made", "x" * 5000, "backup.foreign"),
    ],
)
def test_another_header_is_refused(
    sites: Sites, file: Path, key: str, value: object, code: str
) -> None:
    assert refused(forged(file, header(key, value)), sites("sqlite")).code == code


def test_numbers_that_only_postgres_has_room_for(sites: Sites, file: Path) -> None:
    large = forged(file, lambda forgery: forgery.parts[0].rows[0].__setitem__(4, (1 << 40) + 5))
    assert refused(large, sites("sqlite")).code == "backup.ids-too-large"
    restore_database(large, sites("postgres").address)


def test_a_bomb_takes_little_memory(file: Path, tmp_path: Path) -> None:
    """Files of some MB that claim to be more than the process may have."""
    line = json.dumps(Forgery(file.read_bytes()).header).encode() + b"\n"
    begin = packed(block_of("workspace", 0, [[1, "main", 1, 1, 1, 1]]))
    many = b"\x93" + msgspec.msgpack.encode("job") + b"\x01\xdd"
    rows = 20_000_000
    bombs = {
        "one": bomb(2 * MEMORY_BYTES),
        "rows": begin + packed(many + rows.to_bytes(4, "big") + b"\x92\x01\x01" * rows),
    }
    for name, blocks in bombs.items():
        armed = tmp_path / f"{name}.backup"
        armed.write_bytes(signed(line + blocks + bytes(4)))
        answer = restoring(armed, tmp_path / "new.db")
        assert answer.returncode == 1, answer.stderr
        assert "backup.damaged" in answer.stderr
        assert not (tmp_path / "new.db").exists()
    # The limit is one that a good file does not meet, and that a defect would.
    assert restoring(file, tmp_path / "new.db").returncode == 0


def restoring(file: Path, database: Path) -> Answer:
    """The program, with little memory."""
    words = ("restore", str(file), "--database", str(database))
    return run_within({resource.RLIMIT_AS: MEMORY_BYTES}, *words)
