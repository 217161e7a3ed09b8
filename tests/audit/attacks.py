"""The corpus: ways to change a log that was sealed. Each changes a copy, at a random place.

`ATTACKS` are found by the log alone; `NEED_HEAD` only by whoever has kept the head elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from sandbar.audit import AuditRow, RowsDigest, Seal, seal_hash
from sandbar.audit.chain import GENESIS, LAST_N
from tests.audit.vandal import AUDIT, SEAL, RawLog, RawRow

Attack = Callable[[RawLog, random.Random], None]

_NULLABLE = ("key", "verb", "code", "request_id")


def other_value(value: Any, column: str, rng: random.Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if column == "is_success":
        return 1 - value
    if isinstance(value, int):
        return value + rng.choice((-1, 1, 1000))
    if isinstance(value, bytes):
        at = rng.randrange(len(value))
        return value[:at] + bytes([value[at] ^ 1 << rng.randrange(8)]) + value[at + 1 :]
    if value is None:
        return "x"
    if column in _NULLABLE and rng.random() < 0.5:
        return None
    return value + rng.choice((" ", "x", "\u0301"))


def _key(row: RawRow) -> tuple[int, int, int]:
    return row["ws"], row["run"], row["n"]


def _free_n(log: RawLog, row: RawRow, rng: random.Random) -> int:
    """A number of the row's run that no row has."""
    taken = {one["n"] for one in log.rows if _key(one)[:2] == _key(row)[:2]}
    return rng.choice([n for n in range(1, max(taken) + 20) if n not in taken])


def _edit(column: str) -> Attack:
    def attack(log: RawLog, rng: random.Random) -> None:
        row = rng.choice(log.rows)
        if column == "n":
            row["n"] = _free_n(log, row, rng)
        elif column == "ws":
            row["ws"] = next(one["ws"] for one in log.rows if one["ws"] != row["ws"])
            row["n"] = _free_n(log, row, rng)
        else:
            row[column] = other_value(row[column], column, rng)

    return attack


def delete_row(log: RawLog, rng: random.Random) -> None:
    del log.rows[rng.randrange(len(log.rows))]


def delete_rows(log: RawLog, rng: random.Random) -> None:
    first = rng.randrange(len(log.rows) - 1)
    del log.rows[first : first + rng.randint(2, 40)]


def delete_run(log: RawLog, rng: random.Random) -> None:
    ws, run, _ = _key(rng.choice(log.rows))
    log.rows[:] = [row for row in log.rows if _key(row)[:2] != (ws, run)]


def delete_all_rows(log: RawLog, rng: random.Random) -> None:
    log.rows.clear()


def _insert(n_of: Callable[[RawLog, RawRow, random.Random], int]) -> Attack:
    def attack(log: RawLog, rng: random.Random) -> None:
        row = rng.choice(log.rows)
        log.rows.append({**row, "n": n_of(log, row, rng), "principal": "user/framed"})

    return attack


def _end_of(log: RawLog, row: RawRow, rng: random.Random) -> int:
    return max(int(one["n"]) for one in log.rows if _key(one)[:2] == _key(row)[:2]) + 1


def swap_rows(log: RawLog, rng: random.Random) -> None:
    first, second = _two_of_a_run(log, rng)
    first["n"], second["n"] = second["n"], first["n"]


def swap_outcomes(log: RawLog, rng: random.Random) -> None:
    first, second = _two_of_a_run(log, rng)
    while first["principal"] == second["principal"]:
        first, second = _two_of_a_run(log, rng)
    first["principal"], second["principal"] = second["principal"], first["principal"]


def _two_of_a_run(log: RawLog, rng: random.Random) -> tuple[RawRow, RawRow]:
    row = rng.choice(log.rows)
    same = [one for one in log.rows if _key(one)[:2] == _key(row)[:2] and one is not row]
    return row, rng.choice(same)


def swap_between_runs(log: RawLog, rng: random.Random) -> None:
    _swap_places(log, rng, "run")


