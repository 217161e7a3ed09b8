"""A machine as people and models read it: a Mermaid diagram, and an outline in Markdown.

Names and labels are somebody's text: they are written so that they can neither end a line, nor a
quotation, nor the block of code or the list item in which they stand.
"""

from __future__ import annotations

import re

from sandbar.workflow.answerers import said_by
from sandbar.workflow.machines import Machine, State, Transition

_LABEL_CHARACTERS_MAX = 120
_SAFE = frozenset(" -_/.,!?+='()")
# What could begin code, emphasis, a link, an image, HTML or an entity inside of a line. Other signs
# mean something only where a line begins, and no text of others begins a line of ours.
_MARKDOWN = re.compile(r"[\\`*\[\]<~]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def diagram_of(machine: Machine) -> str:
    """The machine as text for Mermaid (stateDiagram-v2)."""
    ids = _ids(machine)
    lines = ["stateDiagram-v2"]
    lines += [
        f'    state "{_mermaid(_title(state))}" as {ids[state.name]}'
        for state in machine.states.values()
    ]
    lines.append(f"    [*] --> {ids[machine.initial.name]}")
    for transition in machine.transitions:
        for name in transition.from_:
            words = _mermaid(transition.name + _timing(machine.states[name], transition))
            lines.append(f"    {ids[name]} --> {ids[transition.to]} : {words}")
    lines += [
        f"    {ids[state.name]} --> [*]" for state in machine.states.values() if state.is_terminal
    ]
    return "\n".join(lines) + "\n"


def outline_of(machine: Machine) -> str:
    """The machine as a list in Markdown: every state with what happens there and what leads on."""
    lines: list[str] = []
    for state in machine.states.values():
        lines.append(
            f"- {_code(state.name)}{_label(state.label)}{_listed(_traits(machine, state))}"
        )
        for transition in machine.leaving(state.name):
            traits = _listed(_conditions(state, transition))
            label = _label(transition.label)
            lines.append(
                f"  - {_code(transition.name)}{label} leads to {_code(transition.to)}{traits}"
            )
    return "\n".join(lines) + "\n"


# --- Mermaid -------------------------------------------------------------------------------------


def _ids(machine: Machine) -> dict[str, str]:
    """A word for every state that Mermaid cannot take for one of its own."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for number, name in enumerate(machine.states):
        word = "s_" + re.sub(r"[^A-Za-z0-9]+", "_", name)[:40]
        ids[name] = word if word not in taken else f"{word}_{number}"
        taken.add(ids[name])
    return ids


def _title(state: State) -> str:
    return state.name if state.label is None else f"{state.label} ({state.name})"


def _timing(state: State, transition: Transition) -> str:
    if state.after is not None and state.after.transition == transition.name:
        return f" (after {_seconds(state.after.seconds)})"
    return ""


def _mermaid(text: str) -> str:
    """The text with every sign that could mean something to Mermaid as an entity code."""
    short = _one_line(text)
    return "".join(c if c.isalnum() or c in _SAFE else f"#{ord(c)};" for c in short)


# --- Markdown ------------------------------------------------------------------------------------


def _traits(machine: Machine, state: State) -> list[str]:
    """What is to know of a state."""
    traits = ["initial"] if state.is_initial else []
    if state.kind is not None:
        traits.append(f"terminal: {state.kind}")
    if state.activity is not None:
        traits.append(f"runs {_code(state.activity)}{_trials(state)}")
    if state.after is not None:
        traits.append(
            f"after {_seconds(state.after.seconds)} {_code(state.after.transition)} by itself"
        )
    if not state.is_terminal and machine.is_cancellable and not state.is_cancellable:
        traits.append("cannot be cancelled here")
    if state.input is not None:
        asked = "; ".join(_plain(one.message) for one in state.input.requests.values())
        whom = f" {said_by(state.input.by)}" if state.input.by else ""
        traits.append(f"asks{_plain(whom)}: {asked}")
    return traits


def _trials(state: State) -> str:
    words = []
    if state.timeout_s is not None:
        words.append(f"at most {_seconds(state.timeout_s)}")
    if state.retries:
        words.append(f"up to {state.retries} more times")
    if state.on_error is not None:
        words.append(f"on error {_code(state.on_error)}")
    return f" ({', '.join(words)})" if words else ""


def _conditions(state: State, transition: Transition) -> list[str]:
    """What is to know of a transition that leaves a state."""
    traits = []
    if transition.guard is not None:
        traits.append(f"if {_code(transition.guard.text)}")
    if transition.requires_reason:
        traits.append("needs a reason")
    if state.input is not None and transition.name == state.input.accept:
        traits.append("made by the answer")
    if state.input is not None and transition.name == state.input.decline:
        traits.append("made when the answer is declined")
    return traits


def _listed(traits: list[str]) -> str:
    return f": {', '.join(traits)}" if traits else ""


def _label(label: str | None) -> str:
    return "" if label is None else f" {_plain(label)}"


def _code(text: str) -> str:
    """A text as code, with a fence that is longer than any run of backticks in it."""
    short = _one_line(text)
    runs = re.findall("`+", short)
    if not runs:
        return f"`{short}`"
    fence = "`" * (max(map(len, runs)) + 1)
    return f"{fence} {short} {fence}"


def _plain(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", _one_line(text))


def _one_line(text: str) -> str:
    """The text in one line, without what does not print, and not too long."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    words = " ".join(printable.split())
    return words if len(words) <= _LABEL_CHARACTERS_MAX else f"{words[:_LABEL_CHARACTERS_MAX]}…"


def _seconds(seconds: float) -> str:
    """A time in the largest unit of which it is a whole number."""
    for length, unit in _UNITS:
        count, rest = divmod(seconds, length)
        if count and not rest:
            return f"{count:.0f} {unit}{'s' if count > 1 else ''}"
    return f"{seconds:.12g} s"
