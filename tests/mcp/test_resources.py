"""Resources, prompts and completion, in both revisions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sandbar.database import prepare_postgres
from tests.mcp.served import Role, Served, serving


def _all_resources(served: Served, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        answer = served.post("resources/list", {"cursor": cursor} if cursor else {}, **more)
        found += answer["result"]["resources"]
        cursor = answer["result"].get("nextCursor")
        if cursor is None:
            return found


def test_named_entities_are_listed_data_first_the_metamodel_last(served: Served) -> None:
    for n in range(150):
        served.db.create("zorp/Boot", {"db/ident": f"shelf/b{n}", "footwear/name": f"B{n}"})
    uris = [resource["uri"] for resource in _all_resources(served)]
    assert len(uris) == len(set(uris))
    data = [n for n, uri in enumerate(uris) if "/zorp/" in uri and "/dt/" not in uri]
    meta = [n for n, uri in enumerate(uris) if uri.startswith("mcp://sandbar/dt/")]
    assert len([uri for uri in uris if "/shelf/b" in uri]) == 150
    assert max(data) < min(meta)
    assert "mcp://sandbar/dt/Class/zorp/Footwear" in uris
    assert not any("/auth/" in uri for uri in uris)


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_accounts_are_no_resources(served: Served, role: Any) -> None:
    served.token(role)
    _make_an_heir(served)
    resources = _all_resources(served, role=role)
    names = {resource["name"] for resource in resources}
    assert "product/comet-low" in names
    assert not names & {"robots/Account", "robots/one"}
    assert not any("mcp://sandbar/auth/" in resource["uri"] for resource in resources)


def _make_an_heir(served: Served) -> None:
    """A named account of a class that only its parents tell to be one of accounts."""
    if "robots/Account" in served.call("sandbar.schema.classes", {})["classes"]:
        return
    heir = {"robots/Account": {"dt/subclass-of": ["auth/ServiceAccount"]}}
    served.call("sandbar.schema.define", {"classes": heir})
    slots = {"db/ident": "robots/one", "auth/service-name": "service/robot"}
    served.call("sandbar.entity.create", {"class": "robots/Account", "slots": slots})
    assert served.call("sandbar.entity.find", {"entity": "robots/one"})


def test_reading_under_every_spelling(served: Served) -> None:
    made = served.db.create("zorp/MoonBoot", {"db/ident": "moon/one", "footwear/name": "M"})
    for identifier in ("moon/one", "moon.one", str(made.entity_id)):
        uri = f"mcp://sandbar/zorp/MoonBoot/{identifier}"
        contents = served.post("resources/read", {"uri": uri})["result"]["contents"]
        assert contents[0]["uri"] == uri
        assert contents[0]["mimeType"] == "application/json"
        assert json.loads(contents[0]["text"])["ident"] == "moon/one"
    kind = served.post("resources/read", {"uri": "mcp://sandbar/dt/Class/zorp.Footwear"})
    assert json.loads(kind["result"]["contents"][0]["text"])["class"] == "dt/Class"


@pytest.mark.parametrize(
    "uri",
    [
        "mcp://sandbar/zorp/MoonBoot/no/body",
        "mcp://sandbar/zorp/Sandal/zorp/Boot",
        "mcp://sandbar/zorp/MoonBoot/999999999",
        "mcp://sandbar/zorp/MoonBoot/",
        "mcp://sandbar/",
        "mcp://sandbar/no/Class/1",
        "mcp://elsewhere/zorp/Boot/1",
        "file:///etc/passwd",
        "mcp://sandbar/zorp/MoonBoot/%00",
        "mcp://sandbar/zorp/MoonBoot/a b/c d",
    ],
)
def test_what_is_not_there(served: Served, uri: str) -> None:
    answer = served.post("resources/read", {"uri": uri})
    assert answer["error"]["code"] == -32002, answer
    assert answer["error"]["data"]["uri"] == uri
    status, modern = served.modern("resources/read", {"uri": uri})
    assert (status, modern["error"]["code"]) == (400, -32602)


def test_templates(served: Served) -> None:
    templates = served.post("resources/templates/list")["result"]["resourceTemplates"]
    assert templates[0]["uriTemplate"] == "mcp://sandbar/{ns}/{class}/{+ident}"


def _complete(
    served: Served, ref: dict[str, str], name: str, value: str, given: dict[str, str] | None = None
) -> list[str]:
    params: dict[str, Any] = {"ref": ref, "argument": {"name": name, "value": value}}
    if given:
        params["context"] = {"arguments": given}
    values: list[str] = served.post("completion/complete", params)["result"]["completion"]["values"]
    return values


def test_completion_of_the_template(served: Served) -> None:
    ref = {"type": "ref/resource", "uri": "mcp://sandbar/{ns}/{class}/{+ident}"}
    assert "zorp" in _complete(served, ref, "ns", "zo")
    assert _complete(served, ref, "class", "Moon", {"ns": "zorp"}) == ["MoonBoot"]
    served.db.create("zorp/Boot", {"db/ident": "typed/one", "footwear/name": "T"})
    given = {"ns": "zorp", "class": "Boot"}
    assert _complete(served, ref, "ident", "typed/o", given) == ["typed/one"]
    assert _complete(served, ref, "ident", "typed/o", {"ns": "zorp", "class": "Sandal"}) == []


def test_prompts_are_listed_and_filled_in(served: Served) -> None:
    prompts = served.post("prompts/list")["result"]["prompts"]
    assert len(prompts) >= 2
    chosen = next(prompt for prompt in prompts if prompt.get("arguments"))
    arguments = {argument["name"]: "product/x" for argument in chosen["arguments"]}
    got = served.post("prompts/get", {"name": chosen["name"], "arguments": arguments})["result"]
    assert "product/x" in json.dumps(got["messages"])
    missing = served.post("prompts/get", {"name": chosen["name"], "arguments": {}})
    assert missing["error"]["code"] == -32602
    unknown = served.post("prompts/get", {"name": "nobody", "arguments": {}})
    assert unknown["error"]["code"] == -32602
    assert unknown["error"]["data"]["hint"]


def test_a_newcomer_is_told_the_way(served: Served) -> None:
    info = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "c", "version": "1"}}
    result = served.post("initialize", info)["result"]
    assert "extensions" not in result["capabilities"]
    assert "sandbar.schema.classes" in result["instructions"]
    assert "galactic" in result["instructions"]
    assert len(result["instructions"].encode()) <= 1500
    _, modern = served.modern("server/discover")
    assert "sandbar_schema_classes" in modern["result"]["instructions"]
    assert modern["result"]["supportedVersions"] == ["2026-07-28"]


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_a_newcomer_hears_of_work_in_steps_as_far_as_it_may_do_it(
    served: Served, role: Role
) -> None:
    info = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "c", "version": "1"}}
    said = served.post("initialize", info, role=role)["result"]["instructions"]
    assert len(said.encode()) <= 1500
    assert "galactic" in said, "there is room left for what packs have to say"
    tools = served.post("tools/list", {}, role=role, query="?tools=full")["result"]["tools"]
    listed = {tool["name"] for tool in tools}
    named = set(re.findall(r"sandbar\.[a-z]+\.[a-z-]+", said))
    assert named <= listed, "nobody is told of what it may not do"
    assert {"sandbar.workflow.find", "sandbar.task.get"} <= named
    moving = {"sandbar.workflow.start-process", "sandbar.workflow.transition"}
    assert moving & named == (set() if role == "reader" else moving)


def test_the_same_on_postgresql(fresh_postgres: str) -> None:
    with serving(prepare_postgres(fresh_postgres, role="sandbar_mcp")) as served:
        made = served.call(
            "sandbar.entity.create",
            {"class": "zorp/Boot", "slots": {"db/ident": "pg/one", "footwear/name": "P"}},
        )
        assert made["created"]
        read = served.post("resources/read", {"uri": "mcp://sandbar/zorp/Boot/pg/one"})
        assert json.loads(read["result"]["contents"][0]["text"])["ident"] == "pg/one"
        _, modern = served.modern("tools/list")
        assert len(modern["result"]["tools"]) > 25


def test_a_server_on_an_old_file(tmp_path: Path) -> None:
    with serving(tmp_path / "again.db") as served:
        served.db.create("zorp/Boot", {"db/ident": "again/one", "footwear/name": "A"})
    with serving(tmp_path / "again.db") as served:
        assert served.call("sandbar.entity.find", {"entity": "again/one"})
