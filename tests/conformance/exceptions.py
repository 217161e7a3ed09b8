"""Scenarios that are known to fail, each with its reason. Tasks only, until tasks exist."""

from __future__ import annotations

_NO_TASKS = "tasks come with workflows"

EXPECTED_FAILURES: dict[str, str] = dict.fromkeys(
    [
        "tasks-lifecycle",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-dispatch-and-envelope",
        "tasks-required-task-error",
        "tasks-mrtr-composition",
    ],
    _NO_TASKS,
)
