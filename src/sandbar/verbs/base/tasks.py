"""`task.*`: what the caller has begun, by its handle."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import Paged, Writing
from sandbar.verbs.tasks import Task

_TASKS_DEFAULT = 20
_ALIASES = {"taskId": "task-id", "task": "task-id", "handle": "task-id"}


class TaskArguments(Arguments, frozen=True, kw_only=True):
    """Which task."""

    task_id: Annotated[str, Meta(description="the handle that starting it answered")]


class CancelArguments(Writing, frozen=True, kw_only=True):
    """Which task to end, and why."""

    task_id: Annotated[str, Meta(description="the handle that starting it answered")]


class ListArguments(Paged, frozen=True, kw_only=True):
    """Which of the caller's tasks."""

    all: Annotated[bool, Meta(description="also those that have ended")] = False


class TaskList(Answer, frozen=True, kw_only=True):
    """Tasks, newest first."""

    tasks: list[Task]
    cursor: str | None = None


def get(context: Context, arguments: TaskArguments) -> Task:
    """How a task stands."""
    return context.tasks.shown(context.tasks.find(arguments.task_id))


def cancel(context: Context, arguments: CancelArguments) -> Task:
    """End a task."""
    process = context.tasks.find(arguments.task_id)
    view = context.workflows.cancel(
        process.process_id,
        **context.tasks.acting,
        reason=arguments.reason,
        run=process.run,
        idempotency_key=arguments.idempotency_key,
    )
    return context.tasks.shown(view)


def list_tasks(context: Context, arguments: ListArguments) -> TaskList:
    """The caller's tasks."""
    views, cursor = context.workflows.active(
        started_by=context.db.caller.principal,
        is_all=arguments.all,
        limit=arguments.limit or _TASKS_DEFAULT,
        cursor=arguments.cursor,
    )
    shown = [context.tasks.shown(view) for view in views if context.tasks.reaches(view)]
    return TaskList(tasks=shown, cursor=cursor)


VERBS = (
    Verb(
        name="task.get",
        title="Look at a task",
        description="How a task you started stands: status (pending, running, complete), state, "
        "progress, what it asks, and its result when it is complete.",
        access="read",
        arguments=TaskArguments,
        result=Task,
        run=get,
        aliases=_ALIASES,
        examples=(Example("Mine", {"task-id": "<task>"}),),
    ),
    Verb(
        name="task.list",
        title="List tasks",
        description="Tasks you started that still run, newest first; with all, also those that "
        "have ended. workflow.active-processes shows everybody's.",
        access="read",
        arguments=ListArguments,
        result=TaskList,
        run=list_tasks,
        examples=(Example("All of mine", {"all": True}),),
    ),
    Verb(
        name="task.cancel",
        title="Cancel a task",
        description="End a task that still runs. Refused if it has ended, or if its workflow does "
        "not allow it now. validation.cancel keeps partial results.",
        access="write",
        arguments=CancelArguments,
        result=Task,
        run=cancel,
        aliases=_ALIASES,
        is_destructive=True,
        examples=(Example("No longer wanted", {"task-id": "<task>"}),),
    ),
)
