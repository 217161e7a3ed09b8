"""A machine that drives both stores and a dictionary side by side and looks for a difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from sandbar.store.api import Store, Transaction
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.scan import Between, Equals, Position, Scan
from sandbar.store.sqlite.store import SqliteStore
from tests.store.conftest import new_workspace
from tests.store.oracle import KEYS, PROPERTIES, Oracle, Step
from tests.store.writing import Work, together

properties = st.sampled_from(PROPERTIES)
keys = st.sampled_from(KEYS)
pairs = st.frozensets(st.tuples(properties, keys), max_size=4)
steps = st.builds(Step, st.integers(1, 8), st.none() | pairs)
drives = st.builds(Equals, properties, st.lists(keys, max_size=6).map(tuple)) | st.builds(
    Between, properties, st.none() | keys, st.none() | keys
)
moments = st.floats(0, 1)


class TwoStores(RuleBasedStateMachine):
    """The same wishes go to every store; every answer is compared with the dictionary's."""

    stores: tuple[Store, ...]

    def __init__(self) -> None:
        super().__init__()
        self.oracle = Oracle()
        self.spaces: list[tuple[Store, int]] = []

    @initialize()
    def begin(self) -> None:
        self.spaces = [(store, new_workspace(store)) for store in self.stores]

    @rule(batch=st.lists(st.lists(steps, min_size=1, max_size=3), min_size=1, max_size=4))
    def write(self, batch: list[list[Step]]) -> None:
        after = []
        for store, ws in self.spaces:
            oracle = Oracle()
            oracle.states, oracle.next_id = list(self.oracle.states), self.oracle.next_id
            for future in together(store, ws, [_transacting(oracle, wishes) for wishes in batch]):
                future.result()
            after.append(oracle)
        assert after[0].states == after[1].states
        self.oracle = after[0]

    @rule(
        drive=drives,
        limit=st.integers(1, 6),
        also=st.lists(st.builds(Equals, properties, st.tuples(keys)), max_size=2).map(tuple),
        classes=st.sampled_from([(), (1,), (2, 3)]),
        after=st.none() | st.builds(Position, keys, st.integers(0, 9)),
        descending=st.booleans(),
        moment=st.none() | moments,
    )
    def scan(self, moment: float | None, descending: bool, **parts: Any) -> None:
        descending = descending and isinstance(parts["drive"], Between)
        as_of = None if moment is None else round(moment * self.oracle.t)
        scan = Scan(**parts, descending=descending, as_of=as_of)
        expected = self.oracle.scan(scan)
        for store, ws in self.spaces:
            with store.snapshot(ws) as snapshot:
                assert [tuple(found) for found in snapshot.scan(scan)] == expected

    @rule(property=properties, key=keys, moment=moments)
    def find(self, property: int, key: bytes, moment: float) -> None:
        t = round(moment * self.oracle.t)
        for store, ws in self.spaces:
            with store.snapshot(ws) as snapshot:
                expected = self.oracle.find(property, key, t)
                assert snapshot.find_as_of(property, key, t) == expected
                assert snapshot.holders(property, [key], 2, t) == {key: expected[:2]}
                assert snapshot.find(property, key) == self.oracle.find(property, key, -1)
                now = {other: self.oracle.find(property, other, -1)[:2] for other in KEYS}
                assert snapshot.holders(property, KEYS, 2) == now

    @invariant()
    def every_entity_is_as_the_dictionary_says(self) -> None:
        for store, ws in self.spaces:
            for id in range(1, self.oracle.next_id):
                head, row = store.point(ws, id)
                thing = self.oracle.states[-1].get(id)
                assert head.t == self.oracle.t
                assert (row and (row.cls, row.t, row.doc)) == (thing and thing[:3])


def _transacting(oracle: Oracle, wishes: list[Step]) -> Work:
    def work(tx: Transaction) -> None:
        oracle.transact(tx, wishes)

    return work


@pytest.fixture
def both_stores(installed_postgres: str) -> Iterator[tuple[Store, ...]]:
    """One of each, open for all the machine's runs."""
    with TemporaryDirectory() as folder:
        stores: tuple[Store, ...] = (
            SqliteStore(Path(folder) / "machine.db"),
            PostgresStore(installed_postgres),
        )
        yield stores
        for store in stores:
            store.close()


def compare(both_stores: tuple[Store, ...], examples: int) -> None:
    """Drive them that often."""

    class Machine(TwoStores):
        stores = both_stores

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


def test_both_stores_and_a_dictionary_never_differ(both_stores: tuple[Store, ...]) -> None:
    compare(both_stores, 12)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_both_stores_and_a_dictionary_never_differ_in_a_long_run(
    both_stores: tuple[Store, ...],
) -> None:
    compare(both_stores, 300)
