"""Composing index walks for PostgreSQL from the fragments of `scans.sql`."""

from __future__ import annotations

from typing import Any

from sandbar.sql import load_queries
from sandbar.store.postgres.arrays import Blobs, Longs
from sandbar.store.scan import Between, Equals, Scan, levels_at

_F = load_queries("sandbar.store.postgres", "scans.sql")

# Up to here every key gets an arm of its own, so that ids come out of the index already sorted.
_ARMS_MAX = 16

Statement = tuple[str, tuple[Any, ...]]


def compose_scan(ws: int, scan: Scan, last: int) -> Statement:
    """The statement for a scan, now or as of the past; `last` is the last transaction."""
    if scan.as_of is None:
        head = (_F.arm_now, (ws, scan.drive.property))
        return _merge([_arm(head, part, scan, narrow=True) for part in _parts(scan)], scan)
    if isinstance(scan.drive, Between):
        places, bindings = _range_as_of(ws, scan, scan.drive)
    else:
        heads = _past_heads(ws, scan, scan.as_of, last)
        arms = [_arm(head, part, scan) for part in _parts(scan) for head in heads]
        places, bindings = _merge(arms, scan)
    sql = _F.documents_as_of.format(places=places, order=_order_of_page(scan))
    return sql, (*bindings, ws, scan.as_of, ws, scan.as_of)


def _merge(arms: list[Statement], scan: Scan) -> Statement:
    """One page out of several sorted arms."""
    counts_once = isinstance(scan.drive, Equals) and len(scan.drive.keys) > 1
    if len(arms) == 1 and not counts_once:
        return arms[0]
    body = f" {_F.next_arm} ".join(f"({sql})" for sql, _ in arms)
    bindings = tuple(value for _, values in arms for value in values)
    if counts_once:
        merged = _F.merged_once.format(arms=body)
    else:
        merged = _F.merged.format(arms=body, order=_order_of_page(scan))
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
    sql = _F.range_as_of.format(
        where=" ".join(where),
        arm_order=_order_of_arm(scan),
        order=_F.page_by_key_down if scan.descending else _F.page_by_key,
    )
    return sql, (*arm, *arm, scan.as_of, scan.as_of, scan.limit)


def _past_heads(ws: int, scan: Scan, t: int, last: int) -> list[Statement]:
    property = scan.drive.property
    slot = (_F.arm_slot_as_of, (ws, property, t))
    levels, since = zip(*levels_at(t, last), strict=True)
    return [slot, (_F.arm_level_as_of, (Longs(levels), Longs(since), ws, property, t, t))]


def _arm(head: Statement, part: Equals | Between, scan: Scan, *, narrow: bool = False) -> Statement:
    bindings = [*head[1]]
    where: list[str] = []
    _restrict(where, bindings, part, scan)
    if narrow and scan.classes:
        where.append(_F.is_class)
        bindings.append(Longs(scan.classes))
    for probe in scan.also if narrow else ():
        where.append(_F.probe)
        bindings += [probe.property, Blobs(probe.keys)]
    sql = head[0].format(where=" ".join(where))
    if isinstance(part, Equals) and len(part.keys) > 1:
        return sql, tuple(bindings)  # unsorted and with repetitions: no place to stop
    return f"{sql} {_order_of_arm(scan)} {_F.length}", (*bindings, scan.limit)


def _restrict(where: list[str], bindings: list[Any], part: Equals | Between, scan: Scan) -> None:
    if isinstance(part, Equals):
        is_one = len(part.keys) == 1
        where.append(_F.is_key if is_one else _F.is_any_key)
        bindings.append(part.keys[0] if is_one else Blobs(part.keys))
        if scan.after is not None:
            where.append(_F.after_id)
            bindings.append(scan.after.id)
        return
    if scan.after is not None:
        where.append(_F.before_place if scan.descending else _F.after_place)
        bindings += [scan.after.key, scan.after.id]
    for bound, condition in ((part.low, _F.from_key), (part.high, _F.below_key)):
        if bound is not None:
            where.append(condition)
            bindings.append(bound)


def _order_of_arm(scan: Scan) -> str:
    if isinstance(scan.drive, Equals):
        return str(_F.by_id)
    return str(_F.by_value_down if scan.descending else _F.by_value)


def _order_of_page(scan: Scan) -> str:
    if isinstance(scan.drive, Equals):
        return str(_F.by_id)
    return str(_F.by_key_down if scan.descending else _F.by_key)
