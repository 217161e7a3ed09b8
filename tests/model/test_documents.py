"""What a class says of its documents is checked when it is written, and inherited."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.errors import Incorrect
from sandbar.model import Document, core
from tests.model.conftest import Place

TEXT = {"dt/range": "db.type/string"}
PROPERTIES: dict[str, dict[str, Any]] = {
    "note/name": TEXT,
    "note/text": TEXT,
    "note/words": TEXT | {"db/cardinality": "many"},
    "note/more": {"dt/range": "db.type/json"},
}
SAID = {
    "body": "note/text",
    "rest": "note/more",
    "keys": {"title": "note/name"},
    "types": ["note"],
    "order": ["note/name"],
    "ident": {"from": "note/name", "in": "n"},
}


def define(db: sandbar.Database, document: Any) -> None:
    note = {"dt/slots": list(PROPERTIES), "dt/native-codec": "markdown", "dt/document": document}
    db.define(properties=PROPERTIES, classes={"note/Note": note})


def test_it_is_inherited_and_the_nearest_counts(db: sandbar.Database) -> None:
    define(db, SAID)
    below = {"dt/subclass-of": ["note/Note"]}
    own = below | {"dt/document": {"body": "note/name"}, "dt/native-codec": "json"}
    db.define(classes={"note/Idea": below, "note/Own": own})
    said = Document(
        body="note/text",
        rest="note/more",
        keys={"title": "note/name"},
        types=("note",),
        order=("note/name",),
        ident_from="note/name",
        ident_in="n",
    )
    assert db.schema.document("note/Note") == db.schema.document("note/Idea") == said
    assert db.schema.document("note/Own") == Document("note/name")
    assert db.schema.document("dt/Class") == Document()
    codecs = [db.schema.native_codec(f"note/{name}") for name in ("Note", "Idea", "Own")]
    assert codecs == ["markdown", "markdown", "json"]
    assert db.schema.native_codec("dt/Class") is None


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "expected an object"),
        ({"boddy": "note/text"}, "boddy"),
        ({"body": 5}, "body"),
        ({"body": "note/nothing"}, "no slot note/nothing"),
        ({"keys": {"a": "note/nothing"}}, "no slot note/nothing"),
        ({"order": ["note/nothing"]}, "no slot note/nothing"),
        ({"body": "note/words"}, "body names a slot"),
        ({"rest": "note/name"}, "rest names a slot"),
        ({"ident": {"from": "note/more", "in": "n"}}, "ident names a slot"),
        ({"ident": {"from": "note/name"}}, "in"),
        ({"ident": {"from": "note/name", "in": "9 n"}}, "no namespace"),
        ({"keys": {"": "note/name"}}, "something in it"),
        ({"makes": ["note/name"]}, "makes names references"),
    ],
)
def test_what_makes_no_sense_is_refused(db: sandbar.Database, document: Any, said: str) -> None:
    with pytest.raises(Incorrect) as refused:
        define(db, document)
    (finding,) = refused.value.data["findings"]
    assert (finding["code"], finding["slot"]) == ("definition.document", "note/Note")
    assert said in finding["message"]
    assert "note/Note" not in db.schema.classes()


# --- a core that has grown --------------------------------------------------------------------


def _smaller_core() -> list[core.Entry]:
    """The core before there was `dt/document`."""
    kept = [entry for entry in core.CORE if entry.id < core.LAST_ID]
    slots = dict(kept[0].slots)
    slots["dt/slots"] = [slot for slot in slots["dt/slots"] if slot != "dt/document"]
    return [core.Entry(kept[0].id, kept[0].class_, slots), *kept[1:]]


def _old(place: Place, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Make a workspace as an older Sandbar did; returns the dump of its metamodel."""
    with monkeypatch.context() as then:
        smaller = _smaller_core()
        then.setattr(core, "CORE", smaller)
        then.setattr(core, "LAST_ID", smaller[-1].id)
        db = place.open()
        db.define(
            properties={"note/name": TEXT}, classes={"note/Note": {"dt/slots": ["note/name"]}}
        )
        assert "dt/document" not in db.schema.properties()
        dump = db.schema.dump()
        place.close()
    return dump


def test_an_older_workspace_is_brought_up_to_date(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    _old(place, monkeypatch)
    db = place.open()
    (grown,) = db.changes(since=db.t - 1)
    assert (grown.principal, grown.entity_ids) == ("sandbar", (core.CLASS, core.LAST_ID))
    db.define(classes={"note/Note": {"dt/document": {"keys": {"title": "note/name"}}}})
    assert db.schema.document("note/Note").keys == {"title": "note/name"}
    assert "dt/document" in [c.slot for c in db.history("note/Note")[-1].changes]
    t = db.t
    assert place.open().t == t  # once is enough
    fresh = place.open("fresh-" + place.workspace)
    ours = [e for e in core.parse_entries(fresh.schema.dump()) if e.id < core.FIRST_FREE_ID]
    theirs = [e for e in core.parse_entries(db.schema.dump()) if e.id < core.FIRST_FREE_ID]
    assert ours == theirs
    assert len(db.get("dt/Class", as_of=1)["dt/slots"]) + 1 == len(db.get("dt/Class")["dt/slots"])


def test_an_older_dump_is_loaded_with_the_core_of_today(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = _old(place, monkeypatch)
    db = place.open("from-" + place.workspace, metamodel=dump)
    assert {"dt/document", "note/name"} <= set(db.schema.properties())
