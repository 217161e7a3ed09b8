"""`project.import` over MCP: a task whose result is the whole answer, below the operator's root."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.served import Served, serving
from tests.mcp.tasking import Extension, Session

BOOT = {
    "_class": "zorp/Boot",
    "db/ident": "product/new",
    "footwear/name": "New",
    "footwear/nmae": 1,
}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Served]:
    """A server whose agents may use a folder."""
    root = tmp_path / "projects"
    (root / "main-1/more").mkdir(parents=True)
    with serving(tmp_path / "shop.db") as served:
        served.db.allow_projects(root)
        yield served


def test_an_import_is_a_task_in_both_dialects(shop: Served, tmp_path: Path) -> None:
    file = tmp_path / "projects/main-1/more/boot.json"
    file.write_text(json.dumps(BOOT, indent=1))
    given = {"from": "more", "apply": True}
    client = Extension(shop)
    ended = client.ended(client.begin("sandbar_project_import", given)["taskId"])
    refused = ended["result"]["structuredContent"]
    assert refused["counts"] == {"refused": 1}
    found = refused["findings"][0]
    assert (found["path"], found["line"], found["key"]) == ("boot.json", 5, "footwear/nmae")
    file.write_text(json.dumps({key: BOOT[key] for key in BOOT if key != "footwear/nmae"}))
    session = Session(shop)
    begun = session.begin("sandbar_project_import", given)
    assert session.ended(begun["taskId"])["status"] == "completed"
    result = session.ask("tasks/result", {"taskId": begun["taskId"]})["result"]
    assert result["structuredContent"]["counts"] == {"create": 1}
    assert shop.db.get("product/new")["footwear/name"] == "New"


def test_what_is_not_there_is_named_with_the_folder_it_was_looked_for_in(shop: Served) -> None:
    client = Extension(shop)
    ended = client.ended(client.begin("sandbar_project_import", {"from": "les"})["taskId"])
    told = json.dumps(ended["result"])
    assert "there is no folder or file les in main-1" in told
    assert "--projects" in told
    assert str(shop.path) not in told
    assert "/projects/" not in told
