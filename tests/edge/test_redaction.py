"""Nothing of a key is logged or answered, whichever header brought it and whatever happened."""

from __future__ import annotations

import io
import logging
import secrets
import sys
from collections.abc import Iterator
from http.client import IncompleteRead

import pytest
import structlog

from sandbar.access import Houses
from sandbar.cli.logs import set_up_logs
from sandbar.edge.asgi import App, Receive, Scope, Send
from sandbar.errors import Unavailable
from tests.edge.live import ask, behind_the_edge, deaf, echo, serving
from tests.edge.raw import told

BODY = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
PART = 8  # as many characters of a key in a row are a part of it


class Ears:
    """Everything that was logged and answered."""

    def __init__(self, log: io.StringIO) -> None:
        self._log = log
        self.answers: list[bytes] = []

    def parts_of(self, key: str) -> list[str]:
        """What was said of a key."""
        said = self._log.getvalue() + b"\n".join(self.answers).decode("latin-1")
        parts = (key[at : at + PART] for at in range(len(key) - PART + 1))
        return [part for part in parts if part in said]

    @property
    def log(self) -> str:
        """What was logged."""
        return self._log.getvalue()


@pytest.fixture
def ears(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ears]:
    """The log of `sandbar serve` at its most talkative."""
    log = io.StringIO()
    root, ours = logging.getLogger(), logging.getLogger("sandbar")
    kept = root.handlers, root.level, ours.level, structlog.get_config()
    monkeypatch.setattr(sys, "stderr", log)
    set_up_logs("debug")
    root.setLevel(logging.DEBUG)
    yield Ears(log)
    root.handlers = kept[0]
    root.setLevel(kept[1])
    ours.setLevel(kept[2])
    structlog.configure(**kept[3])


def unwell(name: str) -> None:
    raise Unavailable("store.unreachable", "the database is away")


def broken(name: str) -> None:
    raise RuntimeError(f"a defect in {name}")


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    """A surface with a defect that has everything in hand, and in its words."""
    headers = dict(scope["headers"])
    raise RuntimeError(f"what to do with {headers}?")


async def failing_late(scope: Scope, receive: Receive, send: Send) -> None:
    """The same, when the answer is on its way."""
    headers = dict(scope["headers"])
    length = [(b"content-length", b"10")]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": b"abc", "more_body": True})
    raise RuntimeError(f"what to do with {headers}?")


async def babbling(scope: Scope, receive: Receive, send: Send) -> None:
    """What nobody should write: the negative control."""
    logging.getLogger("sandbar.edge").warning("asked with %s", scope["headers"])
    await echo(scope, receive, send)


def heads(key: str) -> list[dict[str, str]]:
    """Every way to bring a key, right and wrong."""
    other = key[::-1]
    return [
        {"Authorization": f"Bearer {key}"},
        {"X-API-Key": key},
        {"Authorization": f"Bearer {key}", "X-API-Key": key},
        {"Authorization": f"Bearer {key}", "X-API-Key": other},
        {"Authorization": f"Basic {key}", "X-API-Key": key},
        {"X-API-Key": key, "x-api-key": other},
        {"Authorization": key},
        {"X-API-Key": f"Bearer {key}"},
        {"X-API-Key": key, "X-Request-Id": f"sk-sand-{key[-64:]}"},
        {"X-API-Key": key, "Host": "evil.com"},
        {"X-API-Key": key, "Origin": f"http://{key.rpartition(':')[2]}"},
        {"X-API-Key": key, "Content-Length": "99999999"},
        {"X-API-Key": key * 50},
        {"X-API-Key": key, "Pad": "a" * 70_000},
    ]


def keys() -> list[str]:
    """A chosen key and a minted one."""
    return [f"claude:kanari-{secrets.token_hex(16)}", f"sk-sand-{secrets.token_hex(32)}"]


def secret_of(key: str) -> str:
    """A key without its name, or without how all keys begin."""
    return key.removeprefix("sk-sand-").removeprefix("claude:kanari-")


@pytest.mark.parametrize("app", [deaf, failing, failing_late], ids=lambda app: app.__name__)
@pytest.mark.parametrize("house", [None, unwell, broken], ids=["open", "unwell", "broken"])
def test_no_part_of_a_key_is_logged_or_answered(app: App, house: object, ears: Ears) -> None:
    houses = None if house is None else Houses(house, "main")  # type: ignore[arg-type]
    shown = keys()
    with serving(behind_the_edge(app, houses=houses)) as port:
        for key in shown:
            for head in heads(key):
                try:
                    ears.answers.append(ask(port, BODY, head).body)
                except IncompleteRead as cut_off:
                    ears.answers.append(cut_off.partial)
                except ConnectionResetError:  # cut off before all of it was read
                    ears.answers.append(b"")
            for line in (f"X-API-Key : {key}", f"X-API-Key: \0{key}", f"{key}: x", key):
                request = (
                    f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{line}\r\n\r\n"
                )
                ears.answers.append(told(port, request.encode()))
    assert [part for key in shown for part in ears.parts_of(secret_of(key))] == []
    assert len(ears.answers) == len(shown) * (len(heads(shown[0])) + 4)
    if house is not None:
        assert "sign-in refused: auth.ambiguous" in ears.log
    if house is broken or (house is None and app is not deaf):
        assert "RuntimeError" in ears.log


def test_a_log_of_headers_would_be_noticed(ears: Ears) -> None:
    """The negative control: what is written down is found, whichever header it came in."""
    for name, start in (("Authorization", "Bearer "), ("X-API-Key", "")):
        key = keys()[1]
        with serving(behind_the_edge(babbling)) as port:
            assert ask(port, BODY, {name: start + key}).status == 200
        assert len(ears.parts_of(secret_of(key))) == 64 - PART + 1
