"""Negative controls: each measurement finds a violation that was planted, and only that."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import figures, imports, repository, rooms
from tests.house.source import Place

Measurement = Callable[[Path], list[Place]]

M = '"""A module."""\n'
DATETIME = "from datetime import datetime\n"
PROMISE = """
class A:
    'A.'
    def f(self):
        'Promised here.'
class B(A):
    'B.'
    def f(self): pass
"""

# measurement, a guilty file, an innocent one
CONTROLS: list[tuple[Measurement, str, str]] = [
    (imports.imports_in_functions, "def f():\n    import os", "import os"),
    (figures.broad_handlers, "try: f()\nexcept Exception: pass", "try: f()\nexcept OSError: pass"),
    (figures.broad_handlers, "try: f()\nexcept: pass", "try: f()\nfinally: g()"),
    (figures.broad_handlers, "try: f()\nexcept (OSError, BaseException) as e: g(e)", ""),
    (
        figures.broad_handlers,
        "try: f()\nexcept Exception: g()",
        "try: f()\nexcept Exception: raise",
    ),
    (figures.broad_handlers, "with suppress(Exception): f()", "with suppress(OSError): f()"),
    (figures.clock_reads, "import time\nt = time.monotonic()", "import timeit\ntimeit.f()"),
    (figures.clock_reads, "from time import sleep\nsleep(1)", "from x import sleep\nsleep(1)"),
    (figures.clock_reads, "import datetime as d\nn = d.datetime.now()", "n = clock.now()"),
    (
        figures.clock_reads,
        f"{DATETIME}n = datetime.utcnow()",
        f"{DATETIME}n = datetime(1970, 1, 1)",
    ),
    (figures.sql_strings, "q = 'select a from b'", "q = 'select a class'"),
    (figures.sql_strings, "q = 'delete from t where a = 1'", "q = 'delete it from here'"),
    (figures.sql_strings, "q = f'insert into {t} values (1)'", "q = 'insert the coin'"),
    (figures.sql_strings, "q = 'PRAGMA journal_mode'", '"""Select rows from a table."""'),
    (figures.sql_strings, "q = f'{rows} ORDER BY key'", "q = f'{rows} in order'"),
    (figures.sql_strings, "q = 'AND s.value = ?'", "q = ' AND '.join(words)"),
    (figures.sql_strings, "q = f'{q} LIMIT %s'", "q = 'at most %s'"),
    (figures.sql_strings, "q = f'EXPLAIN QUERY PLAN {q}'", "q = 'explain it'"),
    (figures.sql_strings, "q = 'COMMIT'", "q = 'Commit'"),
    (
        figures.caches_of_what_changes,
        "@lru_cache(maxsize=9)\ndef f(schema: Introspection): ...",
        "@lru_cache(maxsize=9)\ndef f(rights: Rights): ...\ndef g(schema: Introspection): ...",
    ),
    (
        figures.caches_of_what_changes,
        "class A:\n    @functools.cache\n    def f(self): ...",
        "class A:\n    @cached_property\n    def f(self): ...",
    ),
    (
        lambda tree: figures.coroutines(tree, ["edge"]),
        "class A:\n    async def f(self): ...",
        "def f(): ...",
    ),
    (figures.undocumented, f"{M}def f(): pass", f"{M}def _f(): pass"),
    (figures.undocumented, f"{M}class A: pass", f"{M}class A:\n    'A.'"),
    (figures.undocumented, f"{M}class A:\n    'A.'\n    def f(self): pass", f"{M}{PROMISE}"),
    (figures.undocumented, f"{M}def f(): return 1", f"{M}class A:\n    'A.'\n    def f(self): ..."),
    (figures.undocumented, "x = 1", ""),
    (figures.unannotated_returns, "def f(): pass", "def f() -> None: pass"),
    (figures.unfinished, "# TO" + "DO later", "# to do is nothing"),
    (figures.unfinished, "raise NotImplemented" + "Error", "x = NotImplemented"),
    (figures.skipped_tests, "@pytest.mark.skipif(x)\ndef f(): pass", "pytest.mark.long(f)"),
    (figures.skipped_tests, "pytest.importorskip('x')", "cursor.skip(3)"),
]


@pytest.mark.parametrize(("measure", "guilty", "innocent"), CONTROLS)
def test_measurement_finds_what_was_planted(
    measure: Measurement, guilty: str, innocent: str, tmp_path: Path
) -> None:
    assert measure(_tree(tmp_path / "innocent", {"ours/room.py": innocent})) == []
    found = measure(_tree(tmp_path / "guilty", {"ours/room.py": guilty}))
    assert {"ours/room.py"} == {place.path for place in found}


def test_commands_may_import_late(tmp_path: Path) -> None:
    late = "def f():\n    import os\n"
    tree = _tree(tmp_path, {"ours/cli/serve.py": late, "ours/cli.py": late})
    assert imports.imports_in_functions(tree) == []


def test_the_clock_may_read_the_clock(tmp_path: Path) -> None:
    tree = _tree(tmp_path, {"ours/clock.py": "import time\nt = time.time()\n"})
    assert figures.clock_reads(tree) == []


def test_the_store_begins_and_ends_transactions_and_says_no_other_sql(tmp_path: Path) -> None:
    store = {"ours/store/rows.py": "q = 'BEGIN IMMEDIATE'\nq = 'COMMIT'\nq = 'ROLLBACK'\n"}
    assert figures.sql_strings(_tree(tmp_path, store)) == []
    store = {"ours/store/rows.py": "q = 'select a from b'\nq = 'BEGIN; SET LOCAL a = 0'\n"}
    assert [one.line for one in figures.sql_strings(_tree(tmp_path, store))] == [1, 2]


def test_lengths_are_measured_in_lines(tmp_path: Path) -> None:
    tree = _tree(
        tmp_path, {"ours/a.py": "x = 1\n", "ours/b.py": "def f():\n    x = 1\n    y = 2\n"}
    )
    files = [(one.path, one.line) for one in figures.file_lengths(tree)]
    assert files == [("ours/b.py", 3), ("ours/a.py", 1)]
    assert [one.line for one in figures.function_lengths(tree)] == [3]


@pytest.mark.parametrize(
    "path", ["utils.py", "store/helpers/a.py", "codec_v2.py", "row_manager.py"]
)
def test_names_that_say_nothing_are_found(path: str, tmp_path: Path) -> None:
    assert len(figures.banned_names(_tree(tmp_path, {f"ours/{path}": "", "ours/room.py": ""}))) == 1


@pytest.mark.parametrize(
    "way_back",
    [
        "from ours import a\n",
        "from ours.a import X\n",
        "from . import a\n",
        "from .a import X\n",
        "def f():\n    import ours.a\n",
        "if TYPE_CHECKING:\n    from ours.a import X\n",
    ],
)
def test_cycles_are_found_however_they_are_closed(way_back: str, tmp_path: Path) -> None:
    rooms = {"ours/__init__.py": "", "ours/a.py": "from ours import b\n", "ours/b.py": way_back}
    found = imports.modules_in_cycles(_tree(tmp_path, rooms))
    assert [place.path for place in found] == ["ours.a", "ours.b"]


def test_a_line_of_imports_is_no_cycle(tmp_path: Path) -> None:
    rooms = {
        "ours/__init__.py": "",
        "ours/a.py": "from ours import b\n",
        "ours/b.py": "import os\n",
    }
    assert imports.modules_in_cycles(_tree(tmp_path, rooms)) == []


@pytest.mark.parametrize(
    ("guilty", "innocent"),
    [
        ("from ours.model import Workspace", "from ours.model import Entity"),
        ("def f(context): context.workflows.workspace", "def f(caller): caller.workspace"),
        ("def f(context): context.db._workspace", "def f(context): context.db.caller.workspace"),
        ("def f(context): context.neighbours.open('a')", "def f(context): g(context.neighbours)"),
        ("def f(context): neighbours_of(context).drop('a')", "def f(c): g(neighbours_of(c))"),
    ],
)
def test_a_verb_that_takes_a_workspace_is_found(guilty: str, innocent: str, tmp_path: Path) -> None:
    elsewhere = {"ours/model.py": guilty, "ours/verbs/one.py": innocent}
    tree = _tree(tmp_path / "innocent", elsewhere)
    assert rooms.bare_workspaces(tree, ["ours.verbs", "ours.packs.care"]) == []
    tree = _tree(tmp_path / "guilty", {"ours/verbs/one.py": guilty, "ours/packs/care/c.py": guilty})
    found = rooms.bare_workspaces(tree, ["ours.verbs", "ours.packs.care"])
    assert [place.path for place in found] == ["ours/packs/care/c.py", "ours/verbs/one.py"]


ROOMS = {
    "ours/__init__.py": "",
    "ours/store/__init__.py": "from ours.store.rows import Row\nfrom ours.store.scan import scan\n",
    "ours/store/rows.py": "Row = int\n",
    "ours/store/scan.py": "def scan() -> None: ...\n",
    "ours/store/sqlite/__init__.py": "from ours.store.sqlite.file import open\n",
    "ours/store/sqlite/file.py": "from ours.store.rows import Row\n",
    "ours/clock.py": "",
}


@pytest.mark.parametrize(
    ("line", "entered"),
    [
        ("from ours.store.rows import Row", ["ours.store.rows"]),
        ("from ours.store import rows", ["ours.store.rows"]),
        ("import ours.store.rows as r", ["ours.store.rows"]),
        ("def f():\n    from ours.store.rows import Row", ["ours.store.rows"]),
        ("if TYPE_CHECKING:\n    import ours.store.rows", ["ours.store.rows"]),
        ("from ours.store.sqlite.file import open", ["ours.store.sqlite.file"]),
        ("from ours.store import sqlite", ["ours.store.sqlite"]),
        ("from ours.store import Row", []),
        ("from ours.store import scan", []),  # the function of the page, not the module
        ("from ours import clock, store", []),
        ("import os.path", []),
    ],
)
def test_an_import_past_a_rooms_door_is_found(
    line: str, entered: list[str], tmp_path: Path
) -> None:
    tree = _tree(tmp_path, ROOMS | {"ours/model.py": line})
    assert [one.what for one in rooms.windows(tree)] == [f"enters {one}" for one in entered]


def test_a_side_door_is_open_to_one_room_and_leads_no_further(tmp_path: Path) -> None:
    through, beyond = "import ours.store.sqlite\n", "import ours.store.sqlite.file\n"
    tree = _tree(tmp_path, ROOMS | {"ours/database.py": through + beyond, "ours/model.py": through})
    found = rooms.windows(tree, {"ours.store.sqlite": "ours.database"})
    assert [(one.path, one.line) for one in found] == [
        ("ours/database.py", 2),
        ("ours/model.py", 1),
    ]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("from ours.access import Caller, may", ["Caller", "may"]),
        ("from ours.access.rights import may as _may", ["may"]),
        ("import ours.access.rights", ["ours.access.rights"]),
        ("from ours.accessories import may", []),
        ("from ours.model import may", []),
    ],
)
def test_what_a_room_asks_a_door_for_is_found(line: str, asked: list[str], tmp_path: Path) -> None:
    tree = _tree(tmp_path, {"ours/mcp/lists.py": line, "ours/verbs.py": line})
    assert [one.what for one in rooms.asked_of(tree, "ours.mcp", "ours.access")] == asked


@pytest.mark.parametrize("host", repository.REGISTRY_HOSTS)
def test_registry_hosts_are_found_before_they_are_committed(host: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "notes.md").write_text(f"fine\nsee https://{host}/simple\n")
    (tmp_path / "other.md").write_text("install it with pip\n")
    found = repository.registry_hosts(repository.repository_files(tmp_path))
    assert {(str(tmp_path / "notes.md"), 2)} == {(place.path, place.line) for place in found}


def _tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
