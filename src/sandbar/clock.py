"""The only place that reads the time.

Instants are whole microseconds since 1970 in UTC; text is RFC 3339 with a `Z`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now_us() -> int:
    """The wall clock, in microseconds."""
    return time.time_ns() // 1000


def monotonic_s() -> float:
    """A clock that never steps, for deadlines and durations."""
    return time.monotonic()


def thread_ns() -> int:
    """What this thread has had of the processor so far, in nanoseconds."""
    return time.thread_time_ns()


def pause_s(seconds: float) -> None:
    """Let this thread rest."""
    time.sleep(seconds)


def instant_text(instant_us: int) -> str:
    """`2026-11-15T12:00:00Z`, with as many digits of the second as are needed."""
    second, micros = divmod(instant_us, 1_000_000)
    return f"{_second_text(second)}.{micros:06d}Z" if micros else f"{_second_text(second)}Z"


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat().removesuffix("+00:00")


def instant_us(moment: datetime) -> int:
    """Microseconds of a moment that knows its time zone."""
    return (moment - _EPOCH) // _MICROSECOND


def us_of_text(instant: str) -> int:
    """Microseconds of an instant as `instant_text` writes it."""
    return instant_us(datetime.fromisoformat(instant))
