"""`make run`: a server, a key, and lines that work when they are pasted."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import sandbar
from tests.cli.program import Running, serving
from tests.cli.test_serve import post

ROOT = Path(__file__).parents[2]
KEY = re.compile(r"^Key +(\S+)$", re.MULTILINE)


def told_by(running: Running) -> str:
    """All that the server says."""
    return running.wait_for(re.compile(r"`make run` starts it again")).string


def test_the_key_works_now_and_after_a_restart(tmp_path: Path) -> None:
    keys = []
    for _ in range(2):
        with serving(cwd=tmp_path, command="demo-server") as running:
            found = KEY.search(told_by(running))
            assert found is not None
            keys.append(found[1])
            call = {"name": "sandbar.entity.query", "arguments": {"class": "zorp/Footwear"}}
            answer = post(running.url, found[1], "tools/call", call)["result"]
            assert answer["structuredContent"]["entities"]
            assert running.stop()
    assert keys[0] == keys[1], "what was connected once stays connected"
    assert (tmp_path / ".demo" / "key").stat().st_mode & 0o777 == 0o600


def test_its_key_has_no_limit(tmp_path: Path) -> None:
    with serving(cwd=tmp_path, command="demo-server") as running:
        told = told_by(running)
    assert "as often as it likes" in told
    database = tmp_path / ".demo" / "sandbar.db"
    with sandbar.open(database) as db:  # as an earlier version left it
        account = {"auth/service-name": "service/demo"}
        assert db.get(account).get("auth/rate-limit") == 0
        db.update(account, {"auth/rate-limit": None})
    with serving(cwd=tmp_path, command="demo-server") as running:
        key = KEY.search(told_by(running))
        assert key is not None
        assert all(post(running.url, key[1], "ping")["result"] == {} for _ in range(70))


def test_a_lost_key_is_replaced(tmp_path: Path) -> None:
    with serving(cwd=tmp_path, command="demo-server") as running:
        first = KEY.search(told_by(running))
    (tmp_path / ".demo" / "key").unlink()
    with serving(cwd=tmp_path, command="demo-server") as running:
        second = KEY.search(told_by(running))
        assert first is not None
        assert second is not None
        assert "error" in post(running.url, first[1], "ping")
        assert post(running.url, second[1], "ping")["result"] == {}


def test_what_is_to_be_pasted_is_whole(tmp_path: Path) -> None:
    with serving(cwd=tmp_path, command="demo-server") as running:
        told = told_by(running)
        (key,) = KEY.findall(told)
    assert f"MCP URL  {running.url}" in told
    command = f'claude mcp add --transport http sandbar {running.url} --header "Authorization: '
    assert f'\n{command}Bearer {key}"\n' in told
    desktop, cursor = (json.loads(text) for text in re.findall(r"^\{$.*?^\}$", told, re.M | re.S))
    arguments = desktop["mcpServers"]["sandbar"]["args"]
    assert arguments == ["stdio", "--database", str(tmp_path / ".demo" / "sandbar.db")]
    assert cursor["mcpServers"]["sandbar"]["headers"] == {"Authorization": f"Bearer {key}"}
    table = re.search(r"^\[mcp_servers.*?\n\w+ = .*\n\w+ = .*$", told, re.M)
    assert table is not None
    assert tomllib.loads(table[0])["mcp_servers"]["sandbar"]["url"] == running.url
    assert f"export SANDBAR_TOKEN='{key}'" in told


def test_make_run_is_this_command() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^run:.*\n\t\$\(BIN\)/sandbar demo-server", makefile, re.MULTILINE)
    assert "/.demo/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
