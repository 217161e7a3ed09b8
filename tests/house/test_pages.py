"""ARCHITECTURE.md and CONTRIBUTING.md name nothing that is not there."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.house.limits import FIGURES, ROOT
from tests.house.pages import files_below, named_in_vain

CODE = ("src", "tests", "docs", "scripts", "bench")
FIGURE_NAMES = {figure.name for figure in FIGURES}
EXAMPLES = {"0002_who_asked.sql"}  # the name of a migration to come


def contracts() -> set[int]:
    """The numbers of the contracts, each of which has one."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    numbers = [int(re.match(r"(\d+)\. ", one["name"])[1]) for one in told["contracts"]]  # type: ignore[index]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    return set(numbers)


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_a_page_names_what_is_there(page: str) -> None:
    files = [*files_below(ROOT, CODE), *EXAMPLES]
    text = (ROOT / page).read_text()
    assert named_in_vain(text, files, contracts(), FIGURE_NAMES) == []


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("as `store/plan.py` has it, and `plan.py`", []),
        ("as `store/plans.py` has it, or `lan.py`", ["store/plans.py", "lan.py"]),
        ("`tests/house` and `tests/house/`", []),
        ("`tests/horse` neighs", ["tests/horse"]),
        ("contracts 1, 2 and 3; contract 2", []),
        ("contracts 1, 4 and 7; contract 5", ["contract 4", "contract 7", "contract 5"]),
        ('the figure "longest file"', []),
        ('the figure "shortest file"', ["shortest file"]),
    ],
)
def test_what_a_page_names_in_vain_is_found(line: str, missing: list[str]) -> None:
    files = ["src/sandbar/store/plan.py", "tests/house/test_pages.py"]
    found = named_in_vain(f"fine\n{line}\n", files, {1, 2, 3}, {"longest file"})
    assert [(one.line, one.what) for one in found] == [(2, name) for name in missing]
