"""Seed 000, the MCP server: what it prints is typed, what it promises is checked.

Where seeds disagree the design decides; the decision stands in the test's docstring.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sandbar
from tests.live_server import LiveServer
from tests.seeds.configured import configuration, tools_seen
from tests.seeds.following import asked, begun_order, moved, told_of
from tests.seeds.printing import printed
from tests.seeds.remembering import forgotten, remembered
from tests.seeds.typing_it import (
    LISTEN,
    TOKEN,
    Answer,
    ShellStream,
    call,
    payload,
    post,
    rpc,
    shell,
)

BEARER = 'Bearer realm="sandbar-mcp"'


def _posted(block: str) -> str:
    """The body of a block that is printed as `POST /mcp` and a body."""
    first, body = block.split("\n", 1)
    assert first == "POST /mcp"
    return body


# --- quick start ----------------------------------------------------------------------------------


def test_the_endpoint_answers_initialize_without_capabilities(address: str, folder: Path) -> None:
    """Version and title: the installed version, and the title of this seed."""
    answer = shell(printed("seed-000/verify.sh"), address, folder, token=None)
    message = answer.json()
    assert (answer.status, message["jsonrpc"], message["id"]) == (200, "2.0", 1)
    result = message["result"]
    assert result["protocolVersion"] == "2025-11-25"
    assert result["serverInfo"] == {
        "name": "sandbar",
        "title": "Sandbar",
        "version": sandbar.__version__,
    }
    promised = {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
        "logging": {},
    }
    assert {name: result["capabilities"].get(name) for name in promised} == promised


def test_a_client_with_the_printed_configuration_connects(address: str) -> None:
    config = configuration(printed("seed-000/mcp-json.json"), address, {"SANDBAR_TOKEN": TOKEN})
    assert "sandbar_entity_create" in tools_seen(config)


def test_the_committed_configuration_is_inert_until_the_token_is_set(address: str) -> None:
    block = printed("seed-000/mcp-json-inert.json")
    inert = configuration(block, address, {})
    sent = inert["mcpServers"]["sandbar"]["headers"]["Authorization"]
    assert post(address, rpc("tools/list"), token=sent.removeprefix("Bearer ")).status == 401
    awake = configuration(block, address, {"SANDBAR_TOKEN": TOKEN})
    assert "sandbar_entity_create" in tools_seen(awake)


# --- signing in -----------------------------------------------------------------------------------


def test_the_printed_header_signs_in(address: str) -> None:
    name, value = printed("seed-000/authorization.txt").split(": ", 1)
    assert name == "Authorization"
    assert post(address, rpc("tools/list"), token=value.removeprefix("Bearer ")).status == 200


@pytest.mark.parametrize(
    "token",
    [None, "claude", "nobody:super-secret-mcp-key", "claude:another-key", "retired:its-own-key-1"],
    ids=["missing", "no colon", "unknown service", "key mismatch", "inactive"],
)
def test_whoever_does_not_sign_in_gets_401_and_the_challenge(
    address: str, server: LiveServer, token: str | None
) -> None:
    """The body is a JSON-RPC error with the code −32001 instead of a bare `error` string."""
    if token is not None and token.startswith("retired"):
        server.sandbar("account", "add", "retired", "--api-key", "its-own-key-1")
        assert post(address, rpc("tools/list"), token=token).status == 200
        server.sandbar("account", "revoke", "retired")
    answer = post(address, rpc("tools/list"), token=token)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith(BEARER)
    assert answer.error()["code"] == -32001


def test_a_refusal_does_not_tell_names_from_keys(address: str) -> None:
    def told(token: str) -> dict[str, Any]:
        error: dict[str, Any] = post(address, rpc("tools/list"), token=token).error()
        error.get("data", {}).pop("request-id", None)
        return error

    assert told("nobody:super-secret-mcp-key") == told("claude:another-key")


def test_the_stream_asks_for_a_token_too(address: str, folder: Path) -> None:
    answer = shell(LISTEN.replace("-N ", ""), address, folder, token="claude:another-key")
    assert (answer.status, answer.headers["www-authenticate"].startswith(BEARER)) == (401, True)


# --- tools ----------------------------------------------------------------------------------------


def test_tools_list(address: str) -> None:
    """The list holds the operational verbs, under the seeds' names for a bare request."""
    tools = post(address, _posted(printed("seed-000/tools-list.txt"))).result()["tools"]
    names = [tool["name"] for tool in tools]
    assert "sandbar.entity.create" in names
    assert not any(name.startswith("sandbar.class.zorp.") for name in names)
    for tool in tools:
        assert tool["title"]
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"


