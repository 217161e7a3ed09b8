"""Packs: the tutorial domain, and folders that anyone can write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sandbar
from sandbar.packs import built_in_packs


@pytest.fixture
def shop(tmp_path: Path) -> sandbar.Database:
    """A new database with the zorp pack."""
    db = sandbar.open(tmp_path / "shop.db")
    db.load_pack("zorp")
    return db


def test_zorp_is_built_in() -> None:
    assert "zorp" in built_in_packs()


def test_footwear_is_abstract_and_has_eight_subclasses(shop: sandbar.Database) -> None:
    assert shop.schema.is_abstract("zorp/Footwear")
    assert shop.schema.subclasses("zorp/Footwear") == [
        f"zorp/{name}"
        for name in [
            "Boot",
            "FlipFlop",
            "HighTop",
            "LowTop",
            "MoonBoot",
            "Sandal",
            "Sneaker",
            "SpaceBoot",
        ]
    ]


@pytest.mark.parametrize(
    ("cls", "own_and_inherited"),
    [("Footwear", 7), ("Sandal", 7), ("HighTop", 12), ("SpaceBoot", 9), ("FlipFlop", 11)],
)
def test_slots_are_inherited(shop: sandbar.Database, cls: str, own_and_inherited: int) -> None:
    common = set(shop.schema.slots("dt/Ref"))
    assert len(set(shop.schema.slots(f"zorp/{cls}")) - common) == own_and_inherited


def test_a_dozen_products_come_along(shop: sandbar.Database) -> None:
    assert len(shop.query("zorp/Footwear").items) == 12


def test_the_seeds_example_is_created_as_printed(shop: sandbar.Database) -> None:
    boot = shop.create(
        "zorp/SpaceBoot",
        {
            "footwear/name": "Moon Boot Pro",
            "footwear/price": 299.99,
            "footwear/tentacle-count": 4,
            "boot/vacuum-rated?": True,
        },
    )
    assert shop.get(boot.entity_id)["footwear/price"] == "299.99"


def test_a_missing_name_is_reported_as_the_seeds_expect(shop: sandbar.Database) -> None:
    with pytest.raises(sandbar.Incorrect, match="Missing required slot") as caught:
        shop.create("zorp/SpaceBoot", {"footwear/price": 1})
    assert [f["slot"] for f in caught.value.data["findings"]] == ["footwear/name"]


def test_loading_twice_changes_nothing(shop: sandbar.Database) -> None:
    before = shop.t
    report = shop.load_pack("zorp")
    assert (report.created, shop.t) == (0, before)


def test_a_newer_version_of_a_pack_updates_the_definitions(tmp_path: Path) -> None:
    db = sandbar.open(tmp_path / "a.db")
    folder = write_pack(tmp_path / "tea", {"tea/name": {"dt/range": "db.type/string"}})
    db.load_pack(folder)
    write_pack(folder, {"tea/name": {"dt/range": "db.type/string", "dt/indexed?": True}})
    db.load_pack(str(folder))
    assert db.schema.describe_property("tea/name")["indexed?"] is True


def test_a_pack_is_attributed_in_history(shop: sandbar.Database) -> None:
    assert shop.history("product/mud-lord")[0].principal == "pack/zorp"


def test_an_unknown_pack_names_the_known_ones(tmp_path: Path) -> None:
    db = sandbar.open(tmp_path / "a.db")
    with pytest.raises(sandbar.NotFound) as caught:
        db.load_pack("zrop")
    assert "zorp" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("file", "text", "code"),
    [
        ("pack.json", "{", "pack.malformed"),
        ("pack.json", '{"name": "x"}', "pack.malformed"),
        ("schema.json", '{"klasses": {}}', "pack.malformed"),
        ("entities.json", '[{"class": "dt/List", "slots": {}}]', "pack.unnamed-entity"),
    ],
)
def test_a_malformed_pack_is_refused_whole(tmp_path: Path, file: str, text: str, code: str) -> None:
    db = sandbar.open(tmp_path / "a.db")
    folder = write_pack(tmp_path / "bad", {})
    (folder / file).write_text(text)
    before = db.t
    with pytest.raises(sandbar.Problem) as caught:
        db.load_pack(folder)
    assert (caught.value.code, db.t) == (code, before)


def write_pack(folder: Path, properties: dict[str, dict[str, object]]) -> Path:
    """A pack folder with just these properties."""
    folder.mkdir(exist_ok=True)
    (folder / "pack.json").write_text(json.dumps({"name": folder.name, "title": folder.name}))
    (folder / "schema.json").write_text(json.dumps({"properties": properties}))
    return folder


def test_loading_a_large_pack_tells_how_far_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    manifest = {"name": "many", "title": "Many"}
    seeds = [
        {"class": "zorp/Boot", "slots": {"db/ident": f"many/b{n}", "footwear/name": "B"}}
        for n in range(2500)
    ]
    (folder / "pack.json").write_text(json.dumps(manifest))
    (folder / "entities.json").write_text(json.dumps(seeds))
    told: list[tuple[int, int]] = []
    with sandbar.open(tmp_path / "many.db") as db:
        db.load_pack("zorp")
        db.load_pack(folder, progress=lambda done, total: told.append((done, total)))
    assert told == [(1000, 2500), (2000, 2500), (2500, 2500)]
