"""`validation.*`: all instances of a class, looked at by a process that others can follow."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sandbar.access import protected_classes, refuse_outside
from sandbar.errors import Conflict, Interrupted
from sandbar.patience import current, limited
from sandbar.verbs.answers import Answer
from sandbar.verbs.base.workflow_shapes import PROCESS_ALIASES, ProcessArguments, ReasonedArguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import ClassName, Paged, Writing
from sandbar.verbs.paging import fitting
from sandbar.verbs.tasks import Started
from sandbar.workflow import (
    VALIDATION,
    Kind,
    ProcessView,
    Status,
    Tally,
    not_validated,
    require_validation,
    run_here,
    start_here,
    tally_of,
    validations,
)

_VALIDATIONS_DEFAULT = 20


class StartArguments(Writing, frozen=True, kw_only=True):
    """Which class, and why."""

    class_: ClassName = msgspec.field(name="class")


class HistoryArguments(Paged, frozen=True, kw_only=True):
    """Of which class; default all."""

    class_: ClassName | None = msgspec.field(name="class", default=None)


class Validation(Answer, frozen=True, kw_only=True):
    """A validation, without what it found."""

    process_id: int
    class_: str | None = msgspec.field(name="class")
    state: str
    status: Status
    kind: Kind | None = None
    total: int | None = None
    checked: int | None = None
    valid: int | None = None
    invalid: int | None = None
    run: int
    started_at: str
    started_by: str
    completed_at: str | None = None


class Results(Validation, frozen=True, kw_only=True):
    """What a validation has found, so far or in the end."""

    partial: Annotated[bool, Meta(description="not all instances were looked at (yet)")]
    errors: Annotated[
        list[dict[str, Any]], Meta(description="the first invalid entities, each with its errors")
    ]
    error: dict[str, Any] | None = None  # why it could not be finished


class History(Answer, frozen=True, kw_only=True):
    """Validations, newest first."""

    validations: list[Validation]
    cursor: str | None = None


def start(context: Context, arguments: StartArguments) -> Started:
    """Begin a validation in the background."""
    cls = _class_named(context, arguments.class_)
    key = arguments.idempotency_key
    return context.tasks.started(_started(context, cls, arguments.reason, key))


def run(context: Context, arguments: StartArguments) -> Results:
    """Validate while the caller waits."""
    cls = _class_named(context, arguments.class_)
    workflows = context.workflows
    key = arguments.idempotency_key
    workflows.ensure()  # so that beginning it finds everything in place
    view = start_here(workflows, lambda: _started(context, cls, arguments.reason, key))
    try:
        ended = run_here(workflows, view.process_id, context.progress)
    except Interrupted as problem:
        waiting = current()
        if waiting is not None and waiting.is_cancelled():
            raise
        raise _goes_on(context, view) from problem
    return _results(context, ended)


def _started(context: Context, cls: str, reason: str | None, key: str | None) -> ProcessView:
    data = {"class": cls, "requested-by": context.db.caller.principal}
    return context.tasks.start(VALIDATION, cls, data, reason=reason, idempotency_key=key)


def _class_named(context: Context, given: str) -> str:
    schema = context.db.schema()
    cls = schema.ident(given)
    if cls in protected_classes(schema):
        raise not_validated(cls)
    if not context.db.sees(cls):
        raise refuse_outside(cls)
    return cls


def _goes_on(context: Context, view: ProcessView) -> Interrupted:
    with limited(None):  # the time is up, and yet there is this to say
        handle = context.tasks.handle_of(view)
    return Interrupted(
        "validation.goes-on",
        f"process {view.process_id} takes longer than a call may, and goes on in the background",
        hint=f"validation.results {view.process_id} tells what it has found; next time "
        "validation.start",
        data={"process-id": view.process_id, "task-id": handle},
    )


def cancel(context: Context, arguments: ReasonedArguments) -> Results:
    """Stop a validation; what it has found stays."""
    view = _view(context, arguments.process)
    ended = context.workflows.cancel(
        view.process_id,
        **context.tasks.acting,
        reason=arguments.reason,
        run=view.run,
        idempotency_key=arguments.idempotency_key,
    )
    return _results(context, ended)


def retry(context: Context, arguments: ReasonedArguments) -> Started:
    """Validate once more, as another run of the same process."""
    view = _view(context, arguments.process)
    try:
        again = context.workflows.transition(
            view.process_id,
            "retry",
            **context.tasks.acting,
            reason=arguments.reason,
            idempotency_key=arguments.idempotency_key,
        )
    except Conflict as refusal:
        raise _not_retried(context, view.process_id, refusal) from None
    return context.tasks.started(again)


def _not_retried(context: Context, process_id: int, refusal: Conflict) -> Conflict:
    if refusal.code != "workflow.no-transition":
        return refusal
    has_ended = context.workflows.view(process_id).is_complete
    return Conflict(
        "workflow.no-transition",
        refusal.message,
        hint="validation.start begins another"
        if has_ended
        else "it still runs: validation.results shows how far it is",
        data=refusal.data,
    )


def results(context: Context, arguments: ProcessArguments) -> Results:
    """What a validation has found."""
    return _results(context, _view(context, arguments.process))


def history(context: Context, arguments: HistoryArguments) -> History:
    """The validations there have been."""
    given = arguments.class_
    cls = None if given is None else context.db.schema().ident(given)
    limit = arguments.limit or _VALIDATIONS_DEFAULT
    views, cursor = validations(context.workflows, cls, limit=limit, cursor=arguments.cursor)
    shown = [_summary(view) for view in views if context.tasks.reaches(view)]
    return History(validations=shown, cursor=cursor)


def _view(context: Context, given: int | str) -> ProcessView:
    """The process of a number, or of a handle at the run that the handle was made for."""
    if isinstance(given, int) or (given.isascii() and given.isdigit()):
        view = context.workflows.view(context.tasks.process_named(int(given)))
    else:
        view = context.tasks.find(given)
    require_validation(view)
    return view


def _summary(view: ProcessView) -> Validation:
    tally = None if view.result is None else msgspec.convert(view.result, Tally)
    return Validation(**_members(view, tally))


def _results(context: Context, view: ProcessView) -> Results:
    tally = tally_of(context.workflows, view)
    errors = [] if tally is None else msgspec.to_builtins(tally.errors)
    return Results(
        **_members(view, tally),
        partial=view.result is None,
        errors=errors[: fitting(errors)],
        error=view.error,
    )


def _members(view: ProcessView, tally: Tally | None) -> dict[str, Any]:
    """What is known of a validation; before the first look at instances that is little."""
    progress = view.progress or {}
    return {
        "process_id": view.process_id,
        # What it is about counts; that a process knows a class by name may be anybody's word.
        "class_": view.subject if isinstance(view.subject, str) else view.data.get("class"),
        "state": view.state,
        "status": view.status,
        "kind": view.kind,
        "total": progress.get("total") if tally is None else tally.total,
        "checked": progress.get("done") if tally is None else tally.checked,
        "valid": None if tally is None else tally.valid,
        "invalid": None if tally is None else tally.invalid,
        "run": view.run,
        "started_at": view.started_at,
        "started_by": view.started_by,
        "completed_at": view.completed_at,
    }


VERBS = (
    Verb(
        name="validation.start",
        title="Start a validation",
        description="Check all instances of a class in the background: answers at once with a "
        "task handle. validation.results shows what it finds, also while it runs.",
        access="write",
        arguments=StartArguments,
        result=Started,
        run=start,
        starts_task=True,
        examples=(Example("All footwear", {"class": "zorp/Footwear"}),),
    ),
    Verb(
        name="validation.run",
        title="Run a validation",
        description="Check all instances of a class and wait for the results, kept as a process. "
        "For many instances use validation.start; without a process class.validate-all-instances.",
        access="write",
        arguments=StartArguments,
        result=Results,
        run=run,
        is_long=True,
        examples=(Example("All boots", {"class": "zorp/Boot"}),),
    ),
    Verb(
        name="validation.cancel",
        title="Cancel a validation",
        description="Stop a validation that still runs; what it has found until then is kept.",
        access="write",
        arguments=ReasonedArguments,
        result=Results,
        run=cancel,
        aliases=PROCESS_ALIASES | {"validation-id": "process"},
        is_destructive=True,
        examples=(Example("No longer wanted", {"process": "<validation>", "reason": "too late"}),),
    ),
    Verb(
        name="validation.retry",
        title="Retry a validation",
        description="Run a validation that failed, or could not be finished, once more in the "
        "background: for instance after repairs. Answers with a new task handle.",
        access="write",
        arguments=ReasonedArguments,
        result=Started,
        run=retry,
        aliases=PROCESS_ALIASES | {"validation-id": "process"},
        starts_task=True,
        examples=(Example("After repairs", {"process": "<failed validation>"}),),
    ),
    Verb(
        name="validation.results",
        title="Results of a validation",
        description="What a validation has found: counts, and the first invalid entities with "
        "their errors. While it runs and after a cancellation these are partial.",
        access="read",
        arguments=ProcessArguments,
        result=Results,
        run=results,
        aliases=PROCESS_ALIASES | {"validation-id": "process"},
        examples=(Example("By its process", {"process": "<validation>"}),),
    ),
    Verb(
        name="validation.history",
        title="List validations",
        description="Validations of a class, or all, newest first, with their counts. "
        "validation.results shows the errors of one.",
        access="read",
        arguments=HistoryArguments,
        result=History,
        run=history,
        examples=(Example("Of all footwear", {"class": "zorp/Footwear"}),),
    ),
)