def _class_tools(address: str) -> dict[str, Any]:
    body = _posted(printed("seed-000/tools-list.txt"))
    tools = post(address, body, path="/mcp?tools=classes").result()["tools"]
    return {tool["name"]: tool for tool in tools}


def test_every_concrete_class_is_a_tool_for_whoever_asks_for_them(address: str) -> None:
    """Class tools are always callable, and listed with `?tools=classes`."""
    tools = _class_tools(address)
    assert "sandbar.class.zorp.SpaceBoot" in tools
    assert "sandbar.class.zorp.Footwear" not in tools, "it is abstract"
    schema = tools["sandbar.class.zorp.SpaceBoot"]["inputSchema"]
    assert schema["type"] == "object"
    assert schema["required"] == ["footwear/name"]
    properties = schema["properties"]
    assert properties["footwear/tentacle-count"]["type"] == "integer"
    assert properties["footwear/gravity-rating"]["type"] == "number"
    assert properties["boot/vacuum-rated?"]["type"] == "boolean"


TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "long": {"type": "integer"},
    "double": {"type": "number"},
    "boolean": {"type": "boolean"},
    "instant": {"type": "string", "format": "date-time"},
    "keyword": {"type": "string"},
    "uuid": {"type": "string", "format": "uuid"},
    "uri": {"type": "string", "format": "iri"},  # the seed says uri; ours may hold any letter
}


def test_the_input_schema_follows_the_table_of_types(address: str) -> None:
    """A reference is an ident (a string) or an id (an integer)."""
    slots = {f"probe/{name}": {"dt/range": f"db.type/{name}"} for name in TYPES}
    slots["probe/boot"] = {"dt/range": "zorp/Boot"}
    slots["probe/words"] = {"dt/range": "db.type/string", "db/cardinality": "many"}
    define = {"properties": slots, "classes": {"probe/Probe": {"dt/slots": list(slots)}}}
    assert not call(address, "sandbar.schema.define", define).get("isError")
    shown = _class_tools(address)["sandbar.class.probe.Probe"]["inputSchema"]["properties"]
    for name, promised in TYPES.items():
        assert promised.items() <= shown[f"probe/{name}"].items(), name
    assert "string" in shown["probe/boot"]["type"]
    assert (shown["probe/words"]["type"], shown["probe/words"]["items"]["type"]) == (
        "array",
        "string",
    )


def _entity(address: str, id: int) -> dict[str, Any]:
    """An entity, read as a resource."""
    uri = f"mcp://sandbar/dt/Resource/{id}"
    contents = post(address, rpc("resources/read", {"uri": uri})).result()["contents"]
    found: dict[str, Any] = json.loads(contents[0]["text"])
    return found


def test_tools_call_makes_an_entity(address: str) -> None:
    answer = post(address, _posted(printed("seed-000/tools-call.txt")))
    assert answer.json()["id"] == 3
    result = answer.result()
    assert not result.get("isError")
    made = payload(result)
    assert made["created"] is True
    entity = str(_entity(address, made["entity-id"]))
    for promised in ("zorp/SpaceBoot", "Moon Boot Pro", "299.99"):
        assert promised in entity
        assert promised in str(made["entity"]), "the seed prints what was made"


