"""What there is: tools, prompts, resources, completions, greetings, on every road."""

from __future__ import annotations

from typing import Any

from tests.recordings.places import Place
from tests.recordings.plain import compact
from tests.recordings.scene import Scene
from tests.recordings.wire import Door, Lane

_LISTINGS = ("", "core", "full", "classes", "all", "default", "no-such")
_PAGES = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
_URIS = (
    "mcp://sandbar/dt/Class/zorp/Footwear",
    "mcp://sandbar/dt/Class/zorp.Footwear",
    "mcp://sandbar/dt/Property/footwear/price",
    "mcp://sandbar/zorp/Boot/product/mud-lord",
    "mcp://sandbar/dt/Resource/1",
    "mcp://sandbar/mm/Memory/decisions/recorded",
    "mcp://sandbar/workflow/Definition/order/fulfillment",
    "mcp://sandbar/project/export/zorp/Sandal",
    "mcp://sandbar/auth/User/user/owner",
    "mcp://sandbar/no/Such/thing",
    "mcp://sandbar/zorp/Boot/product/nothing",
    "mcp://sandbar",
    "test://static-text",
    "test://static-binary",
    "https://example.com",
    "",
)
_COMPLETIONS: tuple[Any, ...] = (
    {"ref": {"type": "ref/prompt", "name": "sandbar.workflow.order.fulfillment"}},
    {"ref": {"type": "ref/prompt", "name": "no-such"}},
    {"ref": {"type": "ref/resource", "uri": "mcp://sandbar/{+class}/{+ident}"}},
    {"ref": {"type": "ref/resource", "uri": "mcp://sandbar/{class}/{ident}"}},
    {"ref": {"type": "ref/no-such"}},
)
_ARGUMENTS = (
    {"name": "subject", "value": "product/"},
    {"name": "class", "value": "zorp/"},
    {"name": "ident", "value": "product/m"},
    {"name": "ns", "value": "z"},
    {"name": "name", "value": ""},
    {"name": "no-such", "value": ""},
)


def record_lists(place: Place) -> Scene:
    """With packs that bring memories, prompts and workflows; as a writer, and as others."""
    with Scene(place, "lists", ["zorp", "memory", "care"]) as scene:
        memory = {"db/ident": "decisions/recorded", "memory/name": "R", "memory/body": "# Why\n"}
        given = {"class": "mm/Memory", "attributes": memory}
        scene.made("sandbar.entity.create", given)
        reader = Door(scene.server.port, scene.server.add_account("looker", "reader"))
        for lane, door in scene.lanes("lists", scene.writer):
            _lists(scene, lane, door)
            _reads(scene, lane, door)
            _completes(scene, lane, door)
            _greets(scene, lane, door)
        for who, other in (("admin", scene.admin), ("reader", reader)):
            for listing in ("", "all", "full"):
                path = f"/mcp?tools={listing}"
                there = Door(other.port, other.token, path=path)
                scene.send(f"{who}: {path}", there.rpc("bare", "tools/list"))
            for method in _PAGES[1:]:
                scene.send(f"{who}: {method}", other.rpc("bare", method))
    return scene


def _lists(scene: Scene, lane: Lane, door: Door) -> None:
    for listing in _LISTINGS:
        path = f"/mcp?tools={listing}" if listing else "/mcp"
        there = Door(door.port, door.token, door.session, path)
        scene.send(f"{lane}: tools/list of {path}", there.rpc(lane, "tools/list"))
    for method in _PAGES:
        cursor, page = "", 0
        while page == 0 or cursor:
            page += 1
            params = {"cursor": cursor} if cursor else None
            answer = scene.send(f"{lane}: {method}, page {page}", door.rpc(lane, method, params))
            cursor = answer.result().get("nextCursor", "")
        for wrong in ("wrong", 7, ""):
            request = door.rpc(lane, method, {"cursor": wrong})
            scene.send(f"{lane}: {method} from {wrong!r}", request)


