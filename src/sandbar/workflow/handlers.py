"""What code brings to workflows: activities that run by themselves, and effects of transitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from sandbar.model import Entity, Written
from sandbar.workflow.acting import View
from sandbar.workflow.views import ProcessView


class Outcome(msgspec.Struct, frozen=True):
    """How an activity ended: the transition that it calls for, and what it leaves behind."""

    transition: str
    data: dict[str, Any] = {}  # merged into the process's data
    result: Any = None
    error: dict[str, Any] | None = None  # what went wrong, of an activity that says so itself


class Running(Protocol):
    """The side of a running activity that its code sees; `jobs.Job` is one."""

    process: ProcessView
    caller: dict[str, Any] | None  # in whose name the process was started
    checkpoint: Any  # what was saved before the activity was interrupted, if it was

    @property
    def workspace(self) -> View:
        """Where to read: as the starter sees it now, within what the definer does."""

    @property
    def data(self) -> dict[str, Any]:
        """What the process knows."""

    @property
    def answers(self) -> dict[str, Any]:
        """What it was told, by the keys of the questions."""

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work has come; told often, it is written now and then."""

    def save(self, checkpoint: Any) -> None:
        """From where to go on if the work is interrupted from now on."""

    def transact(self, operations: Sequence[Any], *, checkpoint: Any = None) -> Written:
        """Write something, and a checkpoint with it: both or neither, and only while we hold on."""

    def check(self) -> None:
        """Go on only while this is still ours to do: not cancelled, not late, not taken over."""


Activity = Callable[[Running], Outcome]


class Happening(Protocol):
    """A transition that is being made, as the code of an effect sees it."""

    process: ProcessView
    transition: str
    actor: str
    reason: str | None
    context: Mapping[str, Any]

    def get(self, entity: Any) -> Entity:
        """Read an entity as the open transaction sees it."""

    def transact(self, operations: Sequence[Any]) -> Written:
        """Write as part of the transition: if anything fails, nothing of it has happened."""


EffectHandler = Callable[[Happening], None]


class Handlers(msgspec.Struct, frozen=True):
    """Code by the names that definitions call it by."""

    activities: Mapping[str, Activity] = {}
    effects: Mapping[str, EffectHandler] = {}
