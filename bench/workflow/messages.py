"""What the benchmark and a contestant say to each other: one line of JSON each way."""

from __future__ import annotations

import msgspec

STEPS = 4


class Drive(msgspec.Struct, frozen=True, tag="drive"):
    """Start processes and take them to their end, one after the other in every thread."""

    threads: int
    seconds: float


class Count(msgspec.Struct, frozen=True, tag="count"):
    """Say what the database holds."""


Ask = Drive | Count


class Driven(msgspec.Struct, frozen=True):
    """One round: how long it took, and how long each process of it."""

    seconds: float
    latencies: list[float]
    cpu_seconds: float  # of the contestant; the database's own comes on top


class Counted(msgspec.Struct, frozen=True):
    """Processes that have ended well, and the steps that are recorded for them."""

    finished: int
    steps: int
