"""The tests' own server fails loudly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live_server import LiveServer


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "live.db", packs=["no-such-pack"])
    with pytest.raises(AssertionError, match=r"did not start:\n(.|\n)*no-such-pack"):
        server.start()


@pytest.mark.parametrize(
    "line", ["Traceback (most recent call last):", '{"event": "oh", "level": "error"}']
)
def test_an_error_in_the_log_fails_whoever_stops_the_server(line: str, tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "live.db").start()
    server.check_log()
    with server._log.open("a") as log:
        log.write(f"{line}\n")
    with pytest.raises(AssertionError, match="logged errors"):
        server.stop()


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "live.db")
    with pytest.raises(AssertionError, match="no-such-verb"):
        server.call("no-such-verb", {})
