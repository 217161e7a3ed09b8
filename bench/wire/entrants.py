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

# Those that are written to are apart, so that what is written does not change what is read; and
# there are two more of the same, without audit and limits, which are given the same to do: a file
# that has grown three times as large is slower by itself.
READS, WRITES = "sandbar", "sandbar-writes"
READS_BESIDE, WRITES_BESIDE = "unrecorded", "unrecorded-writes"
_OURS = {
    READS: "Sandbar",
    WRITES: "Sandbar, written to",
    READS_BESIDE: "Unaudited",
    WRITES_BESIDE: "Unaudited, written to",
}
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
    databases: dict[str, Path]  # by server, of those that are ours
    remarks: list[str]


def line_up(folder: Path) -> Field:
    """Prepare the databases and the programs; nothing is started yet."""
    prepared = data.prepare(folder / "items.db")
    plain = folder / "plain.db"
    databases = {key: folder / f"{key}.db" for key in _OURS}
    for copy in (plain, *databases.values()):
        shutil.copy(prepared.path, copy)
    ours = {key: _sandbar(key, databases[key], prepared) for key in _OURS}
    fastmcp = _python("fastmcp", "FastMCP", "fastmcp_noop", data.noops(MODERN)[0])
    sdk = _python("sdk", "MCP SDK", "sdk_noop", data.noops(MODERN)[0])
    where = (str(plain), str(prepared.ident_property))
    bare = _python("asgi", "bare ASGI app", "bare_read", data.plain_finds()[0], *where)
    token = prepared.token
    roads: tuple[Road, ...] = (MODERN, SESSION, BARE)
    entrants = [
        *(_line(ours[READS], "find", r, data.finds(r, token), token) for r in roads),
        _line(ours[READS_BESIDE], "find", BARE, data.finds(BARE, token), token),
        *(_line(ours[WRITES], "create", r, data.creates(r, token), token) for r in roads),
        *(_line(ours[WRITES_BESIDE], "create", r, data.creates(r, token), token) for r in roads),
        *(_line(fastmcp, "no-op", r, data.noops(r)) for r in (MODERN, SESSION)),
        *(_line(sdk, "no-op", r, data.noops(r)) for r in (MODERN, SESSION)),
        Entrant("asgi-read", "bare ASGI app, point read", bare, BARE, data.plain_finds()),
    ]
    servers = [*ours.values(), fastmcp, sdk, bare]
    remarks = ["unaudited: Sandbar without audit and limits"]
    if find_spec("toolbox_server") is None:
        remarks.append("MCP Toolbox is not installed (`make bench` does it)")
    else:
        toolbox = _toolbox(folder)
        servers.append(toolbox)
        both: tuple[Road, ...] = (MODERN, BARE)
        entrants += [_line(toolbox, "SQLite row", r, data.toolbox_finds(r)) for r in both]
    return Field(servers, entrants, databases, remarks)


def _line(
    server: Server, task: str, road: Road, calls: list[Call], token: str | None = None
) -> Entrant:
    is_ours = server.key in _OURS
    name = server.key.partition("-")[0]
    label = f"{server.what.partition(',')[0]} entity." if is_ours else f"{server.what} "
    key = f"{name}-{task.replace(' ', '-').lower()}-{_ROAD_KEYS[road]}"
    return Entrant(key, f"{label}{task}, {road}", server, road, calls, token)


def _sandbar(key: str, path: Path, prepared: data.Prepared) -> Server:
    probe = data.finds(MODERN, prepared.token)[0]
    if key in (READS_BESIDE, WRITES_BESIDE):
        return _python(key, _OURS[key], "unrecorded", probe, str(path))
    command = [SANDBAR, "serve", "--database", str(path), "--port", PORT, "--log-level", "error"]
    return Server(key, _OURS[key], command, probe)


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
