"""Tasks in the three dialects: of a session, of the extension of 2026-07-28, of bare requests."""

from __future__ import annotations

from typing import Any

from tests.recordings.examples import ORDER, called, ended
from tests.recordings.places import Place
from tests.recordings.plain import compact
from tests.recordings.scene import Scene
from tests.recordings.wire import EXTENSION, Door, Lane

_NOBODYS = "1-" + "0" * 32
_METHODS = ("tasks/get", "tasks/update", "tasks/result", "tasks/cancel", "tasks/get")
_MOVE = "sandbar.workflow.transition"
_FOOTWEAR = {"class": "zorp/Footwear"}
_BEGINNINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("sandbar_validation_start", _FOOTWEAR),
    ("sandbar_validation_run", _FOOTWEAR),
    ("sandbar_class_validate-all-instances", _FOOTWEAR),
    ("sandbar_workflow_start-process", ORDER),
    ("sandbar_entity_find", {"entity": "product/mud-lord"}),
    ("sandbar_validation_run", {"class": "zorp/Nothing"}),
    ("sandbar_workflow_start-process", {"workflow": "no/such"}),
)


def record_tasks(place: Place) -> Scene:
    """Begun, followed, listed, answered and cancelled, by who began them and by others."""
    with Scene(place, "tasks", ["zorp"]) as scene:
        able = Door(scene.writer.port, scene.writer.token)
        able.capabilities = {"extensions": {EXTENSION: {}}}
        opened = scene.session("session of tasks", scene.writer)
        stranger = Door(scene.writer.port, scene.server.add_account("stranger", "writer"))
        _begins(scene, "bare", "bare", scene.writer)
        _begins(scene, "session", "session", opened)
        _begins(scene, "extension", "envelope", able)
        _begins(scene, "envelope", "envelope", scene.writer)
        _asks(scene, able, opened, stranger)
        _questions(scene)
    return scene


def _begins(scene: Scene, title: str, lane: Lane, door: Door) -> None:
    for number, (tool, arguments) in enumerate(_BEGINNINGS):
        ways: tuple[dict[str, Any], ...] = ({}, {"task": {}}, {"task": {"ttl": 60_000}})
        for way in ways if lane != "envelope" else ways[:2]:
            name = f"{title}: {number} {tool} {compact(way)}"
            params = {"name": tool, "arguments": arguments, **way}
            answer = scene.send(name, door.rpc(lane, "tools/call", params))
            handle = _handle(answer.result())
            if handle and "start-process" not in tool:
                ended(scene, {"task-id": handle, "process-id": 0})


def _handle(result: Any) -> str:
    task = result.get("task", result)
    return str(task.get("taskId") or task.get("task-id") or "")


def _asks(scene: Scene, able: Door, opened: Door, stranger: Door) -> None:
    done = scene.quietly(
        scene.writer, "tools/call", {"name": "sandbar.validation.start", "arguments": _FOOTWEAR}
    ).payload()
    ended(scene, done)
    order = {"name": "sandbar.workflow.start-process", "arguments": ORDER}
    roads: tuple[tuple[str, Lane, Door], ...] = (
        ("bare", "bare", scene.writer),
        ("session", "session", opened),
        ("extension", "envelope", able),
        ("envelope", "envelope", scene.writer),
        ("stranger", "bare", stranger),
        ("admin", "bare", scene.admin),
    )
    for title, lane, door in roads:
        waiting = scene.quietly(scene.writer, "tools/call", order).payload()
        handles = {"done": done["task-id"], "waiting": waiting["task-id"], "nobody's": _NOBODYS}
        handles |= {"malformed": "x", "a number": str(done["process-id"])}
        for which, handle in handles.items():
            for method in (
                "tasks/get",
                "tasks/update",
                "tasks/result",
                "tasks/cancel",
                "tasks/get",
            ):
                if (method, which) == ("tasks/result", "waiting"):
                    continue  # it waits for the end
                for spelling in ("taskId", "task-id") if lane == "bare" else ("taskId",):
                    name = _unused(scene, f"{title}: {method} {spelling} of one {which}")
                    scene.send(name, door.rpc(lane, method, {spelling: handle}))
        for method in ("tasks/list", "tasks/get", "tasks/cancel", "tasks/result"):
            scene.send(f"{title}: {method} of nothing", door.rpc(lane, method, {}))
        limited = {"cursor": "wrong"}
        scene.send(f"{title}: tasks/list wrongly", door.rpc(lane, "tasks/list", limited))


def _unused(scene: Scene, name: str) -> str:
    while name in scene.names:
        name += ", again"
    return name


def _questions(scene: Scene) -> None:
    """A process that asks, of clients that can be asked."""
    able = Door(scene.admin.port, scene.admin.token)
    able.capabilities = {"elicitation": {"form": {}}}
    made = scene.made("sandbar.workflow.start-process", ORDER)
    process = made["process-id"]
    for name in ("confirm", "ship", "ask-refund"):
        given = {"process": process, "transition": name, "reason": "too small"}
        called(
            scene, f"questions: {name}", scene.admin, "bare", "sandbar.workflow.transition", given
        )
    look = {"name": "sandbar.workflow.process-state", "arguments": {"process": process}}
    scene.send("questions: bare", scene.admin.rpc("bare", "tools/call", look))
    asked = scene.send("questions: asked", able.rpc("envelope", "tools/call", look)).result()
    for number, content in enumerate(({"approve": "maybe"}, {"approve": True})):
        answers = {
            key: {"action": "accept", "content": content} for key in asked.get("inputRequests", {})
        }
        params = {**look, "inputResponses": answers, "requestState": asked.get("requestState")}
        answer = scene.send(
            f"questions: answered {number}", able.rpc("envelope", "tools/call", params)
        )
        asked = answer.result() if "requestState" in answer.result() else asked
    tampered = {**look, "inputResponses": {}, "requestState": "tampered"}
    scene.send("questions: tampered", able.rpc("envelope", "tools/call", tampered))
