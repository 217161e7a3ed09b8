"""Lists are bounded in items and bytes, and pages add up to the whole."""

from __future__ import annotations

from itertools import chain
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.verbs.paging import PAGE_BYTES
from tests.verbs.conftest import Call, refusal

KB_32 = 32 * 1000


@pytest.fixture
def crowded(zorp: sandbar.Database) -> sandbar.Database:
    """A workspace with long lists: 1,200 classes, and 150 boots of a kilobyte each."""
    parent = {"dt/subclass-of": ["zorp/Boot"]}
    zorp.define(classes={f"crowd/Class-with-a-long-name-{n:04}": parent for n in range(1200)})
    zorp.transact(
        [
            {
                "op": "create",
                "class": "zorp/Boot",
                "slots": {"footwear/name": f"Crowd {n}", "footwear/color": "c" * 1000},
            }
            for n in range(150)
        ]
    )
    return zorp


def pages(call: Call, verb: str, key: str, arguments: dict[str, Any]) -> list[list[Any]]:
    """All pages of a list."""
    found: list[list[Any]] = []
    more: dict[str, str] = {}
    while True:
        answer = call(verb, arguments | more)
        if "limit" not in arguments:
            assert len(msgspec.json.encode(answer)) <= KB_32
        found.append(answer[key])
        if "cursor" not in answer:
            return found
        more = {"cursor": answer["cursor"]}
        assert len(found) < 3000, "the list does not end"


def joined(found: list[list[Any]]) -> list[Any]:
    """The pages as one list."""
    return list(chain.from_iterable(found))


NAMES = [
    ("schema.classes", "classes", {}),
    ("class.subclasses", "subclasses", {"class": "zorp/Boot"}),
]


@pytest.mark.parametrize(("verb", "key", "arguments"), NAMES)
def test_names_come_in_pages_of_at_most_32_kb(
    crowded: sandbar.Database, call: Call, verb: str, key: str, arguments: dict[str, Any]
) -> None:
    found = pages(call, verb, key, arguments)
    schema = crowded.schema
    whole = schema.classes() if verb == "schema.classes" else schema.subclasses("zorp/Boot")
    assert joined(found) == whole
    assert len(found) > 1
    assert joined(pages(call, verb, key, arguments | {"limit": 7})) == whole
    # Whoever asks for more gets it.
    large = call(verb, arguments | {"limit": 1000})
    assert len(large[key]) == 1000
    assert len(msgspec.json.encode(large)) > PAGE_BYTES


ENTITIES = [
    ("entity.query", "entities", {"class": "zorp/Boot", "order-by": "footwear/name"}),
    ("entity.query", "entities", {"class": "zorp/Boot"}),
    ("class.instances", "instances", {"class": "zorp/Boot", "projection": "full"}),
    ("class.instances", "instances", {"class": "zorp/Boot"}),
]


@pytest.mark.parametrize(("verb", "key", "arguments"), ENTITIES)
def test_entities_come_in_pages_of_at_most_32_kb(
    crowded: sandbar.Database, call: Call, verb: str, key: str, arguments: dict[str, Any]
) -> None:
    found = pages(call, verb, key, arguments)
    ids = [one["entity-id"] for page in found for one in page]
    assert len(ids) == len(set(ids)) == 155
    small = joined(pages(call, verb, key, arguments | {"limit": 40}))
    assert [one["entity-id"] for one in small] == ids
    if arguments.get("projection") != "full" and verb == "class.instances":
        assert "slots" not in found[0][0]
    else:
        large = call(verb, arguments | {"limit": 100})
        assert len(large[key]) == 100
        assert len(msgspec.json.encode(large)) > KB_32


def test_pages_look_at_one_moment(crowded: sandbar.Database, call: Call) -> None:
    arguments = {"class": "zorp/Boot"}
    first = call("entity.query", arguments)
    assert len(first["entities"]) < 50  # it was cut
    crowded.create("zorp/Boot", {"footwear/name": "Late"})
    cursor = first["cursor"]
    names = [one["slots"]["footwear/name"] for one in first["entities"]]
    while cursor:
        page = call("entity.query", arguments | {"cursor": cursor})
        assert page["t"] == first["t"]
        names += [one["slots"]["footwear/name"] for one in page["entities"]]
        cursor = page.get("cursor")
    assert len(names) == 155
    assert "Late" not in names


