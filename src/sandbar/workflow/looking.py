"""Lists of processes, their history, and how they are doing."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any

from sandbar import clock
from sandbar.model import Entity, Workspace
from sandbar.workflow import metamodel as mm
from sandbar.workflow.machines import Machine
from sandbar.workflow.records import Records, views_of
from sandbar.workflow.views import HistoryRow, ProcessView, Stats

_PAGE = 1000
_SAMPLED = 200  # processes whose history the times are taken from
_NEWEST_FIRST = f"-{mm.STARTED_AT}"


class Looking:
    """Reads over many processes of one workspace."""

    def __init__(self, workspace: Workspace, records: Records) -> None:
        self._workspace = workspace
        self._records = records

    def history(self, process_id: int) -> list[HistoryRow]:
        """What happened to a process, oldest first."""
        rows, cursor = self.history_page(process_id, limit=_PAGE)
        while cursor is not None:
            more, cursor = self.history_page(process_id, limit=_PAGE, cursor=cursor)
            rows += more
        return rows

    def history_page(
        self, process_id: int, *, limit: int, cursor: str | None = None
    ) -> tuple[list[HistoryRow], str | None]:
        """One page of it: rows are numbered as they are written, so they come in their order."""
        where = {mm.OF_PROCESS: process_id}
        page = self._workspace.query(mm.HISTORY, where, limit=limit, cursor=cursor)
        return [_row(entity) for entity in page.items], page.cursor

    def page(
        self,
        workflow: str | None,
        started_by: str | None,
        *,
        is_all: bool,
        limit: int,
        cursor: str | None,
        hidden: Collection[str] = (),
    ) -> tuple[list[ProcessView], str | None]:
        """One page of processes, newest first."""
        where: dict[str, Any] = {} if is_all else {mm.ACTIVE: True}
        if started_by is not None:
            where[mm.STARTED_BY] = started_by
        if workflow is not None:
            where[mm.PROCESS_DEFINITION] = {"in": self._versions(workflow)}
        page = self._workspace.query(
            mm.PROCESS,
            where or None,
            order_by=_NEWEST_FIRST,
            limit=limit,
            cursor=cursor,
            hidden=hidden,
        )
        records = [self._records.record(entity) for entity in page.items]
        return views_of(self._workspace, records), page.cursor

    def _versions(self, workflow: str) -> list[int]:
        return [entity.entity_id for entity in self._definitions(workflow)]

    def _definitions(self, workflow: str) -> list[Entity]:
        return self._workspace.query(mm.DEFINITION, {mm.NAME: workflow}, limit=_PAGE).items

    def stats(self, machine: Machine) -> Stats:
        """Counts come from the index; times from a sample of the latest processes."""
        by_state: dict[str, int] = {}
        completed = 0
        if not mm.is_installed(self._workspace):
            return _no_stats(machine)
        for definition in self._definitions(machine.name):
            known = self._records.known_from(definition)
            for name, id in known.state_ids.items():
                count = self._workspace.count(mm.CURRENT_STATE, id)
                by_state[name] = by_state.get(name, 0) + count
                completed += count if known.machine.states[name].is_terminal else 0
        total = sum(by_state.values())
        seconds, sampled = self._seconds(machine.name)
        return Stats(
            workflow=machine.name,
            version=machine.version,
            total=total,
            active=total - completed,
            completed=completed,
            by_state=by_state,
            seconds_in_state=seconds,
            sampled=sampled,
        )

    def _seconds(self, workflow: str) -> tuple[dict[str, float], int]:
        where = {mm.PROCESS_DEFINITION: {"in": self._versions(workflow)}}
        page = self._workspace.query(mm.PROCESS, where, order_by=_NEWEST_FIRST, limit=_SAMPLED)
        spent: dict[str, list[float]] = {}
        for process in page.items:
            rows = [row for row in self.history(process.entity_id) if not _is_rest(row)]
            for row, following in pairwise(rows):
                took_us = clock.us_of_text(following.at) - clock.us_of_text(row.at)
                spent.setdefault(row.to, []).append(took_us / 1e6)
        means = {state: round(sum(each) / len(each), 3) for state, each in sorted(spent.items())}
        return means, len(page.items)


def _no_stats(machine: Machine) -> Stats:
    """Of a workflow of our own, in a workspace where nobody has needed it yet."""
    return Stats(
        workflow=machine.name,
        version=machine.version,
        total=0,
        active=0,
        completed=0,
        by_state=dict.fromkeys(machine.states, 0),
        seconds_in_state={},
        sampled=0,
    )


def _is_rest(row: HistoryRow) -> bool:
    """Whether the process stayed where it was, to rest or to go on."""
    return row.from_ == row.to and row.action in ("pause", "resume")


def _row(entity: Entity) -> HistoryRow:
    return HistoryRow(
        n=entity[mm.N],
        action=entity[mm.ACTION],
        from_=entity.get(mm.FROM),
        to=entity[mm.TO],
        actor=entity[mm.ACTOR],
        at=entity[mm.AT],
        reason=entity.get(mm.REASON),
        t=entity.t,
    )
