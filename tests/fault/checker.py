"""Judges a history of list-append transactions: is there an order that explains all of it?

Transactions append unique values to lists and read whole lists, so a list shows the order in which
its versions came. From that follow the dependencies between transactions: ww (b's value follows
a's), wr (b has read a's value), rw (b's value follows what a has read), rt (a had answered before
b began). A cycle among them means that no serial order exists (Adya; Kingsbury, Alvaro: Elle).

    G0 write cycle           G1c information cycle    real-time  a stale read, or time travel
    G1a aborted read         G-single read skew       lost       an answered append that vanished
    G1b intermediate read    G2 anti-dependency cycle duplicate, incompatible: no order at all
    internal: a transaction that does not see its own appends; strange: a value that nobody wrote
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

Outcome = Literal["ok", "failed", "unknown"]
Edges = dict[int, set[int]]


class Read(NamedTuple):
    """A list as a transaction saw it."""

    key: str
    values: tuple[int, ...]


class Append(NamedTuple):
    """A value put at the end of a list."""

    key: str
    value: int


@dataclass
class Txn:
    """One transaction as its client saw it; times are nanoseconds of one clock."""

    begun: int
    ended: int
    outcome: Outcome
    steps: list[Read | Append] = field(default_factory=list)

    def reads(self) -> Iterator[Read]:
        """The lists that it saw, its own appends taken off."""
        own = {step.value for step in self.steps if isinstance(step, Append)}
        for step in self.steps:
            if isinstance(step, Read):
                yield Read(step.key, tuple(value for value in step.values if value not in own))

    def appends(self) -> Iterator[Append]:
        """The values that it wrote."""
        return (step for step in self.steps if isinstance(step, Append))


@dataclass
class Report:
    """Every anomaly by name, with examples."""

    transactions: int
    anomalies: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, text: str) -> None:
        """Note one more."""
        self.anomalies.setdefault(kind, []).append(text)


def check(history: list[Txn], final: dict[str, tuple[int, ...]]) -> Report:
    """Judge a history, given the lists as they were read when all was over."""
    report = Report(len(history))
    writer = {append.value: n for n, txn in enumerate(history) for append in txn.appends()}
    order = _version_order(report, history, final)
    _check_values(report, history, final, writer)
    ww, wr, rw = _dependencies(history, order, writer)
    _report_cycles(report, history, ww, wr, rw)
    return report


def _version_order(
    report: Report, history: list[Txn], final: dict[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """The longest reading of each list; every other must be a beginning of it."""
    longest = dict(final)
    for txn in history:
        for read in txn.reads():
            if len(read.values) > len(longest.get(read.key, ())):
                longest[read.key] = read.values
    for number, txn in enumerate(history):
        for read in txn.reads():
            if longest.get(read.key, ())[: len(read.values)] != read.values:
                report.add("incompatible", f"transaction {number} read {read.key} otherwise")
    for key, values in longest.items():
        if len(set(values)) != len(values):
            report.add("duplicate", f"a value stands in {key} more than once")
        if final.get(key, ()) != values:
            report.add("incompatible", f"{key} was longer than it is in the end")
    return longest


def _check_values(
    report: Report,
    history: list[Txn],
    final: dict[str, tuple[int, ...]],
    writer: dict[int, int],
) -> None:
    kept = {value for values in final.values() for value in values}
    last: dict[
        tuple[int, str], int
    ] = {}  # the value that a transaction leaves at the end of a list
    for number, txn in enumerate(history):
        for step in txn.steps:
            if isinstance(step, Append):
                last[number, step.key] = step.value
                if txn.outcome == "ok" and step.value not in kept:
                    report.add("lost", f"{step.value} of transaction {number}")
            elif last.get((number, step.key)) not in (None, *step.values[-1:]):
                report.add("internal", f"transaction {number} does not see its own append")
    readings = [Read(key, values) for key, values in final.items()]
    readings += [read for txn in history if txn.outcome == "ok" for read in txn.reads()]
    for read in readings:
        for value in read.values:
            if value not in writer:
                report.add("strange", f"nobody wrote {value}")
            elif history[writer[value]].outcome == "failed":
                report.add("G1a", f"{value} of a failed transaction was read")
        if read.values and read.values[-1] in writer:
            end = read.values[-1]
            if last[writer[end], read.key] != end:
                report.add("G1b", f"{end} was read without what its transaction wrote after it")


def _dependencies(
    history: list[Txn], order: dict[str, tuple[int, ...]], writer: dict[int, int]
) -> tuple[Edges, Edges, Edges]:
    ww: Edges = defaultdict(set)
    wr: Edges = defaultdict(set)
    rw: Edges = defaultdict(set)
    follower: dict[int, int] = {}
    for values in order.values():
        known = [value for value in values if value in writer]
        for one, other in pairwise(known):
            follower[one] = other
            ww[writer[one]].add(writer[other])
    for number, txn in enumerate(history):
        for read in txn.reads() if txn.outcome == "ok" else ():
            after: int | None
            if read.values:
                end = read.values[-1]
                wr[writer.get(end, number)].add(number)
                after = follower.get(end)
            else:
                after = next((v for v in order.get(read.key, ()) if v in writer), None)
            while after is not None and writer[after] == number:
                after = follower.get(after)
            if after is not None:
                rw[number].add(writer[after])
    return ww, wr, rw


def _report_cycles(report: Report, history: list[Txn], ww: Edges, wr: Edges, rw: Edges) -> None:
    nodes = range(len(history))

    def by(*kinds: Edges) -> Callable[[int], Collection[int]]:
        return lambda node: {to for edges in kinds for to in edges.get(node, ()) if to != node}

    for group in _cycles(nodes, by(ww)):
        report.add("G0", f"transactions {group[:6]}")
    known = _sets(_cycles(nodes, by(ww)))
    for group in _cycles(nodes, by(ww, wr)):
        if not any(part <= set(group) for part in known):
            report.add("G1c", f"transactions {group[:6]}")
    known = _sets(_cycles(nodes, by(ww, wr)))
    for group in _cycles(nodes, by(ww, wr, rw)):
        if not any(part <= set(group) for part in known):
            inside = set(group)
            single = any(
                _leads(to, start, by(ww, wr), inside)
                for start in group
                for to in by(rw)(start)
                if to in inside
            )
            report.add("G-single" if single else "G2", f"transactions {group[:6]}")
    known = _sets(_cycles(nodes, by(ww, wr, rw)))
    time, moments = _real_time(history)
    for group in _cycles(range(len(history) + moments), by(ww, wr, rw, time)):
        if not any(part <= set(group) for part in known):
            names = [node for node in group if node < len(history)]
            report.add("real-time", f"transactions {names[:6]}")


def _sets(groups: Iterable[list[int]]) -> list[set[int]]:
    return [set(group) for group in groups]


def _real_time(history: list[Txn]) -> tuple[Edges, int]:
    """Who answered before another began comes first; a chain of moments stands for all pairs."""
    events = [(txn.begun, 1, n) for n, txn in enumerate(history) if txn.outcome == "ok"]
    events += [(txn.ended, 0, n) for n, txn in enumerate(history) if txn.outcome == "ok"]
    edges: Edges = defaultdict(set)
    moment = len(history)
    for _, is_begin, number in sorted(events):
        if is_begin:
            edges[moment].add(number)
        else:
            edges[moment].add(moment + 1)
            moment += 1
            edges[number].add(moment)
    return edges, moment - len(history) + 1


def _leads(
    start: int, goal: int, edges: Callable[[int], Collection[int]], inside: set[int]
) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        if node == goal:
            return True
        fresh = [to for to in edges(node) if to in inside and to not in seen]
        seen.update(fresh)
        waiting += fresh
    return False


def _cycles(nodes: Iterable[int], edges: Callable[[int], Collection[int]]) -> list[list[int]]:
    """The strongly connected components of more than one node (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found = []
    for root in nodes:
        if root in index:
            continue
        path = [(root, iter(edges(root)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while path:
            node, rest = path[-1]
            to = next(rest, None)
            if to is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    group = _popped(stack, on_stack, node)
                    if len(group) > 1:
                        found.append(group)
            elif to not in index:
                index[to] = low[to] = len(index)
                stack.append(to)
                on_stack.add(to)
                path.append((to, iter(edges(to))))
            elif to in on_stack:
                low[node] = min(low[node], index[to])
    return found


def _popped(stack: list[int], on_stack: set[int], last: int) -> list[int]:
    group: list[int] = []
    while not group or group[-1] != last:
        group.append(stack.pop())
        on_stack.discard(group[-1])
    return sorted(group)
