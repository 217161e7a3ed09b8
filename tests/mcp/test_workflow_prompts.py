"""Workflows over the wire: prompts on every road, completion, news; and what is no class tool."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.in_session import ask, open_session
from tests.mcp.listening import PROMPTS, STREAMS
from tests.mcp.served import Role, Served, serving

ORDER = "sandbar.workflow.order.fulfillment"
VALIDATION = "sandbar.workflow.validation.resource"
ROADS = ["bare", "session", "modern"]
KEPT = ["Definition", "State", "Transition", "Process", "History"]


def asked(served: Served, road: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request that came by a road."""
    if road == "bare":
        return served.post(method, params)
    if road == "session":
        return ask(served, open_session(served), method, params)[0]
    return served.modern(method, params)[1]


def spec(name: str, description: str = "A way.") -> dict[str, Any]:
    """A small workflow."""
    return {
        "name": name,
        "description": description,
        "states": [
            {"name": "open", "initial?": True},
            {"name": "done", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [{"name": "do", "from": "open", "to": "done"}],
    }


@pytest.mark.parametrize("road", ROADS)
def test_every_workflow_is_listed_besides_the_prompts_of_packs(served: Served, road: str) -> None:
    prompts = asked(served, road, "prompts/list", {})["result"]["prompts"]
    listed = {prompt["name"]: prompt for prompt in prompts}
    assert len(listed) == len(prompts)
    assert {"describe-product", "plan-launch", ORDER, VALIDATION} <= set(listed)
    order = listed[ORDER]
    assert order["title"] == "Workflow order/fulfillment"
    assert [(one["name"], one["required"]) for one in order["arguments"]] == [
        ("subject", False),
        ("data", False),
    ]
    assert all(prompt["description"] for prompt in prompts)


@pytest.mark.parametrize(
    ("road", "tool"),
    [
        ("bare", "sandbar.workflow.start-process"),
        ("session", "sandbar_workflow_start-process"),
        ("modern", "sandbar_workflow_start-process"),
    ],
)
def test_a_prompt_names_tools_as_the_client_sees_them(served: Served, road: str, tool: str) -> None:
    arguments = {"subject": "product/mud-lord", "data": '{"quantity": 2}'}
    params = {"name": ORDER, "arguments": arguments}
    result = asked(served, road, "prompts/get", params)["result"]
    assert result["description"]
    (message,) = result["messages"]
    text = message["content"]["text"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    assert "stateDiagram-v2" in text
    assert f"Call the tool `{tool}` with" in text
    assert '"subject": "product/mud-lord"' in text
    tools = asked(served, road, "tools/list", {})["result"]["tools"]
    assert tool in [one["name"] for one in tools]


@pytest.mark.anyio
async def test_the_sdks_client_gets_it(served: Served) -> None:
    for mode in ("legacy", "auto"):
        async with served.client(mode) as client:
            found = await client.get_prompt(ORDER, {"subject": "product/mud-lord"})
            assert "# Workflow `order/fulfillment`" in found.messages[0].content.text  # type: ignore[union-attr]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("sandbar.workflow.order.fulfilment", {}, "prompt.unknown"),
        ("sandbar.workflow.", {}, "prompt.unknown"),
        (ORDER, {"data": "two"}, "prompt.argument-malformed"),
        (ORDER, {"quantity": "2"}, "prompt.argument-unknown"),
    ],
)
def test_what_is_wrong_is_said(
    served: Served, road: str, name: str, arguments: dict[str, str], code: str
) -> None:
    error = asked(served, road, "prompts/get", {"name": name, "arguments": arguments})["error"]
    assert (error["code"], error["data"]["code"]) == (-32602, code)
    assert error["data"]["hint"]


def test_a_page_has_a_hundred_of_both_kinds(tmp_path: Any) -> None:
    with serving(tmp_path / "many.db") as served:
        for n in range(110):
            served.db.workflows.define(spec(f"many/w{n}"), principal="tests")
        first = served.post("prompts/list", {})["result"]
        rest = served.post("prompts/list", {"cursor": first["nextCursor"]})["result"]
        assert len(first["prompts"]) == 100
        assert "nextCursor" not in rest
        names = [one["name"] for one in first["prompts"] + rest["prompts"]]
        assert len(set(names)) == len(names) == 2 + 110 + 2


def test_a_server_without_packs_lists_prompts_too(tmp_path: Any) -> None:
    with serving(tmp_path / "bare.db", ()) as served:
        assert "prompts" in served.post("prompts/list", {})["result"]
        served.db.workflows.define(spec("first/one"), principal="tests")
        names = [one["name"] for one in served.post("prompts/list", {})["result"]["prompts"]]
        assert "sandbar.workflow.first.one" in names


# --- completion -----------------------------------------------------------------------------------


def completed(
    served: Served, prompt: str, argument: str, value: str, role: Role = "reader"
) -> list[str]:
    """The values that are offered for an argument."""
    params = {
        "ref": {"type": "ref/prompt", "name": prompt},
        "argument": {"name": argument, "value": value},
    }
    answer = served.post("completion/complete", params, role=role)
    values: list[str] = answer["result"]["completion"]["values"]
    return values


def test_the_subject_is_completed_with_the_names_of_data(served: Served) -> None:
    assert completed(served, ORDER, "subject", "product/mu") == ["product/mud-lord"]
    assert completed(served, ORDER, "subject", ":product/mu") == ["product/mud-lord"]
    everything = completed(served, ORDER, "subject", "")
    assert "product/mud-lord" in everything
    assert not {"order/fulfillment", "validation/resource", "zorp/Boot"} & set(everything)
    assert completed(served, ORDER, "data", "") == []
    assert completed(served, ORDER, "nonsense", "") == []


def test_a_validation_is_about_a_class(served: Served) -> None:
    assert completed(served, VALIDATION, "subject", "zorp/Moon") == ["zorp/MoonBoot"]
    assert completed(served, VALIDATION, "subject", "auth/") == []


def test_completing_for_an_unknown_workflow_is_refused(served: Served) -> None:
    params = {
        "ref": {"type": "ref/prompt", "name": "sandbar.workflow.no.such"},
        "argument": {"name": "subject", "value": ""},
    }
    error = served.post("completion/complete", params)["error"]
    assert error["data"]["code"] == "prompt.unknown"


# --- news -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STREAMS)
def test_a_definition_that_is_added_or_changed_is_told(served: Served, kind: str) -> None:
    workflows = served.db.workflows
    with STREAMS[kind](served) as ear:
        workflows.define(spec(f"news/{kind}"), principal="tests")
        ear.wait_for(PROMPTS)
        workflows.define(spec(f"news/{kind}", "Another way."), principal="tests")
        ear.wait_for(PROMPTS)
        workflows.define(spec(f"news/{kind}", "Another way."), principal="tests")
        process = workflows.start(f"news/{kind}", principal="tests")
        workflows.transition(process.process_id, "do", principal="tests")
        assert ear.silent(PROMPTS), "neither the same again nor a process changes the list"


# --- what is the system's -------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["admin", "writer"])
@pytest.mark.parametrize("query", ["?tools=classes", "?tools=all"])
def test_what_only_workflow_verbs_change_has_no_class_tool(
    served: Served, role: Role, query: str
) -> None:
    tools = served.post("tools/list", {}, role=role, query=query)["result"]["tools"]
    names = [tool["name"] for tool in tools]
    assert "sandbar.class.zorp.Boot" in names
    assert not [name for name in names if name.startswith("sandbar.class.workflow")]


@pytest.mark.parametrize("role", ["admin", "writer"])
def test_nor_can_one_choose_it_for_creating(served: Served, role: Role) -> None:
    tools = served.post("tools/list", {}, role=role)["result"]["tools"]
    (create,) = [tool for tool in tools if tool["name"] == "sandbar.entity.create"]
    classes = create["inputSchema"]["properties"]["class"]["enum"]
    assert "zorp/Boot" in classes
    assert not [cls for cls in classes if cls.startswith("workflow/")]


@pytest.mark.parametrize("name", KEPT)
def test_calling_the_tool_of_such_a_class_is_refused(served: Served, name: str) -> None:
    call = {"name": f"sandbar.class.workflow.{name}", "arguments": {"workflow/name": "a"}}
    result = served.post("tools/call", call)["result"]
    assert result["isError"]
    assert result["structuredContent"]["error"] in ("entity.protected", "entity.invalid")


def test_resources_show_data_then_workflows_then_the_metamodel(served: Served) -> None:
    uris: list[str] = []
    cursor: str | None = None
    while True:
        params = {} if cursor is None else {"cursor": cursor}
        page = served.post("resources/list", params)["result"]
        uris += [one["uri"] for one in page["resources"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert len(set(uris)) == len(uris)
    data = uris.index("mcp://sandbar/zorp/Boot/product/mud-lord")
    workflow = uris.index("mcp://sandbar/workflow/Definition/order/fulfillment")
    metamodel = uris.index("mcp://sandbar/dt/Class/zorp/Boot")
    assert data < workflow < metamodel


def test_entities_are_shown_without_those_of_workflows(served: Served) -> None:
    arguments = {
        "workflow": "order/fulfillment",
        "subject": "product/mud-lord",
        "data": {"quantity": 1},
    }
    served.call("sandbar.workflow.start-process", arguments)
    shown = served.call("sandbar.schema.entities", {})["by-class"]
    assert "zorp/Boot" in shown
    assert not [cls for cls in shown if cls.startswith("workflow/")]
    wanted = served.call("sandbar.schema.entities", {"classes": ["workflow/Process"]})["by-class"]
    assert wanted["workflow/Process"]
