"""Entities as documents in verbs: made of one, read as one, replaced by one; and made-up names."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from tests.verbs.conftest import Call, refusal

FOO = "---\nname: Foo\ntype: idea\n---\n# Context\n\nA quick thought.\n"


@pytest.fixture
def notes(zorp: sandbar.Database) -> None:
    zorp.load_pack("memory")


def remember(call: Call, source: str = FOO, **more: Any) -> Any:
    return call("entity.create", {"class": "mm/Memory", "source": source} | more)


def slots(call: Call, ident: str) -> Any:
    return call("entity.find", {"entity": ident})["entity"]["slots"]


@pytest.mark.usefixtures("notes")
def test_a_document_becomes_an_entity_and_a_document_again(call: Call) -> None:
    made = remember(call, format="markdown")
    assert (made["ident"], made["class"], made["created"]) == ("mm/foo", "mm/Memory", True)
    assert slots(call, "mm/foo") == {
        "db/ident": "mm/foo",
        "memory/name": "Foo",
        "memory/type": "idea",
        "memory/body": "# Context\n\nA quick thought.\n",
    }
    found = call("entity.find", {"entity": "mm/foo", "format": "markdown"})
    assert (found["source"], found["entity"]["slots"]) == (FOO, {})
    assert (
        '"memory/name": "Foo"'
        in call("entity.find", {"entity": "mm/foo", "format": "json"})["source"]
    )


@pytest.mark.usefixtures("notes")
def test_the_past_is_read_as_a_document_too(call: Call) -> None:
    t = remember(call)["receipt"]["t"]
    call("entity.update", {"entity": "mm/foo", "attributes": {"memory/type": "plan"}})
    then = {"entity": "mm/foo", "format": "markdown", "as-of": t}
    assert call("entity.find", then)["source"] == FOO


@pytest.mark.usefixtures("notes")
def test_a_document_replaces_what_an_entity_says(call: Call) -> None:
    remember(call)
    changed = call(
        "entity.update",
        {"entity": "mm/foo", "source": "---\nname: Foo Two\ndescription: New\n---\nText.\n"},
    )
    assert changed["changed"]
    # What it leaves out is gone; a new name for people does not change what it is known by.
    assert slots(call, "mm/foo") == {
        "db/ident": "mm/foo",
        "db/doc": "New",
        "memory/name": "Foo Two",
        "memory/body": "Text.\n",
    }
    text = call("entity.find", {"entity": "mm/foo", "format": "markdown"})["source"]
    assert not call("entity.update", {"entity": "mm/foo", "source": text})["changed"]
    assert "ident: mm/foo\n" in text
    named = text.replace("ident: mm/foo", "ident: mm/two")
    assert call("entity.update", {"entity": "mm/foo", "source": named})["ident"] == "mm/two"


@pytest.mark.usefixtures("notes")
def test_a_document_that_somebody_changed_meanwhile_is_not_overwritten(call: Call) -> None:
    t = remember(call)["receipt"]["t"]
    call("entity.update", {"entity": "mm/foo", "attributes": {"memory/type": "plan"}})
    late = {"entity": "mm/foo", "source": FOO, "expect": t}
    assert refusal(call, "entity.update", late).code == "entity.moved"


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    ("verb", "arguments", "code"),
    [
        ("entity.create", {"class": "mm/Memory", "source": FOO, "attributes": {}}, None),
        ("entity.create", {"class": "mm/Memory", "source": FOO, "format": "docx"}, "codec.unknown"),
        (
            "entity.create",
            {"class": "mm/Memory", "source": "---\nname: [\n---\n"},
            "codec.malformed",
        ),
        ("entity.create", {"class": "mm/Nothing", "source": FOO}, "class.unknown"),
        ("entity.update", {"entity": "mm/foo", "source": FOO, "add": {"a/b": 1}}, None),
        ("entity.update", {"entity": "mm/none", "source": FOO}, "entity.unknown"),
        ("entity.find", {"entity": "mm/foo", "format": "docx"}, "codec.unknown"),
    ],
)
def test_refusals(call: Call, verb: str, arguments: dict[str, Any], code: str | None) -> None:
    remember(call)
    problem = refusal(call, verb, arguments)
    if code is None:
        assert [one["code"] for one in problem.data["findings"]] == ["argument.twice"]
    else:
        assert problem.code == code
        assert problem.hint


# --- made-up names ------------------------------------------------------------------------------


@pytest.mark.usefixtures("notes")
def test_the_same_again_is_a_retry_and_another_of_the_name_is_numbered(call: Call) -> None:
    first = remember(call)
    again = remember(call)
    assert (again["entity-id"], again["created"]) == (first["entity-id"], False)
    assert "differs" not in again
    other = remember(call, FOO + "More.\n")
    assert (other["ident"], other["created"]) == ("mm/foo-2", True)
    (told,) = other["warnings"]
    assert (told["code"], told["existing"]) == ("ident.numbered", "mm/foo")
    assert "mm/foo" in told["message"]
    assert "entity.update mm/foo" in told["hint"]
    same = remember(call, FOO + "More.\n")
    assert (same["entity-id"], "warnings" in same) == (other["entity-id"], False)
    assert "warnings" not in first
    assert slots(call, "mm/foo")["memory/body"] == "# Context\n\nA quick thought.\n"


@pytest.mark.usefixtures("notes")
def test_with_a_key_a_retry_is_replayed(call: Call) -> None:
    remember(call)
    other = remember(call, FOO + "More.\n", **{"idempotency-key": "k"})
    assert other["ident"] == "mm/foo-2"
    again = remember(call, FOO + "More.\n", **{"idempotency-key": "k"})
    assert again == other | {"replayed": True}


@pytest.mark.usefixtures("notes")
def test_names_are_made_up_of_attributes_and_for_the_tool_of_a_class_as_well(call: Call) -> None:
    given = {"class": "mm/Memory", "attributes": {"memory.name": "Bär & Söhne"}}
    assert call("entity.create", given)["ident"] == "mm/bär-söhne"
    assert call("class.mm.Memory", {"memory/name": "A plan!"})["ident"] == "mm/a-plan"
    chosen = {"class": "mm/Memory", "attributes": {"memory/name": "X", "db/ident": "my/own"}}
    assert call("entity.create", chosen)["ident"] == "my/own"
    nameless = {"class": "zorp/Boot", "attributes": {"footwear/name": "No rule"}}
    assert call("entity.create", nameless)["ident"] is None


@pytest.mark.usefixtures("notes")
def test_a_name_that_another_class_has_is_passed_over(call: Call) -> None:
    boot = {"class": "zorp/Boot", "attributes": {"footwear/name": "F", "db/ident": "mm/foo"}}
    call("entity.create", boot)
    assert remember(call)["ident"] == "mm/foo-2"
    assert remember(call, FOO + "Key.\n", **{"idempotency-key": "k"})["ident"] == "mm/foo-3"


@pytest.mark.usefixtures("notes")
def test_many_of_one_name_all_find_a_place(call: Call) -> None:
    idents = {remember(call, f"{FOO}{n}\n")["ident"] for n in range(12)}
    assert len(idents) == 12


def test_the_formats_are_listed(call: Call) -> None:
    formats = {one["format"]: one for one in call("codec.list", {})["codecs"]}
    assert {"markdown", "json", "jsonl", "csv"} <= set(formats)
    assert formats["markdown"] == {
        "format": "markdown",
        "mime-type": "text/markdown",
        "suffixes": [".md", ".markdown"],
        "many": False,
    }


# --- bare names ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("notes")
def test_tags_are_made_by_being_used(call: Call) -> None:
    tagged = FOO.replace("type: idea\n", "type: idea\ntags: [Python, Data Bases]\n")
    remember(call, tagged)
    assert slots(call, "mm/foo")["memory/tags"] == ["tag/python", "tag/data-bases"]
    assert slots(call, "tag/data-bases") == {"db/ident": "tag/data-bases", "tag/name": "Data Bases"}
    text = call("entity.find", {"entity": "mm/foo", "format": "markdown"})["source"]
    assert "tags:\n  - python\n  - data-bases\n" in text
    assert not call("entity.update", {"entity": "mm/foo", "source": text})["changed"]
    given = {"memory/name": "Bar", "memory/tags": ["Python", "tag/data-bases", "New"]}
    call("entity.create", {"class": "mm/Memory", "attributes": given})
    assert slots(call, "mm/bar")["memory/tags"] == ["tag/python", "tag/data-bases", "tag/new"]
    assert slots(call, "tag/python")["tag/name"] == "Python"


@pytest.mark.usefixtures("notes")
def test_an_update_takes_bare_names_and_makes_tags_as_well(call: Call) -> None:
    remember(call)
    call("entity.update", {"entity": "mm/foo", "add": {"memory/tags": ["Red", "Blue"]}})
    assert slots(call, "mm/foo")["memory/tags"] == ["tag/red", "tag/blue"]
    call("entity.update", {"entity": "mm/foo", "remove": {"memory/tags": ["Red"]}})
    assert slots(call, "mm/foo")["memory/tags"] == ["tag/blue"]
    never = {"entity": "mm/foo", "remove": {"memory/tags": ["Never"]}}
    assert refusal(call, "entity.update", never).code == "entity.unknown"


@pytest.mark.usefixtures("notes")
def test_links_take_bare_names_and_make_nothing(call: Call) -> None:
    remember(call)
    remember(call, "---\nname: Second thought\ncites: [Foo]\nrelated: mm/foo\n---\n")
    assert slots(call, "mm/second-thought")["memory/cites"] == ["mm/foo"]
    wrong = {"class": "mm/Memory", "source": "---\nname: Third\ncites: [Nobody knows]\n---\n"}
    problem = refusal(call, "entity.create", wrong)
    assert "mm/nobody-knows" in str(problem)


@pytest.mark.usefixtures("notes")
def test_a_key_a_taken_name_and_a_new_tag_go_together(call: Call) -> None:
    remember(call)
    tagged = "---\nname: Foo\ntags: [Zebra]\n---\nOther.\n"
    made = remember(call, tagged, **{"idempotency-key": "z1"})
    assert (made["ident"], made["created"]) == ("mm/foo-2", True)
    again = remember(call, tagged, **{"idempotency-key": "z1"})
    assert again == made | {"replayed": True}
    late = remember(call, tagged, **{"idempotency-key": "z2"})
    assert (late["ident"], late["created"]) == ("mm/foo-2", False)


@pytest.mark.usefixtures("notes")
def test_nested_tags_are_tags(call: Call) -> None:
    remember(call, FOO.replace("type: idea\n", "tags: [area/db, Plain]\n", 1))
    # A colon says that it is an ident, whatever it looks like.
    call("entity.create", {"class": "mm/Tag", "attributes": {"tag/name": "x", "db/ident": "a/x"}})
    source = "---\nname: Nested\ntags: [area/db, ':a/x', tag/plain]\n---\n"
    remember(call, source)
    assert slots(call, "mm/nested")["memory/tags"] == ["tag/area-db", "a/x", "tag/plain"]
    assert slots(call, "tag/area-db")["tag/name"] == "area/db"
    text = call("entity.find", {"entity": "mm/nested", "format": "markdown"})["source"]
    assert not call("entity.update", {"entity": "mm/nested", "source": text})["changed"]


@pytest.mark.usefixtures("notes")
def test_a_document_without_a_name_takes_none_away(call: Call) -> None:
    boot = {"class": "zorp/Boot", "attributes": {"footwear/name": "B", "db/ident": "my/boot"}}
    id = call("entity.create", boot)["entity-id"]
    given = {"entity": "my/boot", "format": "json", "source": '{"footwear/name": "C"}'}
    assert call("entity.update", given)["ident"] == "my/boot"
    gone = given | {"source": '{"footwear/name": "C", "db/ident": null}'}
    assert call("entity.update", gone)["ident"] is None
    other = given | {"entity": id, "source": f'{{"footwear/name": "C", "_id": {id + 1}}}'}
    assert refusal(call, "entity.update", other).code == "document.other-entity"
    own = given | {"entity": id, "source": f'{{"footwear/name": "D", "_id": {id}}}'}
    assert call("entity.update", own)["changed"]


@pytest.mark.usefixtures("notes")
def test_a_new_entity_has_no_chosen_number_and_no_name_if_it_says_so(call: Call) -> None:
    chosen = {"class": "mm/Tag", "format": "json", "source": '{"name": "x", "_id": 888888}'}
    assert refusal(call, "entity.create", chosen).code == "document.other-entity"
    assert remember(call, FOO.replace("name: Foo", "ident: null\nname: Foo"))["ident"] is None


def test_a_moment_of_many_digits_is_refused(call: Call) -> None:
    late = {"entity": "product/mud-lord", "as-of": "9" * 5000}
    assert refusal(call, "entity.find", late).code != "verb.failed"
