"""Telling a process what it asked; the answer is a transition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from sandbar.errors import Conflict, Incorrect
from sandbar.workflow import metamodel as mm
from sandbar.workflow.answerers import refuse_others
from sandbar.workflow.budgets import refuse_large_data
from sandbar.workflow.conditions import Act
from sandbar.workflow.machines import Input
from sandbar.workflow.moves import Moves
from sandbar.workflow.records import Record, Records


class Reply(msgspec.Struct, frozen=True):
    """What somebody said to a question."""

    action: Literal["accept", "decline", "cancel"] = "accept"
    content: dict[str, Any] = {}


def answered(
    moves: Moves, records: Records, record: Record, replies: Mapping[str, Reply], act: Act
) -> Record:
    """Keep the replies; when nothing is left to ask, or one says no, move on."""
    wanted = record.state.input
    if wanted is None:
        raise Conflict(
            "workflow.nothing-asked",
            f"process {record.id} asks nothing in {record.state.name}",
            hint="workflow.process-state shows what it waits for",
        )
    refuse_others(records, record, act)
    named = {_plain(key, record.step, wanted): reply for key, reply in replies.items()}
    mine = {key: reply for key, reply in named.items() if key in wanted.requests}
    if not mine:
        raise Incorrect(
            "workflow.answer-unknown",
            f"process {record.id} did not ask {', '.join(replies)[:200] or 'that'}",
            hint=f"it asks: {', '.join(f'{key}-{record.step}' for key in wanted.requests)}",
        )
    refusals = [reply for reply in mine.values() if reply.action != "accept"]
    if refusals:
        why = act.reason or f"answered with {refusals[0].action}"
        return _decline(moves, record, wanted.decline, Act(act.actor, why, by=act.by))
    findings = [
        finding
        for key, reply in mine.items()
        for finding in wanted.requests[key].check(reply.content, f"answers.{key}")
    ]
    if findings:
        raise Incorrect(
            "workflow.answer-invalid",
            f"this answer does not fit what was asked: {findings[0]['message']}",
            hint="workflow.process-state shows the schema of each question",
            data={"findings": findings},
        )
    told = {**record.answers, **{key: reply.content for key, reply in mine.items()}}
    refuse_large_data(told, "answers")
    record = moves.amend(record, {mm.ANSWERS: told}, act.actor)
    if any(key not in told for key in wanted.requests):
        return record
    accept = moves.leaving(record, wanted.accept)
    return moves.make(record, accept, act)


def _decline(moves: Moves, record: Record, name: str | None, act: Act) -> Record:
    if name is None:
        raise Conflict(
            "workflow.cannot-decline",
            f"{record.machine.name} has no way on from {record.state.name} but an answer",
            hint="answer, or cancel the process with task.cancel",
        )
    decline = moves.leaving(record, name)
    return moves.make(record, decline, act)


def _plain(key: str, step: int, wanted: Input) -> str:
    """The key of a question as the definition has it; it may be given without the step."""
    plain = key.removesuffix(f"-{step}")
    return plain if plain in wanted.requests else key
