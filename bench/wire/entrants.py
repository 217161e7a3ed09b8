"""Who takes part: the servers, and the ways in which each is called."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bench.wire import data
from bench.wire.requests import BARE, MODERN, SESSION, Call, Road
from bench.wire.servers import PORT, SANDBAR, Server

_ROAD_KEYS: dict[Road, str] = {MODERN: "modern", SESSION: "session", BARE: "bare"}


class Entrant(NamedTuple):
    """One line of the contest: a server, called in one way."""

    key: str
    what: str
    server: Server
    road: Road
    calls: list[Call]
    token: str | None = None


class Field(NamedTuple):
    """Everybody, and what is missing."""

    servers: list[Server]
    entrants: list[Entrant]
    written: Path  # the database that the creates go to
    remarks: list[str]


def line_up(folder: Path) -> Field:
    """Prepare the databases and the programs; nothing is started yet."""
    prepared = data.prepare(folder / "items.db")
    reads, writes, plain = (folder / f"{name}.db" for name in ("reads", "writes", "plain"))
    for copy in (reads, writes, plain):
        shutil.copy(prepared.path, copy)
    ours = [_sandbar("sandbar", "Sandbar", reads, prepared), _sandbar_writes(writes, prepared)]
    fastmcp = _python("fastmcp", "FastMCP", "fastmcp_noop", data.noops(MODERN)[0])
    sdk = _python("sdk", "MCP SDK", "sdk_noop", data.noops(MODERN)[0])
    where = (str(plain), str(prepared.ident_property))
    bare = _python("asgi", "bare ASGI app", "bare_read", data.plain_finds()[0], *where)
    token = prepared.token
    entrants = [
        *(_line(ours[0], "find", r, data.finds(r, token), token) for r in (MODERN, SESSION, BARE)),
        *(
            _line(ours[1], "create", r, data.creates(r, token), token)
            for r in (MODERN, SESSION, BARE)
        ),
        *(_line(fastmcp, "no-op", r, data.noops(r)) for r in (MODERN, SESSION)),
        *(_line(sdk, "no-op", r, data.noops(r)) for r in (MODERN, SESSION)),
        Entrant("asgi-read", "bare ASGI app, point read", bare, BARE, data.plain_finds()),
    ]
    servers, remarks = [*ours, fastmcp, sdk, bare], []
    if find_spec("toolbox_server") is None:
        remarks.append("MCP Toolbox is not installed (`make bench` does it)")
    else:
        toolbox = _toolbox(folder)
        servers.append(toolbox)
        roads: tuple[Road, ...] = (MODERN, BARE)
        entrants += [_line(toolbox, "SQLite row", r, data.toolbox_finds(r)) for r in roads]
    return Field(servers, entrants, writes, remarks)


def _line(
    server: Server, task: str, road: Road, calls: list[Call], token: str | None = None
) -> Entrant:
    name = "sandbar" if server.key.startswith("sandbar") else server.key
    label = "Sandbar entity." if name == "sandbar" else f"{server.what} "
    key = f"{name}-{task.replace(' ', '-').lower()}-{_ROAD_KEYS[road]}"
    return Entrant(key, f"{label}{task}, {road}", server, road, calls, token)


def _sandbar(key: str, what: str, path: Path, prepared: data.Prepared) -> Server:
    command = [SANDBAR, "serve", "--database", str(path), "--port", PORT, "--log-level", "error"]
    return Server(key, what, command, data.finds(MODERN, prepared.token)[0])


def _sandbar_writes(path: Path, prepared: data.Prepared) -> Server:
    """A second one, so that what is written does not change what is read."""
    return _sandbar("sandbar-writes", "Sandbar, written to", path, prepared)


def _python(key: str, what: str, module: str, probe: Call, *more: str) -> Server:
    program = [sys.executable, "-m", f"bench.wire.contestants.{module}", PORT, *more]
    return Server(key, what, program, probe)


def _toolbox(folder: Path) -> Server:
    """Google's MCP Toolbox; its program itself, not the script that starts it."""
    found = find_spec("toolbox_server")
    assert found is not None
    assert found.origin is not None
    program = Path(found.origin).with_name("bin") / "toolbox"
    config = str(data.prepare_toolbox(folder))
    command = [str(program), "--config", config, "--port", PORT, "--log-level", "ERROR"]
    command += ["--disable-reload", "--disable-version-check"]
    return Server("toolbox", "MCP Toolbox", command, data.toolbox_finds(MODERN)[0])
