"""Moments: a transaction number, or an instant that is turned into one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from sandbar import clock
from sandbar.errors import Incorrect
from sandbar.model.values import VALUE_TYPES

Moment = int | str | datetime

_INSTANT = VALUE_TYPES["db.type/instant"]


class _Ledger(Protocol):
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
            raise Incorrect(
                "as-of.unknown", f"as-of {moment} has not happened", hint=f"the last t is {now_t}"
            )
        return moment
    text = str(_INSTANT.decode(moment))
    parsed = datetime.fromisoformat(text).astimezone(UTC)
    return ledger.transaction_at(clock.instant_us(parsed))
