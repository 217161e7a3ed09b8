"""A new category of errors that a surface forgot fails, and says where."""

from __future__ import annotations

import shutil
from pathlib import Path

import sandbar
from sandbar import errors
from sandbar.errors import Fault, Incorrect, Problem, Unavailable, category_of
from tests.house import categories
from tests.house.limits import SOURCE

CATEGORIES = [
    kind.__name__ for kind in Problem.__subclasses__() if kind.__module__ == errors.__name__
]

ERRORS = "class Problem(Exception): pass\nclass A(Problem): pass\nclass B(Problem): pass\n"
WHOLE = "from ours.errors import A, B\nCODES = {A: 1, B: 2}\n"
NEW = "class C(Problem): pass\n"


def test_the_categories_that_are_read_are_those_there_are() -> None:
    assert categories.categories(SOURCE) == CATEGORIES
    assert len(CATEGORIES) == 10


def test_the_tables_that_are_known_are_found_and_whole() -> None:
    found = {place.path: place.what.split() for place in categories.tables(SOURCE)}
    for path in ("edge/refusing", "mcp/problems", "mcp/wire", "projects/findings"):
        assert sorted(found[f"sandbar/{path}.py"]) == sorted(CATEGORIES), path
    assert categories.forgotten(SOURCE) == []


def test_programs_can_name_every_category() -> None:
    assert [name for name in CATEGORIES if name not in sandbar.__all__] == []


def test_a_problem_of_a_class_of_its_own_is_of_the_category_above() -> None:
    class Slow(Unavailable):
        """One of those."""

    assert category_of(Slow("a.b", "c")) is Unavailable
    assert category_of(Incorrect("a.b", "c")) is Incorrect
    assert category_of(Problem("a.b", "of no category: a defect")) is Fault


# --- negative controls ---------------------------------------------------------------------------


def test_a_category_that_came_is_missed_in_every_table_there_is(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "sandbar" / "errors.py"
    path.write_text(f'{path.read_text()}\n\nclass Gone(Problem):\n    """It was there."""\n')
    missed = {place.path for place in categories.forgotten(tmp_path) if "Gone" in place.what}
    assert missed == {place.path for place in categories.tables(SOURCE)}


def test_a_table_that_forgets_a_category_is_found(tmp_path: Path) -> None:
    assert _forgotten(tmp_path, ERRORS, WHOLE) == []
    assert _forgotten(tmp_path, ERRORS + NEW, WHOLE) == ["ours/room.py:2 forgets C"]
    annotated = WHOLE.replace("CODES", "CODES: dict[type, int]").replace("A: 1, ", "A: 1, C: 3, ")
    assert _forgotten(tmp_path, ERRORS + NEW, annotated) == []


def test_a_table_that_is_asked_for_no_more_than_it_has_is_found(tmp_path: Path) -> None:
    silent = f"{WHOLE}def f(problem): return CODES.get(type(problem), 3)\n"
    assert _forgotten(tmp_path, ERRORS, silent) == [
        "ours/room.py:3 asks a table and takes what it lacks"
    ]
    assert _forgotten(tmp_path, ERRORS, f"{WHOLE}def f(kind): return CODES[kind]\n") == []


def test_a_ladder_is_found(tmp_path: Path) -> None:
    steps = "".join(f"    if isinstance(e, {one}): return {one!r}\n" for one in "ABC")
    assert len(_ladders(tmp_path, f"def f(e):\n{steps}    return None\n")) == 1
    union = "def f(e):\n    return isinstance(e, A | B) or isinstance(e, errors.C)\n"
    assert len(_ladders(tmp_path, union)) == 1
    assert _ladders(tmp_path, "def f(e):\n    return isinstance(e, A | B)\n") == []


def _forgotten(folder: Path, errors: str, room: str) -> list[str]:
    return list(map(str, categories.forgotten(_tree(folder, errors, room))))


def _ladders(folder: Path, room: str) -> list[str]:
    return list(map(str, categories.ladders(_tree(folder, ERRORS + NEW, room))))


def _tree(folder: Path, errors: str, room: str) -> Path:
    (folder / "ours").mkdir(exist_ok=True)
    (folder / "ours" / "errors.py").write_text(errors)
    (folder / "ours" / "room.py").write_text(room)
    return folder
