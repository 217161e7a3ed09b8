"""The parts of a definition, in the one form in which it is kept.

These structs are the strict result of reading: whatever spelling a caller used, the keys here are
those that `workflow.find` shows.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sandbar.workflow.data_schemas import schema_of

Kind = Literal["success", "failure", "cancel"]

KINDS: tuple[Kind, ...] = ("success", "failure", "cancel")
BACKOFF_S = 1.0
NOT_STARTER = "not-starter"


class After(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A timer: so many seconds after the state is entered, the transition is made."""

    seconds: float
    transition: str


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One form that somebody has to fill in: a flat object schema, as MCP elicitation has it."""

    message: str
    schema: dict[str, Any]

    def check(self, answer: Any, at: str = "answer") -> list[dict[str, Any]]:
        """What is wrong with an answer to it."""
        return schema_of(msgspec.json.encode(self.schema)).check(answer, at)


class Input(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What a state waits to be told, and the transitions that the answers call for."""

    requests: dict[str, Request]
    accept: str
    decline: str | None = None
    by: tuple[str, ...] = ()  # who may answer: roles and principals, and `not-starter`


class State(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="kebab",
):
    """Where a process can stand. A terminal state has a kind: how a process ends there."""

    name: str
    label: str | None = None
    is_initial: bool = msgspec.field(default=False, name="initial?")
    is_terminal: bool = msgspec.field(default=False, name="terminal?")
    kind: Kind | None = msgspec.field(default=None, name="terminal-kind")
    metadata: Any = None
    activity: str | None = None
    timeout_s: float | None = msgspec.field(default=None, name="timeout")  # of one attempt
    retries: int = 0
    backoff_s: float = msgspec.field(default=BACKOFF_S, name="backoff")  # doubles every time
    on_error: str | None = None
    after: After | None = None
    input: Input | None = None
    is_cancellable: bool = msgspec.field(default=True, name="cancellable?")

    @property
    def is_driven(self) -> bool:
        """Whether a worker has something to do for a process that stands here."""
        return self.activity is not None or self.after is not None


class Move(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="kebab",
):
    """A transition as it is written: guard and effects are still data."""

    name: str
    from_: tuple[str, ...] = msgspec.field(name="from")
    to: str
    label: str | None = None
    guard: str | None = None
    requires_reason: bool = msgspec.field(default=False, name="requires-reason?")
    effects: tuple[dict[str, Any], ...] = ()
    handler: str | None = None


class Spec(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="kebab",
):
    """A definition that has passed every check; make one with `read_spec`."""

    name: str
    version: int | None = None
    description: str | None = None
    data_schema: dict[str, Any] | None = None
    is_cancellable: bool = msgspec.field(default=True, name="cancellable?")
    is_pausable: bool = msgspec.field(default=True, name="pausable?")
    states: tuple[State, ...]
    transitions: tuple[Move, ...] = ()
