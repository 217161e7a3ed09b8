"""Thousands of connections that never ask for anything, and how others are served meanwhile.

python -m tests.edge.siege        measures a server that it starts, and writes a table
"""

from __future__ import annotations

import http.client
import json
import re
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.cli.program import Running, run_well, serving

ATTACKERS = 2_100
ATTACKERS_ADDRESS = "127.0.0.66"
TRIES = 5
_FILES = 8_192
_PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
_START = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

# What each attacker sends, once it is connected; then it says nothing more.
ATTACKS = {
    "half-sent heads": _START,
    "silent connections": "",
    "bodies that never come": _START + "Authorization: Bearer KEY\r\nContent-Length: 100\r\n\r\n",
    "bodies of unknown keys": _START + "Authorization: Bearer x:y\r\nContent-Length: 100\r\n\r\n",
    "streams": "GET /mcp/sse HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer KEY\r\n\r\n",
    "idle after a request": _START
    + f"Authorization: Bearer KEY\r\nContent-Length: {len(_PING)}\r\n\r\n{_PING}",
}


def many_files() -> None:
    """Let this process open enough of them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def minted(folder: Path, name: str, *words: str) -> str:
    """A key without a limit of requests."""
    told = run_well("key", "mint", "--name", name, "--rate-limit", "0", *words, cwd=folder)
    found = re.search(r"sk-sand-[0-9a-f]{64}", told)
    assert found is not None
    return found[0]


def quietly_served(folder: Path, *words: str) -> AbstractContextManager[Running]:
    """A server that logs little: nothing reads its log, and a full pipe would stop it."""
    return serving("--log-level", "error", *words, cwd=folder)


@contextmanager
def besieged(
    url: str, words: str, number: int = ATTACKERS, addresses: tuple[str, ...] = (ATTACKERS_ADDRESS,)
) -> Iterator[list[socket.socket]]:
    """So many connections from these addresses, each of which has sent these words."""
    many_files()
    place = urlsplit(url)
    target = (str(place.hostname), int(place.port or 0))
    with ExitStack() as held:
        opened = []
        for at in range(number):
            one = held.enter_context(socket.socket())
            one.settimeout(10)
            one.bind((addresses[at % len(addresses)], 0))
            with suppress(OSError):  # a server that is full may hang up at once
                one.connect(target)
                one.sendall(words.encode())
            opened.append(one)
        yield opened


def served_ms(url: str, key: str, address: str = "127.0.0.2") -> float | None:
    """How long a ping on a new connection takes; None if it is not answered well."""
    place = urlsplit(url)
    start = time.perf_counter()
    one = http.client.HTTPConnection(
        str(place.hostname), place.port, timeout=20, source_address=(address, 0)
    )
    headers = {"Authorization": f"Bearer {key}"}
    try:
        one.request("POST", "/mcp", _PING, headers)
        status = one.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        one.close()
    return (time.perf_counter() - start) * 1000 if status == 200 else None


def times_ms(url: str, key: str) -> list[float | None]:
    """The same, again and again."""
    return [served_ms(url, key) for _ in range(TRIES)]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _measure() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reader, other = minted(folder, "reader", "--role", "reader"), minted(folder, "other")
        _say(f"{ATTACKERS} connections from one address; another key from another address:")
        for attack, words in ATTACKS.items():
            sent = words.replace("KEY", reader)
            with quietly_served(folder) as server, besieged(server.url, sent):
                times = times_ms(server.url, other)
            good = [one for one in times if one is not None]
            told = f"{min(good):.1f} to {max(good):.1f} ms" if good else "never"
            _say(f"  {attack:24} served {len(good)} of {len(times)} times: {told}")


if __name__ == "__main__":
    _measure()
