"""The metamodel of workflows: data like any other, written into a workspace when first needed."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

from sandbar.model import Introspection, Operation, Workspace, definition_operations

DEFINITION = "workflow/Definition"
STATE = "workflow/State"
TRANSITION = "workflow/Transition"
PROCESS = "workflow/Process"
HISTORY = "workflow/History"
# A long call holds arguments and an answer that are its caller's own: with the namespace of access
# comes that only admins see it, whichever way they look.
CALL_PROCESS = "auth/Call"
PROCESSES = frozenset({PROCESS, CALL_PROCESS})

NAME = "workflow/name"
VERSION = "workflow/version"
SPEC = "workflow/spec"
STATES = "workflow/states"
TRANSITIONS = "workflow/transitions"
FINGERPRINT = "workflow/fingerprint"
INITIAL = "workflow/initial?"
TERMINAL = "workflow/terminal?"
TERMINAL_KIND = "workflow/terminal-kind"
ACTIVITY = "workflow/activity"
FROM_STATES = "workflow/from-states"
TO_STATE = "workflow/to-state"
GUARD = "workflow/guard"
REQUIRES_REASON = "workflow/requires-reason?"

PROCESS_DEFINITION = "workflow/definition"
CURRENT_STATE = "workflow/current-state"
ACTIVE = "workflow/active?"
SUBJECT = "workflow/subject"
DATA = "workflow/data"
STARTED_AT = "workflow/started-at"
STARTED_BY = "workflow/started-by"
ENTERED_AT = "workflow/entered-at"
COMPLETED_AT = "workflow/completed-at"
DUE_AT = "workflow/due-at"
TIMER_AT = "workflow/timer-at"
PAUSED = "workflow/paused?"
STEP = "workflow/step"
RUN = "workflow/run"
ATTEMPT = "workflow/attempt"
CRASHES = "workflow/crashes"
PROGRESS = "workflow/progress"
CHECKPOINT = "workflow/checkpoint"
ANSWERS = "workflow/answers"
RESULT = "workflow/result"
ERROR = "workflow/error"
CALLER = "workflow/caller"
PARENT = "workflow/parent"
DEPTH = "workflow/depth"
DESCENDANTS = "workflow/descendants"

OF_PROCESS = "workflow/process"
N = "workflow/n"
FROM = "workflow/from"
TO = "workflow/to"
ACTION = "workflow/action"
ACTOR = "workflow/actor"
REASON = "workflow/reason"
AT = "workflow/at"

SYSTEM = "sandbar"  # who acts when nobody else does: timers, activities


class _Definitions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    properties: dict[str, dict[str, Any]]
    classes: dict[str, dict[str, Any]]


_definitions = msgspec.json.decode(
    resources.files("sandbar.workflow").joinpath("system.json").read_bytes(), type=_Definitions
)
# What every workspace with workflows has: nobody exports or imports it.
OWN_DEFINITIONS = frozenset({*_definitions.properties, *_definitions.classes})


def workflow_definitions(schema: Introspection) -> list[Operation]:
    """What makes the classes of workflows, or leaves them as they are."""
    return definition_operations(schema, _definitions.properties, _definitions.classes)


def is_installed(workspace: Workspace) -> bool:
    """Whether the workspace knows what a process is."""
    schema = workspace.schema_at_hand()
    is_there = schema.derived("workflow.installed", lambda: CALL_PROCESS in schema.classes())
    return is_there or CALL_PROCESS in workspace.schema().classes()


def install_metamodel(workspace: Workspace) -> None:
    """Define the classes of workflows; a workspace that has them already stays as it is."""
    workspace.define(
        _definitions.properties,
        _definitions.classes,
        principal=SYSTEM,
        reason="the metamodel of workflows",
    )
