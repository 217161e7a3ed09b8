"""Processes as they are shown."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Status = Literal["pending", "running", "complete"]
Kind = Literal["success", "failure", "cancel"]


class Question(msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True):
    """Something that a process waits to be told."""

    message: str
    schema: dict[str, Any]
    by: tuple[str, ...] = ()  # roles and principals who may answer, and `not-starter`


class ProcessView(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """A process as it stands at one moment."""

    process_id: int
    workflow: str
    version: int
    state: str
    status: Status
    kind: Kind | None = None
    label: str | None = None
    paused: bool = False
    over_budget: bool = False  # it waits until the budget of its workspace has room
    subject: int | str | None = None
    data: dict[str, Any] = {}
    progress: dict[str, Any] | None = None
    result: Any = None
    error: dict[str, Any] | None = None
    input: dict[str, Question] = {}  # what is asked, by the key to answer under
    transitions: list[str] | None = None  # that could be made now; None: nobody has looked
    blocked: dict[str, str] = {}  # the others that leave the state, and what they demand
    started_at: str
    started_by: str
    updated_at: str
    completed_at: str | None = None
    timer_at: str | None = None
    step: int = 0
    run: int = 1
    attempt: int = 0
    parent: int | None = None
    t: int

    @property
    def is_complete(self) -> bool:
        """Whether it has ended."""
        return self.kind is not None


class HistoryRow(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """One step of a process."""

    n: int
    action: str
    from_: str | None = msgspec.field(default=None, name="from")
    to: str
    actor: str
    at: str
    reason: str | None = None
    t: int


class Stats(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """How the processes of a workflow are doing."""

    workflow: str
    version: int
    total: int
    active: int
    completed: int
    by_state: dict[str, int]
    seconds_in_state: dict[str, float]  # on average, over the latest processes
    sampled: int
