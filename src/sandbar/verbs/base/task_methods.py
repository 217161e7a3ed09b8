"""What a protocol that knows tasks asks of them: the verbs of tasks, by the handle alone."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.errors import Forbidden
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.base import tasks
from sandbar.verbs.catalogue import Permission, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.tasks import Task, replies_in
from sandbar.workflow import CALL


class AnswerArguments(Arguments, frozen=True, kw_only=True):
    """A task, and what is answered to its questions: action and content of each."""

    task_id: str
    answers: dict[str, Any]


class ReplyArguments(Arguments, frozen=True, kw_only=True):
    """A process, and what is answered to its questions."""

    process: int
    answers: dict[str, Any]


def give_up(context: Context, arguments: tasks.TaskArguments) -> Task:
    """End a task, for its own starter."""
    process, caller = context.tasks.find(arguments.task_id), context.db.caller
    if process.workflow != CALL:  # whoever may make a call may also give it up
        _must_write(context)
    view = context.workflows.cancel(
        process.process_id,
        **context.tasks.acting,
        run=process.run,
        wordless=f"cancelled by {caller.principal}",
    )
    return context.tasks.shown(view)


def answer(context: Context, arguments: AnswerArguments) -> None:
    """Tell a task what it asked; keys that it did not ask are ignored."""
    process = context.tasks.find(arguments.task_id)
    _must_write(context)
    replies = replies_in(arguments.answers, process.input)
    if replies:
        context.workflows.answer(process.process_id, replies, **context.tasks.acting)


def reply(context: Context, arguments: ReplyArguments) -> None:
    """Tell a process what its client's user said to its questions."""
    workflows = context.workflows
    id = context.tasks.process_named(arguments.process, is_changed=True)
    replies = replies_in(arguments.answers, workflows.view(id).input)
    workflows.answer(id, replies, **context.tasks.acting)


def _must_write(context: Context) -> None:
    """Refuse whoever may look at tasks, but not change them."""
    caller = context.db.caller
    if not caller.rights.may_call("task", "task.cancel", "write"):
        raise Forbidden(
            "task.forbidden",
            f"a {caller.role} may not cancel or answer tasks",
            hint="it takes write access; ask an admin for another role",
        )


_GET, _LIST, _CANCEL = tasks.VERBS
# What a protocol that knows tasks makes of them. A key that may begin a task has to follow it, so
# the handle is right enough; nobody calls these by a name.
TASK_METHODS: dict[str, Verb] = {
    "get": msgspec.structs.replace(_GET, is_open=True),
    "list": msgspec.structs.replace(_LIST, is_open=True),
    "cancel": msgspec.structs.replace(
        _CANCEL, is_open=True, arguments=tasks.TaskArguments, run=give_up
    ),
    "answer": msgspec.structs.replace(
        _CANCEL, name="task.answer", is_open=True, arguments=AnswerArguments, run=answer
    ),
    "reply": msgspec.structs.replace(
        _CANCEL,
        name="workflow.answer",
        group="workflow",
        permission=Permission("workflow", "workflow.answer", "write"),
        arguments=ReplyArguments,
        run=reply,
    ),
}
