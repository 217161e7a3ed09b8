"""Everything that can be recorded, by its kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import get_args

from tests.recordings.commands import record_commands
from tests.recordings.corpus import record_corpus
from tests.recordings.doors import record_doors
from tests.recordings.examples import Spelling, record_examples, record_mistakes
from tests.recordings.keeping import Entries
from tests.recordings.lists import record_everything, record_lists
from tests.recordings.places import Place
from tests.recordings.printed import record_bulk, record_caring, record_printed
from tests.recordings.scene import Scene
from tests.recordings.tasks import record_tasks
from tests.recordings.wire import LANES

Recorder = Callable[[Place], Scene]

RECORDERS: dict[str, Recorder] = {
    "seeds": record_printed,
    "seed-002": record_bulk,
    "pack-endpoint": record_caring,
    "lists": record_lists,
    "doors": record_doors,
    "tasks": record_tasks,
    "everything": record_everything,
    "commands": record_commands,
    "malformed": record_corpus,
    "mistakes": record_mistakes,
    **{
        f"examples-{lane}-{spelling}": partial(record_examples, lane=lane, spelling=spelling)
        for lane in LANES
        for spelling in get_args(Spelling)
    },
}


def recorded(kind: str, place: Place) -> Entries:
    """The entries of one kind."""
    return RECORDERS[kind](place).entries
