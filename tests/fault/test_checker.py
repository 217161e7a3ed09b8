"""The checker knows each anomaly when it sees it, and is silent about sound histories."""

from __future__ import annotations

import pytest

from tests.fault.checker import Append, Outcome, Read, Txn, check

Lists = dict[str, tuple[int, ...]]


def txn(*steps: Read | Append, at: int = 0, until: int = 100, outcome: Outcome = "ok") -> Txn:
    """A transaction; unless said otherwise, all are concurrent."""
    return Txn(at, until, outcome, list(steps))


def r(key: str, *values: int) -> Read:
    """A reading."""
    return Read(key, values)


def a(key: str, value: int) -> Append:
    """An append."""
    return Append(key, value)


BAD: dict[str, tuple[list[Txn], Lists]] = {
    # Each of two writers comes before the other.
    "G0": ([txn(a("x", 1), a("y", 2)), txn(a("x", 3), a("y", 4))], {"x": (1, 3), "y": (4, 2)}),
    "G1a": ([txn(a("x", 1), outcome="failed"), txn(r("x", 1))], {"x": ()}),
    "G1b": ([txn(a("x", 1), a("x", 2)), txn(r("x", 1))], {"x": (1, 2)}),
    # Each has seen what the other wrote.
    "G1c": ([txn(a("x", 1), r("y", 2)), txn(a("y", 2), r("x", 1))], {"x": (1,), "y": (2,)}),
    # Read skew: y from before the writer, x from after it.
    "G-single": ([txn(a("x", 1), a("y", 2)), txn(r("x", 1), r("y"))], {"x": (1,), "y": (2,)}),
    # Write skew: neither has seen the other.
    "G2": ([txn(r("x"), a("y", 2)), txn(r("y"), a("x", 1))], {"x": (1,), "y": (2,)}),
    "real-time": ([txn(a("x", 1), until=10), txn(r("x"), at=20, until=30)], {"x": (1,)}),
    "lost": ([txn(r("x"), a("x", 1)), txn(r("x"), a("x", 2))], {"x": (2,)}),
    "duplicate": ([txn(a("x", 1))], {"x": (1, 1)}),
    "incompatible": ([txn(a("x", 1)), txn(a("x", 2)), txn(r("x", 2))], {"x": (1, 2)}),
    "internal": ([txn(a("x", 1), r("x"))], {"x": (1,)}),
    "strange": ([txn(r("x", 7))], {"x": (7,)}),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_history_is_flagged(kind: str) -> None:
    """Hand-made histories, one for each anomaly."""
    history, final = BAD[kind]
    report = check(history, final)
    assert kind in report.anomalies, report.anomalies


@pytest.mark.parametrize("kind", ["G0", "G1c", "G-single", "G2", "real-time"])
def test_a_cycle_gets_one_name(kind: str) -> None:
    """Each cycle is counted under the strongest name that fits, and under no other."""
    assert set(check(*BAD[kind]).anomalies) == {kind}


def test_a_sound_history_is_clean() -> None:
    """Serial, concurrent, failed and unanswered transactions that one order explains."""
    history = [
        txn(r("x"), a("x", 1), until=10),
        txn(r("x", 1), a("x", 2), a("x", 3), r("x", 1, 2, 3), at=20, until=30),
        txn(r("x", 1), r("y"), at=5, until=40),
        txn(a("y", 4), at=5, until=50, outcome="unknown"),
        txn(a("y", 5), at=5, until=50, outcome="failed"),
        txn(r("y", 4), r("x", 1, 2, 3), at=60, until=70),
    ]
    assert check(history, {"x": (1, 2, 3), "y": (4,)}).anomalies == {}
