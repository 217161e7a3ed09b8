"""What the seeds print and users will type: one file per request, command or snippet, as printed.

`printed/seed-000/…` holds them unchanged. Only placeholders that a reader must fill in are
replaced, and each replacement is asserted to hit.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PRINTED = HERE / "printed"


def printed(name: str) -> str:
    """The block as the seed prints it, `seed-004/tools-list.sh` for example."""
    return (PRINTED / name).read_text(encoding="utf-8").rstrip("\n")


def filled(text: str, **placeholders: str) -> str:
    """The block with its placeholders filled in: `token="…"` for `<token>`."""
    for name, value in placeholders.items():
        placeholder = f"<{name.replace('_', '-')}>"
        assert text.count(placeholder) == 1, f"{placeholder} is not there once"
        text = text.replace(placeholder, value)
    return text


def replaced(text: str, old: str, new: str) -> str:
    """The block with one piece of text replaced, which must be there once."""
    assert text.count(old) == 1, f"{old!r} is not there once"
    return text.replace(old, new)


def absent(printed: Any, answered: Any, at: str = "$") -> list[str]:
    """What of a printed answer is not so in the real one, which may tell more besides."""
    if isinstance(printed, dict) and isinstance(answered, dict):
        missing = [f"{at}.{name} is missing" for name in printed if name not in answered]
        shared = ((name, value) for name, value in printed.items() if name in answered)
        return missing + [
            said for name, value in shared for said in absent(value, answered[name], f"{at}.{name}")
        ]
    if isinstance(printed, list) and isinstance(answered, list) and len(printed) == len(answered):
        pairs = enumerate(zip(printed, answered, strict=True))
        return [said for n, (ours, theirs) in pairs for said in absent(ours, theirs, f"{at}[{n}]")]
    is_same = type(printed) is type(answered) and printed == answered
    return [] if is_same else [f"{at} is {answered!r}, not {printed!r}"]


def blocks(folder: Path = PRINTED) -> set[str]:
    """The names of all printed blocks."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def blocks_run(source: str) -> set[str]:
    """The blocks that a test file runs: the literal names given to `printed` inside its tests."""
    names: set[str] = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "printed":
                    names.add(ast.literal_eval(call.args[0]))
    return names


def neglected(present: set[str], run: set[str], excused: set[str]) -> list[str]:
    """What is wrong with the three lists, if anything: each block is either run or excused."""
    return [
        *(f"{name} is neither run nor excused" for name in sorted(present - run - excused)),
        *(f"{name} is run and excused" for name in sorted(run & excused)),
        *(f"{name} is named but not printed" for name in sorted((run | excused) - present)),
    ]
