"""A judged set: 500 notes, questions as people ask them, and the note that answers each.

The notes are those of a small software company, a household and a research project. Nobody looked
at the questions of `held_out.json` while the search was made; they tell whether it was made to fit
the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sandbar import Database

# What the notes are made of, in one place.
CLASS = "mm/Memory"
NAMESPACE = "mm"
NAME, DESCRIPTION, TAGS, BODY = "memory/name", "db/doc", "memory/tags", "memory/body"

PRINTED = 5  # results that somebody looks at
_FOLDER = Path(__file__).parent


class Question(NamedTuple):
    """A question, and the notes that answer it."""

    text: str
    notes: tuple[str, ...]


class Quality(NamedTuple):
    """How well a list of questions was answered."""

    first: float  # the share of questions whose first result is right
    printed: float  # the share with a right one among those printed
    reciprocal: float  # the mean of 1 / rank of the first right one

    def __str__(self) -> str:
        return (
            f"success@1 {self.first:.0%}, success@{PRINTED} {self.printed:.0%},"
            f" MRR {self.reciprocal:.3f}"
        )


def _read(name: str) -> Any:
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"))


def questions(name: str) -> list[Question]:
    """The questions of a file."""
    return [Question(row["question"], tuple(row["notes"])) for row in _read(name)]


def write_notes(db: Database) -> None:
    """Load the pack of memories and remember all notes, with their tags."""
    db.load_pack("memory")
    notes = _read("notes.json")
    tags = sorted({tag for note in notes for tag in note["tags"]})
    db.transact([_creation("mm/Tag", f"tag/{tag}", {"tag/name": tag}) for tag in tags])
    db.transact([_creation(CLASS, f"{NAMESPACE}/{note['key']}", _slots(note)) for note in notes])


def _slots(note: dict[str, Any]) -> dict[str, Any]:
    return {
        NAME: note["name"],
        DESCRIPTION: note["doc"],
        TAGS: [f"tag/{tag}" for tag in note["tags"]],
        BODY: note["body"],
    }


def _creation(class_: str, ident: str, slots: dict[str, Any]) -> dict[str, Any]:
    return {"op": "create", "class": class_, "slots": {"db/ident": ident, **slots}}


def answers(db: Database, asked: Iterable[Question]) -> list[list[str]]:
    """What the verb prints for each question, best first."""
    found = []
    for question in asked:
        hits = db.call("search.text", {"query": question.text, "class": CLASS}).hits
        found.append([str(hit.ident).removeprefix(f"{NAMESPACE}/") for hit in hits])
    return found


def quality(asked: Sequence[Question], found: Sequence[Sequence[str]]) -> Quality:
    """How well the questions were answered."""
    ranks = [
        next((rank for rank, key in enumerate(keys, 1) if key in question.notes), 0)
        for question, keys in zip(asked, found, strict=True)
    ]
    count = len(ranks)
    return Quality(
        sum(rank == 1 for rank in ranks) / count,
        sum(1 <= rank <= PRINTED for rank in ranks) / count,
        sum(1 / rank for rank in ranks if rank) / count,
    )
