"""What `sandbar project import` says: the plan, or what was done, and what is to be mended."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from sandbar.findings import Finding
from sandbar.projects import Imported, Planned

_SHOWN = 40
_BULK = (".jsonl", ".csv")

_STYLES = {
    "create": "green", "change": "cyan", "delete": "magenta", "conflict": "bold yellow",
    "refused": "bold red", "missing": "yellow",
}  # fmt: skip
# What somebody has to look at comes first, and what is no part of this last.
_ORDER = ("refused", "conflict", "missing", "delete", "create", "change", "kept", "ignored")
_DONE = {"create": "created", "change": "changed", "delete": "deleted", "conflict": "in conflict"}
_WRITES = frozenset({"create", "change", "delete"})


class Asked(msgspec.Struct, frozen=True):
    """What somebody wanted, as far as the answer is about it."""

    path: Path
    apply: bool
    atomic: bool


def print_imported(done: Imported, asked: Asked, lasted_s: float) -> None:
    """Tell what became of the files, what it comes to, and what to do next."""
    console = Console(highlight=False, soft_wrap=True, markup=False)
    entries = sorted(done.entries, key=lambda one: _ORDER.index(one.action))[:_SHOWN]
    for one in entries:
        _print_entry(console, one, is_done=done.applied)
    rest = sum(done.counts.values()) - done.counts.get("unchanged", 0) - len(entries)
    if rest > 0:
        console.print(f"           … and {rest:,} more (--json lists the first thousand)")
    counts = ", ".join(f"{n:,} {_word(action, done.applied)}" for action, n in done.counts.items())
    if done.applied:
        console.print(f"{done.source}: {counts or 'nothing'} {_pace(done, asked, lasted_s)}.")
    else:
        console.print(f"{done.source}: {counts or 'nothing'}.")
        console.print(_what_next(done, asked))


def print_json(done: Imported) -> None:
    """The whole answer, for programs."""
    print(msgspec.json.encode(done).decode())


def _print_entry(console: Console, one: Planned, *, is_done: bool) -> None:
    style = _STYLES.get(one.action, "dim")
    line = Text.assemble((f"{_word(one.action, is_done):>11}", style), f"  {one.path}")
    if one.line is not None:
        line.append(f", line {one.line}")
    if one.entity is not None:
        line.append(f"  {one.entity}", "dim")
    if one.slots:
        line.append(f"  ({', '.join(one.slots)[:200]})", "dim")
    console.print(line)
    if one.why and not one.findings:
        console.print(Text(f"             {one.why}", "dim"))
    for finding in one.findings:
        console.print(Text(f"             {_said(finding)}", "red"))
        if finding.hint:
            console.print(Text(f"             try: {finding.hint}", "dim"))


def _said(finding: Finding) -> str:
    """File, line, key and reason: each line can be understood without the others."""
    line = "" if finding.line is None else f", line {finding.line}"
    key = "" if finding.key is None else f", {finding.key}"
    return f"{finding.path}{line}{key}: {finding.message}"


def _word(action: str, is_done: bool) -> str:
    if action == "conflict":
        return _DONE[action]
    return _DONE.get(action, action) if is_done else action


def _pace(done: Imported, asked: Asked, lasted_s: float) -> str:
    unit = "rows" if asked.path.suffix.lower() in _BULK else "files"
    pace = round(done.entities / max(lasted_s, 0.001))
    return f"in {lasted_s:.1f} s ({pace:,} {unit}/s), t = {done.t}"


def _what_next(done: Imported, asked: Asked) -> str:
    """Why nothing was written, and what to do about it."""
    held = {"refused": "refused", "conflict": "in conflict"}
    bad = [f"{done.counts[one]:,} {word}" for one, word in held.items() if done.counts.get(one)]
    if asked.atomic and bad:
        return (
            f"Nothing was written: --atomic takes all or nothing, and {' and '.join(bad)} stand in"
            " the way. Mend these files (--prefer decides conflicts); or leave --atomic out, and"
            " the others are written."
        )
    if _WRITES.isdisjoint(done.counts):
        return "Nothing was written, and there is nothing to write."
    return "Nothing was written. To do it, repeat the command with --apply."