def swap_between_workspaces(log: RawLog, rng: random.Random) -> None:
    _swap_places(log, rng, "ws")


def _swap_places(log: RawLog, rng: random.Random, column: str) -> None:
    row = rng.choice(log.rows)
    other = rng.choice([one for one in log.rows if one[column] != row[column]])
    for name in ("ws", "run", "n"):
        row[name], other[name] = other[name], row[name]


def move_rows_to_workspace(log: RawLog, rng: random.Random) -> None:
    """Into a run that has no rows there, with the seals left behind."""
    ws, run, _ = _key(rng.choice(log.rows))
    other = next(row["ws"] for row in log.rows if row["ws"] != ws)
    log.rows[:] = [row for row in log.rows if _key(row)[:2] != (other, run)]
    for row in log.rows:
        if row["run"] == run:
            row["ws"] = other


def exchange_workspaces(log: RawLog, rng: random.Random) -> None:
    """Everything of each workspace passes to the other, seals and all."""
    one, other = sorted({row["ws"] for row in log.rows})
    for row in [*log.rows, *log.seals]:
        row["ws"] = other if row["ws"] == one else one


def _edit_seal(column: str) -> Attack:
    def attack(log: RawLog, rng: random.Random) -> None:
        seal = rng.choice(log.seals)
        if column == "number":
            seal["number"] = _last_number(log, seal["ws"]) + rng.randint(2, 9)
        else:
            seal[column] = other_value(seal[column], column, rng)

    return attack


def _last_number(log: RawLog, ws: int) -> int:
    return max(int(seal["number"]) for seal in log.seals if seal["ws"] == ws)


def _inner_seal(log: RawLog, rng: random.Random) -> RawRow:
    """Any but the last of a workspace."""
    return rng.choice([s for s in log.seals if s["number"] < _last_number(log, s["ws"])])


def delete_seal(log: RawLog, rng: random.Random) -> None:
    log.seals.remove(_inner_seal(log, rng))


def delete_first_seals(log: RawLog, rng: random.Random) -> None:
    """With their rows: an old part of the log is to be forgotten."""
    seal = _inner_seal(log, rng)
    gone = [s for s in log.seals if s["ws"] == seal["ws"] and s["number"] <= seal["number"]]
    _remove_with_rows(log, gone)


def delete_seal_with_rows(log: RawLog, rng: random.Random) -> None:
    _remove_with_rows(log, [_inner_seal(log, rng)])


def _remove_with_rows(log: RawLog, gone: list[RawRow]) -> None:
    for seal in gone:
        log.seals.remove(seal)
        covered = _covered(log, seal)
        log.rows[:] = [row for row in log.rows if row not in covered]


def _covered(log: RawLog, seal: RawRow) -> list[RawRow]:
    place = (seal["ws"], seal["run"])
    found = [
        row
        for row in log.rows
        if _key(row)[:2] == place and seal["first_n"] <= row["n"] <= seal["last_n"]
    ]
    return sorted(found, key=_key)


def insert_seal_at_end(log: RawLog, rng: random.Random) -> None:
    seal = rng.choice(log.seals)
    number = _last_number(log, seal["ws"]) + 1
    log.seals.append({**seal, "number": number, "hash": rng.randbytes(32)})


def insert_seal_below_the_first(log: RawLog, rng: random.Random) -> None:
    log.seals.append({**rng.choice(log.seals), "number": rng.choice((0, -1, -(1 << 60)))})


def insert_seal_between(log: RawLog, rng: random.Random) -> None:
    """All later ones make room for it."""
    seal = _inner_seal(log, rng)
    for one in log.seals:
        if one["ws"] == seal["ws"] and one["number"] > seal["number"]:
            one["number"] += 1
    log.seals.append({**seal, "number": seal["number"] + 1})


def swap_seals(log: RawLog, rng: random.Random) -> None:
    first = rng.choice(log.seals)
    others = [s for s in log.seals if s["ws"] == first["ws"] and s is not first]
    second = rng.choice(others)
    first["number"], second["number"] = second["number"], first["number"]