def _reads(scene: Scene, lane: Lane, door: Door) -> None:
    for uri in _URIS:
        scene.send(f"{lane}: read {uri}", door.rpc(lane, "resources/read", {"uri": uri}))
    scene.send(f"{lane}: read nothing", door.rpc(lane, "resources/read", {}))
    listed = scene.quietly(scene.writer, "prompts/list").result()["prompts"]
    for prompt in listed:
        name = prompt["name"]
        values = {one["name"]: "zorp/Boot" for one in prompt.get("arguments", [])}
        for title, given in (("", {}), (" with all", values), (" wrongly", {"no-such": "x"})):
            params = {"name": name, "arguments": given}
            scene.send(f"{lane}: prompt {name}{title}", door.rpc(lane, "prompts/get", params))
    wrong: tuple[dict[str, Any], ...] = ({}, {"name": "no-such"}, {"name": 7})
    for params in wrong:
        scene.send(f"{lane}: prompt {compact(params)}", door.rpc(lane, "prompts/get", params))


def _completes(scene: Scene, lane: Lane, door: Door) -> None:
    for number, ref in enumerate(_COMPLETIONS):
        for argument in _ARGUMENTS:
            params = {**ref, "argument": argument}
            name = f"{lane}: complete {number} {compact(argument)}"
            scene.send(name, door.rpc(lane, "completion/complete", params))
    scene.send(f"{lane}: complete nothing", door.rpc(lane, "completion/complete", {}))


def _greets(scene: Scene, lane: Lane, door: Door) -> None:
    asked: list[tuple[str, Any]] = [("ping", None), ("server/discover", None), ("no/such", None)]
    for version in ("2025-11-25", "2025-06-18", "2024-11-05", "2026-07-28", "1999-01-01", 7, None):
        info = {"name": "recordings", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
        asked.append(("initialize", params))
    asked += [("logging/setLevel", {"level": one}) for one in ("info", "debug", "no-such")]
    asked += [
        ("resources/subscribe", {"uri": "mcp://sandbar/zorp/Boot/product/mud-lord"}),
        ("resources/subscribe", {"uri": "mcp://sandbar/no/Such/thing"}),
        ("resources/unsubscribe", {"uri": "mcp://sandbar/zorp/Boot/product/mud-lord"}),
        ("roots/list", None),
        ("sampling/createMessage", {}),
        ("tasks/list", None),
    ]
    for number, (method, params) in enumerate(asked):
        greets = lane == "session" and method == "initialize"
        there = Door(door.port, door.token) if greets else door  # it opens a session of its own
        name = f"{lane}: {number} {method}"
        scene.send(name, there.rpc(lane, method, params))


# --- the pack of the conformance suites ----------------------------------------------------------


def record_everything(place: Place) -> Scene:
    """Every tool, prompt and resource of the pack `everything`, of clients that can do nothing."""
    with Scene(place, "everything", ["everything"]) as scene:
        listed = scene.quietly(Door(scene.writer.port, scene.writer.token), "tools/list")
        tools = [one["name"] for one in listed.result()["tools"] if "sandbar" not in one["name"]]
        able = Door(scene.writer.port, scene.writer.token)
        able.capabilities = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
        roads = [*scene.lanes("everything", scene.writer), ("envelope", able)]
        for lane, door in roads:
            title = f"{lane}, who is able" if door.capabilities else lane
            for uri in ("test://static-text", "test://static-binary", "test://no-such"):
                scene.send(f"{title}: {uri}", door.rpc(lane, "resources/read", {"uri": uri}))
            for tool in tools:
                if "trigger" in tool:
                    continue  # it takes as long as it takes until the lists have changed
                for given in ({}, {"name": "Ada", "prompt": "Hi", "message": "Hi", "a": 1}):
                    name = f"{title}: {tool} {compact(given)}"
                    params = {"name": tool, "arguments": given}
                    scene.send(name, door.rpc(lane, "tools/call", params))
    return scene