def test_one_large_entity_is_a_page_of_its_own(zorp: sandbar.Database, call: Call) -> None:
    for n in range(3):
        zorp.create("zorp/Sandal", {"footwear/name": f"Big {n}", "footwear/color": "x" * 50_000})
    where = {"class": "zorp/Sandal", "where": {"footwear/name": {"starts-with": "Big"}}}
    sizes = []
    cursor = None
    while True:
        page = call("entity.query", where | ({"cursor": cursor} if cursor else {}))
        sizes.append(len(page["entities"]))
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert sizes == [1, 1, 1]


def test_history_is_paged(zorp: sandbar.Database, call: Call) -> None:
    for n in range(120):
        zorp.update("product/mud-lord", {"footwear/color": f"{n:03}" + "c" * 500})
    entity = {"entity": "product/mud-lord"}
    found = pages(call, "entity.history", "history", entity)
    entries = joined(found)
    assert len(found) > 2
    assert len(entries) == 121
    assert [entry["t"] for entry in entries] == sorted({entry["t"] for entry in entries})
    assert joined(pages(call, "entity.history", "history", entity | {"limit": 50})) == entries


def test_entities_by_class_are_paged(crowded: sandbar.Database, call: Call) -> None:
    seen: list[int] = []
    cursor, first = None, True
    while first or cursor:
        given = {"classes": ["zorp/Boot", "zorp/SpaceBoot", "zorp/Sandal"]}
        page = call("schema.entities", given | ({"cursor": cursor} if cursor else {}))
        assert len(msgspec.json.encode(page)) <= KB_32
        assert ("total-entities" in page) == first
        for cls, members in page["by-class"].items():
            assert {member["class"] for member in members} == {cls}
            seen += [member["entity-id"] for member in members]
        cursor, first = page.get("cursor"), False
    assert len(seen) == len(set(seen)) == 158


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("schema.classes", {}),
        ("schema.entities", {}),
        ("class.instances", {"class": "zorp/Boot"}),
        ("entity.query", {"class": "zorp/Boot"}),
        ("entity.history", {"entity": "product/mud-lord"}),
        ("search.text", {"query": "moon"}),
    ],
)
@pytest.mark.parametrize("cursor", ["", "nonsense", "§§§", "bnVsbA", "WzEsMl0"])
def test_a_broken_cursor_is_refused(
    call: Call, verb: str, arguments: dict[str, Any], cursor: str
) -> None:
    assert refusal(call, verb, arguments | {"cursor": cursor}).code == "cursor.malformed"


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("schema.classes", {}),
    ("schema.properties", {}),
    ("schema.datatypes", {}),
    ("schema.classes", {"as-of": 2}),
    ("schema.entities", {}),
    ("schema.entities", {"classes": ["zorp/Boot"]}),
    ("class.slots", {"class": "zorp/Boot"}),
    ("class.slots", {"class": "zorp/Sandal"}),
    ("class.subclasses", {"class": "zorp/Footwear"}),
    ("class.instances", {"class": "zorp/Boot"}),
    ("entity.query", {"class": "zorp/Sandal"}),
    ("entity.history", {"entity": "product/mud-lord"}),
    ("entity.history", {"entity": "product/hull-walker"}),
    ("search.text", {"query": "boot"}),
]


def test_a_cursor_fits_its_own_question_only(zorp: sandbar.Database, call: Call) -> None:
    for entity in ("product/mud-lord", "product/hull-walker"):
        zorp.update(entity, {"footwear/color": "pink"})
    cursors = [call(verb, given | {"limit": 1})["cursor"] for verb, given in QUESTIONS]
    for mine, (verb, given) in enumerate(QUESTIONS):
        for theirs, cursor in enumerate(cursors):
            asked = given | {"cursor": cursor, "limit": 2}
            if mine == theirs:
                call(verb, asked)
            else:
                problem = refusal(call, verb, asked)
                assert problem.code == "cursor.other-query", (verb, QUESTIONS[theirs])
                assert "without a cursor" in str(problem.hint)
