"""Who may answer a question, and which ways are left while it is open.

A question is left by an answer, by the transition that its state declares for declining, by being
cancelled, or by a timer. Declining is an answer, too: it is for those who are asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from sandbar.errors import Conflict, Forbidden, NotFound
from sandbar.workflow import metamodel as mm
from sandbar.workflow.conditions import Act
from sandbar.workflow.machines import Transition
from sandbar.workflow.records import Record, Records, questions_of
from sandbar.workflow.shapes import NOT_STARTER


def may_answer(records: Records, record: Record, principal: str, roles: Collection[str]) -> bool:
    """Whether this principal is among those whom the present state asks."""
    by = () if record.state.input is None else record.state.input.by
    if NOT_STARTER in by and principal in _starters(records, record):
        return False
    named = [name for name in by if name != NOT_STARTER]
    return not named or principal in named or not set(named).isdisjoint(roles)


def _starters(records: Records, record: Record) -> Iterator[str]:
    """Who began the process, and the one that started it, and so on.

    All of them, because a process that a timer of another one starts is begun by the server.
    """
    yield str(record.entity[mm.STARTED_BY])
    while (parent := record.entity.get(mm.PARENT)) is not None:
        try:
            record = records.read(parent)
        except NotFound:  # purged
            return
        yield str(record.entity[mm.STARTED_BY])


def is_answer(record: Record, transition: Transition) -> bool:
    """Whether the present state asks, and only an answer makes this transition."""
    wanted = record.state.input
    if wanted is None:
        return False
    return is_accepting(record, transition) or not (
        transition.name == wanted.decline or record.machine.is_cancelling(transition)
    )


def is_accepting(record: Record, transition: Transition) -> bool:
    """Whether it is the way that the answer to the present state's question leads."""
    return record.state.input is not None and transition.name == record.state.input.accept


def is_declining(record: Record, transition: Transition) -> bool:
    """Whether it is the way that the present state declares for those who decline to answer."""
    wanted = record.state.input
    if wanted is None or transition.name != wanted.decline:
        return False
    return not is_accepting(record, transition) and not record.machine.is_cancelling(transition)


def refuse_skipping(records: Records, record: Record, transition: Transition, act: Act) -> None:
    """Refuse a transition that would leave a question without an answer, or decline for others."""
    is_answering = is_answer(record, transition)
    if is_answering or is_declining(record, transition):
        refuse_others(records, record, act)
    if is_answering:
        raise _answer_required(record, transition)


def refuse_others(records: Records, record: Record, act: Act) -> None:
    """Refuse who is not asked; admins are no exception, but all who may write may cancel."""
    wanted = record.state.input
    if wanted is None or may_answer(records, record, act.actor, act.roles):
        return
    raise Forbidden(
        "workflow.not-asked",
        f"process {record.id} asks {said_by(wanted.by)}, and not {act.actor}",
        hint="workflow.answer is for those who are asked; task.cancel ends the process",
        data={"by": list(wanted.by), "state": record.state.name},
    )


def said_by(by: Sequence[str]) -> str:
    """Who is asked, in words."""
    names = [name for name in by if name != NOT_STARTER]
    if not names:
        return "anyone but its starter" if by else "anyone"
    return " or ".join(names) + (", but not its starter" if NOT_STARTER in by else "")


def _answer_required(record: Record, transition: Transition) -> Conflict:
    wanted = record.state.input
    assert wanted is not None
    questions = questions_of(record)
    call = {
        "process": record.id,
        "answers": {key: dict.fromkeys(_fields(one.schema), "…") for key, one in questions.items()},
    }
    is_accept = is_accepting(record, transition)
    says = "is made by the answer alone" if is_accept else "is no answer"
    decline = f"; {wanted.decline} declines" if wanted.decline is not None else ""
    return Conflict(
        "workflow.answer-required",
        f"process {record.id} asks in {record.state.name}, and {transition.name} {says}",
        hint=f"workflow.answer {msgspec.json.encode(call).decode()}{decline}",
        data={"transition": transition.name, "state": record.state.name, "input": list(questions)},
    )


def _fields(schema: dict[str, Any]) -> list[str]:
    """The fields to fill in: those that must be, or all."""
    return list(schema.get("required") or schema.get("properties") or ())
