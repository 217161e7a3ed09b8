"""Definitions, compiled: what a process needs to know to take its next step."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from sandbar.model import Expression, compile_expression
from sandbar.workflow.data_schemas import DataSchema, schema_of
from sandbar.workflow.effects import Effect, effect_of
from sandbar.workflow.shapes import After, Input, Kind, Move, Request, Spec, State
from sandbar.workflow.soundness import GUARD_VARIABLES

__all__ = [
    "After",
    "Effect",
    "Input",
    "Kind",
    "Machine",
    "Request",
    "State",
    "Transition",
    "machine_of",
]

_MACHINES_KEPT = 256

# Made on import: msgspec crashes if several threads are the first to learn of nested structs.
_SPECS = msgspec.json.Decoder(Spec)


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """A way from some states to another, ready to be taken."""

    name: str
    from_: tuple[str, ...]
    to: str
    label: str | None = None
    guard: Expression | None = None
    requires_reason: bool = False
    effects: tuple[Effect, ...] = ()
    handler: str | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled definition; make one with `machine_of`."""

    name: str
    version: int
    description: str | None
    states: dict[str, State]  # in the order of the definition
    transitions: tuple[Transition, ...]
    initial: State
    is_cancellable: bool
    is_pausable: bool
    data_schema: DataSchema | None
    exits: dict[str, tuple[Transition, ...]]  # by the state that they leave

    def leaving(self, state_name: str) -> tuple[Transition, ...]:
        """The transitions that leave a state, in the order of the definition."""
        return self.exits[state_name]

    def find(self, state_name: str, transition_name: str) -> Transition | None:
        """The transition of that name that leaves that state."""
        for transition in self.exits[state_name]:
            if transition.name == transition_name:
                return transition
        return None

    def cancelling(self, state_name: str) -> list[Transition]:
        """The transitions that end a process in this state as cancelled."""
        return [way for way in self.exits[state_name] if self.is_cancelling(way)]

    def is_cancelling(self, transition: Transition) -> bool:
        """Whether it ends a process as cancelled."""
        return self.states[transition.to].kind == "cancel"

    def check_data(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """What the definition's schema finds wrong with the data of a process."""
        return [] if self.data_schema is None else self.data_schema.check(data, "data")


@lru_cache(maxsize=_MACHINES_KEPT)
def machine_of(spec_json: str) -> Machine:
    """The machine that a checked spec describes, as `canonical` wrote it."""
    spec = _SPECS.decode(spec_json)
    transitions = tuple(_transition_of(move) for move in spec.transitions)
    exits: dict[str, list[Transition]] = {state.name: [] for state in spec.states}
    for transition in transitions:
        for name in transition.from_:
            exits[name].append(transition)
    return Machine(
        name=spec.name,
        version=spec.version or 1,
        description=spec.description,
        states={state.name: state for state in spec.states},
        transitions=transitions,
        initial=next(state for state in spec.states if state.is_initial),
        is_cancellable=spec.is_cancellable,
        is_pausable=spec.is_pausable,
        data_schema=_data_schema_of(spec),
        exits={name: tuple(ways) for name, ways in exits.items()},
    )


def _data_schema_of(spec: Spec) -> DataSchema | None:
    return None if spec.data_schema is None else schema_of(msgspec.json.encode(spec.data_schema))


def _transition_of(move: Move) -> Transition:
    return Transition(
        name=move.name,
        from_=move.from_,
        to=move.to,
        label=move.label,
        guard=None if move.guard is None else compile_expression(move.guard, GUARD_VARIABLES),
        requires_reason=move.requires_reason,
        effects=tuple(effect_of(effect) for effect in move.effects),
        handler=move.handler,
    )
