"""Composing index walks for PostgreSQL from the fragments of `scans.sql`."""

from __future__ import annotations

from typing import Any

from sandbar.store.postgres.arrays import Blobs, Longs
from sandbar.store.queries import load_queries
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
    sql = _F.documents_as_of.format(places=places, order=_order(scan, "s.key"))
    return sql, (*bindings, ws, scan.as_of, ws, scan.as_of)


def _merge(arms: list[Statement], scan: Scan) -> Statement:
    """One page out of several sorted arms."""
    counts_once = isinstance(scan.drive, Equals) and len(scan.drive.keys) > 1
    if len(arms) == 1 and not counts_once:
        return arms[0]
    # A many-valued slot can hold two of the keys: each entity counts once.
    distinct, also_by = (" DISTINCT ON (s.id)", ", s.key") if counts_once else ("", "")
    body = " UNION ALL ".join(f"({sql})" for sql, _ in arms)
    bindings = tuple(value for _, values in arms for value in values)
    order = _order(scan, "s.key") + also_by
    return f"SELECT{distinct} * FROM ({body}) s {order} LIMIT %s", (*bindings, scan.limit)


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
    way = " DESC" if scan.descending else ""
    sql = _F.range_as_of.format(
        where=" ".join(where),
        arm_order=_order(scan, "s.value"),
        order=f"ORDER BY key{way}, id{way}",
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
        where.append("AND e.class = ANY(%s)")
        bindings.append(Longs(scan.classes))
    for probe in scan.also if narrow else ():
        where.append(_F.probe)
        bindings += [probe.property, Blobs(probe.keys)]
    sql = head[0].format(where=" ".join(where))
    if isinstance(part, Equals) and len(part.keys) > 1:
        return sql, tuple(bindings)  # unsorted and with repetitions: no place to stop
    return f"{sql} {_order(scan, 's.value')} LIMIT %s", (*bindings, scan.limit)


def _restrict(where: list[str], bindings: list[Any], part: Equals | Between, scan: Scan) -> None:
    if isinstance(part, Equals):
        is_one = len(part.keys) == 1
        where.append("AND s.value = %s" if is_one else "AND s.value = ANY(%s)")
        bindings.append(part.keys[0] if is_one else Blobs(part.keys))
        if scan.after is not None:
            where.append("AND s.id > %s")
            bindings.append(scan.after.id)
        return
    if scan.after is not None:
        where.append(f"AND (s.value, s.id) {'<' if scan.descending else '>'} (%s, %s)")
        bindings += [scan.after.key, scan.after.id]
    for bound, operator in ((part.low, ">="), (part.high, "<")):
        if bound is not None:
            where.append(f"AND s.value {operator} %s")
            bindings.append(bound)


def _order(scan: Scan, key: str) -> str:
    if isinstance(scan.drive, Equals):
        return "ORDER BY s.id"
    way = " DESC" if scan.descending else ""
    return f"ORDER BY {key}{way}, s.id{way}"
