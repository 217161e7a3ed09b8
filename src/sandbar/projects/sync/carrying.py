"""Carrying out what the table says about files that have changed."""

from __future__ import annotations

import msgspec

from sandbar.errors import Problem
from sandbar.model import Entity
from sandbar.projects.sync.desk import MOVED, REASON, Desk
from sandbar.projects.sync.entities import Known
from sandbar.projects.sync.events import Kind
from sandbar.projects.sync.journal import Agreement
from sandbar.projects.sync.looking import Seen
from sandbar.projects.sync.pairing import Look
from sandbar.projects.sync.refusals import other_class
from sandbar.projects.sync.rewriting import Rewriting
from sandbar.projects.sync.table import Step, state_of, step_for
from sandbar.projects.sync.writing import Verdict, Wish, grant

_KINDS: dict[Step, Kind] = {"create": "created", "update": "updated", "revive": "survived"}


class _Job(msgspec.Struct):
    """A write to the workspace that is under way."""

    look: Look
    step: Step
    wish: Wish
    entity: Entity | None = None  # as it was before


class Carrying:
    """Lets entities say what their files say."""

    def __init__(self, desk: Desk, rewriting: Rewriting) -> None:
        self._desk = desk
        self._rewriting = rewriting
        self._failed: list[Look] = []
        self._has_progress = False

    def begin(self) -> None:
        """A round begins."""
        self._failed = []
        self._has_progress = False

    def carry(self, looks: list[Look], same: dict[str, tuple[Seen, bytes]]) -> None:
        """Act on files that have changed, and on those that have not."""
        jobs: list[_Job] = []
        for look in looks:
            try:
                job = self._act_on(look)
            except Problem as problem:
                self._refuse(look, problem)
                continue
            if job is not None:
                jobs.append(job)
        self._grant(jobs)
        for path, (seen, data) in same.items():
            self._desk.refusals.forget(path)
            self._rewriting.unchanged(path, seen, data)
        self._desk.flush()

    def retry(self) -> bool:
        """Try again what was refused, if something else went well; whether that made a change."""
        failed, self._failed = self._failed, []
        if not failed or not self._has_progress:
            return False
        self._has_progress = False
        self.carry(failed, {})
        return self._has_progress

    def _act_on(self, look: Look) -> _Job | None:
        """What a changed file needs: a write to the workspace, or something that is done here."""
        desk = self._desk
        agreement = desk.pairing.agreement(look.path)
        entity = None if look.entity is None else desk.entities.load(look.entity)
        t = None if entity is None else entity.t
        if desk.refusals.is_known(look, t):
            return None
        if look.problem is not None:
            raise look.problem
        assert look.stated is not None
        if entity is not None and look.stated.class_ != entity.class_:
            raise other_class(look.stated.class_, entity)
        file = state_of(look.seen.sha, agreement and agreement.sha)
        step = step_for(
            file, state_of(t, agreement and agreement.t), have_agreed=agreement is not None
        )
        if step == "nothing" and look.moved_from:
            step = "update"  # its ident goes along with it
        if step in ("update", "create", "revive"):
            wish = desk.wishing.wish(step, look, entity, agreement)
            if wish is not None:
                return _Job(look, step, wish, entity)
            assert entity is not None, "only an update can have nothing to do"
            desk.agree(look.path, entity, look.seen.sha)
            if look.moved_from:
                desk.told("renamed", look.path, entity, look.moved_from)
        elif step == "compare":
            assert entity is not None
            self._compare(look, entity, is_first=agreement is None)
        elif step in ("write", "throw-away"):
            self._rewriting.unchanged(look.path, look.seen, look.data)
        return None

    def _compare(self, look: Look, entity: Entity, *, is_first: bool) -> None:
        """Both have changed: they say the same, or the workspace's version gets the name."""
        wishing = self._desk.wishing
        if wishing.is_same(look, entity) or (is_first and wishing.is_made_of(look, entity)):
            self._desk.agree(look.path, entity, look.seen.sha)
        else:
            self._rewriting.replace(look.path, entity, expected=None)

    def _grant(self, jobs: list[_Job]) -> None:
        verdicts = grant(self._desk.db, [job.wish for job in jobs], REASON)
        agreements: list[Agreement] = []
        for job in jobs:
            verdict = verdicts[job.look.path]
            if verdict.problem is None:
                agreements += self._granted(job, verdict)
            elif verdict.problem.code == MOVED:
                self._desk.again_paths.add(job.look.path)
            else:
                self._refuse(job.look, verdict.problem)
                self._failed.append(job.look)
        self._desk.pairing.agree(agreements)
        self._desk.flush()

    def _granted(self, job: _Job, verdict: Verdict) -> list[Agreement]:
        look, outcome, desk = job.look, verdict.outcome, self._desk
        assert outcome is not None
        if job.step == "create" and not outcome.created:
            desk.again_paths.add(look.path)  # somebody has just made it, too
            return []
        is_changed = outcome.created or outcome.changed or job.entity is None
        t = verdict.t if is_changed or job.entity is None else job.entity.t
        self._has_progress = True
        desk.refusals.forget(look.path)
        desk.entities.note(outcome.entity_id, Known(t, outcome.ident))
        agreement = Agreement(look.path, outcome.entity_id, t, look.seen.sha, outcome.ident)
        if look.moved_from:
            desk.told("renamed", look.path, agreement, look.moved_from)
        elif is_changed:
            kind = _KINDS[job.step]
            reason = "it was deleted in the workspace" if kind == "survived" else None
            desk.told(kind, look.path, agreement, reason=reason)
        return [agreement]

    def _refuse(self, look: Look, problem: Problem) -> None:
        entity = None if look.entity is None else self._desk.entities.known.get(look.entity)
        self._desk.refusals.add(look, None if entity is None else entity.t, problem)
