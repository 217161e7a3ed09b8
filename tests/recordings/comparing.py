"""Two recordings side by side: what differs in which exchange, apart from what is meant to.

The names of values (`<uuid-7>`) may be others, as long as they are so everywhere: whatever adds one
exchange, or one time to an answer, would else seem to change all that follows.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.recordings.keeping import Recording

_NAME = re.compile(r"<(?P<kind>[a-z]+)-(?P<number>\d+)>")
_NAMES_SHOWN = 12
_LINES_SHOWN = 200


@dataclass(frozen=True)
class Meant:
    """A difference that is there on purpose: in these exchanges, this text instead of that."""

    exchange: str
    old: str
    new: str
    why: str


@dataclass(frozen=True)
class Difference:
    """An exchange that differs, and how."""

    kind: str
    name: str
    diff: str


def load_meant(path: Path) -> list[Meant]:
    """The list of what is meant."""
    return [Meant(**one) for one in tomllib.loads(path.read_text("utf-8")).get("meant", [])]


def differences(old: Recording, new: Recording, meant: list[Meant]) -> list[Difference]:
    """What differs in the kinds that both recordings have, and which kinds one of them lacks."""
    found = [
        Difference(kind, "*", f"-{kind}\n" if kind in old else f"+{kind}\n")
        for kind in sorted(old.keys() ^ new.keys())
    ]
    for kind in sorted(old.keys() & new.keys()):
        found += _of_kind(kind, old[kind], new[kind], meant)
    return found


def _of_kind(
    kind: str, old: list[dict[str, Any]], new: list[dict[str, Any]], meant: list[Meant]
) -> Iterator[Difference]:
    names = _Names()
    before = {entry["name"]: entry for entry in old}
    after = {entry["name"]: entry for entry in new}
    # Names are given in the order of the exchanges, so in that order they are matched.
    for name in [*before, *(name for name in after if name not in before)]:
        was, now = _shown(before.get(name)), _shown(after.get(name))
        now = names.translated(was, now)
        was = _with_meant(f"{kind}/{name}", was, now, meant)
        if was != now:
            yield Difference(kind, name, _diff(was, now))
    order = [name for name in before if name in after]
    if order != [name for name in after if name in before]:
        yield Difference(kind, "*", "the exchanges are in another order\n")


def _shown(entry: dict[str, Any] | None) -> str:
    """An exchange as lines."""
    if entry is None:
        return ""
    return json.dumps(entry, indent=1, ensure_ascii=False).replace("\\n", "\n") + "\n"


class _Names:
    """Which name of the new recording stands for which of the old one."""

    def __init__(self) -> None:
        self._old_of: dict[str, str] = {}
        self._taken: set[str] = set()

    def translated(self, was: str, now: str) -> str:
        """The new text in the names of the old one."""
        for line, other in _alike(was.splitlines(), now.splitlines()):
            for mine, yours in zip(_NAME.findall(line), _NAME.findall(other), strict=True):
                self._match("-".join(mine), "-".join(yours))
        return _NAME.sub(self._translated, now)

    def _match(self, old: str, new: str) -> None:
        if new not in self._old_of and old not in self._taken:
            self._old_of[new] = old
            self._taken.add(old)

    def _translated(self, match: re.Match[str]) -> str:
        name = f"{match['kind']}-{match['number']}"
        return f"<{self._old_of[name]}>" if name in self._old_of else f"<{name} of the new>"


def _masked(line: str) -> str:
    if "<" not in line:
        return line
    return _NAME.sub(lambda match: f"<{match['kind']}>", line)


def _alike(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """The lines of one and the other that are the same but for their names."""
    masked, others = [_masked(line) for line in old], [_masked(line) for line in new]
    if masked == others:
        yield from zip(old, new, strict=True)
        return
    matcher = difflib.SequenceMatcher(None, masked, others, autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        yield from zip(old[a : a + size], new[b : b + size], strict=True)


def _with_meant(exchange: str, was: str, now: str, meant: list[Meant]) -> str:
    """The old text with what is meant to have changed, where exactly that has changed."""
    for one in meant:
        if not fnmatch.fnmatchcase(exchange, one.exchange):
            continue
        if not one.old or not one.new:  # an exchange that came or went, word for word
            was = now if (was, now) == (one.old, one.new) else was
        elif one.old in was and one.new in now:
            was = was.replace(one.old, one.new)
    return was


def _diff(was: str, now: str) -> str:
    lines = difflib.unified_diff(was.splitlines(), now.splitlines(), "old", "new", "", "", 2, "")
    shown = [_masked(line) if line.startswith("@@") else line for line in lines][2:]
    more = [f"… {len(shown) - _LINES_SHOWN} more lines"] if len(shown) > _LINES_SHOWN else []
    return "".join(f"{line}\n" for line in [*shown[:_LINES_SHOWN], *more])


def report(found: list[Difference]) -> str:
    """All differences; the same one in many exchanges is shown once."""
    alike: dict[str, list[str]] = {}
    diffs: dict[str, str] = {}
    for one in found:
        same = re.sub(r"^@@.*$", "@@", one.diff, flags=re.MULTILINE)
        alike.setdefault(same, []).append(f"{one.kind}/{one.name}")
        diffs.setdefault(same, one.diff)
    parts = []
    for same, names in alike.items():
        more = [f"… and {len(names) - _NAMES_SHOWN} more"] if len(names) > _NAMES_SHOWN else []
        parts.append("\n".join([*names[:_NAMES_SHOWN], *more]) + f"\n{diffs[same]}")
    return "\n".join(parts)


def summary(old: Recording, new: Recording, found: list[Difference]) -> str:
    """How many exchanges of each kind differ."""
    lines = []
    for kind in sorted(old.keys() | new.keys()):
        wrong = sum(one.kind == kind for one in found)
        exchanges = len({one["name"] for each in (old, new) for one in each.get(kind, [])})
        lines.append(f"{kind:12} {wrong:5} of {exchanges:5} differ\n")
    return "".join(lines)