def edit_and_seal_again(log: RawLog, rng: random.Random) -> None:
    """A row is changed and its own seal made anew, but not those after it."""
    seal = rng.choice(
        [s for s in log.seals if _covered(log, s) and s["number"] < _last_number(log, s["ws"])]
    )
    rng.choice(_covered(log, seal))["principal"] = "user/framed"
    reseal(log, seal["ws"], only=seal["number"])


def reseal(log: RawLog, ws: int, only: int | None = None) -> None:
    """Make seals anew over the rows as they are now, as whoever knows our program can."""
    previous = GENESIS
    for seal in sorted((s for s in log.seals if s["ws"] == ws), key=lambda s: int(s["number"])):
        if only in (None, seal["number"]):
            digest = RowsDigest()
            digest.add([_audit_row(row) for row in _covered(log, seal)])
            seal["count"] = digest.count
            seal["hash"] = seal_hash(ws, previous, Seal(*(seal[c] for c in SEAL[1:])), digest)
        previous = seal["hash"]


def _audit_row(row: RawRow) -> AuditRow:
    return AuditRow(*(row[column] for column in AUDIT[1:]))._replace(
        is_success=bool(row["is_success"])
    )


def truncate(log: RawLog, rng: random.Random) -> None:
    """The last seals go, and their rows."""
    for ws in {seal["ws"] for seal in log.seals}:
        keep = rng.randrange(_last_number(log, ws))
        _remove_with_rows(log, [s for s in log.seals if s["ws"] == ws and s["number"] > keep])


def truncate_seals(log: RawLog, rng: random.Random) -> None:
    """The last seals go, and the rows stay as if nobody had sealed them yet."""
    for ws in {seal["ws"] for seal in log.seals}:
        keep = rng.randrange(_last_number(log, ws))
        log.seals[:] = [s for s in log.seals if s["ws"] != ws or s["number"] <= keep]


def delete_everything(log: RawLog, rng: random.Random) -> None:
    log.rows.clear()
    log.seals.clear()


def rewrite(log: RawLog, rng: random.Random) -> None:
    """Somebody else did it all: every row is changed, and the whole chain made anew."""
    for row in log.rows:
        row["principal"] = "user/framed"
    for ws in {seal["ws"] for seal in log.seals}:
        reseal(log, ws)


def rewrite_from_somewhere(log: RawLog, rng: random.Random) -> None:
    """One row of each workspace goes, and the chain is made anew from there on."""
    for ws in {seal["ws"] for seal in log.seals}:
        log.rows.remove(rng.choice([row for row in log.rows if row["ws"] == ws]))
        reseal(log, ws)


ATTACKS: dict[str, Attack] = {
    **{f"edit {column}": _edit(column) for column in AUDIT},
    **{f"edit seal's {column}": _edit_seal(column) for column in SEAL if column != "ws"},
    "insert in a gap": _insert(_free_n),
    "insert at the end": _insert(_end_of),
    "insert far behind the end": _insert(lambda log, row, rng: LAST_N - rng.randrange(9)),
    "insert beyond the last number": _insert(lambda log, row, rng: LAST_N + 1 + rng.randrange(9)),
    "insert as number 0": _insert(lambda log, row, rng: 0),
    "insert below 0": _insert(lambda log, row, rng: -1 - rng.randrange(10**9)),
    **{
        attack.__name__.replace("_", " "): attack
        for attack in (
            delete_row, delete_rows, delete_run, delete_all_rows,
            swap_rows, swap_outcomes, swap_between_runs, swap_between_workspaces,
            move_rows_to_workspace, exchange_workspaces,
            delete_seal, delete_first_seals, delete_seal_with_rows,
            insert_seal_at_end, insert_seal_below_the_first, insert_seal_between, swap_seals,
            edit_and_seal_again,
        )
    },
}  # fmt: skip
NEED_HEAD: dict[str, Attack] = {
    attack.__name__.replace("_", " "): attack
    for attack in (truncate, truncate_seals, delete_everything, rewrite, rewrite_from_somewhere)
}
