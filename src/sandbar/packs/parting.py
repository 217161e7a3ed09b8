"""Many seeds in several transactions, of which none refers to what comes later.

Seeds that refer to each other in a circle stay together. A pack that fits into one transaction
is left in the order of its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from sandbar.packs.folders import SeedEntity

SEEDS_AT_ONCE = 1000
BYTES_AT_ONCE = 2 << 20  # half of what a transaction takes: definitions come with the first


def in_parts(seeds: Sequence[SeedEntity]) -> list[list[SeedEntity]]:
    """The seeds of each transaction, one after the other; at least one part, be it empty."""
    sizes = [len(msgspec.json.encode(seed.slots)) for seed in seeds]
    if len(seeds) <= SEEDS_AT_ONCE and sum(sizes) <= BYTES_AT_ONCE:
        return [list(seeds)]
    parts: list[list[SeedEntity]] = [[]]
    filled = 0
    for circle in _circles(_references(seeds)):
        size = sum(sizes[n] for n in circle)
        is_full = len(parts[-1]) + len(circle) > SEEDS_AT_ONCE or filled + size > BYTES_AT_ONCE
        if is_full and parts[-1]:
            parts.append([])
            filled = 0
        parts[-1] += [seeds[n] for n in circle]
        filled += size
    return parts


def _references(seeds: Sequence[SeedEntity]) -> list[list[int]]:
    """For each seed the numbers of the others that it may name: by ident, or by another slot."""
    by_ident = {_bare(seed.slots["db/ident"]): n for n, seed in enumerate(seeds)}
    values = (
        (slot, value, n) for n, seed in enumerate(seeds) for slot, value in seed.slots.items()
    )
    by_slot = {(_bare(slot), value): n for slot, value, n in values if isinstance(value, str | int)}

    def named(value: Any) -> Iterator[int]:
        for one in value if isinstance(value, list) else (value,):
            found = None
            if isinstance(one, str):
                found = by_ident.get(_bare(one))
            elif isinstance(one, dict) and len(one) == 1:
                slot, sought = next(iter(one.items()))
                found = (
                    by_slot.get((_bare(slot), sought)) if isinstance(sought, str | int) else None
                )
            if found is not None:
                yield found

    return [
        [other for value in seed.slots.values() for other in named(value) if other != n]
        for n, seed in enumerate(seeds)
    ]


def _bare(name: Any) -> str:
    return str(name).removeprefix(":")


def _circles(references: list[list[int]]) -> Iterator[list[int]]:
    """Those who refer to each other, directly or not; whatever one refers to comes before it.

    Tarjan's strongly connected components, without recursion: chains of references can be long.
    """
    number: dict[int, int] = {}  # when each was first met
    lowest: dict[int, int] = {}  # the first met of those in the line whom it refers to
    line: list[int] = []  # those whose circle is not complete
    place: dict[int, int] = {}  # where each of them stands in it
    for root in range(len(references)):
        way: list[tuple[int, Iterator[int]]] = []
        ahead: int | None = root if root not in number else None
        while ahead is not None or way:
            if ahead is not None:
                number[ahead] = lowest[ahead] = len(number)
                place[ahead] = len(line)
                line.append(ahead)
                way.append((ahead, iter(references[ahead])))
            here, others = way[-1]
            ahead = next((one for one in others if one not in number or one in place), None)
            if ahead is not None and ahead in number:
                lowest[here], ahead = min(lowest[here], number[ahead]), None
            elif ahead is None:
                way.pop()
                if way:
                    before = way[-1][0]
                    lowest[before] = min(lowest[before], lowest[here])
                if lowest[here] == number[here]:
                    circle = line[place[here] :]
                    del line[place[here] :]
                    for one in circle:
                        del place[one]
                    yield sorted(circle)
