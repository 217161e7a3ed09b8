"""Answers are what Python knows: mappings, sequences, JSON; for FastAPI, too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import sandbar


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbar.Database]:
    path: Path = tmp_path_factory.mktemp("library") / "deals.db"
    with sandbar.open(path) as db:
        db.define(
            properties={
                "deal/title": {"dt/range": "db.type/string"},
                "deal/size": {"dt/range": "db.type/long", "dt/indexed?": True},
            },
            classes={
                "deal/Deal": {
                    "dt/subclass-of": ["dt/Ref"],
                    "dt/slots": ["deal/title", "deal/size"],
                }
            },
        )
        for size in range(3):
            db.create("deal/Deal", {"deal/title": f"Deal {size}", "deal/size": size})
        yield db


def first(db: sandbar.Database) -> sandbar.Entity:
    return db.query("deal/Deal", order_by="deal/size").items[0]


def test_an_entity_is_a_mapping_of_its_slots(db: sandbar.Database) -> None:
    entity = first(db)
    slots = {"deal/title": "Deal 0", "deal/size": 0}
    assert isinstance(entity, Mapping)
    assert "deal/title" in entity
    assert "deal/none" not in entity
    assert "" not in entity
    assert dict(entity) == {**entity} == slots
    assert set(entity) == set(entity.keys()) == set(slots)
    assert sorted(map(str, entity.values())) == ["0", "Deal 0"]
    assert dict(entity.items()) == slots
    assert (len(entity), entity.get("deal/none"), entity.get("deal/none", 7)) == (2, None, 7)
    with pytest.raises(KeyError):
        entity["deal/none"]
    match entity:
        case {"deal/title": title}:
            assert title == "Deal 0"
        case _:
            raise AssertionError("no mapping")


def test_entities_are_equal_if_all_of_them_is(db: sandbar.Database) -> None:
    entity = first(db)
    assert entity == first(db)
    assert entity != db.get(entity.entity_id + 1)
    assert entity != dict(entity)
    assert bool(msgspec.structs.replace(entity, slots={})) is True
    with pytest.raises(TypeError):
        hash(entity)


def test_a_page_is_a_sequence_of_its_items(db: sandbar.Database) -> None:
    page = db.query("deal/Deal", order_by="deal/size", limit=2)
    assert isinstance(page, Sequence)
    assert len(page) == 2
    assert list(page) == page.items == page[:]
    assert (page[0], page[-1]) == (page.items[0], page.items[1])
    assert list(reversed(page)) == page.items[::-1]
    assert page[1] in page
    assert (page.index(page[1]), page.count(page[1])) == (1, 1)
    assert not db.query("deal/Deal", {"deal/size": 99})
    assert dict(page) == {"items": page.items, "t": page.t, "cursor": page.cursor}
    with pytest.raises(KeyError):
        page["nothing"]


def test_a_page_of_a_search_is_a_sequence_of_hits(db: sandbar.Database) -> None:
    found = db.search("deal 1", class_="deal/Deal")
    assert "Deal 1" in [hit.entity["deal/title"] for hit in found]
    assert len(found) == len(found.items)


def test_json_takes_every_answer(db: sandbar.Database) -> None:
    entity = first(db)
    slots = {"deal/title": "Deal 0", "deal/size": 0}
    assert json.loads(json.dumps(dict(entity))) == slots
    assert json.loads(json.dumps(entity, default=dict)) == slots
    page = db.query("deal/Deal", order_by="deal/size", limit=1)
    shown = {"items": [slots], "t": page.t, "cursor": page.cursor}
    assert json.loads(json.dumps(page, default=dict)) == shown
    written = db.update(entity.entity_id, {"deal/size": 0})
    for answer in (
        written,
        db.search("deal"),
        db.history(entity.entity_id),
        db.changes(limit=2),
    ):
        assert json.loads(json.dumps(answer, default=dict))
    assert dict(written)["receipt"].t == written.t
    whole = msgspec.to_builtins(entity)
    assert (whole["entity-id"], whole["class"], whole["slots"]) == (
        entity.entity_id, "deal/Deal", slots,
    )  # fmt: skip


def test_fastapi_takes_entities_and_pages(db: sandbar.Database) -> None:
    app = FastAPI()

    @app.get("/deal")
    def deal() -> sandbar.Entity:
        return first(db)

    @app.get("/deals")
    def deals() -> sandbar.Page:
        return db.query("deal/Deal", order_by="deal/size", limit=2)

    @app.get("/plain", response_model=None)
    def plain() -> object:
        return db.query("deal/Deal", order_by="deal/size", limit=2)

    @app.get("/many")
    def many() -> list[sandbar.Entity]:
        return list(db.query("deal/Deal", order_by="deal/size", limit=2))

    @app.get("/found")
    def found() -> sandbar.SearchPage:
        return db.search("deal")

    client = TestClient(app)
    slots = [{"deal/title": f"Deal {n}", "deal/size": n} for n in (0, 1)]
    assert client.get("/deal").json() == slots[0]
    assert client.get("/many").json() == slots
    for path in ("/deals", "/plain"):
        answer = client.get(path).json()
        assert (answer["items"], set(answer)) == (slots, {"items", "t", "cursor"})
    assert {"entity", "score", "snippet"} == set(client.get("/found").json()["items"][0])
    assert client.get("/openapi.json").status_code == 200
