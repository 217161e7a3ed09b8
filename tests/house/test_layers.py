"""Negative controls for the contracts of import-linter: each planted violation is named.

The real source is copied, lines are added, and the real configuration judges the copy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.house.limits import AT_THE_EDGE, ROOT, SOURCE

FLOORS = "1. Imports point downward"
STORE_DOOR = "2. Only the model"
SQLITE_DRIVER = "3. apsw has two addresses"
POSTGRES_DRIVER = "4. psycopg has one address"
NO_OTHER_DRIVER = "5. The interpreter's own sqlite3"
STORES_APART = "6. The two stores"
NAMED_QUERIES = "7. Named queries"
NO_CYCLES = "8. No cycles"
PROTOCOL = "9. The MCP SDK"
HTTP = "10. No HTTP"
VERBS_KNOWN = "11. Verbs are known"

IN_FUNCTION = "def planted() -> None:\n    import "
FOR_TYPES = "import typing\nif typing.TYPE_CHECKING:\n    import "

# what is done → the contract it breaks, what its report says, {file: text to append}
VIOLATIONS: dict[str, tuple[str, str, dict[str, str]]] = {
    "upward": (FLOORS, "keywords -> model", {"keywords.py": "import sandbar.model"}),
    "upward in a function": (
        FLOORS,
        "errors -> store",
        {"errors.py": IN_FUNCTION + "sandbar.store"},
    ),
    "upward for types only": (FLOORS, "clock -> model", {"clock.py": FOR_TYPES + "sandbar.model"}),
    "to a neighbour": (FLOORS, "errors -> clock", {"errors.py": "from sandbar import clock"}),
    "store to model": (
        FLOORS,
        "store -> model",
        {"store/__init__.py": "from sandbar.model import X"},
    ),
    "a room without a floor": (FLOORS, "utils", {"utils.py": "X = 1"}),
    "service to service": (
        FLOORS,
        "audit -> access",
        {"audit.py": "import sandbar.access", "access.py": ""},
    ),
    "surface to surface": (FLOORS, "rest -> mcp", {"rest.py": "import sandbar.mcp", "mcp.py": ""}),
    "store from above": (STORE_DOOR, "cli -> store", {"cli.py": "import sandbar.store"}),
    "store in a service": (
        STORE_DOOR,
        "audit -> store.sqlite",
        {"audit.py": "from sandbar.store.sqlite import X"},
    ),
    "apsw in the model": (SQLITE_DRIVER, "model -> apsw", {"model/__init__.py": "import apsw"}),
    "apsw in the hall": (
        SQLITE_DRIVER,
        "store -> apsw",
        {"store/__init__.py": IN_FUNCTION + "apsw"},
    ),
    "apsw next door": (
        SQLITE_DRIVER,
        "store.postgres -> apsw",
        {"store/postgres/__init__.py": "import apsw"},
    ),
    "psycopg in the cli": (POSTGRES_DRIVER, "cli -> psycopg", {"cli.py": "import psycopg"}),
    "the pool next door": (
        POSTGRES_DRIVER,
        "store.sqlite -> psycopg_pool",
        {"store/sqlite/__init__.py": "import psycopg_pool"},
    ),
    "sqlite3": (
        NO_OTHER_DRIVER,
        "store.sqlite -> sqlite3",
        {"store/sqlite/__init__.py": "import sqlite3"},
    ),
    "store to store": (
        STORES_APART,
        "store.sqlite -> store.postgres",
        {"store/sqlite/__init__.py": "import sandbar.store.postgres"},
    ),
    "a verb in the edge": (
        VERBS_KNOWN,
        "edge -> verbs",
        {"edge/__init__.py": "from sandbar.verbs import Verb"},
    ),
    "a verb's room in the settings": (
        VERBS_KNOWN,
        "settings -> verbs.dispatch",
        {"settings.py": "import sandbar.verbs.dispatch"},
    ),
    "a query of the model's own": (
        NAMED_QUERIES,
        "model -> sql",
        {"model/__init__.py": "from sandbar.sql import load_queries"},
    ),
    "HTTP in a workflow": (HTTP, "workflow -> anyio", {"workflow/__init__.py": "import anyio"}),
    "HTTP in a codec": (HTTP, "codecs -> starlette", {"codecs/__init__.py": "import starlette"}),
    "HTTP in a project": (
        HTTP,
        "projects -> http",
        {"projects/__init__.py": IN_FUNCTION + "http.client"},
    ),
    "HTTP in the cellar": (HTTP, "patience -> anyio", {"patience.py": FOR_TYPES + "anyio"}),
    "the SDK in a verb": (PROTOCOL, "verbs -> mcp", {"verbs/__init__.py": "import mcp"}),
    "a cycle": (
        NO_CYCLES,
        "No cycles are allowed in model.",
        {"model/one.py": "import sandbar.model.two", "model/two.py": "import sandbar.model.one"},
    ),
}
FRONT_DOOR = {"__init__.py": "from sandbar.database import X", "clock.py": "import sandbar"}


def test_the_source_keeps_every_contract(tmp_path: Path) -> None:
    answer = _lint(_copy(tmp_path))
    assert answer.returncode == 0, answer.stdout


def test_every_planted_violation_is_reported_under_its_contract(tmp_path: Path) -> None:
    root = _copy(tmp_path)
    for _, _, planted in VIOLATIONS.values():
        _plant(root, planted)
    answer = _lint(root)
    found = _reported(answer.stdout)
    missed = [
        name
        for name, (contract, said, _) in VIOLATIONS.items()
        if not any(said in told for title, told in found.items() if title.startswith(contract))
    ]
    assert answer.returncode != 0
    assert missed == [], answer.stdout


def test_a_way_round_by_the_front_door_breaks_its_contract(tmp_path: Path) -> None:
    """Alone in its copy: by that way everything would be reported to import everything."""
    root = _copy(tmp_path)
    _plant(root, FRONT_DOOR)
    answer = _lint(root)
    broken = [line for line in answer.stdout.splitlines() if " BROKEN" in line]
    assert answer.returncode != 0
    assert any(line.startswith(FLOORS) for line in broken), answer.stdout


def test_no_room_below_the_edge_is_left_out_of_the_contract_about_http() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (http,) = (one for one in contracts["contracts"] if one["id"] == "http")
    listed = {name.removeprefix("sandbar.") for name in http["source_modules"]}
    paths = (SOURCE / "sandbar").iterdir()
    rooms = {path.stem for path in paths if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert listed == rooms - AT_THE_EDGE - {"__init__", "__main__"}


def _plant(root: Path, planted: dict[str, str]) -> None:
    for file, text in planted.items():
        path = root / "src" / "sandbar" / file
        if path.with_suffix("").is_dir():  # the room has grown into a folder
            path = path.with_suffix("") / "__init__.py"
        with path.open("a") as module:
            module.write(f"\n{text}\n")


def _reported(printed: str) -> dict[str, list[str]]:
    """What is said of each broken contract.

    Lines that belong together are one text, so that an import within a longer way, which may be
    innocent, is not taken for one that is reported by itself.
    """
    _, _, details = printed.partition("Broken contracts\n")
    parts = re.split(r"^(\d+\. .*)\n-+\n", details, flags=re.MULTILINE)[1:]
    return {
        title: [_bare(one) for one in re.split(r"\n\s*\n", told)]
        for title, told in zip(parts[::2], parts[1::2], strict=True)
    }


def _bare(text: str) -> str:
    """Without the bullet, the package and the numbers of lines; of several, a cycle's first."""
    text = re.sub(r"^-\s+| \(l\.[\d, l.]+\)$", "", text.strip()).replace("sandbar.", "")
    return text.partition("\n")[0] if text.startswith("No cycles") else text


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
