"""Every example of every verb, on each road and in both spellings; and every verb misused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from tests.recordings.places import Place
from tests.recordings.scene import Scene
from tests.recordings.wire import Answer, Door, Lane

# Whoever waits for a validation asks as often as it takes, which the audit shows: that comes last.
VERBS: list[dict[str, Any]] = sorted(
    json.loads(Path(__file__).with_name("verbs.json").read_text(encoding="utf-8")),
    key=lambda verb: str(verb["name"]).startswith("validation."),
)
Spelling = Literal["dotted", "portable"]
ORDER = {
    "workflow": "order/fulfillment",
    "subject": "product/mud-lord",
    "data": {"quantity": 2},
}
_PATIENCE_S = 20.0
_BETWEEN_S = 0.01
_NOTHING = "zorp/nothing-of-that-name"


def spelled(name: str, spelling: Spelling) -> str:
    """A verb as it is called on the wire."""
    dotted = f"sandbar.{name}"
    return dotted if spelling == "dotted" else dotted.replace(".", "_")


class Making:
    """What examples name in angle brackets, made quietly."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._count = 0

    def filled(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with something real for each placeholder, the same for each."""
        made: dict[str, Any] = {}
        for value in arguments.values():
            if isinstance(value, str) and value.startswith("<") and value not in made:
                made[value] = self._makers()[value]()
        return {
            name: made.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }

    def _makers(self) -> dict[str, Callable[[], Any]]:
        return {
            "<process>": lambda: self._started()["process-id"],
            "<task>": lambda: self._started()["task-id"],
            "<paused process>": self._paused,
            "<asking process>": self._asking,
            "<validation>": self._validation,
            "<failed validation>": self._validation,
            "<key>": self._key,
            "<new workspace>": self._new_name,
            "<workspace>": self._workspace,
            "<exported folder>": self._exported,
        }

    def _started(self) -> dict[str, Any]:
        return self._scene.made("sandbar.workflow.start-process", ORDER)

    def _paused(self) -> Any:
        process = self._started()["process-id"]
        self._scene.made("sandbar.workflow.pause", {"process": process})
        return process

    def _asking(self) -> Any:
        process = self._started()["process-id"]
        for name in ("confirm", "ship", "ask-refund"):
            given = {"process": process, "transition": name, "reason": "too small"}
            self._scene.made("sandbar.workflow.transition", given)
        return process

    def _validation(self) -> Any:
        given = {"class": "zorp/Boot"}
        return ended(self._scene, self._scene.made("sandbar.validation.start", given))

    def _key(self) -> str:
        name = f"laptop-{self._next()}"
        self._scene.made("sandbar.key.mint", {"name": name})
        return name

    def _new_name(self) -> str:
        return f"shop-{self._next()}"

    def _workspace(self) -> str:
        name = self._new_name()
        self._scene.made("sandbar.workspace.create", {"name": name})
        return name

    def _exported(self) -> str:
        to = f"exported-{self._next()}"
        self._scene.made("sandbar.project.export", {"to": to})
        return to

    def _next(self) -> int:
        self._count += 1
        return self._count


def ended(scene: Scene, started: dict[str, Any]) -> Any:
    """Wait, quietly, until a task has ended; its process."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        task = scene.made("sandbar.task.get", {"task-id": started["task-id"]})
        if task.get("status") in ("complete", "completed"):
            return started["process-id"]
        assert time.monotonic() < deadline, task
        time.sleep(_BETWEEN_S)


def called(
    scene: Scene, name: str, door: Door, lane: Lane, tool: str, arguments: dict[str, Any]
) -> Answer:
    """Call a tool, and wait for the task if it began a validation."""
    params = {"name": tool, "arguments": arguments}
    answer = scene.send(name, door.rpc(lane, "tools/call", params))
    result = answer.payload()
    if isinstance(result, dict) and "task-id" in result and "validation" in tool:
        ended(scene, result)
    return answer


def record_examples(place: Place, lane: Lane, spelling: Spelling) -> Scene:
    """All examples on one road, as an admin, each after those before it."""
    options = ["--projects", str(place.folder)]
    with Scene(place, f"examples-{lane}-{spelling}", ["zorp"], options) as scene:
        scene.plain.know("place", str(place.folder))
        door = scene.session("beginning", scene.admin) if lane == "session" else scene.admin
        making = Making(scene)
        for verb in VERBS:
            for number, example in enumerate(verb["examples"], 1):
                tool = spelled(verb["name"], spelling)
                arguments = making.filled(example)
                called(scene, f"{verb['name']} {number}", door, lane, tool, arguments)
    return scene


# --- mistakes ------------------------------------------------------------------------------------


def wrong_arguments(verb: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Calls of a verb that are wrong in one way each."""
    good: dict[str, Any] = verb["examples"][0]
    found: list[tuple[str, dict[str, Any]]] = [
        ("an argument that is unknown", {**good, "no-such-argument": 1}),
        ("everything unknown", {"clas": "zorp/Boot", "attribute": {}}),
    ]
    for name in verb["required"]:
        rest = {key: value for key, value in good.items() if key != name}
        found.append((f"no {name}", rest))
    for name, schema in verb["arguments"].items():
        found.append((f"{name} of a wrong type", {**good, name: _of_a_wrong_type(schema)}))
        found.append((f"{name} null", {**good, name: None}))
        if "string" in str(schema.get("type")):
            found.append((f"{name} that nobody has", {**good, name: _NOTHING}))
            found.append((f"{name} empty", {**good, name: ""}))
        if "integer" in str(schema.get("type")):
            found.append((f"{name} too small", {**good, name: -1}))
            found.append((f"{name} too large", {**good, name: 10**12}))
    return found


def _of_a_wrong_type(schema: dict[str, Any]) -> Any:
    types = schema.get("type", [])
    for name, value in (
        ("object", {"x": 1}),
        ("boolean", True),
        ("string", "wrong"),
        ("array", []),
    ):
        if name not in types:
            return value
    return 1.5


def record_mistakes(place: Place) -> Scene:
    """Every verb with wrong arguments, and by somebody who may not."""
    with Scene(place, "mistakes", ["zorp"]) as scene:
        making = Making(scene)
        reader = Door(scene.server.port, scene.server.add_account("looker", "reader"))
        scene.plain.know("reader-token", str(reader.token))
        for verb in VERBS:
            tool = f"sandbar.{verb['name']}"
            for title, arguments in wrong_arguments(verb):
                if "exported folder" in str(arguments):
                    arguments = {**arguments, "from": "not-exported"}
                name = f"{verb['name']}: {title}"
                called(scene, name, scene.admin, "bare", tool, making.filled(arguments))
            if verb["access"] != "read":
                given = {"name": tool, "arguments": verb["examples"][0]}
                for who, door in (("a reader", reader), ("a writer", scene.writer)):
                    if who == "a reader" or verb["access"] == "admin":
                        request = door.rpc("bare", "tools/call", given)
                        scene.send(f"{verb['name']}: as {who}", request)
    return scene
