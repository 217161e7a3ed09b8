"""In whose name processes work: effects in their mover's, timers and activities in their starter's.

Each within what the workflow's definer may. Rights are not known here: an `Authority` knows them,
which is given to the workflows of a workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from sandbar.model import (
    Entity,
    HistoryEntry,
    Introspection,
    Judged,
    Moment,
    Page,
    SearchPage,
    Walk,
    Workspace,
    Written,
)
from sandbar.workflow import metamodel as mm
from sandbar.workflow.records import Known, Record

# What is kept of those who have the database itself.
HOUSE: Mapping[str, Any] = {"account": None, "role": "admin", "key": None, "via": "local"}
_WITHIN = "within"
_PRINCIPAL = "principal"
_KNOWN_MAX = 256


class Named(NamedTuple):
    """A principal, and what was kept of it to be it again; nothing by earlier versions."""

    principal: str
    kept: Mapping[str, Any]


class View(Protocol):
    """A workspace as those see it in whose name an activity works."""

    def schema(self, as_of: Moment | None = None) -> Introspection:
        """The metamodel."""

    def get(self, entity: Any, *, as_of: Moment | None = None) -> Entity:
        """One entity, by id, ident or `{slot: value}`."""

    def query(
        self,
        class_: Any,
        where: Any = None,
        *,
        order_by: str | None = None,
        fields: Sequence[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        as_of: Moment | None = None,
    ) -> Page:
        """One page of the instances of a class that satisfy a filter."""

    def search(
        self, query: str, *, class_: Any = None, limit: int = 20, cursor: str | None = None
    ) -> SearchPage:
        """One page of what is found by words or a question."""

    def history(self, entity: Any, *, after: int = 0, limit: int = 1000) -> list[HistoryEntry]:
        """What happened to an entity, oldest first."""

    def last_t(self) -> int:
        """The number of the last transaction."""

    def instance_count(self, class_: Any, *, hidden: Collection[str] = ()) -> int:
        """How many instances of a class there are."""

    def judged(
        self, class_: Any, walk: Walk | None, *, limit: int, hidden: Collection[str] = ()
    ) -> Judged:
        """Which of the next instances of a class are not valid today."""


class Hands(View, Protocol):
    """The same as they may change it, inside the transaction of a transition."""

    def transact(self, operations: Sequence[Any]) -> Written:
        """Write in it."""

    def admit_subject(self, entity: Any) -> None:
        """Refuse to begin a process about this, which may be nothing."""


Authority = Callable[[Named, Named], Hands]  # of a mover, and of a definer


class Acting:
    """Whose hands do the work of the processes of one workspace."""

    def __init__(self, workspace: Workspace, authority: Authority | None) -> None:
        self._workspace = workspace
        self._authority = authority
        # A definition never changes hands.
        self._definers: dict[tuple[int, str], Named] = {}

    def hands(self, record: Record, by: Named) -> Hands:
        """The workspace as they may see and change it, within what the definer may."""
        assert self._authority is not None, "these workflows were made without an authority"
        return self._authority(by, self.definer_of(record.known))

    def definer_of(self, known: Known) -> Named:
        """Who has defined what a process follows."""
        case = (known.definition_id, known.fingerprint)
        found = self._definers.get(case)
        if found is None:
            if len(self._definers) >= _KNOWN_MAX:
                self._definers.clear()
            found = self._definers[case] = self._noted(known.definition_id)
        return found

    def _noted(self, definition_id: int) -> Named:
        note = self._workspace.credentials.note_of(definition_id)
        if note is not None:
            kept: dict[str, Any] = msgspec.json.decode(note)
            return Named(kept[_PRINCIPAL], kept)
        return Named(self._workspace.history(definition_id, limit=1)[0].principal, {})

    def note_definer(self, definition_id: int, by: Named) -> None:
        """Inside the transaction that makes a definition: nobody is shown it, nor can change it."""
        note = msgspec.json.encode(_whole(by)).decode()
        self._workspace.credentials.keep_note(definition_id, note)

    def child_of(self, record: Record, by: Named) -> dict[str, Any]:
        """What a process keeps of its starter that is begun by an effect.

        It acts as the mover did: no workflow gets more by having another one started.
        """
        definer = self.definer_of(record.known)
        within = list(by.kept.get(_WITHIN) or ())
        bound = _whole(definer)
        if definer.kept != {**HOUSE, _PRINCIPAL: definer.principal} and bound not in within:
            within.append(bound)
        return _whole(by) | ({_WITHIN: within} if within else {})


def _whole(named: Named) -> dict[str, Any]:
    return {**named.kept, _PRINCIPAL: named.principal}


def starter_of(record: Record) -> Named:
    """In whose name the timers and activities of a process act."""
    kept = record.entity.get(mm.CALLER)
    if kept is None:
        # Begun by the holder of the database; or by an effect, when nothing was kept of movers.
        kept = HOUSE if mm.PARENT not in record.entity.slots else {}
    return Named(str(kept.get(_PRINCIPAL, record.entity[mm.STARTED_BY])), kept)


def named(principal: str, kept: Mapping[str, Any] | None) -> Named:
    """Whoever calls: without anything kept of them, those who have the database itself."""
    return Named(principal, HOUSE if kept is None else kept)
