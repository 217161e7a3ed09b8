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
    references = _references(seeds)
    circles = [[n] for n in range(len(seeds))] if references is None else _circles(references)
    for circle in circles:
        size = sum(sizes[n] for n in circle)
        is_full = len(parts[-1]) + len(circle) > SEEDS_AT_ONCE or filled + size > BYTES_AT_ONCE
        if is_full and parts[-1]:
            parts.append([])
            filled = 0
        parts[-1] += [seeds[n] for n in circle]
        filled += size
    return parts


def _references(seeds: Sequence[SeedEntity]) -> list[list[int]] | None:
    """For each seed the numbers of the others that it may name, by ident or by another slot.

    None, if one names somebody of whom nobody can tell whether it is a seed: the order of the file,
    in which it may stand behind that one, is then the best there is.
    """
    by_ident = {_bare(seed.slots["db/ident"]): n for n, seed in enumerate(seeds)}
    values = (
        (slot, value, n) for n, seed in enumerate(seeds) for slot, value in seed.slots.items()
    )
    by_slot = {(_bare(slot), _bare(value)): n for slot, value, n in values if _is_plain(value)}
    found: list[list[int]] = []
    for n, seed in enumerate(seeds):
        others: list[int] = []
        for one in _single_values(seed):
            if isinstance(one, str) and _bare(one) in by_ident:
                others.append(by_ident[_bare(one)])
            elif isinstance(one, dict) and len(one) == 1 and "/" in (slot := next(iter(one))):
                named = (
                    by_slot.get((_bare(slot), _bare(one[slot]))) if _is_plain(one[slot]) else None
                )
                if named is None:
                    return None
                others.append(named)
        found.append([other for other in others if other != n])
    return found


def _single_values(seed: SeedEntity) -> Iterator[Any]:
    for value in seed.slots.values():
        yield from value if isinstance(value, list) else (value,)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int)


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
