"""Every rule of the machine at least once, in an order that shows something for certain.

Chance alone needs more examples than a short run has time for, above all on PostgreSQL.
"""

from __future__ import annotations

from typing import Any

from tests.workflow.flow_machine import Driven

Step = tuple[str, dict[str, Any]]


def _try(name: str, *, ok: bool = True) -> Step:
    return "transition", {"number": 0, "name": name, "ok": ok}


def _work(said: str, after: float = 0.0) -> Step:
    return "work", {"said": said, "after": after}


def _crash(*, does_a_step: bool, then: str) -> Step:
    return "crash", {"sends": "work", "does_a_step": does_a_step, "after": 0.0, "then": then}


_PAUSE: Step = ("pause_or_resume", {"number": 0, "is_resume": False})
_RESUME: Step = ("pause_or_resume", {"number": 0, "is_resume": True})
_CANCEL: Step = ("cancel", {"number": 0})
_SEND: Step = ("send_off", {"name": "work"})
_RETRY: Step = ("retry", {})

SCRIPT: list[Step] = [
    # What is refused, and why.
    _try("guarded", ok=False),
    _try("expire"),
    _try("lock"),
    _CANCEL,
    _try("unlock"),
    _PAUSE,
    _try("work"),
    _RESUME,
    ("answer", {"number": 0, "keys": {"one"}}),
    # Two at once for the first; questions for the second and the third.
    ("race", {"number": 0}),
    ("send_off", {"name": "ask"}),
    ("transition", {"number": 1, "name": "accept", "ok": True}),  # without an answer
    ("answer", {"number": 1, "keys": {"one"}}),
    ("answer", {"number": 1, "keys": {"two"}}),
    ("decline", {}),
    _work("finish", after=1.5),  # the timer of the first
    ("start", {}),
    _RETRY,
    # Attempts that fail.
    _SEND,
    _work("raise"),
    _work("break", after=1.5),
    _RETRY,
    _SEND,
    _work("stray"),
    _work("fail", after=1.5),
    _RETRY,
    # Servers that die: another goes on from the checkpoint, and the dead writes too late; then one
    # that rises before anybody has taken over.
    _crash(does_a_step=True, then="work"),
    ("rise", {"number": 0}),
    ("start", {}),
    ("start", {}),
    _crash(does_a_step=False, then="rise"),
    _work("finish"),
    _CANCEL,  # of one that has ended
    ("start", {}),
    _CANCEL,
    ("end_and_begin", {}),
]


def play(machine: Driven) -> set[str]:
    """Take every step, and look after each at what is always true; returns the rules that fired."""
    rules = {rule.function.__name__: rule for rule in machine.rules}
    machine.begin()
    try:
        for number, (name, given) in enumerate(SCRIPT):
            assert all(holds(machine) for holds in rules[name].preconditions), (number, name)
            getattr(machine, name)(**given)
            for invariant in machine.invariants:
                invariant.function(machine)
    finally:
        machine.teardown()
    return {name for name, _ in SCRIPT}


def all_rules(machine: Driven) -> set[str]:
    """The names of those that there are."""
    return {rule.function.__name__ for rule in machine.rules}