def test_a_missing_slot_is_a_failure_that_names_it(address: str) -> None:
    request = json.loads(_posted(printed("seed-000/tools-call.txt")))
    del request["params"]["arguments"]["footwear/name"]
    result = post(address, request).result()
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert "footwear/name" in text
    assert "required" in text or "missing" in text


def test_an_abstract_class_cannot_be_instantiated(address: str) -> None:
    result = call(address, printed("seed-000/tool-name-footwear.txt"), {"footwear/name": "x"})
    assert result["isError"] is True
    assert "abstract" in result["content"][0]["text"]


def test_a_memory_is_made_by_the_tool_of_its_class(address: str) -> None:
    tool = printed("seed-000/tool-name-memory.txt")
    assert tool in _class_tools(address)
    forgotten(address, "mm/by-its-tool")
    made = payload(call(address, tool, {"memory/name": "By its tool", "memory/type": "idea"}))
    assert (made["class"], made["ident"], made["created"]) == ("mm/Memory", "mm/by-its-tool", True)


def test_a_person_is_made_by_admins_only(server: LiveServer, address: str) -> None:
    """The class's tool is callable; accounts are read and changed by administrators only."""
    tool, person = printed("seed-000/tool-name-user.txt"), {"auth/user-name": "user/ripley"}
    refused = call(address, tool, person)
    assert payload(refused)["error"] == "entity.protected"
    made = payload(call(address, tool, person, token=server.token))
    assert made["created"] is True


@pytest.mark.parametrize("tool", ["sandbar.class.zorp.Nothing", "sandbar.no.such", "nothing"])
def test_an_unknown_tool_is_an_invalid_parameter(address: str, tool: str) -> None:
    answer = post(address, rpc("tools/call", {"name": tool, "arguments": {}}))
    error = answer.error()
    assert error["code"] == -32602
    assert "sandbar.entity.create" in error["data"]["available-tools"]


def test_arguments_are_coerced(address: str) -> None:
    """Keywords and references with and without a colon; a scalar for a many-valued slot."""
    slots = {
        "coerce/kind": {"dt/range": "db.type/keyword"},
        "coerce/at": {"dt/range": "db.type/instant"},
        "coerce/key": {"dt/range": "db.type/uuid"},
        "coerce/boot": {"dt/range": "zorp/Boot"},
        "coerce/words": {"dt/range": "db.type/string", "db/cardinality": "many"},
    }
    define = {"properties": slots, "classes": {"coerce/Thing": {"dt/slots": list(slots)}}}
    assert not call(address, "sandbar.schema.define", define).get("isError")
    arguments = {
        "coerce/kind": ":foo/bar",
        "coerce/at": "2026-05-12T10:00:00Z",
        "coerce/key": "0193e1f0-9e1d-7cc3-9b5e-2f6a3c1d4e5f",
        "coerce/boot": ":product/mud-lord",
        "coerce/words": "one",
    }
    made = payload(call(address, "sandbar.class.coerce.Thing", arguments))
    entity = json.dumps(_entity(address, made["entity-id"]))
    assert '"foo/bar"' in entity, "keywords come out without a colon"
    assert '"product/mud-lord"' in entity
    assert '["one"]' in entity


# --- schema evolution and notifications -----------------------------------------------------------


def test_a_new_class_is_announced_and_is_a_tool_at_once(address: str, folder: Path) -> None:
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        slipper = {
            "db/ident": ":zorp/Slipper",
            "dt/subclass-of": [":zorp/Footwear"],
            "db/doc": "Worn at home.",
        }
        made = call(address, printed("seed-000/tool-name-class.txt"), slipper)
        assert not made.get("isError"), made
        told = stream.until("notifications/tools/list_changed")
        assert "id" not in told
    assert "sandbar.class.zorp.Slipper" in _class_tools(address)
    made = call(address, "sandbar.class.zorp.Slipper", {"footwear/name": "Comfy"})
    assert not made.get("isError")


