"""The two handlers of seed 002: `start-task!` there is `context.start_task` here.

One answers with what it started, as tools of packs should: then clients that know tasks of the
protocol get one. The other answers in its own words, exactly as printed.
"""

from __future__ import annotations

import msgspec

from sandbar import clock
from sandbar.errors import NotFound
from sandbar.verbs.catalogue import Verb
from sandbar.verbs.content import Content, Text
from sandbar.verbs.context import Context
from sandbar.verbs.tasks import Started
from sandbar.workflow import Activity, Outcome, Running

BRAKE = "bulk/brake"  # a validation waits while there is an entity of this name
_WAIT_S = 0.02
_PAGE = 50


class BulkValidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which class."""

    class_: str = msgspec.field(name="class")


class ExportAll(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to export."""

    scope: str


def bulk_validate(context: Context, arguments: BulkValidate) -> Started:
    """`handle-bulk-validate`."""
    started = context.start_task(
        "validation/all-instances",
        arguments.class_,
        {"requested-by": context.db.caller.principal},
    )
    return msgspec.structs.replace(started, hint=f"Validation started. Task: {started.task_id}")


def export_all(context: Context, arguments: ExportAll) -> Content:
    """`handle-export-all`."""
    now = clock.instant_text(clock.now_us())
    started = context.start_task(
        "export/all-memories", arguments.scope, {"format": "markdown", "requested-at": now}
    )
    words = (
        f"Exporting {arguments.scope} memories to markdown.\n"
        f'Track progress: tasks/get {{ taskId: "{started.task_id}" }}'
    )
    return Content([Text(words)], structured={"task-id": started.task_id})


def _validate(job: Running) -> Outcome:
    """The long operation itself."""
    while _is_braked(job):
        job.check()
        clock.pause_s(_WAIT_S)
    checked, failures, walk, is_done = 0, 0, None, False
    while not is_done:
        job.check()
        page = job.workspace.judged(job.process.subject, walk, limit=_PAGE)
        checked, failures = checked + page.checked, failures + len(page.invalid)
        walk, is_done = page.rest, page.rest is None
        job.progress(checked)
    found = {"instances-validated": checked, "failures": failures}
    return Outcome("fail" if failures else "pass", data=found)


def _is_braked(job: Running) -> bool:
    try:
        job.workspace.get(BRAKE)
    except NotFound:
        return False
    return True


ACTIVITIES: dict[str, Activity] = {"bulk/validate": _validate}


VERBS = (
    Verb(
        name="bulk_validate",
        title="Validate in bulk",
        description="Validates all instances of a class; long-running for large hierarchies.",
        access="write",
        arguments=BulkValidate,
        result=Started,
        run=bulk_validate,
        is_exact=True,
        starts_task=True,
    ),
    Verb(
        name="export_all",
        title="Export everything",
        description="Exports every memory to Markdown; long-running.",
        access="write",
        arguments=ExportAll,
        result=Content,
        run=export_all,
        is_exact=True,
    ),
)
