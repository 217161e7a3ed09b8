"""What is no call: methods of HTTP, paths, hosts, sizes, signing in, limits, health, streams."""

from __future__ import annotations

import re

from tests.recordings.places import Place
from tests.recordings.plain import compact
from tests.recordings.scene import Scene
from tests.recordings.wire import BOTH, Door

_MINTED = re.compile(r"sk-sand-[0-9a-f]{64}")
_VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "NONSENSE")
_PATHS = ("/", "/mcp", "/mcp/", "/mcp/sse", "/health", "/health/", "/api/mcp", "/nothing", "/MCP")
_LIST = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
_OPEN_S = 0.5  # so long a stream is listened to on which nothing happens
_CALLER = {"name": "sandbar.schema.datatypes", "arguments": {}}


def record_doors(place: Place) -> Scene:
    """At the doors of a server, signed in and not."""
    with Scene(place, "doors", ["zorp"]) as scene:
        _methods(scene)
        _headers(scene)
        _signing_in(scene)
        _limits(scene)
        _sessions(scene)
    return scene


def _methods(scene: Scene) -> None:
    for who, door in (("writer", scene.writer), ("nobody", Door(scene.writer.port, None))):
        for path in _PATHS:
            for verb in _VERBS:
                body = _LIST if verb in ("POST", "PUT", "PATCH") else ""
                request = door.http(verb, body, door.head("bare", "", None), path)
                scene.send(f"{who}: {verb} {path}", request, verb, 1, _OPEN_S)


def _headers(scene: Scene) -> None:
    door = scene.writer
    signed = door.head("bare", "", None)
    for title, more in {
        "another host": {"Host": "evil.example"},
        "another port": {"Host": "127.0.0.1:1"},
        "localhost": {"Host": f"localhost:{door.port}"},
        "no host": {"Host": ""},
        "another origin": {"Origin": "https://evil.example"},
        "our origin": {"Origin": f"http://127.0.0.1:{door.port}"},
        "null origin": {"Origin": "null"},
        "text": {"Content-Type": "text/plain"},
        "a form": {"Content-Type": "application/x-www-form-urlencoded"},
        "another charset": {"Content-Type": "application/json; charset=latin-1"},
        "gzip": {"Content-Encoding": "gzip"},
        "accepts html": {"Accept": "text/html"},
        "accepts gzip": {"Accept": "application/json", "Accept-Encoding": "gzip, br"},
        "a number of its own": {"X-Request-Id": "mine-17"},
        "a number like a key": {"X-Request-Id": "sk-sand-17"},
        "a large header": {"X-Large": "x" * 70_000},
        "many headers": {f"X-{n}": "x" for n in range(250)},
        "a cookie": {"Cookie": "a=b"},
        "an old protocol": {"MCP-Protocol-Version": "2024-11-05"},
        "an unknown protocol": {"MCP-Protocol-Version": "1999-01-01"},
        "closing": {"Connection": "close"},
        "ranges": {"Range": "bytes=0-1"},
        "too long": {"Content-Length": str(5 << 20)},
        "a wrong length": {"Content-Length": "many"},
    }.items():
        scene.send(f"header: {title}", door.http("POST", _LIST, signed | more))
    for path in ("/mcp?" + "x" * 9000, "/mcp?tools=all&tools=core", "/mcp?%zz", "/mcp?tools="):
        request = door.http("POST", _LIST, signed, path)
        scene.send(f"target: {path[:40]} of {len(path)}", request)


def _signing_in(scene: Scene) -> None:
    port, run = scene.writer.port, scene.server.sandbar

    def minted(name: str, *words: str) -> str:
        (key,) = _MINTED.findall(run("key", "mint", "--name", name, *words))
        return str(key)

    keys = {
        "owner's": minted("owners"),
        "revoked": minted("revoked"),
        "read-only": minted("looks", "--read-only"),
        "of two verbs": minted("two", "--verbs", "schema.*,entity.find"),
        "of a class": minted("one-class", "--classes", "zorp/Sandal"),
        "of a role": minted("narrow", "--role", "reader"),
        "without a limit": minted("free", "--rate-limit", "0"),
        "that will expire": minted("expires", "--expires", "30d"),
        "made anew": minted("anew"),
    }
    (anew,) = _MINTED.findall(run("key", "rotate", "anew"))
    run("key", "revoke", "revoked")
    ended = scene.server.add_account("ended", "writer")
    run("account", "revoke", "ended")
    run("workspace", "create", "shut", "--owner", "sue")
    shut = minted("shut", "--workspace", "shut")
    run("workspace", "suspend", "shut")
    keys |= {"new after that": anew, "of an ended account": ended, "of a suspended one": shut}
    for title, key in keys.items():
        door = Door(port, key)
        create = {"class": "zorp/Boot", "attributes": {"footwear/name": title}}
        calls = [("schema.datatypes", {}), ("entity.create", create), ("key.list", {})]
        calls.append(("entity.find", {"entity": "product/mud-lord"}))
        calls.append(("class.sandbar", {}))
        for lane in ("bare", "envelope"):
            for verb, given in calls:
                params = {"name": f"sandbar.{verb}", "arguments": given}
                scene.send(f"key {title}, {lane}: {verb}", door.rpc(lane, "tools/call", params))
            scene.send(f"key {title}, {lane}: tools/list", door.rpc(lane, "tools/list"))


def _limits(scene: Scene) -> None:
    (key,) = _MINTED.findall(
        scene.server.sandbar("key", "mint", "--name", "hasty", "--rate-limit", "1", "--burst", "2")
    )
    door = Door(scene.writer.port, key)
    for number in range(4):
        scene.send(f"too often, {number}", door.rpc("bare", "tools/call", _CALLER))
    for lane in ("session", "envelope"):
        scene.send(f"too often, {lane}", door.rpc(lane, "tools/call", _CALLER))


def _sessions(scene: Scene) -> None:
    first = scene.session("a session", scene.writer)
    other = Door(first.port, scene.admin.token, first.session)
    gone = Door(first.port, first.token, "0" * 32)
    for title, door in (("ours", first), ("another's", other), ("unknown", gone)):
        scene.send(f"session {title}: a call", door.rpc("session", "tools/call", _CALLER))
        headers = door.head("session", "", None)
        if title != "ours":
            scene.send(f"session {title}: a stream", door.http("GET", "", headers), "GET")
        cancelled = {"requestId": 99, "reason": "no more"}
        notice = door.rpc("session", "notifications/cancelled", cancelled, id=None)
        scene.send(f"session {title}: a notification", notice)
        many = compact([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
        scene.send(f"session {title}: a batch", door.http("POST", many, headers))
        only = headers | {"Accept": "application/json"}
        scene.send(f"session {title}: JSON only", door.http("POST", _LIST, only))
    end = first.http("DELETE", "", first.head("session", "", None))
    for number in range(2):
        scene.send(f"session ended, {number}", end, "DELETE")
    scene.send("session ended: a call", first.rpc("session", "tools/call", _CALLER))
    signed = scene.writer.head("bare", "", None) | {"Accept": BOTH}
    scene.send("no session: JSON or events", scene.writer.http("POST", _LIST, signed))
