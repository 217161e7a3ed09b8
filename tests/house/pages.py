"""Measurements of the pages about the house: what they name is there."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from tests.house.source import Place

_FILE = re.compile(r"`([\w./-]+\.(?:py|sql|md|toml|json|txt|lock))`")
_FOLDER = re.compile(r"`((?:src|tests|docs|scripts|bench)/[\w./-]*)`")
_CONTRACTS = re.compile(r"\bcontracts? (\d+(?:(?:, | and )\d+)*)")
_FIGURE = re.compile(r'\bfigures? "([^"]+)"')


def named_in_vain(
    page: str, files: Collection[str], contracts: Collection[int], figures: Collection[str]
) -> list[Place]:
    """Files, contracts and figures that a page names and that are not there.

    A file may be named by the end of its path, such as `store/plan.py`.
    """
    found = []
    for number, line in enumerate(page.splitlines(), 1):
        named = [*_FILE.findall(line), *_FOLDER.findall(line)]
        missing = [name for name in named if not any(_is_meant(name, file) for file in files)]
        for told in _CONTRACTS.findall(line):
            missing += [
                f"contract {n}" for n in re.findall(r"\d+", told) if int(n) not in contracts
            ]
        missing += [name for name in _FIGURE.findall(line) if name not in figures]
        found += [Place("page", number, name) for name in missing]
    return found


def _is_meant(name: str, file: str) -> bool:
    return file == name or file.endswith(f"/{name}") or file.startswith(f"{name.rstrip('/')}/")


def files_below(root: Path, folders: Collection[str]) -> list[str]:
    """The paths of all files in these folders and of those in the root itself."""
    below = [path for folder in folders for path in (root / folder).rglob("*")]
    here = [path for path in root.iterdir() if path.is_file()]
    return [path.relative_to(root).as_posix() for path in [*below, *here] if path.is_file()]
