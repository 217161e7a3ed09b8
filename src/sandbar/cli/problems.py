"""How the program says what went wrong: on stderr, every finding with its advice."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from sandbar.errors import Problem


def print_problem(problem: Problem) -> None:
    """The message, each finding, and what to try next."""
    console = Console(stderr=True, highlight=False)
    # Text and not markup: a message may quote what was typed, brackets and all.
    _print(console, (problem.message, "bold red"), (f" ({problem.code})", "dim"))
    findings = _findings(problem)
    for finding in findings:
        _print(console, (f"  {_where(finding)}", "red"), str(finding.get("message", "")))
        if finding.get("hint"):
            _print(console, ("    try: ", "yellow"), str(finding["hint"]))
    available = problem.data.get("available")
    if problem.hint is None or findings:  # whose hints it would only repeat
        return
    if "data.available" in problem.hint and isinstance(available, list):
        _print(console, ("there are: ", "yellow"), ", ".join(map(str, available)))
    else:
        _print(console, ("try: ", "yellow"), problem.hint)


def _findings(problem: Problem) -> list[dict[str, Any]]:
    found = problem.data.get("findings")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _where(finding: dict[str, Any]) -> str:
    """The place of a finding: the line of a document, and its key, slot, argument or operation."""
    line = finding.get("line")
    named = (finding.get(one) for one in ("key", "slot", "argument", "at"))
    name = next((one for one in named if one not in (None, "")), None)
    parts = [f"line {line}" if line is not None else "", "" if name is None else str(name)]
    head = ", ".join(part for part in parts if part)
    return f"{head}: " if head else ""


def _print(console: Console, *parts: str | tuple[str, str]) -> None:
    console.print(Text.assemble(*parts), soft_wrap=True)
