"""Negative controls for the contracts of import-linter: each planted violation is named.

The real source is copied, one line is added, and the real configuration judges the copy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.limits import ROOT

FLOORS = "1. Imports point downward"
STORE_DOOR = "2. Only the model"
SQLITE_DRIVER = "3. apsw has two addresses"
POSTGRES_DRIVER = "4. psycopg has one address"
NO_OTHER_DRIVER = "5. The interpreter's own sqlite3"
STORES_APART = "6. The two stores"
MODEL_DOOR = "7. The model is entered"
NO_CYCLES = "8. No cycles"

IN_FUNCTION = "def planted() -> None:\n    import "
FOR_TYPES = "import typing\nif typing.TYPE_CHECKING:\n    import "

# what is done → the contract it breaks, {file: text to append}
VIOLATIONS = {
    "upward": (FLOORS, {"keywords.py": "import sandbar.model"}),
    "upward in a function": (FLOORS, {"errors.py": IN_FUNCTION + "sandbar.store"}),
    "upward for types only": (FLOORS, {"clock.py": FOR_TYPES + "sandbar.model"}),
    "to a neighbour": (FLOORS, {"errors.py": "from sandbar import clock"}),
    "store to model": (FLOORS, {"store/__init__.py": "from sandbar.model import X"}),
    "by way of the front door": (
        FLOORS,
        {"__init__.py": "from sandbar.database import X", "clock.py": "import sandbar"},
    ),
    "a room without a floor": (FLOORS, {"utils.py": "X = 1"}),
    "service to service": (FLOORS, {"audit.py": "import sandbar.access", "access.py": ""}),
    "surface to surface": (FLOORS, {"rest.py": "import sandbar.mcp", "mcp.py": ""}),
    "store from above": (STORE_DOOR, {"cli.py": "import sandbar.store"}),
    "store in a service": (STORE_DOOR, {"audit.py": "from sandbar.store.sqlite import X"}),
    "apsw in the model": (SQLITE_DRIVER, {"model/__init__.py": "import apsw"}),
    "apsw in the hall": (SQLITE_DRIVER, {"store/__init__.py": IN_FUNCTION + "apsw"}),
    "apsw next door": (SQLITE_DRIVER, {"store/postgres/__init__.py": "import apsw"}),
    "psycopg in the cli": (POSTGRES_DRIVER, {"cli.py": "import psycopg"}),
    "the pool next door": (POSTGRES_DRIVER, {"store/sqlite/__init__.py": "import psycopg_pool"}),
    "sqlite3": (NO_OTHER_DRIVER, {"store/sqlite/__init__.py": "import sqlite3"}),
    "store to store": (STORES_APART, {"store/sqlite/__init__.py": "import sandbar.store.postgres"}),
    "a room of the model": (
        MODEL_DOOR,
        {"database.py": "from sandbar.model.planted import X", "model/planted.py": "X = 1"},
    ),
    "a cycle": (
        NO_CYCLES,
        {"model/one.py": "import sandbar.model.two", "model/two.py": "import sandbar.model.one"},
    ),
}


def test_the_source_keeps_every_contract(tmp_path: Path) -> None:
    answer = _lint(_copy(tmp_path))
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_planted_violation_breaks_its_contract(name: str, tmp_path: Path) -> None:
    contract, planted = VIOLATIONS[name]
    root = _copy(tmp_path)
    for file, text in planted.items():
        path = root / "src" / "sandbar" / file
        if path.with_suffix("").is_dir():  # the room has grown into a folder
            path = path.with_suffix("") / "__init__.py"
        with path.open("a") as module:
            module.write(f"\n{text}\n")
    answer = _lint(root)
    broken = [line for line in answer.stdout.splitlines() if " BROKEN" in line]
    assert answer.returncode != 0
    assert any(line.startswith(contract) for line in broken), answer.stdout


def _copy(root: Path) -> Path:
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [str(program), "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "200"},
        capture_output=True,
        check=False,
        text=True,
    )
