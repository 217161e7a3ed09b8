"""A recording in a folder: one file per kind, one exchange per line, long repeated values once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.recordings.plain import compact

Entries = list[dict[str, Any]]
Recording = dict[str, Entries]  # by kind

SHARED = "shared.jsonl"
_REFERENCE = "$shared"
_SHARED_CHARACTERS = 100


def write(recording: Recording, folder: Path) -> None:
    """Write the files, in place of those of the same kinds and of what nobody shares any more."""
    folder.mkdir(parents=True, exist_ok=True)
    everything = {**read(folder), **recording}
    ids = _Ids()
    for entries in everything.values():
        for entry in entries:
            ids.count(entry)
    shared: dict[str, Any] = {}
    for kind, entries in everything.items():
        lines = [compact(_shorter(entry, ids, shared)) for entry in entries]
        _write_lines(folder / f"{kind}.jsonl", lines)
    values = [compact({"id": id, "value": value}) for id, value in sorted(shared.items())]
    _write_lines(folder / SHARED, values)


def read(folder: Path) -> Recording:
    """What was written."""
    path = folder / SHARED
    lines = _lines(path) if path.exists() else []
    shared = {line["id"]: line["value"] for line in lines}
    known: dict[str, Any] = {}
    return {
        path.stem: [_whole(entry, shared, known) for entry in _lines(path)]
        for path in sorted(folder.glob("*.jsonl"))
        if path.name != SHARED
    }


def _write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _lines(path: Path) -> Entries:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


class _Ids:
    """What values are shared under, if they are long enough; the same object is looked at once."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._known: dict[int, str | None] = {}

    def of(self, value: Any) -> str | None:
        """What a value is shared under."""
        if not isinstance(value, dict | list | str):
            return None
        if isinstance(value, str) and len(value) < _SHARED_CHARACTERS - 2:
            return self._of_text(compact(value))
        if id(value) not in self._known:  # all values live as long as this does
            self._known[id(value)] = self._of_text(compact(value))
        return self._known[id(value)]

    def _of_text(self, text: str) -> str | None:
        if len(text) < _SHARED_CHARACTERS:
            return None
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def count(self, value: Any) -> None:
        """Count a value and all that is in it, once for each that is shared."""
        shared = self.of(value)
        if shared is not None:
            self.counts[shared] += 1
            if self.counts[shared] == 1:
                for part in _parts(value):
                    self.count(part)


def _shorter(value: Any, ids: _Ids, shared: dict[str, Any]) -> Any:
    id = ids.of(value)
    if id is None:
        return value
    if ids.counts[id] > 1:
        if id not in shared:
            shared[id] = _inside(value, ids, shared)
        return {_REFERENCE: id}
    return _inside(value, ids, shared)


def _inside(value: Any, ids: _Ids, shared: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _shorter(item, ids, shared) for key, item in value.items()}
    if isinstance(value, list):
        return [_shorter(item, ids, shared) for item in value]
    return value


def _whole(value: Any, shared: dict[str, Any], known: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_REFERENCE}:
            id = value[_REFERENCE]
            if id not in known:
                known[id] = _whole(shared[id], shared, known)
            return known[id]
        return {key: _whole(item, shared, known) for key, item in value.items()}
    return [_whole(item, shared, known) for item in value] if isinstance(value, list) else value
