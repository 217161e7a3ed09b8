"""A slot that is changed value by value ends as one that is changed at once."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import sandbar
from sandbar.model.properties import Property
from sandbar.model.slot_values import SlotValues

STRINGS = Property(1, {}, "db.type/string")
STRINGS.many = True


def test_values_are_as_a_plain_list_would_have_them(seed: str) -> None:
    random = Random(seed)
    for _ in range(200):
        source = [str(n) for n in range(random.randrange(6))]
        values, plain = SlotValues(STRINGS, source), list(source)
        for _ in range(random.randrange(30)):
            some = list({str(random.randrange(8)) for _ in range(random.randrange(1, 3))})
            if random.random() < 0.5:
                fresh = values.add(some)
                assert fresh == [one for one in some if one not in plain]
                plain += fresh
            else:
                values.remove(some)
                plain = [one for one in plain if one not in some]
            assert values.values == plain
            assert values.differs(values.values, source) is (plain != source)
            for one in map(str, range(8)):
                assert values.holds(STRINGS.kind.index_key(one)) is (one in plain)
        assert source == [str(n) for n in range(len(source))]


@pytest.fixture
def tags(db: sandbar.Database) -> sandbar.Database:
    many = {"dt/range": "db.type/string", "db/cardinality": "many"}
    db.define(properties={"t/tags": many}, classes={"t/T": {"dt/slots": ["t/tags"]}})
    return db


def test_what_was_added_and_taken_away_again_has_not_changed(tags: sandbar.Database) -> None:
    made = tags.create("t/T", {"t/tags": ["a", "b"]})
    steps: list[tuple[str, str]] = [("add", "c"), ("remove", "c"), ("remove", "b"), ("add", "b")]
    operations: list[dict[str, Any]] = [
        {"op": "update", "entity": made.entity_id, kind: {"t/tags": [value]}}
        for kind, value in steps
    ]
    written = tags.transact(operations)
    assert [one.changed for one in written.outcomes] == [True, False, True, False]
    assert tags.get(made.entity_id).t == made.receipt.t


def test_a_call_that_is_refused_leaves_the_values_of_the_call_before(
    tags: sandbar.Database,
) -> None:
    made = tags.create("t/T", {"t/tags": ["a"]}).entity_id

    def work() -> list[str]:
        tags.update(made, add={"t/tags": ["b"]})
        wrong = {"op": "update", "entity": made, "add": {"t/tags": [1]}}
        with pytest.raises(sandbar.Incorrect):
            tags.transact([{"op": "update", "entity": made, "add": {"t/tags": ["c"]}}, wrong])
        found: list[str] = tags.get(made)["t/tags"]
        return list(found)

    assert tags.run(work) == ["a", "b"]
    assert tags.get(made)["t/tags"] == ["a", "b"]
