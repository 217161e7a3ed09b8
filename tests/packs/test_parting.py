"""Seeds of large packs: in parts that fit, and none refers to a later one."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbar.database import open_database
from sandbar.errors import Incorrect
from sandbar.model import SchemaBounds, Workspace
from sandbar.packs import load_pack
from sandbar.packs import parting as module
from sandbar.packs.folders import SeedEntity
from sandbar.packs.parting import in_parts
from tests.packs.conftest import WritePack

SCHEMA: dict[str, dict[str, dict[str, Any]]] = {
    "properties": {
        "knot/to": {"dt/range": "db.type/ref", "db/cardinality": "many"},
        "knot/next": {"dt/range": "knot/Knot", "dt/required?": True},
        "knot/code": {"dt/range": "db.type/string", "db/unique": "value"},
        "knot/text": {"dt/range": "db.type/string"},
    },
    "classes": {
        "knot/Knot": {"dt/slots": ["knot/to", "knot/code", "knot/text"]},
        "knot/Tied": {"dt/slots": ["knot/next"], "dt/subclass-of": ["knot/Knot"]},
    },
}


def seed_of(n: int, *others: int, **slots: Any) -> SeedEntity:
    """A seed that refers to others."""
    to = [f"knot/n{other}" for other in others]
    more = {f"knot/{slot}": value for slot, value in slots.items()}
    return SeedEntity("knot/Knot", {"db/ident": f"knot/n{n}", "knot/to": to, **more})


def written(seeds: list[SeedEntity]) -> list[dict[str, Any]]:
    """As they stand in the file."""
    return [{"class": seed.class_, "slots": seed.slots} for seed in seeds]


def numbers(parts: list[list[SeedEntity]]) -> list[list[int]]:
    """Which seeds are in which part."""
    return [[int(seed.slots["db/ident"].removeprefix("knot/n")) for seed in part] for part in parts]


def test_what_fits_keeps_the_order_of_the_file() -> None:
    seeds = [seed_of(n, 999 - n) for n in range(1000)]
    assert numbers(in_parts(seeds)) == [list(range(1000))]
    assert in_parts([]) == [[]]


def test_random_references_never_lead_to_a_later_part(
    seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEEDS_AT_ONCE", 4)
    rng = random.Random(seed)
    split = 0
    for _ in range(300):
        count = rng.randint(5, 14)
        refers = [rng.sample(range(count), rng.choice([0, 0, 1, 1, 2])) for _ in range(count)]
        parts = numbers(in_parts([seed_of(n, *refers[n]) for n in range(count)]))
        assert sorted(n for part in parts for n in part) == list(range(count))
        part_of = {n: at for at, part in enumerate(parts) for n in part}
        assert all(part_of[to] <= part_of[n] for n in range(count) for to in refers[n])
        for part in parts:
            reached = {n: _reached(refers.__getitem__, n) for n in part}
            is_one_circle = all(a in reached[b] or a == b for a in part for b in part)
            assert len(part) <= 4 or is_one_circle
        split += len(parts) > 1
    assert split > 100


def _reached(refers: Callable[[int], list[int]], start: int) -> set[int]:
    found: set[int] = set()
    line = [start]
    while line:
        for to in refers(line.pop()):
            if to not in found:
                found.add(to)
                line.append(to)
    return found


def test_a_long_chain_is_no_deep_recursion() -> None:
    seeds = [seed_of(n, n + 1) for n in range(20_000)] + [seed_of(20_000)]
    parts = numbers(in_parts(seeds))
    assert [n for part in parts for n in part] == list(range(20_000, -1, -1))


def test_references_go_in_any_direction_in_a_large_pack(
    either: Workspace, write_pack: WritePack
) -> None:
    seeds = [seed_of(n) for n in range(1300)]
    seeds[5] = seed_of(5, 1250, 1)
    seeds[6] = seed_of(6, to=[{"knot/code": "far"}])
    seeds[1251] = seed_of(1251, code="far")
    seeds[7] = SeedEntity("knot/Tied", {"db/ident": "knot/n7", "knot/next": "knot/n1298"})
    seeds[1298] = SeedEntity("knot/Tied", {"db/ident": "knot/n1298", "knot/next": ":knot/n7"})
    folder = write_pack("knots", schema=SCHEMA, entities=written(seeds))
    assert load_pack(either, folder).created == 1300
    assert either.get("knot/n5")["knot/to"] == ["knot/n1250", "knot/n1"]
    assert either.get("knot/n6")["knot/to"] == ["knot/n1251"]
    assert either.get("knot/n7")["knot/next"] == "knot/n1298"
    assert load_pack(either, folder).created == 0


def test_who_is_looked_up_by_another_spelling_stays_before_who_looks(
    workspace: Workspace, write_pack: WritePack
) -> None:
    keys = {
        **SCHEMA["properties"],
        "knot/key": {"dt/range": "db.type/bigdec", "db/unique": "value"},
    }
    slots = [*SCHEMA["classes"]["knot/Knot"]["dt/slots"], "knot/key"]
    classes = {**SCHEMA["classes"], "knot/Knot": {"dt/slots": slots}}
    for spelling in ("8.5", {"knot/code": "nobody"}, "8.50"):
        seeds = [seed_of(n) for n in range(1200)]
        seeds[5] = seed_of(5, 900)  # which pulls 900 to the front
        seeds[800] = seed_of(800, key="8.5")
        seeds[900] = seed_of(900, to=[{"knot/key": spelling}])
        parts = numbers(in_parts(seeds))
        line = [n for part in parts for n in part]
        assert (line == list(range(1200))) is (spelling != "8.5")
        assert line.index(800) < line.index(900)
    folder = write_pack(
        "knots", schema={"properties": keys, "classes": classes}, entities=written(seeds)
    )
    assert load_pack(workspace, folder).created == 1200


def test_large_seeds_are_loaded_in_parts(workspace: Workspace, write_pack: WritePack) -> None:
    seeds = [seed_of(n, text="x" * 9_000) for n in range(600)]  # 5 MB
    told: list[int] = []
    folder = write_pack("knots", schema=SCHEMA, entities=written(seeds))
    report = load_pack(workspace, folder, lambda done, total: told.append(done))
    assert (report.created, told[-1], len(told)) == (600, 600, 3)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda file: file.symlink_to("nowhere")])
@pytest.mark.parametrize("name", ["entities", "schema", "prompts", "workflows"])
def test_a_file_that_is_none_is_not_taken_for_absent(
    workspace: Workspace, write_pack: WritePack, make: Callable[[Path], None], name: str
) -> None:
    folder = write_pack("knots")
    make(folder / f"{name}.json")
    with pytest.raises(Incorrect) as caught:
        load_pack(workspace, folder)
    assert (caught.value.code, name in caught.value.message) == ("pack.malformed", True)


def test_an_ident_that_is_null_is_none(workspace: Workspace, write_pack: WritePack) -> None:
    nameless = SeedEntity("knot/Knot", {"db/ident": None})
    folder = write_pack("knots", schema=SCHEMA, entities=written([nameless]))
    with pytest.raises(Incorrect) as caught:
        load_pack(workspace, folder)
    assert caught.value.code == "pack.unnamed-entity"


@pytest.mark.parametrize("count", [25, 40, 41, 150])
def test_a_pack_may_define_more_than_a_call_takes(
    tmp_path: Path, write_pack: WritePack, count: int
) -> None:
    names = [f"knot/text-{n}" for n in range(count)]
    texts = {name: {"dt/range": "db.type/string"} for name in names}
    classes = {**SCHEMA["classes"], "knot/Long": {"dt/slots": names}}
    schema = {"properties": {**SCHEMA["properties"], **texts}, "classes": classes}
    folder = write_pack("knots", schema=schema, entities=written([seed_of(0, 1), seed_of(1)]))
    few = SchemaBounds(definitions_at_once=40)
    with open_database(tmp_path / "few.db", bounds=few) as db:
        before = db.t
        report = load_pack(db.workspace, folder)
        assert (report.definitions, report.created, report.is_new) == (count + 7, 2, True)
        assert report.changed == count + 9
        assert db.t == before + 1
        assert set(names) <= set(db.schema.slots("knot/Long"))
        assert load_pack(db.workspace, folder).changed == 0
