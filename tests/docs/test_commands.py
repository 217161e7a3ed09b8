"""The commands that the page on access shows, run as printed, from its top to its end."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.program import run_here
from tests.docs.pages import Page, page


class WrongCommand(AssertionError):
    """A page shows a command that does not work."""


def run_commands(shown: Page, folder: Path) -> dict[str, str]:
    """Run every line of the page's shell blocks in one folder; what each has printed."""
    said = {}
    for block in shown.blocks:
        if block.language != "sh":
            continue
        for line in block.text.splitlines():
            program, *words = shlex.split(line, comments=True)
            if program != "sandbar":
                raise WrongCommand(f"{shown.name}: {line}: only our own program is tried here")
            answer = run_here(*words, cwd=folder)
            if answer.returncode != 0:
                raise WrongCommand(f"{shown.name}: {line}: {answer.stderr}")
            said[line] = answer.stdout
    return said


def test_the_commands_of_the_page_on_access_work(tmp_path: Path) -> None:
    said = run_commands(page("access"), tmp_path)
    assert len(said) > 20
    listed = next(text for line, text in said.items() if line.startswith("sandbar key list"))
    assert "dashboard" in listed
    assert sorted(path.name for path in (tmp_path / "shop-2026").iterdir()) == [
        "audit.jsonl",
        "entities.jsonl",
        "metamodel.json",
    ]


def test_a_command_that_does_not_work_is_caught(tmp_path: Path) -> None:
    wrong = Page("wrong.md", "Text.\n\n```sh\nsandbar key rotate nobody\n```\n")
    run_here("key", "mint", "somebody", cwd=tmp_path)
    with pytest.raises(WrongCommand, match=r"key\.unknown"):
        run_commands(wrong, tmp_path)
    with pytest.raises(WrongCommand, match="our own program"):
        run_commands(Page("wrong.md", "```sh\nsandbox key list\n```\n"), tmp_path)
