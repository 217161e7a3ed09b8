"""Random histories: both stores against a dictionary, now and as of every moment."""

from __future__ import annotations

import random

import pytest

from sandbar.store.api import Snapshot, Store, Transaction
from sandbar.store.scan import Scan
from tests.store.oracle import KEYS, PROPERTIES, Oracle, random_scan, random_steps
from tests.store.writing import Work, together

SEEDS = [11, 12, 13]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_read_at_every_moment_agrees_with_a_dictionary(
    store: Store, ws: int, seed: int
) -> None:
    dice, oracle = random.Random(seed), Oracle()
    for _ in range(8):
        batch = [_transacting(dice.getrandbits(32), oracle) for _ in range(dice.randint(1, 6))]
        for future in together(store, ws, batch):
            future.result()
    with store.snapshot(ws) as snapshot:
        assert snapshot.state.t == oracle.t, f"seed {seed}"
        for t in range(oracle.t + 1):
            _compare_moment(snapshot, oracle, t)
        _compare_versions(snapshot, oracle)
        for _ in range(120):
            scan = random_scan(dice, oracle)
            assert _seen(snapshot, scan) == oracle.scan(scan), f"seed {seed}: {scan}"


def _transacting(seed: int, oracle: Oracle) -> Work:
    def work(tx: Transaction) -> None:
        oracle.transact(tx, random_steps(random.Random(seed), oracle))

    return work


def _compare_moment(snapshot: Snapshot, oracle: Oracle, t: int) -> None:
    for id in range(1, oracle.next_id + 1):
        thing, row = oracle.states[t].get(id), snapshot.entity_as_of(id, t)
        assert (thing and thing[:3]) == (row and (row.cls, row.t, row.doc)), (
            f"entity {id} as of {t}"
        )
    for property in PROPERTIES:
        for key in KEYS:
            assert snapshot.find_as_of(property, key, t) == oracle.find(property, key, t)
            if t == oracle.t:
                assert snapshot.find(property, key) == oracle.find(property, key, t)


def _compare_versions(snapshot: Snapshot, oracle: Oracle) -> None:
    for id in range(1, oracle.next_id):
        expected: list[tuple[int, str | None]] = []
        for t, state in enumerate(oracle.states):
            before = oracle.states[t - 1].get(id) if t else None
            thing = state.get(id)
            if thing is not None and thing.t == t:
                expected.append((t, thing.doc))
            elif thing is None and before is not None:
                expected.append((t, None))
        assert [(v.t, v.doc) for v in snapshot.versions(id, after=0, limit=1000)] == expected


def _seen(snapshot: Snapshot, scan: Scan) -> list[tuple[bytes, int, int, int, str]]:
    return [(key, id, cls, t, doc) for key, id, cls, t, doc in snapshot.scan(scan)]
