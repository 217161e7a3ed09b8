"""Validation of all instances of a class: the activities of `validation/resource`.

Each instance is judged as it stands when its turn comes; what is made after the beginning is not
looked at. What was found so far is kept in the checkpoint, so it survives whoever does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sandbar import clock
from sandbar.errors import Conflict, Forbidden, NotFound
from sandbar.model import Introspection, Invalid, Judged, Walk, Workspace
from sandbar.workflow import metamodel as mm
from sandbar.workflow.built_in import VALIDATION
from sandbar.workflow.handlers import Activity, Outcome, Running
from sandbar.workflow.records import view_of
from sandbar.workflow.views import ProcessView
from sandbar.workflow.workflows import Workflows

INVALID_KEPT = 100  # with their errors; all are counted
_KEPT_BYTES = 20_000
_ERRORS_KEPT = 10  # of one instance

_PAGE_FIRST = 50
_PAGE_MAX = 400
_PAGE_S = 0.06  # that a page should take at most: a cancelled validation stops after a page
_SAVE_EVERY_S = 0.7

Hidden = Callable[[Introspection], frozenset[str]]


class Tally(msgspec.Struct, kw_only=True, rename="kebab"):
    """What a validation has found so far, or in the end."""

    class_: str = msgspec.field(name="class")
    total: int  # how many there are to be looked at
    checked: int = 0
    valid: int = 0
    invalid: int = 0
    errors: list[Invalid] = msgspec.field(default_factory=list)  # the first ones
    walk: Walk | None = None  # where to go on
    started_at: str | None = None
    completed_at: str | None = None

    def take(self, page: Judged) -> None:
        """Count one more page."""
        self.checked += page.checked
        self.invalid += len(page.invalid)
        self.valid = self.checked - self.invalid
        self.walk = page.rest
        room = INVALID_KEPT - len(self.errors)
        if room > 0 and page.invalid:
            self.errors = _fitting([*self.errors, *map(_shortened, page.invalid[:room])])

    def said(self) -> str:
        """The same in a few words."""
        return f"{self.checked} of {self.total} looked at, {self.invalid} invalid"


def _shortened(one: Invalid) -> Invalid:
    return msgspec.structs.replace(one, errors=one.errors[:_ERRORS_KEPT])


def _fitting(errors: list[Invalid]) -> list[Invalid]:
    room = _KEPT_BYTES
    for at, one in enumerate(errors):
        room -= len(msgspec.json.encode(one))
        if room < 0:
            return errors[: max(at, 1)]
    return errors


def validation_activities(hidden: Hidden) -> Mapping[str, Activity]:
    """The code of our workflow; whatever is hidden is not looked at, whoever asks for it.

    Everybody in a workspace can read what a process has found.
    """
    return {
        "validation/begin": lambda job: _begin(job, hidden),
        "validation/run": lambda job: _run(job, hidden),
    }


def _begin(job: Running, hidden: Hidden) -> Outcome:
    """Make sure that there is something to look at."""
    schema = job.workspace.schema()
    cls = _class_of(job.process, schema)
    kept_back = hidden(schema)
    if cls in kept_back:
        raise not_validated(cls)
    total = job.workspace.instance_count(cls, hidden=kept_back)
    found = {"checked": 0, "valid": 0, "invalid": 0, "completed-at": None}  # also of a retry
    began = {"class": cls, "total": total, "started-at": _now()}
    return Outcome("start", data=began | found)


def _run(job: Running, hidden: Hidden) -> Outcome:
    """Look at all instances, from where somebody before us has come."""
    tally = _tally_of(job)
    saved_s = 0.0  # the first page is kept at once: there is something to show from then on
    limit = _PAGE_FIRST
    while True:
        job.check()
        began_s = clock.monotonic_s()
        schema = job.workspace.schema()
        page = job.workspace.judged(
            _class_of(job.process, schema), tally.walk, limit=limit, hidden=hidden(schema)
        )
        tally.take(page)
        if page.rest is None:
            break
        limit = _next_limit(limit, clock.monotonic_s() - began_s)
        if clock.monotonic_s() - saved_s >= _SAVE_EVERY_S:
            job.save(msgspec.to_builtins(tally))
            saved_s = clock.monotonic_s()
        job.progress(tally.checked, max(tally.total, tally.checked), tally.said())
    tally.total = tally.checked  # those that have gone meanwhile are not missed
    tally.completed_at = _now()
    job.progress(tally.checked, tally.total, tally.said())
    result = msgspec.to_builtins(tally)
    del result["walk"]
    counts = {name: value for name, value in result.items() if name != "errors"}
    return Outcome("fail" if tally.invalid else "pass", data=counts, result=result)


def _next_limit(limit: int, took_s: float) -> int:
    """Instances may be large or small, and the machine busy: the time counts, not the number."""
    if took_s > _PAGE_S:
        return max(limit // 2, 1)
    return min(limit * 2, _PAGE_MAX) if took_s < _PAGE_S / 3 else limit


def _tally_of(job: Running) -> Tally:
    if job.checkpoint is not None:
        return msgspec.convert(job.checkpoint, Tally)
    data = job.data
    return Tally(class_=data["class"], total=data["total"], started_at=data["started-at"])


def _class_of(process: ProcessView, schema: Introspection) -> str:
    subject = process.subject
    if not isinstance(subject, str) or subject not in schema.classes():
        raise Conflict(
            "validation.no-class",
            f"process {process.process_id} is about no class whose instances could be looked at",
            hint="validation.start takes the class",
        )
    return subject


def not_validated(cls: str) -> Forbidden:
    """What belongs to signing in is not looked at where everybody sees what is found."""
    return Forbidden(
        "validation.protected",
        f"instances of {cls} are not validated by a process that others can read",
        hint="an admin can call class.validate-all-instances",
    )


def _now() -> str:
    return clock.instant_text(clock.now_us())


# --- what was found --------------------------------------------------------------------------


def require_validation(view: ProcessView) -> None:
    """Refuse a process that validates nothing."""
    if view.workflow != VALIDATION:
        raise NotFound(
            "validation.unknown",
            f"process {view.process_id} is no validation",
            hint="validation.history lists them",
        )


def tally_of(workflows: Workflows, view: ProcessView) -> Tally | None:
    """What a validation has found: in the end, so far, or until it was stopped."""
    kept = view.result
    if kept is None:
        as_of = None if not view.is_complete else _before_end(workflows, view)
        record = workflows.records.read(view.process_id, as_of=as_of)
        kept = record.entity.get(mm.CHECKPOINT)
    return None if kept is None else msgspec.convert(kept, Tally)


def _before_end(workflows: Workflows, view: ProcessView) -> int | None:
    """The last moment before the process came into its present state; unless that was purged."""
    rows = workflows.history(view.process_id)
    return next((row.t - 1 for row in rows if row.n == view.step), None)


def validations(
    workflows: Workflows, class_: str | None, *, limit: int, cursor: str | None
) -> tuple[list[ProcessView], str | None]:
    """One page of the validations of a class or of all, newest first."""
    workspace: Workspace = workflows.workspace
    if not mm.is_installed(workspace):
        return [], None
    versions = workspace.query(mm.DEFINITION, {mm.NAME: VALIDATION}, limit=1000).items
    where: dict[str, Any] = {mm.PROCESS_DEFINITION: {"in": [one.entity_id for one in versions]}}
    if class_ is not None:
        where[mm.SUBJECT] = class_
    page = workspace.query(
        mm.PROCESS, where, order_by=f"-{mm.STARTED_AT}", limit=limit, cursor=cursor
    )
    views = [view_of(workflows.records.record(entity)) for entity in page.items]
    return views, page.cursor
