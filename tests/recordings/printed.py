"""What the seeds print, sent as it is printed: commands as curl sends them, bodies, names."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import Any

from tests.recordings.examples import ORDER, called, ended
from tests.recordings.places import Place
from tests.recordings.plain import compact
from tests.recordings.scene import ACCOUNT, KEY, Scene
from tests.recordings.wire import Door
from tests.seeds.printing import HERE, printed, replaced

TOKEN = f"{ACCOUNT}:{KEY}"
_TASK_IDS = ("17592186045700", '"12345"')
_LETTERS = 142
_MINTED = re.compile(r"sk-sand-[0-9a-f]{64}")


def as_curl(door: Door, block: str) -> bytes:
    """The request that curl makes of a printed command."""
    text = re.sub(r"^\s*#.*$", "", block, flags=re.MULTILINE).replace("\\\n", " ")
    words = shlex.split(text[text.index("curl ") :])
    headers = {"User-Agent": "curl", "Accept": "*/*"}
    data, url, verb = "", "", "POST"
    given = iter(words[1:])
    for word in given:
        if word == "-H":
            name, _, value = next(given).partition(": ")
            headers[name] = value.replace("$SANDBAR_TOKEN", TOKEN)
        elif word == "-d":
            data = next(given).replace("\n", "")  # as curl does
        elif word == "-X":
            verb = next(given)
        elif not word.startswith("-"):
            url = word
    headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    path = "/" + url.split("/", 3)[3]
    return door.http(verb, data, headers, path)


def _body(block: str) -> str:
    return block[block.index("{") :]


def _posted(scene: Scene, name: str, body: str) -> None:
    door = scene.writer
    scene.send(name, door.http("POST", body, door.head("bare", "", None)))


def record_printed(place: Place) -> Scene:
    """The blocks of the seeds 000, 001, 002 and 004."""
    with Scene(place, "seeds", ["zorp", "memory"]) as scene:
        _commands_and_bodies(scene)
        _names(scene)
        _tasks(scene)
        _streams(scene)
    return scene


def _commands_and_bodies(scene: Scene) -> None:
    memory = {"class": "mm/Memory", "attributes": {"db/ident": "decisions/foo"}}
    memory["attributes"] |= {"memory/name": "Foo", "memory/body": "# Context\n\nWhy.\n"}  # type: ignore[operator]
    scene.made("sandbar.entity.create", memory)
    for name in (
        "seed-000/verify.sh",
        "seed-004/initialize.sh",
        "seed-004/tools-list.sh",
        "seed-004/create-memory.sh",
        "seed-004/resources-list.sh",
        "seed-004/read-memory.sh",
        "seed-004/task-get.sh",
    ):
        scene.send(name, as_curl(scene.writer, printed(name)))
    for name in (
        "seed-000/tools-list.txt",
        "seed-000/tools-call.txt",
        "seed-001/tools-list.txt",
        "seed-001/create-memory.json",
        "seed-002/task-get.txt",
        "seed-002/task-cancel.txt",
        "seed-004/initialized.json",
        "seed-004/task-cancel.json",
        "seed-004/unsubscribe.json",
    ):
        _posted(scene, name, _body(printed(name)))
    numbered = json.loads(printed("seed-004/initialized.json")) | {"id": 2}
    _posted(scene, "seed-004/initialized.json with an id", compact(numbered))
    for id in ("7", '"seven"'):
        for method in ("tools/list", "no/such"):
            text = printed("seed-004/envelope.txt").replace("{...}", "{}")
            text = text.replace("<number-or-string>", id).replace("<method-name>", method)
            _posted(scene, f"seed-004/envelope.txt {id} {method}", text)
    missing = {"jsonrpc": "2.0", "id": 42, "method": "tasks/get", "params": {}}
    _posted(scene, "seed-002/missing-parameter.json", compact(missing))


def _names(scene: Scene) -> None:
    for name in ("class", "memory", "user"):
        block = f"seed-000/resource-uri-{name}.txt"
        request = scene.writer.rpc("bare", "resources/read", {"uri": printed(block)})
        scene.send(block, request)
    given: dict[str, dict[str, Any]] = {
        "class": {"db/ident": ":zorp/Slipper", "dt/subclass-of": [":zorp/Footwear"]},
        "footwear": {"footwear/name": "x"},
        "memory": {"memory/name": "By its tool", "memory/type": "idea"},
        "user": {"auth/user-name": "user/ripley"},
    }
    for name, arguments in given.items():
        block = f"seed-000/tool-name-{name}.txt"
        called(scene, block, scene.writer, "bare", printed(block), arguments)
    called(
        scene, "seed-000/tool-name-user.txt as an admin", scene.admin, "bare",
        printed("seed-000/tool-name-user.txt"), given["user"],
    )  # fmt: skip
    prompt = {"name": printed("seed-000/prompt-name.txt")}
    scene.send("seed-000/prompt-name.txt", scene.writer.rpc("bare", "prompts/get", prompt))
    for line in printed("seed-001/verbs.txt").splitlines():
        group, names = line.split(".*")
        for name in names.removesuffix(" (batch)").split(", "):
            tool = f"sandbar.{group}.{name}"
            called(scene, f"seed-001/verbs.txt {tool}", scene.writer, "bare", tool, {})
    for body in (
        "{not json",
        '{"id":1,"method":"tools/list"}',
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":1,"method":"foo/bar"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"foo"}}',
    ):
        _posted(scene, f"seed-004, table of errors: {body}", body)


def _begun(scene: Scene, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    answer = scene.quietly(scene.writer, "tools/call", params)
    started: dict[str, Any] = answer.payload()
    assert "task-id" in started, answer.body
    return started


def _tasks(scene: Scene) -> None:
    validation = {"class": "zorp/Footwear"}
    for tool, arguments in (
        ("sandbar.validation.start", validation),
        ("sandbar.workflow.start-process", ORDER),
    ):
        called(scene, f"task begun by {tool}", scene.writer, "bare", tool, arguments)
    done = _begun(scene, "sandbar.validation.start", validation)
    ended(scene, done)
    order = _begun(scene, "sandbar.workflow.start-process", ORDER)
    _asked(scene, "done", done["task-id"])
    _asked(scene, "waiting", order["task-id"])


def _asked(scene: Scene, title: str, handle: str) -> None:
    """The printed requests about a task, of one that is ours."""
    for number, name in enumerate(
        (
            "seed-002/task-get.txt",
            "seed-002/task-cancel.txt",
            "seed-004/task-get.sh",
            "seed-004/task-cancel.json",
            "seed-002/task-get.txt",
        )
    ):
        text = _body(printed(name)).rstrip("'")
        for id in _TASK_IDS:
            text = text.replace(id, json.dumps(handle) if '"' in id else handle)
        _posted(scene, f"{title} {number}: {name}", text)


def record_bulk(place: Place) -> Scene:
    """What seed 002 prints in Clojure, as a pack that somebody has installed."""
    info = place.folder / "site" / "bulk-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bulk\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sandbar.packs]\nbulk = tests.seeds.bulk.code\n")
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{info.parent}:{HERE.parents[1]}"
    try:
        with Scene(place, "seed-002", ["bulk"]) as scene:
            letters = [{"op": "create", "class": "bulk/Letter", "slots": {}}] * _LETTERS
            scene.made("sandbar.entity.transact", {"operations": letters})
            for tool in ("bulk_validate", "export_all"):
                _bulk(scene, tool)
    finally:
        os.environ["PYTHONPATH"] = before
    return scene


def _bulk(scene: Scene, tool: str) -> None:
    listed = scene.quietly(scene.writer, "tools/list").result()["tools"]
    (schema,) = [one for one in listed if one["name"] == tool]
    scene.keep(f"{tool} in tools/list", {"json": schema})
    given = {"class": "bulk/Letter"} if tool == "bulk_validate" else {"scope": "bulk/Letter"}
    answer = called(scene, f"{tool}: begun", scene.writer, "bare", tool, given)
    started = answer.result()
    if tool == "bulk_validate":
        ended(scene, {"task-id": started["taskId"], "process-id": 0})
    _asked(scene, tool, started["taskId"])
    called(scene, f"{tool}: wrong", scene.writer, "bare", tool, {"no": "such"})


def _streams(scene: Scene) -> None:
    block = "seed-004/subscribe-memory.sh"
    request = as_curl(scene.writer, printed(block))
    scene.send(block, request, events=1)


# --- seed 003 ------------------------------------------------------------------------------------


def record_caring(place: Place) -> Scene:
    """The endpoint of a pack, with the blocks of seed 003."""
    with Scene(place, "pack-endpoint", ["care"]) as scene:
        words = ("key", "mint", "--name", "caregiver", "--rate-limit", "0")
        (token,) = _MINTED.findall(scene.server.sandbar(*words))
        door = Door(scene.server.port, token, path="/api/mcp")
        for name in ("seed-003/ping.sh",):
            text = replaced(printed(name), "sk-sand-…", token)
            scene.send(name, as_curl(door, text))
        head, body = printed("seed-003/call-tool.http").split("\n\n", 1)
        fields = dict(line.split(": ", 1) for line in head.splitlines()[2:])
        fields["Authorization"] = f"Bearer {token}"
        scene.send("seed-003/call-tool.http", door.http("POST", body, fields))
        for title, other in _callers(scene, door).items():
            _ask_endpoint(scene, title, other)
        _limits(scene)
    return scene


def _callers(scene: Scene, door: Door) -> dict[str, Door]:
    port = scene.server.port
    (reader,) = _MINTED.findall(
        scene.server.sandbar("key", "mint", "--name", "no-ping", "--verbs", "get_user_profile")
    )
    (gone,) = _MINTED.findall(scene.server.sandbar("key", "mint", "--name", "gone"))
    scene.server.sandbar("key", "revoke", "gone")
    return {
        "owner": door,
        "admin": Door(port, scene.admin.token, path="/api/mcp"),
        "narrow key": Door(port, reader, path="/api/mcp"),
        "revoked key": Door(port, gone, path="/api/mcp"),
        "nobody": Door(port, None, path="/api/mcp"),
        "wrong key": Door(port, "sk-sand-" + "0" * 64, path="/api/mcp"),
        "main endpoint": Door(port, door.token),
    }


def _ask_endpoint(scene: Scene, title: str, door: Door) -> None:
    for method, params in (
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}),
        ("initialize", {"protocolVersion": "1999-01-01"}),
        ("initialize", None),
        ("ping", None),
        ("notifications/initialized", None),
        ("tools/list", None),
        ("tools/list", {"cursor": "x"}),
        ("resources/list", None),
        ("prompts/list", None),
        ("no/such", None),
        ("tools/call", None),
        ("tools/call", {"name": "ping"}),
        ("tools/call", {"name": "ping", "arguments": {"more": 1}}),
        ("tools/call", {"name": "get_user_profile", "arguments": {}}),
        ("tools/call", {"name": "list_loved_ones", "arguments": {}}),
        ("tools/call", {"name": "list_care_events", "arguments": {}}),
        ("tools/call", {"name": "list_care_events", "arguments": {"limit": 2}}),
        ("tools/call", {"name": "list_care_events", "arguments": {"limit": 0}}),
        ("tools/call", {"name": "list_care_events", "arguments": {"limit": "many"}}),
        ("tools/call", {"name": "list_care_events", "arguments": {"lovedOneId": "nobody"}}),
        ("tools/call", {"name": "list_care_events", "arguments": {"since": "yesterday"}}),
        ("tools/call", {"name": "sandbar.entity.find", "arguments": {"entity": "care/Event"}}),
    ):
        name = f"{title}: {method} {'' if params is None else compact(params)}"
        scene.send(name, door.rpc("bare", method, params))
    signed = door.head("bare", "", None)
    for body in ("", "{", "[]", "null", '{"jsonrpc":"2.0","method":"ping"}', '{"id":1}'):
        scene.send(f"{title}: body {body!r}", door.http("POST", body, signed))
    for verb in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        scene.send(f"{title}: {verb}", door.http(verb, "", signed), verb)


def _limits(scene: Scene) -> None:
    words = ("key", "mint", "--name", "hasty", "--rate-limit", "1", "--burst", "2")
    (token,) = _MINTED.findall(scene.server.sandbar(*words))
    for path in ("/api/mcp", "/mcp"):
        for number in range(3):
            door = Door(scene.server.port, token, path=path)
            scene.send(f"too often at {path}, {number}", door.rpc("bare", "ping"))
