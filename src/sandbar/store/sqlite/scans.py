"""Composing index walks for SQLite from the fragments of `scans.sql`."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.sql import load_queries
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
    body = f" {_F.next_arm} ".join(_F.arm.format(arm=sql) for sql, _ in arms)
    bindings = tuple(value for _, values in arms for value in values)
    if not counts_once:
        merged = _F.merged.format(arms=body, order=_order_of_page(scan))
    elif scan.as_of is None:
        merged = _F.merged_once.format(arms=body)
    else:
        merged = _F.merged_once_as_of.format(arms=body)
    return merged, (*bindings, scan.limit)


def explain_scan(sql: str) -> str:
    """The statement that asks for the plan of a scan."""
    explaining: str = _F.explain.format(scan=sql)
    return explaining


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
    sql = _F.range_as_of.format(where=" ".join(where), order=_order_of_page(scan))
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
        sql.append(_F.is_class.format(classes=_marks(scan.classes)))
        bindings += scan.classes
    for probe in scan.also if narrow else ():
        sql.append(_F.probe.format(keys=_marks(probe.keys)))
        bindings += [probe.property, *probe.keys]
    if not (isinstance(part, Equals) and len(part.keys) > 1):  # else repetitions would fill it
        sql += (_order_of_arm(scan), _F.length)
        bindings.append(scan.limit)
    return " ".join(sql), tuple(bindings)


def _restrict(sql: list[str], bindings: list[Any], part: Equals | Between, scan: Scan) -> None:
    if isinstance(part, Equals):
        is_one = len(part.keys) == 1
        sql.append(_F.is_key if is_one else _F.is_any_key.format(keys=_marks(part.keys)))
        bindings += part.keys
        if scan.after is not None:
            sql.append(_F.after_id)
            bindings.append(scan.after.id)
        return
    low, high = part.low, part.high
    if scan.after is not None and _is_inside(scan.after.key, part):
        sql.append(_F.before_place if scan.descending else _F.after_place)
        bindings += [scan.after.key, scan.after.id]
        # SQLite walks from one bound only: the position must be the one that it finds.
        low, high = (low, None) if scan.descending else (None, high)
    elif scan.after is not None and _is_beyond(scan.after.key, part, scan.descending):
        sql.append(_F.nothing)
    for bound, condition in ((low, _F.from_key), (high, _F.below_key)):
        if bound is not None:
            sql.append(condition)
            bindings.append(bound)


def _is_inside(key: Key, part: Between) -> bool:
    return (part.low is None or part.low <= key) and (part.high is None or key < part.high)


def _is_beyond(key: Key, part: Between, descending: bool) -> bool:
    """Whether a walk that starts at a key outside the range moves away from it."""
    if descending:
        return part.low is not None and key < part.low
    return part.high is not None and key >= part.high


def _order_of_arm(scan: Scan) -> str:
    if isinstance(scan.drive, Equals):
        return str(_F.by_id)
    return str(_F.by_key_down if scan.descending else _F.by_key)


def _order_of_page(scan: Scan) -> str:
    if isinstance(scan.drive, Equals):
        return str(_F.page_by_id)
    return str(_F.page_by_key_down if scan.descending else _F.page_by_key)


def _marks(values: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(values))
