"""Memories link to entities of any class: by slots, by relations, and by the text of notes."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.access import install_access
from tests.memory.conftest import Call, remember

SHOP: dict[str, Any] = {"shop/name": {"dt/range": "db.type/string"}}
BOOT = "product/mud-lord"


def _with_boot(db: sandbar.Database) -> int:
    db.define(properties=SHOP, classes={"shop/Boot": {"dt/slots": ["shop/name"]}})
    return db.create("shop/Boot", {"db/ident": BOOT, "shop/name": "Mud Lord"}).entity_id


def test_slots_and_relations_lead_to_any_class_and_back(
    memory: sandbar.Database, call: Call
) -> None:
    boot = _with_boot(memory)
    slots = ("related", "cites", "refines", "contradicts", "part_of", "motivated_by")
    remember(memory, "mm/boots-leak", **{slot: [BOOT] for slot in slots})
    relation = {"relation/from": BOOT, "relation/to": "mm/boots-leak", "relation/type": "told-by"}
    memory.create("mm/Relation", relation)
    found = call("memory.backlinks", {"memory": BOOT})["backlinks"]
    assert [(one["slot"], one["ident"]) for one in found] == [
        *((f"memory/{slot.replace('_', '-')}", "mm/boots-leak") for slot in sorted(slots)),
        ("relation/from", "mm/boots-leak"),
    ]
    (back,) = call("memory.backlinks", {"memory": "mm/boots-leak"})["backlinks"]
    assert (back["entity-id"], back["class"], back["name"]) == (boot, "shop/Boot", "Mud Lord")


def test_a_document_names_memories_in_short_and_others_in_full(
    memory: sandbar.Database, call: Call
) -> None:
    _with_boot(memory)
    remember(memory, "mm/first")
    source = f"---\nname: Second\ncites: [first, {BOOT}]\n---\n"
    call("entity.create", {"class": "mm/Memory", "format": "markdown", "source": source})
    assert memory.get("mm/second")["memory/cites"] == ["mm/first", BOOT]
    told = call("entity.find", {"entity": "mm/second", "format": "markdown"})["source"]
    assert "first\n" in told
    assert "mm/first" not in told
    assert BOOT in told
    change = {"entity": "mm/second", "attributes": {"memory/related": ["first"]}}
    call("entity.update", change)
    assert memory.get("mm/second")["memory/related"] == ["mm/first"]


def test_a_database_of_before_takes_the_wider_range(tmp_path: Path) -> None:
    schema = json.loads(files("sandbar.packs.memory").joinpath("schema.json").read_text())
    wider = [name for name, one in schema["properties"].items() if one["dt/range"] == "dt/Resource"]
    assert {"relation/from", "relation/to", "memory/related"} <= set(wider)
    for name in wider:
        schema["properties"][name]["dt/range"] = "mm/Memory"
    with sandbar.open(tmp_path / "before.db") as db:
        db.define(properties=schema["properties"], classes=schema["classes"])
        remember(db, "mm/one")
        remember(db, "mm/two", cites=["mm/one"])
        _with_boot(db)
        with pytest.raises(sandbar.Problem):
            db.update("mm/one", {"memory/related": [BOOT]})
        db.load_pack("memory")
        db.update("mm/one", {"memory/related": [BOOT]})
        assert (db.get("mm/one")["memory/related"], db.get("mm/two")["memory/cites"]) == (
            [BOOT],
            ["mm/one"],
        )


def test_links_in_the_text_of_notes_lead_to_entities(
    memory: sandbar.Database, tmp_path: Path
) -> None:
    _with_boot(memory)
    install_access(memory.workspace)
    note = (
        "---\ncites: [product/mud-lord, product/nobody]\nsupersedes: [product/mud-lord]\n---\n"
        "See [[product/mud-lord|the boot]], [[Other]], [[product/gone]] and "
        "[[auth.role/admin]]; `[[product/code]]`.\n"
    )
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text(note)
    (vault / "Other.md").write_text("Another.\n")
    done = memory.call("project.import", {"from": str(vault), "source": "notes", "apply": True})
    made = memory.get("mm/a")
    assert made["memory/related"] == ["mm/other", BOOT]
    assert made["memory/cites"] == [BOOT]
    assert "memory/supersedes" not in made.slots, "only memories are superseded"
    assert made["memory/extra"]["cites"] == ["product/mud-lord", "product/nobody"]
    told = [one.message for one in done.findings]
    assert len(told) == 4
    for name in ("product/nobody", "product/gone", "auth.role/admin", "product/mud-lord"):
        assert any(name in one for one in told), name
    again = memory.call("project.import", {"from": str(vault), "source": "notes", "apply": True})
    assert again.counts == {"unchanged": 2}
