"""Entities whose files were deleted."""

from __future__ import annotations

from sandbar.errors import Problem
from sandbar.projects.sync.desk import MOVED, REASON, Desk
from sandbar.projects.sync.events import Event
from sandbar.projects.sync.rewriting import Rewriting
from sandbar.projects.sync.table import state_of, step_for
from sandbar.projects.sync.writing import Wish, grant


class Deleting:
    """Deletes them, or brings the files back."""

    def __init__(self, desk: Desk, rewriting: Rewriting) -> None:
        self._desk = desk
        self._rewriting = rewriting

    def carry(self, paths: list[str]) -> None:
        """Act on files that were deleted."""
        desk = self._desk
        wishes: list[Wish] = []
        for path in paths:
            agreement = desk.pairing.agreement(path)
            assert agreement is not None
            entity = desk.entities.load(agreement.entity)
            t = None if entity is None else entity.t
            step = step_for("absent", state_of(t, agreement.t), have_agreed=True)
            if step == "delete":
                wishes.append(desk.wishing.deletion(agreement))
                continue
            desk.pairing.agree((), [path])
            if entity is not None and self._rewriting.write_new(path, entity):
                reason = "it was deleted here, but has changed in the workspace"
                desk.told("survived", path, entity, reason=reason)
        self._delete(wishes)

    def _delete(self, wishes: list[Wish]) -> None:
        problems: dict[str, Problem] = {}
        while wishes:
            verdicts = grant(self._desk.db, wishes, REASON)
            gone = [path for path, verdict in verdicts.items() if verdict.problem is None]
            self._deleted(gone)
            problems = {p: v.problem for p, v in verdicts.items() if v.problem is not None}
            # What refers to one that is refused may be among those that are gone now.
            wishes = [wish for wish in wishes if wish.path in problems] if gone else []
        if len(problems) > 1 and self._delete_together(list(problems)):
            return
        for path, problem in problems.items():
            self._bring_back(path, problem)

    def _delete_together(self, paths: list[str]) -> bool:
        """Delete entities that only refer to each other; whether that was all."""
        desk = self._desk
        agreements = [one for path in paths if (one := desk.pairing.agreement(path)) is not None]
        if any(desk.entities.load(one.entity) is None for one in agreements):
            return False
        wish = desk.wishing.joint_deletion(agreements)
        if grant(desk.db, [wish], REASON)[wish.path].problem is not None:
            return False
        self._deleted(paths)
        return True

    def _deleted(self, paths: list[str]) -> None:
        for path in paths:
            agreement = self._desk.pairing.agreement(path)
            assert agreement is not None
            self._desk.entities.note(agreement.entity, None)
            self._desk.told("deleted", path, agreement)
        self._desk.pairing.agree((), paths)
        self._desk.flush()

    def _bring_back(self, path: str, problem: Problem) -> None:
        desk = self._desk
        agreement = desk.pairing.agreement(path)
        assert agreement is not None
        entity = desk.entities.load(agreement.entity)
        if problem.code == MOVED or entity is None:
            return  # the file is still missing: it is looked at again
        desk.pairing.agree((), [path])
        if self._rewriting.write_new(path, entity):
            desk.tell(
                Event(
                    kind="returned",
                    path=path,
                    entity=entity.ident or str(entity.entity_id),
                    code=problem.code,
                    reason=problem.message,
                    hint="delete what refers to it first",
                )
            )
