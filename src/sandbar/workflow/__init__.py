"""Workflows: state machines as data, processes that follow them, workers that drive them."""

from sandbar.workflow.answering import Reply
from sandbar.workflow.built_in import CALL, VALIDATION, internal_workflow
from sandbar.workflow.defining import Defined
from sandbar.workflow.diagrams import diagram_of, outline_of
from sandbar.workflow.foreground import run_here, start_here
from sandbar.workflow.handlers import Activity, EffectHandler, Handlers, Happening, Outcome, Running
from sandbar.workflow.handles import Handles, unknown_task
from sandbar.workflow.jobs import told
from sandbar.workflow.machines import Machine
from sandbar.workflow.metamodel import (
    CALLER,
    DEFINITION,
    HISTORY,
    OWN_DEFINITIONS,
    PROCESS,
    PROCESSES,
    SUBJECT,
    install_metamodel,
    workflow_definitions,
)
from sandbar.workflow.records import unknown_process
from sandbar.workflow.shapes import NOT_STARTER
from sandbar.workflow.specs import canonical, read_spec
from sandbar.workflow.validating import (
    Tally,
    not_validated,
    require_validation,
    tally_of,
    validation_activities,
    validations,
)
from sandbar.workflow.views import HistoryRow, Kind, ProcessView, Question, Stats, Status
from sandbar.workflow.worker import Worker
from sandbar.workflow.workflows import Workflows

__all__ = [
    "CALL",
    "CALLER",
    "DEFINITION",
    "HISTORY",
    "NOT_STARTER",
    "OWN_DEFINITIONS",
    "PROCESS",
    "PROCESSES",
    "SUBJECT",
    "VALIDATION",
    "Activity",
    "Defined",
    "EffectHandler",
    "Handlers",
    "Handles",
    "Happening",
    "HistoryRow",
    "Kind",
    "Machine",
    "Outcome",
    "ProcessView",
    "Question",
    "Reply",
    "Running",
    "Stats",
    "Status",
    "Tally",
    "Worker",
    "Workflows",
    "canonical",
    "diagram_of",
    "install_metamodel",
    "internal_workflow",
    "not_validated",
    "outline_of",
    "read_spec",
    "require_validation",
    "run_here",
    "start_here",
    "tally_of",
    "told",
    "unknown_process",
    "unknown_task",
    "validation_activities",
    "validations",
    "workflow_definitions",
]
