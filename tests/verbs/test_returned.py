"""What a write gives back: the entity as it left it, to those who may read it."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.access import Caller
from sandbar.access.rights import rights_of_role
from sandbar.errors import Forbidden
from tests.verbs.conftest import Call, refusal

SLOTS = {"footwear/name": "Moon Boot Pro", "footwear/price": "299.99", "boot/vacuum-rated?": True}


def test_the_tool_of_a_class_answers_with_the_entity(call: Call) -> None:
    made = call("sandbar.class.zorp.SpaceBoot", SLOTS)
    found = call("entity.find", {"id": made["entity-id"]})["entity"]
    assert made["entity"] == found
    assert (found["class"], found["slots"]) == ("zorp/SpaceBoot", SLOTS)
    assert {"entity-id", "ident", "class", "created", "changed", "receipt"} <= made.keys()


def test_create_and_update_answer_with_the_entity_if_asked(call: Call) -> None:
    given = {"class": "zorp/SpaceBoot", "attributes": SLOTS, "return": "entity"}
    made = call("entity.create", given)
    assert made["entity"]["slots"] == SLOTS
    change = {"entity": made["entity-id"], "attributes": {"footwear/price": "1"}}
    changed = call("entity.update", {**change, "return": "entity"})
    assert changed["entity"]["slots"] == SLOTS | {"footwear/price": "1"}
    assert changed["entity"]["t"] == changed["receipt"]["t"]
    assert "entity" not in call("entity.update", change)
    document = {"class": "zorp/Boot", "format": "json", "source": '{"name": "Written"}'}
    written = call("entity.create", {**document, "return": "entity"})
    assert written["entity"]["slots"] == {"footwear/name": "Written"}
    assert refusal(call, "entity.create", given | {"return": "all"}).code == "arguments.invalid"


def test_a_retry_answers_with_the_entity_as_it_was(call: Call) -> None:
    given = {"class": "zorp/Boot", "attributes": SLOTS, "idempotency-key": "k", "return": "entity"}
    first = call("entity.create", given)
    call("entity.update", {"entity": first["entity-id"], "attributes": {"footwear/price": "2"}})
    assert call("entity.create", given) == first | {"replayed": True}


def test_what_exists_is_answered_as_it_is(call: Call) -> None:
    named = {"db/ident": "test/there", **SLOTS}
    call("entity.create", {"class": "zorp/Boot", "attributes": named})
    other = {**named, "footwear/price": "1"}
    again = call("entity.create", {"class": "zorp/Boot", "attributes": other, "return": "entity"})
    assert (again["created"], again["entity"]["slots"]["footwear/price"]) == (False, "299.99")


@pytest.mark.parametrize("verbs", [("entity.create", "entity.update"), ("entity.*",)])
def test_a_key_that_may_not_read_is_shown_nothing(
    zorp: sandbar.Database, verbs: tuple[str, ...]
) -> None:
    rights = rights_of_role("writer").narrowed(verbs=verbs)
    caller = Caller("test-narrow", "writer", zorp.workspace_name, rights=rights)
    may_read = verbs == ("entity.*",)
    made: Any = zorp.call_as(caller, "class.zorp.Boot", SLOTS)
    assert (made.entity is not None) == may_read
    before = zorp.t
    asked = {"class": "zorp/Boot", "attributes": SLOTS, "return": "entity"}
    if may_read:
        assert zorp.call_as(caller, "entity.create", asked).entity.slots == SLOTS
        return
    with pytest.raises(Forbidden) as caught:
        zorp.call_as(caller, "entity.create", asked)
    assert (caught.value.code, zorp.t) == ("verb.forbidden", before)