def test_a_new_property_is_announced(address: str, folder: Path) -> None:
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        arguments = {"db/ident": "slipper/warm?", "dt/range": "db.type/boolean"}
        made = call(address, "sandbar.class.dt.Property", arguments)
        assert not made.get("isError"), made
        stream.until("notifications/tools/list_changed")


def test_the_stream_tells_of_new_resources_and_of_those_subscribed_to(
    address: str, folder: Path
) -> None:
    """A plain subscribe binds to the caller's open streams."""
    uri = "mcp://sandbar/zorp/Sandal/product/dune-drifter"
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        boot = {"db/ident": "product/new-boot", "footwear/name": "New"}
        assert not call(address, "sandbar.class.zorp.Boot", boot).get("isError")
        stream.until("notifications/resources/list_changed")
        assert post(address, rpc("resources/subscribe", {"uri": uri})).result() == {}
        _rename(address, "product/dune-drifter", "Renamed")
        told = stream.until("notifications/resources/updated")
        assert told["params"]["uri"] == uri
        assert post(address, rpc("resources/unsubscribe", {"uri": uri})).result() == {}


def _rename(address: str, entity: str, name: str) -> None:
    change = {"entity": entity, "attributes": {"footwear/name": name}}
    assert not call(address, "sandbar.entity.update", change).get("isError")


# --- resources and prompts ------------------------------------------------------------------------


def _read(address: str, uri: str) -> Answer:
    return post(address, rpc("resources/read", {"uri": uri}))


def test_the_printed_address_of_a_class_is_read(address: str) -> None:
    """Dotted identifiers are accepted beside slashes; what is not native is JSON."""
    uri = printed("seed-000/resource-uri-class.txt")
    (content,) = _read(address, uri).result()["contents"]
    assert content["uri"] == uri
    assert content["mimeType"] == "application/json"
    assert "zorp/Footwear" in content["text"]
    (slashes,) = _read(address, "mcp://sandbar/dt/Class/zorp/Footwear").result()["contents"]
    assert slashes["text"] == content["text"]


def test_the_printed_address_of_a_memory_is_read_as_markdown(address: str) -> None:
    uri = printed("seed-000/resource-uri-memory.txt")
    ident = "decisions/sandbar_mcp_server_design_2026_05_12"
    remembered(address, ident, name="MCP server", type="decision", body="# Context\n\nWhy.\n")
    (content,) = _read(address, uri).result()["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/markdown")
    assert content["text"] == (
        f"---\nident: {ident}\nname: MCP server\ntype: decision\n---\n# Context\n\nWhy.\n"
    )
    (slashes,) = _read(address, f"mcp://sandbar/mm/Memory/{ident}").result()["contents"]
    assert slashes["text"] == content["text"]


def test_an_account_is_no_resource(address: str) -> None:
    """`auth/*` is shown to administrators only, and never listed."""
    error = _read(address, printed("seed-000/resource-uri-user.txt")).error()
    assert error["code"] == -32002
    assert error["data"]["uri"] == "mcp://sandbar/auth/User/zorp.user.42"


def test_every_named_entity_is_a_resource_data_first(address: str) -> None:
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        page = post(address, rpc("resources/list", params)).result()
        found += page["resources"]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    uris = [resource["uri"] for resource in found]
    boot = uris.index("mcp://sandbar/zorp/SpaceBoot/product/moon-boot-pro")
    metamodel = uris.index("mcp://sandbar/dt/Class/zorp/Footwear")
    assert boot < metamodel
    assert len(set(uris)) == len(uris)
    assert not [uri for uri in uris if uri.startswith("mcp://sandbar/auth/")]
    assert all(resource["name"] and resource["mimeType"] for resource in found)


def test_prompts_are_listed(address: str) -> None:
    """Prompts are data, and workflows are prompts as well."""
    prompts = {p["name"]: p for p in post(address, rpc("prompts/list")).result()["prompts"]}
    assert {"describe-product", "plan-launch"} <= set(prompts)
    described = prompts["describe-product"]
    assert (described["title"], bool(described["description"])) == ("Describe a product", True)
    asked = [(each["name"], each.get("required", False)) for each in described["arguments"]]
    assert asked == [("product", True), ("audience", False)]


