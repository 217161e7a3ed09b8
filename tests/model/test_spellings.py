"""One word is one name, however its letters are composed; and no name passes for a reserved one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unicodedata import normalize

import pytest

import sandbar
from sandbar import keywords
from sandbar.errors import Problem

NFC, NFD = normalize("NFC", "café/crème"), normalize("NFD", "café/crème")
SPELLINGS = (NFC, NFD, f":{NFD}")


@pytest.fixture
def cafe(db: sandbar.Database) -> sandbar.Database:
    """A class, a slot and an entity, all named with accents."""
    db.define(
        properties={normalize("NFD", "café/größe"): {"dt/range": "db.type/long"}},
        classes={normalize("NFD", "café/Menü"): {"dt/slots": [normalize("NFC", "café/größe")]}},
    )
    return db


CLASS, SLOT = (normalize("NFC", name) for name in ("café/Menü", "café/größe"))


def as_earlier_versions_did(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> None:
    """Keep names as they are given."""
    with monkeypatch.context() as earlier:
        earlier.setattr(keywords, "composed", lambda name: name)
        keywords._ident.cache_clear()
        work()
    keywords._ident.cache_clear()


def test_two_spellings_are_one_entity(cafe: sandbar.Database) -> None:
    made = cafe.create(CLASS, {"db/ident": NFD, SLOT: 1})
    assert made.ident == NFC
    for spelled in SPELLINGS:
        again = cafe.create(normalize("NFD", CLASS), {"db/ident": spelled})
        assert (again.entity_id, again.created) == (made.entity_id, False)
        assert cafe.get(spelled).entity_id == made.entity_id
        assert cafe.get({"db/ident": spelled}).entity_id == made.entity_id
        assert cafe.get(spelled, as_of=made.receipt.t).entity_id == made.entity_id
        assert cafe.update(spelled, {normalize("NFD", SLOT): 2}).entity_id == made.entity_id
        assert len(cafe.history(spelled)) >= 2
        for where in (
            {"db/ident": spelled},
            {"db/ident": {"in": [spelled]}},
            {"db/ident": {"starts-with": spelled[:6]}},
            {normalize("NFD", SLOT): 2},
        ):
            found = cafe.query(normalize("NFD", CLASS), where, fields=[normalize("NFD", SLOT)])
            assert [one.entity_id for one in found.items] == [made.entity_id]
    assert cafe.get(made.entity_id)[SLOT] == 2


def test_a_reference_finds_either(cafe: sandbar.Database) -> None:
    made = cafe.create(CLASS, {"db/ident": NFD})
    cafe.define(
        properties={"my/menu": {"dt/range": normalize("NFD", CLASS)}},
        classes={"my/Day": {"dt/slots": ["my/menu"]}},
    )
    for spelled in (*SPELLINGS, {"db/ident": NFD}):
        day = cafe.create("my/Day", {"my/menu": spelled})
        assert cafe.get(day.entity_id)["my/menu"] == NFC
        assert cafe.query("my/Day", {"my/menu": spelled}).items
    with pytest.raises(Problem) as refused:
        cafe.delete(NFD)
    assert refused.value.data["count"] == 4
    cafe.delete(NFD, mode="detach")
    assert cafe.restore(NFD).entity_id == made.entity_id


def test_what_an_earlier_version_has_kept_decomposed_is_found(
    db: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    decomposed_class, decomposed_slot = (normalize("NFD", name) for name in (CLASS, SLOT))

    def earlier() -> None:
        db.define(
            properties={decomposed_slot: {"dt/range": "db.type/long"}},
            classes={decomposed_class: {"dt/slots": [decomposed_slot]}},
        )
        db.create(decomposed_class, {"db/ident": NFD, decomposed_slot: 1})

    as_earlier_versions_did(monkeypatch, earlier)
    assert db.get(NFD).ident == NFD, "it is as it was"
    id = db.get(NFD).entity_id
    for spelled in SPELLINGS:
        for class_ in (CLASS, decomposed_class):
            assert db.get(spelled).entity_id == id
            assert db.create(class_, {"db/ident": spelled}).entity_id == id
            assert db.query(class_, {"db/ident": spelled}).items
            assert db.query(class_, {SLOT: {"exists": True}}).items
        assert db.update(spelled, {SLOT: 2}).entity_id == id
        assert db.update(spelled, {decomposed_slot: 3}).entity_id == id
    db.define(classes={CLASS: {"db/doc": "the same class"}})
    assert len([name for name in db.schema.classes() if name.startswith("caf")]) == 1


def test_where_an_earlier_version_has_kept_both_each_is_found(
    db: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.define(classes={"my/Thing": {}})

    def earlier() -> None:
        for spelled in (NFC, NFD):
            db.create("my/Thing", {"db/ident": spelled, "db/doc": spelled})

    with monkeypatch.context() as strict:
        strict.setattr(keywords, "spellings", lambda name: (name,))
        strict.setattr("sandbar.model.unit.spellings", lambda name: (name,))
        as_earlier_versions_did(monkeypatch, earlier)
    assert [db.get(spelled)["db/doc"] for spelled in (NFC, NFD)] == [NFC, NFD]


def test_values_stay_as_they_are(cafe: sandbar.Database) -> None:
    cafe.define(
        properties={"my/mood": {"dt/range": "db.type/keyword"}},
        classes={"my/Day": {"dt/slots": ["my/mood"]}},
    )
    day = cafe.create("my/Day", {"my/mood": NFD, "db/doc": NFD})
    assert (cafe.get(day.entity_id)["my/mood"], cafe.get(day.entity_id)["db/doc"]) == (NFD, NFD)


LOOK_ALIKES = [
    "аuth/Key",
    "auтh/Key",
    "αυτη/Key",
    "ΑUΤΗ/Key",
    "Auth/Key",
    "AUTH.role/x",
    "ａｕｔｈ/Key",
    "áuth/Key",
    "a\u0323uth/Key",
    "𝐚𝐮𝐭𝐡/Key",
    "ԁb/x",
    "ԁτ/Class",
    "DB.type/x",
    "pаck/zorp",
    "prοmpt/x",
    "pr0mpt/x",
    "workfIow/x",
    "workf1ow/x",
    "wоrkflow/x",
    "ѕandbar/x",
    "Ꭺuth/Key",
    "ⲁuth/Key",
    "ꓮuth/Key",
    "auŧh/Key",
    "ꓒrompt/x",
]


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_name_that_looks_reserved_is_refused(db: sandbar.Database, name: str) -> None:
    db.define(classes={"my/Thing": {}})
    made = db.create("my/Thing", {"db/ident": "my/one"})
    attempts: tuple[Callable[[], Any], ...] = (
        lambda: db.create("my/Thing", {"db/ident": name}),
        lambda: db.update("my/one", {"db/ident": name}),
        lambda: db.define(classes={name: {}}),
        lambda: db.define(properties={name: {"dt/range": "db.type/string"}}),
    )
    for attempt in attempts:
        with pytest.raises(Problem) as refused:
            attempt()
        codes = {refused.value.code, *(f["code"] for f in refused.value.data.get("findings", ()))}
        assert "ident.look-alike" in codes
    assert db.get(made.entity_id).ident == "my/one"


@pytest.mark.parametrize(
    "name",
    [
        "author/x",
        "дб/x",
        "ab/x",
        "тд/x",
        "паки/x",
        "ωκ/x",
        "dot/x",
        "packs/x",
        "größe/x",
        "łódź/x",
        "ᎪᎫᎬᎭ/x",
    ],
)
def test_other_names_of_any_script_are_fine(db: sandbar.Database, name: str) -> None:
    db.define(classes={"my/Thing": {}})
    assert db.create("my/Thing", {"db/ident": name}).ident == name


def test_a_look_alike_that_is_there_is_still_found(
    db: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.define(classes={"my/Thing": {}})
    name = LOOK_ALIKES[0]
    with monkeypatch.context() as earlier:
        earlier.setattr("sandbar.model.unit.new_ident", keywords.parse_ident)
        made = db.create("my/Thing", {"db/ident": name})
    assert db.get(name).entity_id == made.entity_id
    db.update(name, {"db/doc": "changed"})
    db.update(name, {"db/ident": "my/plain"})
    assert db.get("my/plain").entity_id == made.entity_id
