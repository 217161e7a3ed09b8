"""What the entity verbs do, on both stores."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sandbar
from tests.verbs.conftest import Call, refusal

BOOT = {"footwear/name": "Test Boot", "footwear/price": "10"}


def test_create_answers_who_when_and_whether(call: Call) -> None:
    slots = BOOT | {"db/ident": ":test/boot"}
    made = call("entity.create", {"class": ":zorp/Boot", "slots": slots})
    assert list(made) == ["entity-id", "ident", "class", "created", "changed", "receipt"]
    assert made | {"entity-id": 0, "receipt": 0} == {
        "entity-id": 0,
        "ident": "test/boot",
        "class": "zorp/Boot",
        "created": True,
        "changed": True,
        "receipt": 0,
    }
    assert made["receipt"].keys() == {"t", "instant", "epoch", "audit"}
    found = call("entity.find", {"ident": "test/boot"})["entity"]
    assert (found["entity-id"], found["t"]) == (made["entity-id"], made["receipt"]["t"])


def test_a_second_create_says_what_differs(call: Call) -> None:
    slots = BOOT | {"db/ident": "test/boot"}
    call("entity.create", {"class": "zorp/Boot", "slots": slots})
    again = call("entity.create", {"class": "zorp/Boot", "slots": slots | {"footwear/price": "11"}})
    assert (again["created"], again["changed"]) == (False, False)
    assert again["differs"] == ["footwear/price"]


def test_a_retry_writes_once(call: Call) -> None:
    given = {"class": "zorp/Boot", "slots": BOOT, "idempotency-key": "once"}
    first, second = call("entity.create", given), call("entity.create", given)
    assert second == first | {"replayed": True}
    other = given | {"slots": {"footwear/name": "Another"}}
    assert refusal(call, "entity.create", other).code == "idempotency.mismatch"


def test_create_reads_json_documents(call: Call) -> None:
    given = {"class": "zorp/Boot", "source": json.dumps(BOOT)}
    for format in ({}, {"format": "json"}):
        made = call("entity.create", given | format)
        assert call("entity.find", {"id": made["entity-id"]})["entity"]["slots"] == BOOT


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"source": "{", "format": "json"}, "codec.malformed"),
        ({"source": "[]"}, "codec.malformed"),
        ({"source": "# Hi", "format": "markdown"}, "codec.malformed"),
        ({"source": "x", "format": "yaml"}, "codec.unknown"),
        ({"source": "{}", "slots": {}}, "arguments.invalid"),
        ({}, "entity.invalid"),
    ],
)
def test_create_refuses_what_states_no_slots(call: Call, more: dict[str, Any], code: str) -> None:
    assert refusal(call, "entity.create", {"class": "zorp/Boot"} | more).code == code


def test_an_abstract_class_is_refused_for_that_alone(call: Call) -> None:
    problem = refusal(call, "entity.create", {"class": "zorp/Footwear", "slots": BOOT})
    assert problem.code == "class.abstract"
    assert [one["code"] for one in problem.data["findings"]] == ["class.abstract"]


def test_update_sets_clears_and_expects(call: Call) -> None:
    made = call("entity.create", {"class": "zorp/Boot", "slots": BOOT})
    entity = {"entity": made["entity-id"]}
    changes = {"footwear/price": None, "footwear/color": "red"}
    changed = call("entity.update", entity | {"attributes": changes, "reason": "fashion"})
    assert changed["changed"] is True
    slots = call("entity.find", entity)["entity"]["slots"]
    assert slots == {"footwear/name": "Test Boot", "footwear/color": "red"}
    assert call("entity.update", entity | {"set": {"footwear/color": "red"}})["changed"] is False
    stale = entity | {"set": {"footwear/color": "blue"}, "expect": made["receipt"]["t"]}
    assert refusal(call, "entity.update", stale).code == "entity.moved"


def test_update_adds_and_removes(zorp: sandbar.Database, call: Call) -> None:
    zorp.define(
        properties={"bag/tags": {"dt/range": "db.type/string", "db/cardinality": "many"}},
        classes={"bag/Bag": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["bag/tags"]}},
    )
    made = call("entity.create", {"class": "bag/Bag", "slots": {"bag/tags": ["a", "b"]}})
    entity = {"id": made["entity-id"]}
    call("entity.update", entity | {"add": {"bag/tags": "c"}, "remove": {"bag/tags": ["a"]}})
    assert call("entity.find", entity)["entity"]["slots"] == {"bag/tags": ["b", "c"]}


def test_delete_restore_and_what_history_says(call: Call) -> None:
    entity = {"entity": "product/mud-lord"}
    before = call("entity.find", entity)["entity"]
    gone = call("entity.delete", entity | {"reason": "sold out"})
    assert (gone["deleted"], gone["deleted-count"]) == ([before["entity-id"]], 1)
    assert refusal(call, "entity.find", entity).code == "entity.unknown"
    back = call("entity.restore", {"entity": before["entity-id"], "reason": "found one"})
    assert back["changed"] is True
    after = call("entity.find", entity)["entity"]
    assert after == before | {"t": back["receipt"]["t"]}
    history = call("entity.history", entity)["history"]
    assert [entry.get("reason") for entry in history] == [None, "sold out", "found one"]
    assert history[1]["kind"] == "deleted"


def test_restore_goes_back_to_a_moment(call: Call) -> None:
    entity = {"entity": "product/mud-lord"}
    t = call("entity.find", entity)["entity"]["t"]
    call("entity.update", entity | {"set": {"footwear/color": "pink"}})
    call("entity.restore", entity | {"to": str(t)})
    assert call("entity.find", entity)["entity"]["slots"]["footwear/color"] == "brown"


def test_purge_leaves_a_tombstone(call: Call) -> None:
    found = call("entity.find", {"entity": "product/mud-lord"})["entity"]
    id = found["entity-id"]
    purged = call("entity.purge", {"entity": id, "confirm": id, "reason": "a pasted secret"})
    assert purged["entity-ids"] == [id]
    assert refusal(call, "entity.find", {"id": id, "as-of": found["t"]}).code == "entity.unknown"
    history = call("entity.history", {"id": id})["history"]
    assert "Mud Lord" not in json.dumps(history)
    assert history[-1]["kind"] == "purged"


def test_a_purge_wants_the_entity_named_twice(call: Call) -> None:
    entity = "product/mud-lord"
    missing = refusal(call, "entity.purge", {"entity": entity})
    assert missing.data["findings"][0]["argument"] == "confirm"
    id = call("entity.find", {"entity": entity})["entity"]["entity-id"]
    for confirm in ("product/mud-lorde", id, "yes", "", {"db/ident": entity}):
        wrong = refusal(call, "entity.purge", {"entity": entity, "confirm": confirm})
        assert wrong.code == "purge.unconfirmed"
        assert f"confirm: {entity}" in str(wrong.hint)
    assert call("entity.find", {"entity": entity})["entity"]["entity-id"] == id
    lookup = {"db/ident": "product/moon-boot"}
    for named, confirm in ((entity, f":{entity}"), (lookup, dict(lookup))):
        if named == lookup:
            call(
                "entity.create",
                {
                    "class": "zorp/MoonBoot",
                    "attributes": {**lookup, "footwear/name": "x", "footwear/price": "1.00"},
                },
            )
        assert call("entity.purge", {"entity": named, "confirm": confirm})["entity-ids"]


def test_the_past_is_read_by_t_and_instant(call: Call) -> None:
    entity = {"entity": "product/mud-lord"}
    changed = call("entity.update", entity | {"set": {"footwear/color": "pink"}})
    t = changed["receipt"]["t"]
    for moment in (t - 1, str(t - 1)):
        found = call("entity.find", entity | {"as-of": moment})["entity"]
        assert found["slots"]["footwear/color"] == "brown"
    found = call("entity.find", entity | {"as-of": changed["receipt"]["instant"]})["entity"]
    assert found["slots"]["footwear/color"] == "pink"
    where = {"class": "zorp/Boot", "where": {"footwear/color": "pink"}}
    assert len(call("entity.query", where)["entities"]) == 1
    assert call("entity.query", where | {"as-of": t - 1})["entities"] == []
    diff = {"entity": "product/mud-lord", "from": t - 1, "to": t}
    assert call("entity.diff", diff)["changes"] == [
        {"slot": "footwear/color", "removed": ["brown"], "added": ["pink"]}
    ]
    renamed = {"id": "product/mud-lord", "before": t - 1}
    assert call("entity.diff", renamed) == call("entity.diff", diff)


def test_transact_takes_both_spellings_and_is_all_or_nothing(call: Call) -> None:
    operations = [
        {"op": "create", "class": "zorp/Boot", "attributes": BOOT, "temp": "x"},
        {"op": "update", "id": "product/mud-lord", "slots": {"footwear/color": "pink"}},
        {"op": "update", "entity": "product/hull-walker", "set": {"footwear/color": "pink"}},
        {"op": "delete", "ident": "product/comet-low"},
    ]
    done = call("entity.transact", {"operations": operations})
    assert done["temps"] == {"x": done["outcomes"][0]["entity-id"]}
    pink = {"class": "zorp/Boot", "where": {"footwear/color": "pink"}}
    assert len(call("entity.query", pink)["entities"]) == 2
    wrong = [
        {"op": "update", "id": "product/mud-lord", "set": {"footwear/color": "teal"}},
        {"op": "create", "class": "zorp/Boot", "slots": {}},
    ]
    problem = refusal(call, "entity.transact", {"operations": wrong})
    assert [one["at"] for one in problem.data["findings"]] == [1]
    assert len(call("entity.query", pink)["entities"]) == 2
    twice = [{"op": "update", "id": 1, "entity": 2, "set": {}}]
    assert refusal(call, "entity.transact", {"operations": twice}).code == "operations.malformed"


def test_validate_says_what_create_would_say(call: Call) -> None:
    slots = {"footwear/nmae": "x", "footwear/price": "-1", "boot/vacuum-rated?": "maybe"}
    given = {"class": "zorp/Boot", "slots": slots}
    answer = call("entity.validate", given)
    assert answer["valid?"] is False
    refused = refusal(call, "entity.create", given).data["findings"]
    assert answer["errors"] == refused
    assert len(refused) == 4
    assert call("entity.validate", {"class": "zorp/Boot", "slots": BOOT}) == {
        "valid?": True,
        "errors": [],
    }
    taken = {"class": "zorp/Boot", "slots": BOOT | {"db/ident": "product/dune-drifter"}}
    assert call("entity.validate", taken)["errors"][0]["code"] == "ident.taken"
    assert refusal(call, "entity.validate", {"class": "zorp/Bot"}).code == "class.unknown"


def test_validate_writes_nothing(zorp: sandbar.Database, call: Call) -> None:
    t = zorp.t
    call("entity.validate", {"class": "zorp/Boot", "slots": BOOT | {"db/ident": "test/trial"}})
    assert zorp.t == t
    assert refusal(call, "entity.find", {"ident": "test/trial"}).code == "entity.unknown"


def test_search_finds_words_with_snippets(call: Call) -> None:
    hits = call("search.text", {"query": "moon"})["hits"]
    assert "product/moon-boot-pro" in [hit["ident"] for hit in hits]
    assert all("moon" in hit["snippet"].lower() for hit in hits if hit["class"] != "dt/Class")
    narrow = call("search.text", {"query": "moon", "class": "zorp/Boot"})["hits"]
    assert {hit["class"] for hit in narrow} <= {"zorp/Boot", "zorp/SpaceBoot", "zorp/MoonBoot"}
    assert call("search.text", {"query": "zzyzx"})["hits"] == []
    boots = call("search.text", {"query": "boot"})["hits"]
    first = call("search.text", {"query": "boot", "limit": 1})
    assert len(first["hits"]) == 1
    second = call("search.text", {"query": "boot", "limit": 1, "cursor": first["cursor"]})
    assert [*first["hits"], *second["hits"]] == boots[:2]


def test_find_takes_a_unique_slot(zorp: sandbar.Database, call: Call) -> None:
    zorp.define(
        properties={"tag/code": {"dt/range": "db.type/string", "db/unique": "identity"}},
        classes={"tag/Tag": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["tag/code"]}},
    )
    made = call("entity.create", {"class": "tag/Tag", "slots": {"tag/code": "A1"}})
    found = call("entity.find", {"entity": {"tag/code": "A1"}})["entity"]
    assert found["entity-id"] == made["entity-id"]
