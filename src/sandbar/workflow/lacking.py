"""What a definition names that is not there yet: code, classes, slots, other workflows.

None of it makes a definition wrong, because what is lacking may come later, with a pack. Nor do
transitions that no one can make because their state asks: older definitions may have them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from sandbar.model import Introspection
from sandbar.suggestions import did_you_mean
from sandbar.workflow.handlers import Handlers
from sandbar.workflow.shapes import Spec, State

WARNINGS_MAX = 50


class Warned(msgspec.Struct, frozen=True):
    """Something that will not work as things stand, and where the definition asks for it."""

    at: str
    message: str


def lacking(
    spec: Spec, handlers: Handlers, schema: Introspection, is_workflow: Callable[[str], bool]
) -> list[Warned]:
    """What the definition names and nobody knows now."""
    found: list[Warned] = []
    looked = _Looked(handlers, schema, lambda name: name == spec.name or is_workflow(name))
    for warned in looked.at(spec):
        if len(found) == WARNINGS_MAX:
            break
        found.append(warned)
    return found


class _Looked:
    def __init__(
        self, handlers: Handlers, schema: Introspection, is_workflow: Callable[[str], bool]
    ) -> None:
        self._handlers = handlers
        self._classes = frozenset(schema.classes())
        self._slots = frozenset(schema.properties())
        self._is_workflow = is_workflow

    def at(self, spec: Spec) -> Iterator[Warned]:
        """Everything that is lacking, in the order of the definition."""
        for n, state in enumerate(spec.states):
            if state.activity is not None and state.activity not in self._handlers.activities:
                yield _no_code(f"states[{n}].activity", "activity", state.activity)
        asking = {state.name: state for state in spec.states if _only_asks(state)}
        cancels = {state.name for state in spec.states if state.kind == "cancel"}
        for n, move in enumerate(spec.transitions):
            for state in (asking[name] for name in move.from_ if name in asking):
                if move.to not in cancels and move.name not in _ways_out(state):
                    yield _behind_question(f"transitions[{n}]", move.name, state.name)
            for k, effect in enumerate(move.effects):
                yield from self._effect(effect, f"transitions[{n}].effects[{k}]")
            if move.handler is not None and move.handler not in self._handlers.effects:
                yield _no_code(f"transitions[{n}].handler", "effect", move.handler)

    def _effect(self, effect: dict[str, Any], at: str) -> Iterator[Warned]:
        if "create" in effect and effect["create"] not in self._classes:
            yield _unknown(f"{at}.create", "class", effect["create"], self._classes)
        if "start" in effect and not self._is_workflow(effect["start"]):
            yield _unknown(f"{at}.start", "workflow", effect["start"], ())
        for key in ("set", "slots"):
            for slot in effect.get(key, {}):
                if slot not in self._slots:
                    yield _unknown(f"{at}.{key}", "slot", slot, self._slots)


def _only_asks(state: State) -> bool:
    return state.input is not None and state.activity is None


def _ways_out(state: State) -> set[str | None]:
    """The transitions that the question and the timer of a state lead to."""
    ways = {state.input.accept, state.input.decline} if state.input is not None else set()
    return ways | ({state.after.transition} if state.after is not None else set())


def _behind_question(at: str, name: str, state: str) -> Warned:
    said = (
        f"{name} is never made in {state}, which asks: it is left by its answer, its decline, its "
        "timer, or a transition to a state of the kind cancel"
    )
    return Warned(at, said)


def _no_code(at: str, what: str, name: str) -> Warned:
    said = f"this server has no code for the {what} {name}: install what brings it, as a pack"
    return Warned(at, said)


def _unknown(at: str, what: str, name: str, known: Collection[str]) -> Warned:
    guess = did_you_mean(name, known) if known else None
    return Warned(at, f"there is no {what} {name} yet{f': {guess}' if guess else ''}")
