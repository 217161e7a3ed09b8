"""What a newcomer types, what the gate runs and what is installed agree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.house.limits import ROOT
from tests.set_up import PLACE

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}")


def locked(name: str) -> dict[str, list[str]]:
    """The pins of a lock, each with its hashes."""
    text = (ROOT / name).read_text().replace(" \\\n", "\n")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("    "):
            found[list(found)[-1]].append(line)
        elif not line.startswith("#"):
            found[line] = []
    return found


RUN, DEV = locked("requirements.lock"), locked("requirements-dev.lock")


def test_the_gate_runs_the_test_command_of_the_readme() -> None:
    commands = (ROOT / ".ci" / "run").read_text().splitlines()
    assert commands[-1] == "make test"
    assert re.search(r"^\s*make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


def test_every_dependency_is_pinned_and_locked() -> None:
    for wanted, lock in (
        (PROJECT["dependencies"], RUN),
        (PROJECT["optional-dependencies"]["dev"], RUN | DEV),
    ):
        pins = {_canonical(re.sub(r"\[.*?\]", "", one)) for one in wanted}
        assert pins <= {_canonical(line) for line in lock}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in RUN | DEV)


def test_what_runs_is_locked_apart_from_what_development_needs() -> None:
    names = [{pin.partition("==")[0] for pin in lock} for lock in (RUN, DEV)]
    assert not names[0] & names[1]
    assert not names[0] & {"pytest", "mypy", "ruff", "fastmcp", "hypothesis", "pip-audit"}


def test_every_file_is_known_by_its_hash() -> None:
    for pin, hashes in (RUN | DEV).items():
        assert hashes, pin
        assert all(map(HASH.fullmatch, hashes)), pin
    assert len(RUN["apsw==3.54.1.0"]) > 10, "of every platform"
    assert "--require-hashes" in (ROOT / "scripts" / "ensure-venv").read_text()


def test_every_command_of_the_contributors_page_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named
    assert named <= targets


def test_data_files_travel_with_the_package() -> None:
    """The wheel takes the whole folder, unless the ignore file hides something in it."""
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    suffixes = {path.suffix for path in Path(ROOT / "src").rglob("*.*") if path.is_file()}
    assert not {f"*{suffix}" for suffix in suffixes - {".pyc"}} & set(ignored)


def test_clients_that_could_not_be_installed_are_not_tried_again_by_every_worker(
    tmp_path: Path,
) -> None:
    script, place = tmp_path / "scripts" / "ensure-node", tmp_path / "tests" / "mcp_clients"
    for file in (script, place / "package-lock.json"):
        file.parent.mkdir(parents=True)
        shutil.copy(ROOT / file.relative_to(tmp_path), file)

    def said(*words: str) -> tuple[int, str]:
        ended = subprocess.run([script, *words], capture_output=True, text=True, check=False)
        return ended.returncode, ended.stderr

    tried = ".venv/bin/python: No such file"
    assert said("unless-failed")[0] == 1  # nobody has tried before
    code, again = said("unless-failed")
    assert (code, tried in again) == (1, False)
    assert "Node is missing" in again
    assert tried in said()[1]
    (place / "node_modules").mkdir()
    shutil.copy(place / "package-lock.json", place / "node_modules" / ".sandbar-installed")
    assert said("unless-failed") == (0, "")


NEEDY = """
import pytest
from tests.set_up import SetUpFailed

@pytest.fixture(scope="session")
def node():
    raise SetUpFailed("the npm packages", "self-signed certificate in chain")

@pytest.mark.parametrize("n", range(6))
def test_needs_node(node, n): ...

@pytest.mark.parametrize("n", range(4))
def test_needs_node_later(n):
    try:
        raise SetUpFailed("the npm packages", "self-signed certificate in chain")
    except SetUpFailed as error:
        raise AssertionError("the client did not start") from error

def test_needs_nginx():
    raise SetUpFailed("nginx", "not to be had")

@pytest.mark.parametrize("n", range(3))
def test_needs_nothing(n): ...
"""


def test_what_cannot_be_set_up_is_told_once_and_the_rest_is_run(tmp_path: Path) -> None:
    (tmp_path / "test_needy.py").write_text(NEEDY)
    words = [
        "-p",
        "xdist",
        "-p",
        "tests.set_up",
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        "--rootdir",
        str(tmp_path),
    ]
    variables = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    variables |= {PLACE: str(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words, tmp_path / "test_needy.py"],
        cwd=ROOT, capture_output=True, text=True, check=False, env=variables,
    )  # fmt: skip
    said = ended.stdout
    assert ended.returncode == 1, said
    assert said.count("self-signed certificate") <= 2, said  # where it failed, and in the summary
    counts = _counts(said)
    assert counts["failed"] + counts["errors"] == 2, said
    assert (counts["left out"], counts["passed"]) == (9, 3), said


def _counts(said: str) -> dict[str, int]:
    """The figures of the closing line."""
    found = dict.fromkeys(("failed", "errors", "left out", "passed"), 0)
    for number, name in re.findall(r"(\d+) (failed|error|left out|passed)", said.splitlines()[-1]):
        found["errors" if name == "error" else name] = int(number)
    return found


def test_node_knows_what_the_system_trusts() -> None:
    assert "export NODE_USE_SYSTEM_CA=" in (ROOT / "scripts" / "ensure-node").read_text()


def _canonical(pin: str) -> str:
    name, _, version = pin.partition("==")
    return f"{re.sub(r'[-_.]+', '-', name).lower()}=={version}"
