"""What files refer to by bare names, and nobody states: tags are made by being used."""

from __future__ import annotations

from collections.abc import Iterable

from sandbar.access import Guarded
from sandbar.codecs import Parsed
from sandbar.errors import Problem
from sandbar.model import Create
from sandbar.projects.comparing import IDENT
from sandbar.projects.findings import REFUSALS
from sandbar.projects.names import Names
from sandbar.projects.results import Action, Planned, ProjectFinding
from sandbar.projects.sources import Item
from sandbar.projects.tally import Tally

_AT_ONCE = 500


class Making:
    """Collects what is to be made, and makes it before the files that refer to it."""

    def __init__(self) -> None:
        self._wanted: dict[str, tuple[str, Parsed]] = {}  # ident to path and what it says

    def __len__(self) -> int:
        return len(self._wanted)

    def note(self, items: Iterable[Item]) -> None:
        """Note what items refer to so."""
        for item in items:
            for made in item.parsed.made if item.parsed is not None else ():
                self._wanted.setdefault(made.slots[IDENT], (item.path, made))

    def settle(self, names: Names) -> None:
        """When all files are known: what one of them states, or is there, is not made."""
        self._wanted = {
            ident: wanted
            for ident, wanted in self._wanted.items()
            if not names.is_coming(ident) and not names.is_there(ident)
        }
        names.expect(list(self._wanted))

    def foresee(self, db: Guarded, reason: str) -> None:
        """Make them inside of a transaction of which nothing stays."""
        made = [one for _, one in self._wanted.values()]
        for start in range(0, len(made), _AT_ONCE):
            db.transact(_creations(made[start : start + _AT_ONCE]), reason=reason)

    def plan(self, tally: Tally) -> None:
        """Tell what would be made."""
        for ident in self._wanted:
            self._told(ident, tally)

    def write(self, db: Guarded, reason: str, names: Names, tally: Tally) -> None:
        """Make them; one that is refused keeps no other back."""
        idents = list(self._wanted)
        for start in range(0, len(idents), _AT_ONCE):
            self._write_some(idents[start : start + _AT_ONCE], db, reason, names, tally)

    def _write_some(
        self, idents: list[str], db: Guarded, reason: str, names: Names, tally: Tally
    ) -> None:
        made = [self._wanted[ident][1] for ident in idents]
        try:
            db.transact(_creations(made), reason=reason)
        except REFUSALS as problem:
            if len(idents) == 1:
                names.forget(idents[0])
                self._told(idents[0], tally, problem)
                return
            for ident in idents:
                self._write_some([ident], db, reason, names, tally)
            return
        for ident in idents:
            names.made(ident)
            self._told(ident, tally)

    def _told(self, ident: str, tally: Tally, problem: Problem | None = None) -> None:
        path, made = self._wanted[ident]
        findings = []
        if problem is not None:
            message, hint = problem.message, problem.hint
            findings = [ProjectFinding(path=path, code=problem.code, message=message, hint=hint)]
        action: Action = "create" if problem is None else "refused"
        tally.count(action)
        tally.tell(
            Planned(path=path, action=action, entity=ident, class_=made.class_, findings=findings)
        )


def _creations(made: Iterable[Parsed]) -> list[Create]:
    return [Create(class_=one.class_, slots=one.slots) for one in made]
