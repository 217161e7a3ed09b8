"""The client's own memory: what was attempted, and what was answered.

A line is written with one system call, so `kill -9` of the writer cannot take it back. A line that
is torn all the same counts as not written: for an answer that errs on the lenient side.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Slots = dict[str, Any]


@dataclass
class Intent:
    """What one transaction is to do; `op` is also its reason in the history."""

    op: str
    make: list[Slots] = field(default_factory=list)
    set: dict[int, Slots] = field(default_factory=dict)  # id to all slots afterwards
    add: dict[int, int] = field(default_factory=dict)  # id to what is added to its count
    delete: list[int] = field(default_factory=list)

    def parts(self) -> int:
        """How many entities it changes."""
        return len(self.make) + len(self.set) + len(self.add) + len(self.delete)


class JournalWriter:
    """Appends lines; any thread may call."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def trying(self, intent: Intent) -> None:
        """Note an attempt, before it is made."""
        self._line(vars(intent))

    def answered(self, op: str, t: int, ids: list[int]) -> None:
        """Note an answer, after it has arrived."""
        self._line({"op": op, "t": t, "ids": ids})

    def failed(self, how: str) -> None:
        """Note that a thread came to an end that it should not have."""
        self._line({"failed": how})

    def _line(self, record: dict[str, Any]) -> None:
        os.write(self._file, (json.dumps(record) + "\n").encode())


@dataclass
class Journal:
    """What a journal says."""

    intents: dict[str, Intent] = field(default_factory=dict)
    answers: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def read_journal(path: Path) -> Journal:
    """Read back what is whole."""
    journal = Journal()
    for line in path.read_text().split("\n") if path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if "failed" in record:
            journal.failures.append(record["failed"])
        elif "t" in record:
            journal.answers[record["op"]] = (record["t"], record["ids"])
        else:
            for name in ("set", "add"):
                record[name] = {int(id): value for id, value in record[name].items()}
            journal.intents[record["op"]] = Intent(**record)
    return journal