def test_a_workflow_is_a_prompt_under_the_printed_name(address: str) -> None:
    """Name and version, state diagram, invocation hints; the name leads back to the keyword."""
    name = printed("seed-000/prompt-name.txt").strip()
    listed = post(address, rpc("prompts/list")).result()["prompts"]
    (prompt,) = [one for one in listed if one["name"] == name]
    assert prompt["title"] == "Workflow validation/resource"
    result = post(address, rpc("prompts/get", {"name": name})).result()
    text = result["messages"][0]["content"]["text"]
    assert text.startswith("# Workflow `validation/resource`, version ")
    assert "```mermaid\nstateDiagram-v2\n" in text
    assert "- `validation/in-progress`" in text
    assert "`sandbar.validation.start`" in text
    assert "sandbar.workflow.order.fulfillment" in [one["name"] for one in listed]


def test_a_new_workflow_is_announced(address: str, folder: Path) -> None:
    """`notifications/prompts/list_changed` when a definition is added or modified."""
    spec = {
        "name": "announced/workflow",
        "states": [
            {"name": "open", "initial?": True},
            {"name": "done", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [{"name": "do", "from": "open", "to": "done"}],
    }
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        for description in ("Added.", "Modified."):
            define = {"spec": spec | {"description": description}}
            assert not call(address, "sandbar.workflow.define", define).get("isError")
            stream.until("notifications/prompts/list_changed")


# --- tasks ----------------------------------------------------------------------------------------


def test_a_task_is_a_process_and_its_status_that_of_the_table(address: str, folder: Path) -> None:
    """Non-terminal: running; ended one way or another: completed; not found: an error."""
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        handles = [begun_order(address) for _ in range(3)]
        seen = [asked(address, "tasks/get", taskId=each)["result"]["status"] for each in handles]
        assert seen == ["running"] * 3
        moved(address, handles[0], "confirm", "ship", "deliver")
        moved(address, handles[1], "expire")
        assert asked(address, "tasks/cancel", taskId=handles[2])["result"]["kind"] == "cancel"
        done = [asked(address, "tasks/get", taskId=each)["result"] for each in handles]
        assert [task["status"] for task in done] == ["completed"] * 3
        assert [task["kind"] for task in done] == ["success", "failure", "cancel"]
        for handle in handles:
            told = told_of(stream, "notifications/progress", handle)
            assert told["params"]["workflow"] == ":order/fulfillment"
    for handle in handles:
        number = int(handle.split("-")[0])
        assert _entity(address, number)["class"] == "workflow/Process"
    error = asked(address, "tasks/get", taskId="17592186045700")["error"]
    assert (error["code"], error["message"]) == (-32602, "Task not found: 17592186045700")


def test_the_printed_order_goes_its_way(address: str) -> None:
    """`order/fulfillment`: pending → confirmed → shipped → delivered."""
    handle = begun_order(address)
    moved(address, handle, "confirm", "ship", "deliver")
    past = payload(call(address, "sandbar.workflow.process-history", {"process": handle}))
    states = ["order/pending", "order/confirmed", "order/shipped", "order/delivered"]
    assert [row["to"] for row in past["history"]] == states


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, -32700),
        ('{"id": 1, "method": "tools/list"}', 400, -32600),
        ('{"jsonrpc": "2.0", "id": 1}', 400, -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "no/such"}', 200, -32601),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', 200, -32602),
    ],
)
def test_the_table_of_error_codes(address: str, body: str, status: int, code: int) -> None:
    answer = post(address, body)
    assert (answer.status, answer.error()["code"]) == (status, code)


def test_a_notification_has_no_answer(address: str) -> None:
    """202 with an empty body, as the protocol says, where the seed has 204."""
    answer = post(address, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status, answer.body) == (202, "")
