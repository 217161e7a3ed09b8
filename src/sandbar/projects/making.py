"""What files refer to by bare names, and nobody states: tags are made by being used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sandbar.errors import Problem
from sandbar.findings import Finding
from sandbar.model import Create, Operation
from sandbar.projects.comparing import IDENT
from sandbar.projects.findings import REFUSALS
from sandbar.projects.names import Names
from sandbar.projects.results import Action, Planned
from sandbar.projects.sources import Item
from sandbar.projects.tally import Tally
from sandbar.scratch import Scratch, Table

_AT_ONCE = 500

Transact = Callable[[Sequence[Operation]], object]  # writes, or finds out what a write would do


class Made(NamedTuple):
    """What is to be made, and the first file that refers to it."""

    path: str
    class_: str
    slots: dict[str, Any]


class Making:
    """Collects what is to be made, and makes it before the files that refer to it."""

    def __init__(self, scratch: Scratch) -> None:
        self._wanted: Table[str] = scratch.table()  # by ident

    def __len__(self) -> int:
        return len(self._wanted)

    def note(self, items: Iterable[Item]) -> None:
        """Note what items refer to so."""
        for item in items:
            for made in item.parsed.made if item.parsed is not None else ():
                ident = made.slots[IDENT]
                if ident not in self._wanted:
                    # This JSON takes half characters, too: whoever writes them will refuse them.
                    self._wanted[ident] = json.dumps(Made(item.path, made.class_, made.slots))

    def settle(self, names: Names) -> None:
        """When all files are known: what one of them states, or is there, is not made."""
        for some in self._slices():
            for ident in map(_ident, some):
                if names.is_coming(ident) or names.is_there(ident):
                    del self._wanted[ident]
        for some in self._slices():
            names.expect([_ident(one) for one in some])

    def write(self, transact: Transact, names: Names, tally: Tally) -> None:
        """Make them; one that is refused keeps no other back."""
        for some in self._slices():
            self._write_some(some, transact, names, tally)

    def _slices(self) -> Iterator[list[Made]]:
        noted = (text for _, text in self._wanted.items())
        while some := [Made(*json.loads(text)) for text in islice(noted, _AT_ONCE)]:
            yield some

    def _write_some(
        self, some: Sequence[Made], transact: Transact, names: Names, tally: Tally
    ) -> None:
        try:
            transact(_creations(some))
        except REFUSALS as problem:
            if len(some) == 1:
                names.forget(_ident(some[0]))
                _tell(some[0], tally, problem)
                return
            for one in some:
                self._write_some([one], transact, names, tally)
            return
        for one in some:
            names.made(_ident(one))
            _tell(one, tally)


def _tell(one: Made, tally: Tally, problem: Problem | None = None) -> None:
    findings = []
    if problem is not None:
        message, hint = problem.message, problem.hint
        findings = [Finding(path=one.path, code=problem.code, message=message, hint=hint)]
    action: Action = "create" if problem is None else "refused"
    tally.count(action)
    tally.tell(
        Planned(
            path=one.path,
            action=action,
            entity=_ident(one),
            class_=one.class_,
            findings=findings,
        )
    )


def _ident(one: Made) -> str:
    return str(one.slots[IDENT])


def _creations(made: Iterable[Made]) -> list[Create]:
    return [Create(class_=one.class_, slots=one.slots) for one in made]
