"""`workflow.*`: state machines as data, and the processes that follow them."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from sandbar.access import (
    refuse_others_workflow,
    refuse_outside,
    refuse_reserved_workflow,
    remembered,
)
from sandbar.errors import Incorrect
from sandbar.verbs.base.answerers import unknown_answerers
from sandbar.verbs.base.workflow_shapes import (
    PARCEL,
    PROCESS_ALIASES,
    WORKFLOW_ALIASES,
    ActiveArguments,
    AnswerArguments,
    DefineArguments,
    DefinedAnswer,
    FindArguments,
    Found,
    HistoryAnswer,
    HistoryArguments,
    ProcessArguments,
    Processes,
    ReasonedArguments,
    StartArguments,
    StatsArguments,
    TransitionArguments,
)
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context
from sandbar.verbs.fields import Writing
from sandbar.verbs.paging import fitting
from sandbar.verbs.schemas import shown_fields
from sandbar.verbs.tasks import Started
from sandbar.workflow import (
    CALL,
    VALIDATION,
    Machine,
    ProcessView,
    Reply,
    Stats,
    diagram_of,
    internal_workflow,
)

_PROCESSES_DEFAULT = 20
_STEPS_DEFAULT = 200


def define(context: Context, arguments: DefineArguments) -> DefinedAnswer:
    """Make a definition or a new version of one."""
    members = {
        "name": arguments.name,
        "version": arguments.version,
        "description": arguments.description,
        "states": arguments.states,
        "transitions": arguments.transitions,
        "data-schema": arguments.data_schema,
        "cancellable?": arguments.cancellable,
        "pausable?": arguments.pausable,
    }
    given = {name: value for name, value in members.items() if value is not None}
    if arguments.spec is None and not given:
        raise Incorrect(
            "arguments.invalid",
            "a definition is missing",
            hint="give spec, or name, states and transitions",
        )
    spec = {**(arguments.spec or {}), **given}
    caller = context.db.caller
    name = str(spec.get("name", ""))
    refuse_reserved_workflow(caller, name)
    defined = context.workflows.define(
        spec,
        principal=caller.principal,
        caller=remembered(caller),
        reason=arguments.reason,
        idempotency_key=arguments.idempotency_key,
        admit=partial(refuse_others_workflow, caller),
    )
    machine = context.workflows.find(defined.workflow, defined.version)
    return DefinedAnswer(
        workflow=defined.workflow,
        version=defined.version,
        definition_id=defined.definition_id,
        created=defined.created,
        states=list(machine.states),
        warnings=[
            *msgspec.to_builtins(list(defined.warnings)),
            *unknown_answerers(context, machine),
        ],
    )


def find(context: Context, arguments: FindArguments) -> Found:
    """A definition, or the list of all."""
    if arguments.workflow is None:
        return Found(workflows=_summaries(context))
    machine: Machine = context.workflows.find(arguments.workflow, arguments.version)
    return Found(
        workflow=machine.name,
        version=machine.version,
        spec=context.workflows.spec(arguments.workflow, arguments.version),
        diagram=diagram_of(machine),
    )


def _summaries(context: Context) -> list[dict[str, Any]]:
    stored = context.workflows.definitions()
    if not stored:  # nobody has needed any yet, and looking writes nothing
        ours = context.workflows.spec(VALIDATION)
        return [{"workflow": VALIDATION, "version": 1, "description": ours["description"]}]
    return [
        {
            "workflow": entity.ident,
            "version": entity["workflow/version"],
            "description": entity.get("db/doc"),
        }
        for entity in stored
        if entity.ident != CALL  # nobody can start it
    ]


def start(context: Context, arguments: StartArguments) -> Started:
    """Begin a process."""
    if arguments.workflow.removeprefix(":") == CALL:
        raise internal_workflow(CALL)
    if arguments.subject is not None:
        context.db.get(arguments.subject)  # whoever may not see it may not start with it either
        if not context.db.sees_entity(arguments.subject, is_changed=True):
            raise refuse_outside("the subject")
    view = context.tasks.start(
        arguments.workflow,
        arguments.subject,
        arguments.data,
        reason=arguments.reason,
        idempotency_key=arguments.idempotency_key,
    )
    return context.tasks.started(view)


def _writing(arguments: Writing) -> dict[str, Any]:
    return {"reason": arguments.reason, "idempotency_key": arguments.idempotency_key}


def _resting(context: Context, arguments: Writing) -> dict[str, Any]:
    caller = context.db.caller
    return {"principal": caller.principal, "roles": caller.roles, **_writing(arguments)}


def transition(context: Context, arguments: TransitionArguments) -> ProcessView:
    """Move a process on."""
    return context.workflows.transition(
        context.tasks.process_named(arguments.process, is_changed=True),
        arguments.transition,
        context=arguments.context,
        data=arguments.data,
        expect_state=arguments.expect_state,
        **context.tasks.acting,
        **_writing(arguments),
    )


def process_state(context: Context, arguments: ProcessArguments) -> ProcessView:
    """Where a process stands."""
    id = context.tasks.process_named(arguments.process)
    caller = context.db.caller
    state = context.workflows.state(id, principal=caller.principal, roles=caller.roles)
    return context.tasks.visible(state)


def process_history(context: Context, arguments: HistoryArguments) -> HistoryAnswer:
    """What happened to a process."""
    id = context.tasks.process_named(arguments.process)
    context.tasks.visible(context.workflows.view(id))
    ask = partial(context.workflows.history_page, id, cursor=arguments.cursor)
    rows, cursor = ask(limit=arguments.limit or _STEPS_DEFAULT)
    if arguments.limit is None and fitting(rows) < len(rows):
        rows, cursor = ask(limit=fitting(rows))
    return HistoryAnswer(process_id=id, history=rows, cursor=cursor)


def active(context: Context, arguments: ActiveArguments) -> Processes:
    """The processes that run."""
    views, cursor = context.workflows.active(
        arguments.workflow,
        limit=arguments.limit or _PROCESSES_DEFAULT,
        cursor=arguments.cursor,
        are_calls_hidden=not context.db.caller.may("admin"),
    )
    return Processes(processes=list(filter(context.tasks.reaches, views)), cursor=cursor)


def stats(context: Context, arguments: StatsArguments) -> Stats:
    """How the processes of a workflow are doing."""
    if context.db.is_scoped:
        raise refuse_outside("the number of all processes")
    return context.workflows.stats(arguments.workflow)


def pause(context: Context, arguments: ReasonedArguments) -> ProcessView:
    """Let a process rest."""
    id = context.tasks.process_named(arguments.process, is_changed=True)
    return context.workflows.pause(id, **_resting(context, arguments))


def resume(context: Context, arguments: ReasonedArguments) -> ProcessView:
    """Let it go on."""
    id = context.tasks.process_named(arguments.process, is_changed=True)
    return context.workflows.resume(id, **_resting(context, arguments))


def answer(context: Context, arguments: AnswerArguments) -> ProcessView:
    """Tell a process what it asked."""
    id = context.tasks.process_named(arguments.process, is_changed=True)
    if arguments.action == "accept":
        replies = {key: Reply(content=told) for key, told in arguments.answers.items()}
    else:
        asked = arguments.answers or context.workflows.view(id).input
        replies = {key: Reply(arguments.action) for key in asked}
    return context.workflows.answer(
        id,
        replies,
        **context.tasks.acting,
        **_writing(arguments),
    )


VERBS = (
    Verb(
        name="workflow.define",
        title="Define a workflow",
        description="Define a state machine, or a new version of it; running processes keep "
        "theirs. All that is wrong is told at once. workflow.start-process begins one.",
        access="write",
        arguments=DefineArguments,
        result=DefinedAnswer,
        run=define,
        aliases={"cancellable?": "cancellable", "pausable?": "pausable"},
        input_schema=shown_fields(DefineArguments, "spec", "reason", "idempotency-key"),
        is_idempotent=True,
        examples=(Example("A parcel's way", {"spec": PARCEL}),),
    ),
    Verb(
        name="workflow.find",
        title="Find workflows",
        description="A workflow's definition with its diagram; without a name, a list of all. "
        "To begin one use workflow.start-process.",
        access="read",
        arguments=FindArguments,
        result=Found,
        run=find,
        aliases=WORKFLOW_ALIASES,
        examples=(
            Example("All of them", {}),
            Example("One with its diagram", {"workflow": "order/fulfillment"}),
        ),
    ),
    Verb(
        name="workflow.start-process",
        title="Start a process",
        description="Begin a process of a workflow, about a subject if there is one. Answers at "
        "once with a task handle; workflow.transition moves it on.",
        access="write",
        arguments=StartArguments,
        result=Started,
        run=start,
        aliases=WORKFLOW_ALIASES,
        starts_task=True,
        examples=(
            Example(
                "An order of boots",
                {
                    "workflow": "order/fulfillment",
                    "subject": "product/mud-lord",
                    "data": {"quantity": 2},
                },
            ),
        ),
    ),
    Verb(
        name="workflow.transition",
        title="Make a transition",
        description="Move a process on by the name of a transition; workflow.process-state lists "
        "what is possible now. What it asks: workflow.answer.",
        access="write",
        arguments=TransitionArguments,
        result=ProcessView,
        run=transition,
        aliases=PROCESS_ALIASES | {"name": "transition", "action": "transition"},
        examples=(Example("Confirm an order", {"process": "<process>", "transition": "confirm"}),),
    ),
    Verb(
        name="workflow.process-state",
        title="Look at a process",
        description="Where a process stands: state, data, progress, questions, the transitions "
        "that can be made now, and those blocked by a guard.",
        access="read",
        arguments=ProcessArguments,
        result=ProcessView,
        run=process_state,
        aliases=PROCESS_ALIASES,
        examples=(Example("By its id", {"process": "<process>"}),),
    ),
    Verb(
        name="workflow.process-history",
        title="History of a process",
        description="Every step of a process, oldest first: from, to, transition, who, why, when.",
        access="read",
        arguments=HistoryArguments,
        result=HistoryAnswer,
        run=process_history,
        aliases=PROCESS_ALIASES,
        examples=(Example("All steps", {"process": "<process>"}),),
    ),
    Verb(
        name="workflow.active-processes",
        title="List running processes",
        description="Processes that have not ended, newest first, of one workflow or of all. "
        "task.list shows only yours; workflow.stats only counts.",
        access="read",
        arguments=ActiveArguments,
        result=Processes,
        run=active,
        aliases=WORKFLOW_ALIASES,
        examples=(Example("Orders on their way", {"workflow": "order/fulfillment"}),),
    ),
    Verb(
        name="workflow.stats",
        title="Count processes",
        description="How many processes of a workflow are in each state, active and completed, "
        "and how long they stay in a state.",
        access="read",
        arguments=StatsArguments,
        result=Stats,
        run=stats,
        is_housekeeping=True,
        aliases=WORKFLOW_ALIASES,
        examples=(Example("Orders", {"workflow": "order/fulfillment"}),),
    ),
    Verb(
        name="workflow.pause",
        title="Pause a process",
        description="Let a process rest: activities stop at their checkpoint, timers wait, and "
        "only cancelling is possible until workflow.resume.",
        access="write",
        arguments=ReasonedArguments,
        result=ProcessView,
        run=pause,
        is_housekeeping=True,
        aliases=PROCESS_ALIASES,
        examples=(Example("Not today", {"process": "<process>", "reason": "stocktaking"}),),
    ),
    Verb(
        name="workflow.resume",
        title="Resume a process",
        description="Let a paused process go on from its checkpoint; a timer that would have "
        "fired meanwhile fires now.",
        access="write",
        arguments=ReasonedArguments,
        result=ProcessView,
        run=resume,
        is_housekeeping=True,
        aliases=PROCESS_ALIASES,
        examples=(Example("Go on", {"process": "<paused process>"}),),
    ),
    Verb(
        name="workflow.answer",
        title="Answer a process",
        description="Tell a process what it asks: input in workflow.process-state, and by whom. "
        "Once all is answered it moves on; decline and cancel go another way.",
        access="write",
        arguments=AnswerArguments,
        result=ProcessView,
        run=answer,
        aliases=PROCESS_ALIASES,
        examples=(
            Example(
                "Approve a refund",
                {"process": "<asking process>", "answers": {"answer": {"approve": True}}},
            ),
        ),
    ),
)
