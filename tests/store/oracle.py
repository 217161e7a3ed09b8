"""A store in a dictionary: what both real ones must agree with, now and at every moment."""

from __future__ import annotations

import random
from typing import NamedTuple

from sandbar.store.api import Transaction
from sandbar.store.pieces import Change, Pair
from sandbar.store.scan import Between, Equals, Key, Position, Scan

PROPERTIES = (1, 2, 3)
KEYS: tuple[Key, ...] = (b"", b"\x00", b"a", b"a\x00", b"aa", b"b", b"\xff", b"\xff\xff")


class Thing(NamedTuple):
    """An entity as the oracle knows it."""

    cls: int
    t: int
    doc: str
    pairs: frozenset[Pair]


class Step(NamedTuple):
    """A wish: an entity is to be like this (None: gone). Deciding how is the oracle's affair."""

    who: int
    pairs: frozenset[Pair] | None


class Oracle:
    """Every state of a workspace there ever was."""

    def __init__(self) -> None:
        self.states: list[dict[int, Thing]] = [{}]
        self.next_id = 1

    @property
    def t(self) -> int:
        """The last transaction."""
        return len(self.states) - 1

    def transact(self, tx: Transaction, steps: list[Step]) -> None:
        """Make one transaction of the wishes: in the store, and in the dictionary."""
        now, touched = dict(self.states[-1]), set[int]()
        for step in steps:
            id = step.who if step.who < self.next_id else tx.new_id()
            self.next_id = max(self.next_id, id + 1)
            if id not in touched and self._wish(tx, now, id, step.pairs):
                touched.add(id)
        if touched:
            self.states.append(now)

    def _wish(
        self, tx: Transaction, now: dict[int, Thing], id: int, pairs: frozenset[Pair] | None
    ) -> bool:
        before, row = now.get(id), tx.entity(id)
        assert (row is None) == (before is None)
        if pairs is None and before is None:
            return False
        held = before.pairs if before else frozenset()
        wanted = pairs or frozenset()
        doc = None if pairs is None else f'{{"t":{tx.t},"n":{len(wanted)}}}'
        cls = before.cls if before else 1 + id % 3
        tx.change(Change(id, cls, doc, sorted(wanted - held), sorted(held - wanted)), row)
        if doc is None:
            del now[id]
        else:
            now[id] = Thing(cls, tx.t, doc, wanted)
        return True

    def find(self, property: int, key: Key, t: int) -> list[int]:
        """Ids that hold a key at t."""
        return sorted(id for id, thing in self.states[t].items() if (property, key) in thing.pairs)

    def scan(self, scan: Scan) -> list[tuple[Key, int, int, int, str]]:
        """What a scan must find. As of the past, `classes` and `also` narrow nothing."""
        things = self.states[self.t if scan.as_of is None else scan.as_of]
        found: list[tuple[Key, int]] = []
        for id, thing in things.items():
            if scan.as_of is None and not _is_wanted(thing, scan):
                continue
            keys = sorted(key for property, key in thing.pairs if property == scan.drive.property)
            if isinstance(scan.drive, Equals):
                found += [(key, id) for key in keys if key in scan.drive.keys][:1]
            else:
                found += [(key, id) for key in keys if _is_between(key, scan.drive)]
        by_id = isinstance(scan.drive, Equals)
        found.sort(key=lambda place: place[1:] if by_id else place, reverse=scan.descending)
        if scan.after is not None:
            found = [place for place in found if _is_after(place, scan.after, scan)]
        return [(key, id, *things[id][:3]) for key, id in found[: scan.limit]]


def _is_wanted(thing: Thing, scan: Scan) -> bool:
    if scan.classes and thing.cls not in scan.classes:
        return False
    return all(any((p.property, key) in thing.pairs for key in p.keys) for p in scan.also)


def _is_between(key: Key, drive: Between) -> bool:
    low, high = drive.low, drive.high
    return (low is None or key >= low) and (high is None or key < high)


def _is_after(place: tuple[Key, int], after: Position, scan: Scan) -> bool:
    if isinstance(scan.drive, Equals):
        return place[1] > after.id
    return place < tuple(after) if scan.descending else place > tuple(after)


def random_steps(dice: random.Random, oracle: Oracle) -> list[Step]:
    """The wishes of one transaction."""
    return [
        Step(dice.randint(1, oracle.next_id + 1), random_pairs(dice))
        for _ in range(dice.choice((1, 1, 1, 2, 4)))
    ]


def random_pairs(dice: random.Random) -> frozenset[Pair] | None:
    """Values to hold, or None for a deletion."""
    if dice.random() < 0.2:
        return None
    count = dice.randint(0, 5)
    return frozenset((dice.choice(PROPERTIES), dice.choice(KEYS)) for _ in range(count))


def random_scan(dice: random.Random, oracle: Oracle) -> Scan:
    """Any scan that the contract allows."""
    property = dice.choice(PROPERTIES)
    if dice.random() < 0.5:
        many = [bytes([n]) for n in range(20)] if dice.random() < 0.3 else []
        drive: Equals | Between = Equals(property, (*dice.sample(KEYS, dice.randint(1, 8)), *many))
    else:
        drive = Between(property, dice.choice((None, *KEYS)), dice.choice((None, *KEYS)))
    probes = tuple(
        Equals(dice.choice(PROPERTIES), tuple(dice.sample(KEYS, dice.randint(1, 4))))
        for _ in range(dice.choice((0, 0, 1, 2)))
    )
    return Scan(
        drive,
        limit=dice.choice((1, 2, 5, 1000)),
        classes=dice.choice(((), (1,), (1, 2))),
        also=probes,
        after=dice.choice((None, Position(dice.choice(KEYS), dice.randint(0, oracle.next_id)))),
        descending=isinstance(drive, Between) and dice.random() < 0.5,
        as_of=dice.choice((None, dice.randint(0, oracle.t))),
    )
