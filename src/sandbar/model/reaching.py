"""Walking a graph: whatever can be reached, each once, so that the walk is as long as the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def reached(start: Iterable[int], onward: Callable[[int], Iterable[int]]) -> dict[int, None]:
    """All that can be reached from the start, itself included, nearest first."""
    found = dict.fromkeys(start)
    waiting = list(found)
    for here in waiting:  # which grows meanwhile
        for there in onward(here):
            if there not in found:
                found[there] = None
                waiting.append(there)
    return found
