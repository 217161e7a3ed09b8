"""Numbers that are chosen: entities without a name keep theirs when they are imported."""

from __future__ import annotations

import pytest

import sandbar
from sandbar.errors import Conflict, Incorrect
from sandbar.model import Create
from tests.model.conftest import Place


def numbered(db: sandbar.Database, *ids: int) -> list[int]:
    operations = [Create(class_="note/Note", slots={"note/text": str(id)}, id=id) for id in ids]
    return [outcome.entity_id for outcome in db.transact(operations).outcomes]


@pytest.fixture
def notes(db: sandbar.Database) -> sandbar.Database:
    text = {"dt/range": "db.type/string"}
    db.define(properties={"note/text": text}, classes={"note/Note": {"dt/slots": ["note/text"]}})
    return db


def test_a_number_above_all_others_is_taken_and_counting_goes_on_behind_it(
    notes: sandbar.Database,
) -> None:
    assert numbered(notes, 7000, 5000) == [7000, 5000]
    assert notes.get(7000)["note/text"] == "7000"
    assert notes.create("note/Note", {}).entity_id == 7001
    assert numbered(notes, 6000) == [6000]  # below the others, but nobody ever had it
    assert [h.entity.entity_id for h in notes.search("6000").items] == [6000]


def test_numbers_that_were_ever_used_are_refused(notes: sandbar.Database) -> None:
    living = notes.create("note/Note", {}).entity_id
    deleted = notes.create("note/Note", {}).entity_id
    purged = notes.create("note/Note", {}).entity_id
    notes.delete(deleted)
    notes.purge(purged)
    for id in (living, deleted, purged):
        with pytest.raises(Conflict) as refused:
            numbered(notes, id)
        assert refused.value.code == "entity.id-taken"
    with pytest.raises(Conflict):
        numbered(notes, 8000, 8000)
    assert numbered(notes, 8000) == [8000]


def test_numbers_out_of_range_and_in_json_are_refused(notes: sandbar.Database) -> None:
    for id in (0, 1, 999, 1 << 39):
        with pytest.raises(Incorrect) as refused:
            numbered(notes, id)
        assert refused.value.code == "entity.id-range"
    with pytest.raises(Incorrect) as malformed:
        notes.transact([{"op": "create", "class": "note/Note", "id": 7000}])
    assert malformed.value.code == "operations.malformed"


def test_reserved_numbers_are_given_to_nobody_else(place: Place) -> None:
    db = place.another()
    t = db.t
    db.workspace.reserve_ids(20_000)
    assert db.t == t  # it is no change of anything
    again = place.another()  # and is kept
    named = again.define(properties={"a/b": {"dt/range": "db.type/string"}})
    assert named.entity_id == 20_001
    again.workspace.reserve_ids(5)
    assert again.define(properties={"a/c": {"dt/range": "db.type/string"}}).entity_id == 20_002


def test_inside_a_transaction_they_are_reserved_with_it(notes: sandbar.Database) -> None:
    def work() -> int:
        notes.workspace.reserve_ids(30_000)
        return notes.create("note/Note", {}).entity_id

    assert notes.run(work) == 30_001


def test_a_class_with_a_secret_slot_keeps_the_number_too(notes: sandbar.Database) -> None:
    secret = {"dt/range": "db.type/string", "dt/secret?": True}
    notes.define(
        properties={"note/pin": secret},
        classes={"note/Safe": {"dt/subclass-of": ["note/Note"], "dt/slots": ["note/pin"]}},
    )
    made = Create(class_="note/Safe", slots={"note/pin": "4711"}, id=9100)
    assert notes.transact([made]).entity_id == 9100
    assert notes.secret_matches(9100, "note/pin", "4711")
