"""`memory.sections`: the headings of a body, live and stored."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.codecs import sections_of
from sandbar.errors import Conflict, Forbidden
from sandbar.packs.memory import sections as sections_module
from tests.memory.conftest import Call, remember

BODY = """Before any heading.

# Context

Why.

## Details

```
# no heading
```

## Details

Again.

# Größe
"""


def _titles(sections: list[dict[str, Any]]) -> list[Any]:
    return [
        [one["title"], _titles(one["children"])] if one["children"] else one["title"]
        for one in sections
    ]


def _last_t(db: sandbar.Database) -> int:
    return db.query("dt/Class", limit=1).t


def test_the_tree_is_computed_and_nothing_is_written(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/foo", body=BODY)
    before = _last_t(memory)
    answer = call("memory.sections", {"memory": "mm/foo"})
    assert _titles(answer["sections"]) == [["Context", ["Details", "Details"]], "Größe"]
    context = answer["sections"][0]
    assert (context["level"], context["line"], context["anchor"]) == (1, 3, "context")
    assert [one["anchor"] for one in context["children"]] == ["details", "details-1"]
    assert (answer["stored"], answer.get("changed", False)) == (False, False)
    assert _last_t(memory) == before
    assert memory.query("mm/Section").items == []


def test_they_are_stored_once_in_one_transaction(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/foo", body=BODY)
    before = _last_t(memory)
    answer = call("memory.sections", {"memory": "mm/foo", "store": True})
    assert answer["changed"] is True
    assert _last_t(memory) == answer["t"] == before + 1
    stored = [memory.get(one) for one in memory.get("mm/foo")["memory/sections"]]
    assert [(one["section/level"], one["section/anchor"]) for one in stored] == [
        (1, "context"),
        (2, "details"),
        (2, "details-1"),
        (1, "größe"),
    ]
    assert stored[2]["section/text"] == "\nAgain.\n\n"
    again = call("memory.sections", {"memory": "mm/foo", "store": True})
    assert again.get("changed", False) is False
    assert _last_t(memory) == before + 1
    assert [hit.entity.class_ for hit in memory.search("again", class_="mm/Section").items]


def test_a_changed_body_changes_what_differs(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/foo", body=BODY)
    call("memory.sections", {"memory": "mm/foo", "store": True})
    old = memory.get("mm/foo")["memory/sections"]
    body = BODY.replace("Why.", "Because.").replace("## Details\n\nAgain.\n\n", "## New\n\n")
    memory.update("mm/foo", {"memory/body": body})
    before = _last_t(memory)
    assert call("memory.sections", {"memory": "mm/foo", "store": True})["changed"] is True
    assert _last_t(memory) == before + 1
    new = memory.get("mm/foo")["memory/sections"]
    assert (new[0], new[1], new[3]) == (old[0], old[1], old[3]), "who keeps the anchor stays"
    assert memory.get(new[0])["section/text"] == "\nBecause.\n\n"
    assert memory.get(new[2])["section/title"] == "New"
    assert memory.query("mm/Section", {"section/anchor": "details-1"}).items == []
    memory.update("mm/foo", {"memory/body": None})
    assert call("memory.sections", {"memory": "mm/foo", "store": True})["changed"] is True
    assert memory.query("mm/Section").items == []


def test_sections_go_with_their_memory(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/foo", body=BODY)
    call("memory.sections", {"memory": "mm/foo", "store": True})
    assert len(memory.query("mm/Section").items) == 4
    memory.delete("mm/foo")
    assert memory.query("mm/Section").items == []


def test_whoever_only_reads_does_not_store(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/foo", body=BODY)
    with pytest.raises(Forbidden):
        call("memory.sections", {"memory": "mm/foo", "store": True}, role="reader")
    answer = call("memory.sections", {"memory": "mm/foo", "store": True}, role="writer")
    assert answer["changed"] is True


def test_sections_of_an_old_body_are_not_stored(
    memory: sandbar.Database, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes between our reading of the body and our writing of its sections."""
    remember(memory, "mm/foo", body=BODY)

    def meddling(body: str) -> Any:
        memory.update("mm/foo", {"memory/body": "# Other\n"})
        return sections_of(body)

    monkeypatch.setattr(sections_module, "sections_of", meddling)
    with pytest.raises(Conflict) as caught:
        call("memory.sections", {"memory": "mm/foo", "store": True})
    assert caught.value.code == "entity.moved"
    assert memory.query("mm/Section").items == []
