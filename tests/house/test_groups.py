"""Which tests run where and when: groups in one process, those who wait among those who compute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import conftest

_GROUPED = """
import os, pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(8))
def test_where(number):
    with open("processes", "a") as file:
        file.write(f"{os.getpid()}\\n")
"""


def test_a_group_stays_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_grouped.py").write_text(_GROUPED)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    command += ["-p", "xdist"]  # and nothing else, which three processes would have to load
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=100, env=env)
    processes = (tmp_path / "processes").read_text().split()
    assert len(processes) == 8
    assert len(set(processes)) == 1


class Collected:
    """A test, as far as its place in the order goes."""

    def __init__(self, folder: str) -> None:
        self.path = Path("tests") / folder / "test_it.py"


def test_those_who_wait_stand_among_those_who_compute() -> None:
    folders = ["fault"] * 3 + ["model"] + ["verbs"] * 9 + ["access"]
    items: list[Any] = [Collected(folder) for folder in folders]
    conftest.pytest_collection_modifyitems(items)
    order = [item.path.parent.name for item in items]
    mixed = ["verbs", "verbs", "fault", "verbs"] * 3
    assert order == ["access", *mixed, "model"]
