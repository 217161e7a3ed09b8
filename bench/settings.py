"""How much is measured: everything that a shorter run shortens."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """The sizes of rounds and populations."""

    rounds: int = 9
    read_seconds: float = 0.15
    # Of a ratio so near its bar that nine rounds do not tell. The shorter they are, the more of
    # them meet the machine in one mood: its moods last for a second or so.
    flat_rounds: int = 75
    flat_seconds: float = 0.05
    inputs: int = 20_000
    creates_per_round: int = 600
    creates_per_thread: int = 80
    bulk_per_round: int = 6  # transactions of 1,000
    past_small: int = 2_000  # items with a past, apart from a population that is too small
    past_large: int = 20_000  # items with a past, inside a population
    past_operations: int = 200  # per transaction that changes them
    wire_rounds: int = 5
    wire_seconds: float = 0.5  # one round of one server, called in one way
    wire_starts: int = 3
    workflow_rounds: int = 15
    workflow_seconds: float = 0.4  # one round of one contestant


FULL = Settings()
QUICK = Settings(
    rounds=3,
    read_seconds=0.02,
    flat_rounds=3,
    flat_seconds=0.02,
    inputs=2_000,
    creates_per_round=30,
    creates_per_thread=4,
    bulk_per_round=1,
    past_small=100,
    past_large=20_000,
    past_operations=100,
    wire_rounds=2,
    wire_seconds=0.05,
    wire_starts=1,
    workflow_rounds=2,
    workflow_seconds=0.1,
)

THREADS = 32
BULK = 1_000
CHANGES = 10

BULK_AT_LEAST = 0.35
POINT_AT_LEAST = 0.4
THREADS_AT_LEAST = 4.0
PAST_AT_MOST = 3.0
SLOWDOWN_AT_MOST = 1.5
GROWTH_AT_MOST_MB = 50.0

TIMES_FASTMCP_AT_LEAST = 2.0
TIMES_UNRECORDED_AT_LEAST = 0.75  # audit and limits cost a quarter at most
RESIDENT_AT_MOST_MB = 150.0
START_AT_MOST_S = 2.0
HELP_AT_MOST_S = 0.3

TIMES_DBOS_AT_LEAST = 1.0
