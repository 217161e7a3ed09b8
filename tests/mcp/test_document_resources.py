"""Resources of a class with a format of its own: documents, listed first."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.served import Served, serving

FOO = "---\nname: Foo\ntype: idea\n---\n# Context\n\nA quick thought.\n"


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with memories among boots."""
    path: Path = tmp_path_factory.mktemp("noted") / "noted.db"
    with serving(path, ("zorp", "memory")) as served:
        for n in range(130):
            source = (
                f"---\nident: decisions/d{n:03}\nname: D {n}\ndescription: Why {n}\n---\nText\n"
            )
            served.call("sandbar.entity.create", {"class": "mm/Memory", "source": source})
        served.call("sandbar.entity.create", {"class": "mm/Memory", "source": FOO})
        yield served


def _pages(served: Served) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        result = served.post("resources/list", params)["result"]
        found += result["resources"]
        if "nextCursor" not in result:
            return found
        params = {"cursor": result["nextCursor"]}


def test_documents_come_first_then_data_then_the_metamodel(noted: Served) -> None:
    found = _pages(noted)
    uris = [one["uri"] for one in found]
    assert len(uris) == len(set(uris))
    kinds = [uri.removeprefix("mcp://sandbar/").split("/")[0] for uri in uris]
    assert kinds[:131] == ["mm"] * 131
    assert set(kinds[131 : kinds.index("dt")]) >= {"zorp", "pack", "prompt"}
    assert "mcp://sandbar/dt/Class/mm/Memory" in uris
    (foo,) = (one for one in found if one["name"] == "mm/foo")
    assert foo == {
        "uri": "mcp://sandbar/mm/Memory/mm/foo",
        "name": "mm/foo",
        "title": "Foo",
        "mimeType": "text/markdown",
    }
    (why,) = (one for one in found if one["name"] == "decisions/d007")
    assert (why["title"], why["description"]) == ("D 7", "Why 7")


def test_a_document_is_read_as_it_was_written(noted: Served) -> None:
    for identifier in ("mm/foo", "mm.foo"):
        uri = f"mcp://sandbar/mm/Memory/{identifier}"
        (content,) = noted.post("resources/read", {"uri": uri})["result"]["contents"]
        assert content == {"uri": uri, "mimeType": "text/markdown", "text": FOO}


def test_what_has_no_format_is_read_as_all_that_is_known(noted: Served) -> None:
    uri = "mcp://sandbar/zorp/Boot/product/mud-lord"
    (content,) = noted.post("resources/read", {"uri": uri})["result"]["contents"]
    assert content["mimeType"] == "application/json"
    assert '"entity-id"' in content["text"]


def test_a_cursor_of_a_class_that_lost_its_format_is_refused_clearly(noted: Served) -> None:
    first = noted.post("resources/list", {})["result"]
    noted.db.define(classes={"mm/Memory": {"dt/native-codec": None}})
    try:
        refused = noted.post("resources/list", {"cursor": first["nextCursor"]})
        assert refused["error"]["data"]["code"] == "list.cursor"
        assert len([one for one in _pages(noted) if one["name"] == "mm/foo"]) == 1
    finally:
        noted.db.define(classes={"mm/Memory": {"dt/native-codec": "markdown"}})


def test_an_export_is_offered_and_read_as_a_zip(noted: Served) -> None:
    offered = noted.call("sandbar.project.export", {})
    assert offered["mime-type"] == "application/zip"
    (content,) = noted.post("resources/read", {"uri": offered["uri"]}, role="reader")["result"][
        "contents"
    ]
    assert content["mimeType"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(content["blob"])))
    assert archive.read("mm/Memory/mm/foo.md").decode() == FOO
    one = noted.call("sandbar.project.export", {"classes": ["mm/Memory"]})["uri"]
    _, modern = noted.modern("resources/read", {"uri": one})
    blob = base64.b64decode(modern["result"]["contents"][0]["blob"])
    names = zipfile.ZipFile(io.BytesIO(blob)).namelist()
    assert all(name.startswith("mm/Memory/") or "/" not in name for name in names)
    gone = noted.post("resources/read", {"uri": "mcp://sandbar/project/export/no/Such"})
    assert gone["error"]["code"] == -32002
