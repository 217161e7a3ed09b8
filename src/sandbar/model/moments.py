"""Moments: a transaction number, or an instant that is turned into one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from sandbar import clock
from sandbar.errors import Incorrect
from sandbar.model.values import VALUE_TYPES
from sandbar.model.values.refusals import named
from sandbar.store import State

Moment = int | str | datetime

_INSTANT = VALUE_TYPES["db.type/instant"]


class _Ledger(Protocol):
    state: State

    def transaction_at(self, instant_us: int) -> int: ...


def moment_t(moment: Moment, now_t: int, ledger: _Ledger) -> int:
    """The transaction number that a moment means; never one that is still to come."""
    if isinstance(moment, bool):
        raise Incorrect(
            "as-of.malformed",
            "as-of is a transaction number or an instant",
            hint='for example 42 or "2026-11-15T12:00:00Z"',
        )
    if isinstance(moment, int):
        if not 0 <= moment <= now_t:
            raise _still_to_come(moment, now_t)
        return int.__int__(moment)
    text = _instant(moment)
    parsed = datetime.fromisoformat(text).astimezone(UTC)
    instant_us = clock.instant_us(parsed)
    # Transactions may run ahead of this machine's clock; what they reached is past all the same.
    if instant_us > max(clock.now_us(), ledger.state.instant_us):
        raise _still_to_come(text, now_t)
    return ledger.transaction_at(instant_us)


def _instant(moment: object) -> str:
    try:
        return str(_INSTANT.decode(moment))
    except Incorrect as problem:
        hint = f"{problem.hint}, or a transaction number such as 42"
        raise Incorrect(problem.code, f"as-of: {problem.message}", hint=hint) from None


def _still_to_come(moment: int | str, now_t: int) -> Incorrect:
    return Incorrect(
        "as-of.unknown", f"as-of {named(moment)} has not happened", hint=f"the last t is {now_t}"
    )
