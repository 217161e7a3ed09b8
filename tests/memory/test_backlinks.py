"""`memory.backlinks`: complete for every slot of every class, and paged."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.access import Caller
from sandbar.access.rights import rights_of_role
from sandbar.errors import Forbidden, Incorrect, NotFound
from sandbar.packs.memory.links import LINK_SLOTS
from tests.memory.conftest import Call, remember


def _pairs(answer: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(one["slot"], one["ident"]) for one in answer["backlinks"]]


def test_every_link_slot_is_looked_at(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/target")
    for name in LINK_SLOTS:
        remember(memory, f"by/{name}", **{name.replace("-", "_"): ["mm/target"]})
    answer = call("memory.backlinks", {"memory": "mm/target"}, role="reader")
    assert _pairs(answer) == [(slot, f"by/{name}") for name, slot in sorted(LINK_SLOTS.items())]
    assert {one["name"] for one in answer["backlinks"]} == {name.title() for name in LINK_SLOTS}
    assert {one["class"] for one in answer["backlinks"]} == {"mm/Memory"}
    assert "cursor" not in answer


def test_the_link_slots_are_those_of_the_schema(memory: sandbar.Database) -> None:
    """The list in the code and the references of the class name the same."""
    schema = memory.schema
    facts = [schema.describe_property(slot) for slot in schema.slots("mm/Memory")]
    links = {
        fact["property"]
        for fact in facts
        if fact["range"] in ("mm/Memory", "dt/Resource") and "inverse-of" not in fact
    }
    assert links == set(LINK_SLOTS.values())


def test_slots_of_other_classes_and_of_any_range(memory: sandbar.Database, call: Call) -> None:
    memory.define(
        properties={
            "task/about": {"dt/range": "mm/Memory"},
            "task/anything": {"dt/range": "db.type/ref", "db/cardinality": "many"},
            "task/resource": {"dt/range": "dt/Resource"},
            "task/note": {"dt/range": "db.type/string"},
        },
        classes={
            "work/Task": {
                "dt/slots": ["task/about", "task/anything", "task/resource", "task/note"]
            },
            "mm/Recipe": {"dt/subclass-of": ["mm/Memory"]},
        },
    )
    target = memory.create("mm/Recipe", {"db/ident": "mm/soup", "memory/name": "Soup"})
    named = {"db/ident": "work/cook", "dt/label": "Cook it", "task/about": "mm/soup"}
    memory.create("work/Task", {**named, "task/anything": ["mm/soup"]})
    memory.create("work/Task", {"task/resource": "mm/soup", "task/note": "mm/soup"})
    answer = call("memory.backlinks", {"memory": target.entity_id})
    shown = [(one["slot"], one["class"], one["name"]) for one in answer["backlinks"]]
    assert shown == [
        ("task/about", "work/Task", "Cook it"),
        ("task/anything", "work/Task", "Cook it"),
        ("task/resource", "work/Task", None),
    ]


def test_a_relation_shows_its_other_end(memory: sandbar.Database, call: Call) -> None:
    ana = remember(memory, "mm/ana")
    remember(memory, "mm/acme")
    relation = {"relation/from": "mm/ana", "relation/to": "mm/acme", "relation/type": "works_at"}
    made = memory.create("mm/Relation", relation)
    lost = {"relation/from-name": "Nobody", "relation/to": "mm/acme", "relation/type": "owns"}
    memory.create("mm/Relation", lost)
    found = call("memory.backlinks", {"memory": "mm/acme"})["backlinks"]
    assert found[0] == {
        "slot": "relation/to",
        "entity-id": ana,
        "ident": "mm/ana",
        "class": "mm/Memory",
        "name": "Ana",
        "relation": "works_at",
        "relation-id": made.entity_id,
    }
    assert (found[1]["name"], found[1]["entity-id"], found[1]["relation"]) == (
        "Nobody",
        None,
        "owns",
    )
    (back,) = call("memory.backlinks", {"memory": "mm/ana"})["backlinks"]
    assert (back["slot"], back["ident"], back["relation"]) == (
        "relation/from",
        "mm/acme",
        "works_at",
    )


def test_pages_together_are_everything_once_in_random_graphs(
    memory: sandbar.Database, call: Call
) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    names = [f"mm/m{number}" for number in range(25)]
    links: dict[str, dict[str, list[str]]] = {}
    for name in names:
        chosen = chance.sample(sorted(LINK_SLOTS.values()), chance.randrange(4))
        links[name] = {slot: chance.sample(names, chance.randrange(1, 8)) for slot in chosen}
    memory.transact(
        [
            {"op": "create", "class": "mm/Memory", "slots": {"db/ident": name, "memory/name": name}}
            for name in names
        ]
    )
    memory.transact(
        [{"op": "update", "entity": name, "set": slots} for name, slots in links.items()]
    )
    for target in chance.sample(names, 6):
        expected = sorted(
            (slot, name)
            for name, slots in links.items()
            for slot, ends in slots.items()
            if target in ends
        )
        limit = chance.randrange(1, 6)
        seen: list[tuple[str, str | None]] = []
        arguments: dict[str, Any] = {"memory": target, "limit": limit}
        while True:
            answer = call("memory.backlinks", arguments)
            assert len(answer["backlinks"]) <= limit
            seen += _pairs(answer)
            if "cursor" not in answer:
                break
            arguments["cursor"] = answer["cursor"]
        assert sorted(seen, key=str) == sorted(expected, key=str), seed


def test_all_pages_show_the_moment_of_the_first(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/target")
    for number in range(4):
        remember(memory, f"mm/cites{number}", cites=["mm/target"])
    remember(memory, "mm/other", related=["mm/target"])
    first = call("memory.backlinks", {"memory": "mm/target", "limit": 3})
    remember(memory, "mm/late", cites=["mm/target"], related=["mm/target"])
    more = {"memory": "mm/target", "limit": 3, "cursor": first["cursor"]}
    rest = call("memory.backlinks", more)
    assert _pairs(rest) == [("memory/cites", "mm/cites3"), ("memory/related", "mm/other")]
    assert rest["t"] == first["t"]


def test_what_is_no_cursor_is_refused(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/one")
    remember(memory, "mm/two", cites=["mm/one"], related=["mm/one"])
    with pytest.raises(NotFound):
        call("memory.backlinks", {"memory": "mm/nobody"})
    cursor = call("memory.backlinks", {"memory": "mm/one", "limit": 1})["cursor"]
    with pytest.raises(Incorrect) as caught:
        call("memory.backlinks", {"memory": "mm/two", "cursor": cursor})
    assert caught.value.code == "cursor.other-query"


def test_a_narrow_key_is_shown_its_classes_only(memory: sandbar.Database) -> None:
    remember(memory, "mm/target")
    remember(memory, "mm/citing", cites=["mm/target"])
    relation = {"relation/from-name": "x", "relation/to": "mm/target", "relation/type": "t"}
    memory.create("mm/Relation", relation)
    rights = msgspec.structs.replace(rights_of_role("reader"), classes=frozenset({"mm/Memory"}))
    caller = Caller("narrow", "reader", memory.workspace_name, rights=rights)
    answer = memory.call_as(caller, "memory.backlinks", {"memory": "mm/target"})
    assert [one.slot for one in answer.backlinks] == ["memory/cites"]
    blind = msgspec.structs.replace(rights, classes=frozenset({"mm/Tag"}))
    caller = Caller("blind", "reader", memory.workspace_name, rights=blind)
    with pytest.raises(Forbidden):
        memory.call_as(caller, "memory.backlinks", {"memory": "mm/target"})
