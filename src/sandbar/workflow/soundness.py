"""What makes a state machine sound, checked when it is defined.

One beginning, no state that cannot be reached, and nothing that names what is not there. If there
are terminal states, one of them can be reached from everywhere. A machine without any is allowed on
purpose, because a door opens and shuts for ever; but then from every state some way leads on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sandbar.errors import Problem
from sandbar.findings import Findings
from sandbar.model import compile_expression
from sandbar.workflow.shapes import BACKOFF_S, Spec, State

GUARD_VARIABLES = frozenset({"process", "subject", "context", "actor"})
# Parsing takes up to 20 microseconds a character.
GUARD_CHARACTERS_MAX = 32_000

_LACKING_AN_EXAMPLE = ("expression.malformed", "expression.unknown-variable")
_GUARD_HINT = (
    "a guard is CEL over process, subject, context and actor, "
    'for example context.amount < 100 && subject["order/total"] > 0.0'
)

_Edges = Mapping[str, Iterable[str]]


def check_soundness(spec: Spec, findings: Findings) -> None:
    """Put everything that is unsound about a definition into the findings."""
    states = {state.name: state for state in spec.states if state.name}
    _check_names(spec, findings)
    _check_transitions(spec, states, findings)
    leaving: dict[str, set[str]] = {name: set() for name in states}
    for move in spec.transitions:
        for name in move.from_:
            leaving.setdefault(name, set()).add(move.name)
    for index, state in enumerate(spec.states):
        at = f"states[{index}]"
        _check_work(state, at, findings)
        _check_ways_out(state, at, leaving.get(state.name, set()), findings)
    _check_guards(spec, findings)
    _check_paths(spec, states, findings)


def _check_names(spec: Spec, findings: Findings) -> None:
    if not spec.states:
        findings.complain(
            "workflow.no-states",
            "states",
            "there are no states",
            "a process needs a state to be in",
        )
        return
    seen: set[str] = set()
    initial: list[str] = []
    for index, state in enumerate(spec.states):
        at = f"states[{index}]"
        if state.name and state.name in seen:
            findings.complain(
                "workflow.repeated-state",
                at,
                f"there are two states {state.name}",
                "state names are unique within a workflow",
            )
        seen.add(state.name)
        if state.is_initial:
            initial.append(state.name)
        if state.is_initial and state.is_terminal:
            findings.complain(
                "workflow.initial-terminal",
                at,
                "the initial state is terminal",
                "a process that is done when it begins has nothing to do",
            )
    if not initial:
        findings.complain(
            "workflow.no-initial",
            "states",
            "no state is initial",
            'give one of them "initial?": true',
        )
    elif len(initial) > 1:
        findings.complain(
            "workflow.several-initial",
            "states",
            f"several states are initial: {', '.join(initial[:5])}",
            "keep one of them",
        )


def _check_transitions(spec: Spec, states: Mapping[str, State], findings: Findings) -> None:
    seen: set[tuple[str, str]] = set()
    for index, move in enumerate(spec.transitions):
        at = f"transitions[{index}]"
        for name in dict.fromkeys([*move.from_, move.to]):
            if name and name not in states:
                findings.complain(
                    "workflow.unknown-state",
                    at,
                    f"there is no state {name}",
                    findings.guess(name, states) or _listed("the states are", states),
                )
        for name in move.from_:
            if move.name and (move.name, name) in seen:
                findings.complain(
                    "workflow.repeated-transition",
                    at,
                    f"two transitions {move.name} leave {name}",
                    "the transitions that leave a state have different names",
                )
            seen.add((move.name, name))
            _check_retry(states.get(name), states.get(move.to), at, findings)


def _check_retry(source: State | None, to: State | None, at: str, findings: Findings) -> None:
    if source and to and source.is_terminal and to.is_terminal:
        findings.complain(
            "workflow.terminal-to-terminal",
            at,
            f"it leads from the terminal state {source.name} to another, {to.name}",
            "from a terminal state a process can only begin again, in one that is not terminal",
        )


def _check_work(state: State, at: str, findings: Findings) -> None:
    has_work = state.activity is not None or state.after is not None or state.input is not None
    if state.is_terminal and has_work:
        findings.complain(
            "workflow.terminal-with-work",
            at,
            "a terminal state has an activity, a timer or an input",
            "nothing happens any more in a terminal state: put it into the state before",
        )
    is_tuned = state.timeout_s is not None or state.retries or state.backoff_s != BACKOFF_S
    if state.activity is None and (is_tuned or state.on_error is not None):
        findings.complain(
            "workflow.without-activity",
            at,
            "timeout, retries, backoff and on-error belong to an activity, and there is none",
            'add an activity; for a timer use "after": {"seconds": 60, "transition": "expire"}',
        )


def _check_ways_out(state: State, at: str, leaving: set[str], findings: Findings) -> None:
    """What a state does by itself must be able to leave it."""
    named = {
        "on-error": state.on_error,
        "after.transition": state.after and state.after.transition,
        "input.accept": state.input and state.input.accept,
        "input.decline": state.input and state.input.decline,
    }
    for key, name in named.items():
        if name is not None and name not in leaving:
            findings.complain(
                "workflow.unknown-transition",
                f"{at}.{key}",
                f"no transition {name} leaves this state",
                findings.guess(name, leaving) or _listed("those that leave it are", leaving),
            )
    if state.activity is not None and not state.is_terminal and not leaving:
        findings.complain(
            "workflow.activity-without-exit",
            at,
            "no transition leaves this state, so its activity can have no outcome",
            "add the transitions that the activity can call for",
        )


def _check_guards(spec: Spec, findings: Findings) -> None:
    total = sum(len(guard) for guard in {move.guard for move in spec.transitions if move.guard})
    if total > GUARD_CHARACTERS_MAX:
        findings.complain(
            "workflow.too-large",
            "transitions",
            f"the guards have {total:,} characters",
            f"all guards of a workflow have at most {GUARD_CHARACTERS_MAX:,} characters together",
        )
        return
    for index, move in enumerate(spec.transitions):
        if move.guard is not None:
            try:
                compile_expression(move.guard, GUARD_VARIABLES)
            except Problem as problem:
                hint = _GUARD_HINT if problem.code in _LACKING_AN_EXAMPLE else None
                at = f"transitions[{index}].guard"
                findings.complain(problem.code, at, problem.message, hint or problem.hint)


def _check_paths(spec: Spec, states: Mapping[str, State], findings: Findings) -> None:
    """Every state is reached from the initial one, and from every state an end is reached.

    Where there is no end, at least some way must lead on from every state.
    """
    ahead: dict[str, set[str]] = {name: set() for name in states}
    back: dict[str, set[str]] = {name: set() for name in states}
    for move in spec.transitions:
        for name in move.from_:
            if name in states and move.to in states:
                ahead[name].add(move.to)
                back[move.to].add(name)
    initial = [state.name for state in spec.states if state.is_initial and state.name]
    reached = _reached(initial, ahead) if initial else set(states)
    terminal = [name for name, state in states.items() if state.is_terminal]
    ending = _reached(terminal, back) if terminal else {name for name in ahead if ahead[name]}
    for index, state in enumerate(spec.states):
        if state.name and state.name not in reached:
            findings.complain(
                "workflow.unreachable",
                f"states[{index}]",
                f"no way leads from the initial state to {state.name}",
                "add a transition to it, or remove it",
            )
        elif state.name and state.name not in ending:
            findings.complain(
                "workflow.dead-end",
                f"states[{index}]",
                f"no way leads from {state.name} {'to a terminal state' if terminal else 'on'}",
                'add a transition that leads on, or make it an end: "terminal?": true, '
                '"terminal-kind": "success"',
            )


def _reached(start: Iterable[str], edges: _Edges) -> set[str]:
    reached = set(start)
    waiting = list(reached)
    while waiting:
        for name in edges[waiting.pop()]:
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def _listed(what: str, names: Iterable[str]) -> str:
    known = sorted(names)
    if not known:
        return f"{what} none"
    more = f" and {len(known) - 20} more" if len(known) > 20 else ""
    return f"{what} {', '.join(known[:20])}{more}"
