"""`sandbar key` as a person uses it, also beside a server that runs."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from sandbar.access import Houses, sign_in
from sandbar.access.callers import Caller
from sandbar.model import Workspace
from sandbar.store.sqlite.store import SqliteStore
from tests.cli.program import PROGRAM, environment, run_here, run_well_here, serving
from tests.mcp.without_tls import WITHOUT_TLS

MINTED = re.compile(r"    export SANDBAR_TOKEN=(sk-sand-[0-9a-f]{64})\n")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def caller_of(path: Path, token: str) -> Caller:
    store = SqliteStore(path)
    try:
        found = Workspace.open(store, "main")
        return sign_in(Houses(lambda _: found, "main"), token)
    finally:
        store.close()


def secret_in(said: str) -> str:
    (token,) = MINTED.findall(said)
    return str(token)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """An empty folder, where the program makes its sandbar.db."""
    return tmp_path


def test_mint_list_rotate_revoke(here: Path) -> None:
    said = run_well_here("key", "mint", "--name", "laptop", cwd=here)
    first = secret_in(said)
    assert "of user/owner" in said
    assert "shown only now" in said
    caller = caller_of(here / "sandbar.db", first)
    assert (caller.principal, caller.role, caller.key) == ("user/owner", "admin", "laptop")

    second = secret_in(run_well_here("key", "rotate", "laptop", cwd=here))
    assert second != first
    listed = run_well_here("key", "list", cwd=here)
    assert re.search(rf"laptop +{second[:14]}… +user/owner +active .*never +never", listed)
    assert second[14:] not in listed
    assert "laptop" in run_well_here("key", "revoke", f"{second[:14]}…", cwd=here)
    assert re.search(r"laptop .* revoked", run_well_here("key", "list", cwd=here))
    answer = run_here("key", "rotate", "laptop", cwd=here)
    assert (answer.returncode, "key.ended" in answer.stderr) == (1, True)


def test_narrowing_and_its_words(here: Path) -> None:
    run_well_here("pack", "add", "zorp", cwd=here)
    run_well_here("account", "add", "anna", "--person", "--email", "anna@example.com", cwd=here)
    said = run_well_here(
        "key", "mint", "--name", "dash", "--user", "anna", "--role", "writer",
        "--verbs", "entity.*,search.text", "--verbs", "class.describe", "--classes", "zorp/Boot",
        "--read-only", "--expires", "30d", "--rate-limit", "10", "--burst", "3", cwd=here,
    )  # fmt: skip
    assert "as writer; only read; entity.*, search.text, class.describe; of zorp/Boot" in said
    assert "10/min; 3 at once" in said
    (key,) = json.loads(run_well_here("key", "list", "--json", cwd=here))
    assert sorted(key["verbs"]) == ["class.describe", "entity.*", "search.text"]
    assert (key["owner"], key["read-only"], key["classes"]) == ("user/anna", True, ["zorp/Boot"])
    assert key["expires-at"] in said
    caller = caller_of(here / "sandbar.db", secret_in(said))
    assert caller.role == "reader"
    assert caller.limit is not None
    assert (caller.limit.per_minute, caller.limit.burst) == (10, 3)


def test_everything_wrong_is_said_at_once(here: Path) -> None:
    answer = run_here(
        "key", "mint", "--name", "a b", "--user", "onwer", "--role", "wirter",
        "--verbs", "entity.fnid", "--classes", "dt/Clas", "--expires", "yesterday", cwd=here,
    )  # fmt: skip
    assert answer.returncode == 1
    for said in ("name:", "user:", "role:", "verbs:", "classes:", "expires:", "did you mean"):
        assert said in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "No keys yet" in run_here("key", "list", cwd=here).stderr
    assert run_well_here("key", "list", "--json", cwd=here) == "[]\n"
    assert run_here("key", "mint", cwd=here).returncode == 2
    assert run_here("key", "mint", "one", "--name", "two", cwd=here).returncode == 2
    secret = "sk-sand-" + "7" * 64
    for command in (("revoke", secret), ("rotate", secret), ("mint", "--name", secret)):
        answer = run_here("key", *command, cwd=here)
        assert answer.returncode == 1
        assert secret not in answer.stdout + answer.stderr


def test_the_list_is_a_table_with_colours_on_a_terminal(here: Path) -> None:
    run_well_here("key", "mint", "--name", "laptop", cwd=here)
    ours, theirs = pty.openpty()
    subprocess.run(
        [str(PROGRAM), "key", "list"],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        cwd=here,
        env=environment({"TERM": "xterm-256color", "COLUMNS": "140"}),
        timeout=60,
        check=True,
    )
    os.close(theirs)
    seen = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "\x1b[32mactive" in seen
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in seen.splitlines()]
    head = next(line for line in lines if line.startswith("name"))
    row = next(line for line in lines if line.startswith("laptop"))
    for column, value in (("owner", "user/owner"), ("state", "active"), ("may", "what its owner")):
        assert row[head.index(column) :].startswith(value)


def test_a_key_revoked_beside_a_server_fails_on_the_next_request(here: Path) -> None:
    with serving(cwd=here) as server:
        token = secret_in(run_well_here("key", "mint", "--name", "k", cwd=here))
        headers = {"Authorization": f"Bearer {token}"}

        def status() -> int:
            return httpx.post(
                server.url, json=PING, headers=headers, timeout=30, verify=WITHOUT_TLS
            ).status_code

        assert status() == 200
        assert "never" not in used(here)
        new = secret_in(run_well_here("key", "rotate", "k", cwd=here))
        assert status() == 403
        headers["Authorization"] = f"Bearer {new}"
        assert status() == 200
        run_well_here("key", "revoke", "k", cwd=here)
        assert status() == 403


def used(here: Path) -> str:
    """When the one key was used last, as the list says; waits for the server to have noted it."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        (key,) = json.loads(run_well_here("key", "list", "--json", cwd=here))
        if "last-used-at" in key:
            return str(key["last-used-at"])
        time.sleep(0.05)
    return "never"
