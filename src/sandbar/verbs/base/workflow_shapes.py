"""What the verbs `workflow.*` take and answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.fields import EntityName, Paged, Writing
from sandbar.workflow import HistoryRow, ProcessView

WORKFLOW_ALIASES = {"name": "workflow", "ident": "workflow", "definition": "workflow"}
PROCESS_ALIASES = {
    "id": "process",
    "process-id": "process",
    "task-id": "process",
    "taskId": "process",
}

# An example of a definition.
PARCEL = {
    "name": "parcel/delivery",
    "states": [
        {"name": "parcel/packed", "initial?": True},
        {"name": "parcel/delivered", "terminal?": True, "terminal-kind": "success"},
        {"name": "parcel/lost", "terminal?": True, "terminal-kind": "failure"},
    ],
    "transitions": [
        {"name": "deliver", "from": "parcel/packed", "to": "parcel/delivered"},
        {
            "name": "lose",
            "from": "parcel/packed",
            "to": "parcel/lost",
            "requires-reason?": True,
        },
    ],
}

WorkflowName: TypeAlias = Annotated[str, Meta(description="e.g. order/fulfillment")]
ProcessName: TypeAlias = Annotated[int | str, Meta(description="id or task handle")]


class DefineArguments(Writing, frozen=True, kw_only=True):
    """A definition, whole or by its members."""

    spec: Annotated[
        dict[str, Any] | None,
        Meta(
            description="{name, states, transitions: [{name, from, to, guard, effects}]}",
            extra_json_schema={
                "properties": {
                    "states": {
                        "description": "[{name, initial?, terminal?, terminal-kind: "
                        "success|failure|cancel, after: {seconds, transition}, activity, "
                        "input: {message, schema, accept, decline}}]"
                    }
                }
            },
        ),
    ] = None
    name: Annotated[str | None, Meta(description="or without spec: ns/name")] = None
    version: Annotated[int | None, Meta(description="default: the next")] = None
    description: Annotated[str | None, Meta(description="what it is for")] = None
    states: Annotated[list[dict[str, Any]] | None, Meta(description="as in spec")] = None
    transitions: Annotated[list[dict[str, Any]] | None, Meta(description="as in spec")] = None
    data_schema: Annotated[dict[str, Any] | None, Meta(description="of process data")] = None
    cancellable: Annotated[bool | None, Meta(description="default: true")] = None
    pausable: Annotated[bool | None, Meta(description="default: true")] = None


class DefinedAnswer(Answer, frozen=True, kw_only=True):
    """The definition as it stands; `created` is false if it was the same before."""

    workflow: str
    version: int
    definition_id: int
    created: bool
    states: list[str]
    warnings: list[dict[str, str]] = msgspec.field(default_factory=list)  # what is not there yet


class FindArguments(Arguments, frozen=True, kw_only=True):
    """Which workflow; without a name all are listed."""

    workflow: WorkflowName | None = None
    version: Annotated[int | None, Meta(description="default: the current one")] = None


class Found(Answer, frozen=True, kw_only=True):
    """A definition with its diagram, or the names of all."""

    workflow: str | None = None
    version: int | None = None
    spec: dict[str, Any] | None = None
    diagram: str | None = None
    workflows: list[dict[str, Any]] = msgspec.field(default_factory=list)


class StartArguments(Writing, frozen=True, kw_only=True):
    """What to begin, about what."""

    workflow: WorkflowName
    subject: EntityName | None = None
    data: Annotated[dict[str, Any], Meta(description="what the process knows from the start")] = (
        msgspec.field(default_factory=dict)
    )


class TransitionArguments(Writing, frozen=True, kw_only=True):
    """Which way to go on."""

    process: ProcessName
    transition: Annotated[str, Meta(description="its name")]
    context: Annotated[dict[str, Any], Meta(description="what guards and effects may read")] = (
        msgspec.field(default_factory=dict)
    )
    data: Annotated[dict[str, Any], Meta(description="merged into the process's data")] = (
        msgspec.field(default_factory=dict)
    )
    expect_state: Annotated[str | None, Meta(description="refuse if it is in another")] = None


class ProcessArguments(Arguments, frozen=True, kw_only=True):
    """Which process."""

    process: ProcessName


class ReasonedArguments(Writing, frozen=True, kw_only=True):
    """Which process, and why."""

    process: ProcessName


class AnswerArguments(ReasonedArguments, frozen=True, kw_only=True):
    """What to tell a process."""

    answers: Annotated[
        dict[str, Any], Meta(description="by key of the question: an object of its schema")
    ] = msgspec.field(default_factory=dict)
    action: Annotated[
        Literal["accept", "decline", "cancel"], Meta(description="default: accept")
    ] = "accept"


class HistoryArguments(Paged, frozen=True, kw_only=True):
    """Which process."""

    process: ProcessName


class HistoryAnswer(Answer, frozen=True, kw_only=True):
    """The steps of a process, oldest first."""

    process_id: int
    history: list[HistoryRow]
    cursor: str | None = None


class ActiveArguments(Paged, frozen=True, kw_only=True):
    """Of which workflow; default all."""

    workflow: WorkflowName | None = None


class Processes(Answer, frozen=True, kw_only=True):
    """Processes that have not ended, newest first."""

    processes: list[ProcessView]
    cursor: str | None = None


class StatsArguments(Arguments, frozen=True, kw_only=True):
    """Which workflow."""

    workflow: WorkflowName
