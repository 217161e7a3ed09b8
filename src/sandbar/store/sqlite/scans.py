"""Composing index walks for SQLite from the fragments of `scans.sql`."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.store.queries import load_queries
from sandbar.store.scan import Between, Equals, Key, Scan, levels_at

_F = load_queries("sandbar.store.sqlite", "scans.sql")

# Up to here every key gets an arm of its own, so that ids come out of the index already sorted.
_ARMS_MAX = 16

Statement = tuple[str, tuple[Any, ...]]


def compose_scan(ws: int, scan: Scan, last: int) -> Statement:
    """The statement for a scan: documents now, or keys and ids as of the past.

    `last` is the workspace's last transaction.
    """
    if scan.as_of is None:
        head = (_F.arm_now, (ws, scan.drive.property))
        arms = [_arm(head, part, scan, narrow=True) for part in _parts(scan)]
    elif isinstance(scan.drive, Between):
        return _range_as_of(ws, scan, scan.drive)
    else:
        heads = _past_heads(ws, scan, last)
        arms = [_arm(head, part, scan) for part in _parts(scan) for head in heads]
    counts_once = isinstance(scan.drive, Equals) and len(scan.drive.keys) > 1
    if len(arms) == 1 and not counts_once:
        return arms[0]
    columns = "key, id" if scan.as_of is not None else "key, id, class, t, doc"
    body = " UNION ALL ".join(f"SELECT {columns} FROM ({sql})" for sql, _ in arms)
    bindings = tuple(value for _, values in arms for value in values)
    bindings += (scan.limit,)
    if counts_once:
        # A many-valued slot can hold two of the keys: each entity counts once.
        columns = columns.replace("key", "min(key) AS key", 1)
        return f"SELECT {columns} FROM ({body}) GROUP BY id ORDER BY id LIMIT ?", bindings
    return f"SELECT {columns} FROM ({body}) {_order(scan, '')} LIMIT ?", bindings


def _parts(scan: Scan) -> list[Equals | Between]:
    drive = scan.drive
    if isinstance(drive, Equals) and 1 < len(drive.keys) <= _ARMS_MAX:
        return [Equals(drive.property, (key,)) for key in drive.keys]
    return [drive]


def _range_as_of(ws: int, scan: Scan, drive: Between) -> Statement:
    where: list[str] = []
    bindings: list[Any] = []
    _restrict(where, bindings, drive, scan)
    arm = (ws, drive.property, *bindings)
    sql = _F.range_as_of.format(where=" ".join(where), order=_order(scan, ""))
    return sql, (*arm, *arm, scan.as_of, scan.as_of, scan.limit)


def _past_heads(ws: int, scan: Scan, last: int) -> list[Statement]:
    t, property = scan.as_of, scan.drive.property
    assert t is not None
    slot = (_F.arm_slot_as_of, (ws, property, t))
    levels = msgspec.json.encode(levels_at(t, last)).decode()
    return [slot, (_F.arm_level_as_of, (levels, ws, property, t, t))]


def _arm(head: Statement, part: Equals | Between, scan: Scan, *, narrow: bool = False) -> Statement:
    sql, bindings = [head[0]], [*head[1]]
    _restrict(sql, bindings, part, scan)
    if narrow and scan.classes:
        sql.append(f"AND e.class IN ({_marks(scan.classes)})")
        bindings += scan.classes
    for probe in scan.also if narrow else ():
        sql.append(_F.probe.format(keys=_marks(probe.keys)))
        bindings += [probe.property, *probe.keys]
    if not (isinstance(part, Equals) and len(part.keys) > 1):  # else repetitions would fill it
        sql.append(f"{_order(scan, 's.')} LIMIT ?")
        bindings.append(scan.limit)
    return " ".join(sql), tuple(bindings)


def _restrict(sql: list[str], bindings: list[Any], part: Equals | Between, scan: Scan) -> None:
    if isinstance(part, Equals):
        is_one = len(part.keys) == 1
        sql.append("AND s.value = ?" if is_one else f"AND s.value IN ({_marks(part.keys)})")
        bindings += part.keys
        if scan.after is not None:
            sql.append("AND s.id > ?")
            bindings.append(scan.after.id)
        return
    low, high = part.low, part.high
    if scan.after is not None and _is_inside(scan.after.key, part):
        sql.append(f"AND (s.value, s.id) {'<' if scan.descending else '>'} (?, ?)")
        bindings += [scan.after.key, scan.after.id]
        # SQLite walks from one bound only: the position must be the one that it finds.
        low, high = (low, None) if scan.descending else (None, high)
    elif scan.after is not None and _is_beyond(scan.after.key, part, scan.descending):
        sql.append("AND 0")
    for bound, operator in ((low, ">="), (high, "<")):
        if bound is not None:
            sql.append(f"AND s.value {operator} ?")
            bindings.append(bound)


def _is_inside(key: Key, part: Between) -> bool:
    return (part.low is None or part.low <= key) and (part.high is None or key < part.high)


def _is_beyond(key: Key, part: Between, descending: bool) -> bool:
    """Whether a walk that starts at a key outside the range moves away from it."""
    if descending:
        return part.low is not None and key < part.low
    return part.high is not None and key >= part.high


def _order(scan: Scan, alias: str) -> str:
    column = "value" if alias else "key"
    if isinstance(scan.drive, Equals):
        return f"ORDER BY {alias}id"
    way = " DESC" if scan.descending else ""
    return f"ORDER BY {alias}{column}{way}, {alias}id{way}"


def _marks(values: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(values))
