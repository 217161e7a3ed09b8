"""A small database of every version of the tables, of both stores, as that version wrote it.

`make.py` makes those of the newest version, `world.py` says what is in them, and
`tests/store/test_versions.py` opens them all. They are never made anew once they are released.
"""

from __future__ import annotations

import lzma
from pathlib import Path

HERE = Path(__file__).parent


def kept(dialect: str) -> dict[int, Path]:
    """The databases of a store that are kept, by version."""
    found = HERE.glob(f"*.{dialect}.xz")
    return {int(path.name.partition(".")[0]): path for path in sorted(found)}


def path_of(dialect: str, version: int) -> Path:
    """Where the database of a version is kept."""
    return HERE / f"{version:04}.{dialect}.xz"


def pack(path: Path, content: bytes) -> None:
    """Keep a database: a file of SQLite, or what pg_dump has written."""
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def unpack(path: Path) -> bytes:
    """The database as it was kept."""
    return lzma.decompress(path.read_bytes())
