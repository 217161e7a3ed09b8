"""`sandbar workspace` as a person uses it, also beside a server that runs."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import subprocess
import time
from pathlib import Path

import httpx
import pytest

import sandbar
from sandbar.cli.counts import sized
from sandbar.database import prepare_postgres
from tests.cli.program import PROGRAM, environment, run_here, run_well_here, serving
from tests.mcp.without_tls import WITHOUT_TLS

MINTED = re.compile(r"    export SANDBAR_TOKEN=(sk-sand-[0-9a-f]{64})\n")
SURE = ("delete", "shop", "--yes", "shop")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def minted(here: Path, *words: str) -> str:
    found = MINTED.search(run_well_here("key", "mint", "--name", "k", *words, cwd=here))
    assert found is not None
    return found[1]


def names(here: Path) -> list[str]:
    return [
        one["name"] for one in json.loads(run_well_here("workspace", "list", "--json", cwd=here))
    ]


def typed(here: Path, *words: str, answers: list[str]) -> tuple[int, str]:
    """What the program says on a terminal to somebody who types these lines, and how it ends."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(PROGRAM), *words],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=here, env=environment({"TERM": "dumb"}),
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, "".join(f"{line}\n" for line in answers).encode())
    said = b""
    while True:
        try:
            part = os.read(ours, 10_000)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    return process.wait(timeout=60), said.decode()


def test_create_says_what_comes_next_and_list_shows_it(tmp_path: Path) -> None:
    words = ("--owner", "anna", "--email", "anna@example.com")
    said = run_well_here("workspace", "create", "shop", *words, cwd=tmp_path)
    assert "belongs to user/anna" in said
    command = re.search(r"sandbar (key mint --name NAME --workspace shop)", said)
    assert command is not None
    run_well_here(*command[1].replace("NAME", "laptop").split(), cwd=tmp_path)
    run_well_here("pack", "add", "zorp", "--workspace", "shop", cwd=tmp_path)
    listed = run_well_here("workspace", "list", cwd=tmp_path)
    assert re.search(r"main +nobody yet +0 +\d+ +0 +active", listed)
    assert re.search(r"shop +user/anna <anna@example.com> +[1-9]\d* +\d+ +1 +active", listed)


def test_what_goes_wrong_is_said_in_words(tmp_path: Path) -> None:
    run_well_here("workspace", "create", "shop", cwd=tmp_path)
    for wrong, code in (
        (("create", "shop"), "workspace.exists"),
        (("create", "../shop"), "workspace.name"),
        (("create", "x", "--owner", "a b", "--email", "nowhere"), "access.invalid"),
        (("suspend", "shpo"), "workspace.unknown"),
        (("limit", "shpo", "entities=1"), "workspace.unknown"),
        (("limit", "shop", "entitys=1"), "limit.unknown"),
        (("limit", "shop", "entities=many"), "limit.malformed"),
        (("usage", "shpo"), "workspace.unknown"),
        (("delete", "shpo", "--yes", "shpo"), "workspace.unknown"),
        (("delete", "main", "--yes", "main"), "workspace.own"),
        (("delete", "shop"), "workspace.unconfirmed"),
        (("delete", "shop", "--yes", "Shop"), "workspace.unconfirmed"),
        ((*SURE, "--export", "sandbar.db/x"), "workspace.export-failed"),
        ((*SURE, "--export", "."), "workspace.export-folder"),
    ):
        answer = run_here("workspace", *wrong, cwd=tmp_path)
        assert answer.returncode == 1, wrong
        assert code in answer.stderr, wrong
        assert "try:" in answer.stderr
        assert "Traceback" not in answer.stderr
    assert names(tmp_path) == ["main", "shop"]


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1_023, "1,023 bytes"),
        (1_536, "1.5 KiB"),
        (16 << 30, "16 GiB"),
        (5_000 << 40, "5,000 TiB"),
    ],
)
def test_sizes_are_said_in_units(size: int, said: str) -> None:
    assert sized(size) == said


def test_budgets_are_set_and_shown_beside_a_server_that_runs(tmp_path: Path) -> None:
    run_well_here("workspace", "create", "shop", cwd=tmp_path)
    with sandbar.open(tmp_path / "sandbar.db", "shop", limits=["streams=5"]) as served:
        said = run_well_here(
            "workspace", "limit", "shop", "entities=1", "stored-bytes=2GiB", cwd=tmp_path
        )
        assert re.search(r"entities +\d+ +1\n", said)
        assert re.search(r"stored-bytes +[\d.]+ KiB +2 GiB\n", said)
        with pytest.raises(sandbar.TooMany, match="its budget is 1"):
            served.define(classes={"shop/Thing": {"dt/subclass-of": ["dt/Resource"]}})
        assert served.call("workspace.usage").budgets["limit/streams"].limit == 5
        run_well_here("workspace", "limit", "shop", "entities=default", cwd=tmp_path)
        served.define(classes={"shop/Thing": {"dt/subclass-of": ["dt/Resource"]}})
    told = json.loads(run_well_here("workspace", "usage", "shop", "--json", cwd=tmp_path))
    assert told["budgets"]["limit/stored-bytes"]["limit"] == 2 << 30
    rows = run_well_here("audit", "export", "--workspace", "main", cwd=tmp_path)
    assert rows.count('"verb":"workspace.limit"') == 2


def test_a_deleted_workspace_can_be_read_from_its_export(tmp_path: Path) -> None:
    run_well_here("workspace", "create", "shop", cwd=tmp_path)
    run_well_here("pack", "add", "zorp", "--workspace", "shop", cwd=tmp_path)
    secret = minted(tmp_path, "--workspace", "shop")
    with sandbar.open(tmp_path / "sandbar.db", "shop") as shop:
        shop.call("entity.find", entity="product/mud-lord")
        boots = {one.entity_id: one.slots for one in shop.each("zorp/Footwear")}
        dump = shop.schema.dump()
    words = ("delete", "shop", "--yes", "shop", "--export", "out/shop")
    said = run_well_here("workspace", *words, cwd=tmp_path)
    assert "out/shop" in said
    assert names(tmp_path) == ["main"]
    out = tmp_path / "out" / "shop"
    assert (out / "metamodel.json").read_bytes() == dump
    with (out / "entities.jsonl").open(encoding="utf-8") as lines:
        entities = [json.loads(line) for line in lines]
    exported = {one.pop("_id"): one for one in entities if one.pop("_class").startswith("zorp/")}
    assert {id: exported[id] for id in boots} == boots
    with sandbar.open(tmp_path / "new.db", metamodel=dump) as new:
        assert new.schema.dump() == dump, "a new workspace can begin with it"
    rows = [json.loads(line) for line in (out / "audit.jsonl").read_text().splitlines()]
    assert "entity.find" in str(rows)
    kept = b"".join(path.read_bytes() for path in out.iterdir())
    assert secret[14:].encode() not in kept
    assert (out.stat().st_mode & 0o777, (out / "audit.jsonl").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )


def test_on_a_terminal_it_offers_an_export_and_asks_for_the_name(tmp_path: Path) -> None:
    run_well_here("workspace", "create", "shop", cwd=tmp_path)
    code, said = typed(tmp_path, "workspace", "delete", "shop", answers=["", "main"])
    assert (code, names(tmp_path)) == (1, ["main", "shop"])
    assert "All of it will be erased" in said
    assert "Export it first" in said
    assert "workspace.unconfirmed" in said
    code, said = typed(tmp_path, "workspace", "delete", "shop", answers=["saved", "shop"])
    assert (code, names(tmp_path)) == (0, ["main"])
    assert (tmp_path / "saved" / "entities.jsonl").exists()


def test_a_server_that_runs_notices_it_on_the_next_request(tmp_path: Path) -> None:
    run_well_here("workspace", "create", "shop", cwd=tmp_path)
    with serving(cwd=tmp_path) as server:
        token = minted(tmp_path, "--workspace", "shop")
        listed = json.loads(run_well_here("workspace", "list", "--json", cwd=tmp_path))
        assert [one["entities"] for one in listed] == [0, 0], "what is built in does not count"

        def answer() -> tuple[int, str | None]:
            headers = {"Authorization": f"Bearer {token}"}
            given = httpx.post(
                server.url, json=PING, headers=headers, timeout=30, verify=WITHOUT_TLS
            )
            return given.status_code, given.json().get("error", {}).get("data", {}).get("code")

        assert answer() == (200, None)
        run_well_here("workspace", "suspend", "shop", cwd=tmp_path)
        assert answer() == (403, "workspace.suspended")
        assert re.search(r"shop .* suspended", run_well_here("workspace", "list", cwd=tmp_path))
        run_well_here("workspace", "resume", "shop", cwd=tmp_path)
        assert answer() == (200, None)
        run_well_here("workspace", "delete", "shop", "--yes", "shop", cwd=tmp_path)
        assert answer() == (401, "auth.invalid")
        # The same name again is another workspace: the old key does not open it.
        run_well_here("workspace", "create", "shop", cwd=tmp_path)
        assert answer() == (401, "auth.invalid")
        token = minted(tmp_path, "--workspace", "shop")
        assert answer() == (200, None)
        words = ("delete", "main", "--yes", "main", "--workspace", "shop")
        refused = run_here("workspace", *words, cwd=tmp_path)
        assert (refused.returncode, "workspace.served" in refused.stderr) == (1, True)
        assert answer() == (200, None)
    run_well_here("workspace", *words, cwd=tmp_path)
    with sandbar.open(tmp_path / "sandbar.db", "shop") as shop:
        assert shop.neighbours.names() == ["shop"]


def test_the_home_of_a_server_cannot_be_deleted_whatever_its_name(tmp_path: Path) -> None:
    """Nor by any other door of the file: the server says where it is at home."""
    for name in ("shop", "other"):
        run_well_here("workspace", "create", name, cwd=tmp_path)
    words = ("workspace", "delete", "shop", "--yes", "shop")
    with serving("--workspace", "shop", cwd=tmp_path):
        for how in (
            words,
            (*words, "--workspace", "other"),
            ("call", "workspace.delete", "name=shop", "confirm=shop"),
        ):
            refused = run_here(*how, cwd=tmp_path)
            assert (refused.returncode, "workspace.served" in refused.stderr) == (1, True), how
        run_well_here(
            "workspace", "delete", "main", "--yes", "main", "--workspace", "other", cwd=tmp_path
        )
    with serving("--workspace", "other", cwd=tmp_path):  # the claim is written anew
        run_well_here(*words, cwd=tmp_path)
    assert names(tmp_path) == ["other"]


def test_a_server_whose_home_is_gone_says_that_it_is_not_well(fresh_postgres: str) -> None:
    """On PostgreSQL nobody can tell where servers are at home."""
    database = ("--database", prepare_postgres(fresh_postgres, role="sandbar_app"))
    run_well_here("workspace", "create", "other", *database)
    with serving(*database) as server:
        health = server.url.replace("/mcp", "/health")
        assert httpx.get(health, verify=WITHOUT_TLS).status_code == 200
        words = ("delete", "main", "--yes", "main", "--workspace", "other")
        run_well_here("workspace", *words, *database)
        time.sleep(1.1)  # for so long a look is good
        answer = httpx.get(health, verify=WITHOUT_TLS)
        assert (answer.status_code, answer.json()["status"]) == (503, "ailing")
        assert answer.json()["checks"]["database"] == "workspace.unknown"


LOOKING = [
    ("audit", "verify"), ("audit", "list"), ("audit", "export"), ("audit", "head"),
    ("key", "list"), ("key", "rotate", "k"), ("key", "revoke", "k"),
    ("account", "list"), ("account", "revoke", "a"),
    ("workspace", "list"), ("workspace", "suspend", "main"), ("workspace", "resume", "main"),
    ("workspace", "delete", "main", "--yes", "main"),
    ("call", "codec.list"), ("pack", "list"),
]  # fmt: skip


def test_a_typing_error_makes_neither_a_file_nor_a_workspace(tmp_path: Path) -> None:
    run_well_here("key", "mint", "k", cwd=tmp_path)
    for words in LOOKING:
        answer = run_here(*words, "--workspace", "mian", cwd=tmp_path)
        assert (answer.returncode, "workspace.unknown" in answer.stderr) == (1, True), words
        assert "did you mean main?" in answer.stderr
        if words[0] != "pack":  # no packs are no packs
            answer = run_here(*words, "--database", "sandbar.bd", cwd=tmp_path)
            assert (answer.returncode, "store.no-database" in answer.stderr) == (1, True), words
    answer = run_here("call", "codec.list", "--database", "n.db", "--workspace", "x", cwd=tmp_path)
    assert (answer.returncode, "store.no-database" in answer.stderr) == (1, True)
    assert run_here("pack", "list", "--database", "no.db", cwd=tmp_path).returncode == 0
    assert names(tmp_path) == ["main"]
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith("sandbar.db")]


def test_a_database_without_the_usual_workspace_can_be_looked_after(tmp_path: Path) -> None:
    run_well_here("key", "mint", "k", "--workspace", "shop", cwd=tmp_path)
    assert names(tmp_path) == ["shop"]
    run_well_here("workspace", "suspend", "shop", cwd=tmp_path)
    refused = run_here("workspace", *SURE, cwd=tmp_path)
    assert (refused.returncode, "workspace.own" in refused.stderr) == (1, True)
    run_well_here("workspace", "create", "other", cwd=tmp_path)
    said = run_well_here("workspace", *SURE, cwd=tmp_path)
    assert re.search(r"with 0 entities, \d+ transactions and 1 key\.", said)
    assert names(tmp_path) == ["other"]


def test_what_is_exported_is_suspended_meanwhile(tmp_path: Path) -> None:
    """Or what somebody writes between export and end would be in neither."""
    run_well_here("workspace", "create", "shop", cwd=tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    for folder in ("full", "sandbar.db/x"):
        answer = run_here("workspace", *SURE, "--export", folder, cwd=tmp_path)
        assert answer.returncode == 1
    run_well_here("workspace", *SURE, "--export", "out", cwd=tmp_path)
    rows = (tmp_path / "out" / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(rows[-1])["workspace"] == "shop"
    with (tmp_path / "out" / "entities.jsonl").open(encoding="utf-8") as lines:
        states = [one for one in map(json.loads, lines) if one["_class"] == "auth/Workspace"]
    assert [one["auth/suspended?"] for one in states] == [True]


def test_an_export_that_fails_lets_everybody_in_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_well_here("workspace", "create", "shop", cwd=tmp_path)

    def full(handle: int) -> None:
        del handle
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("sandbar.cli.exporting.os.fsync", full)
        answer = run_here("workspace", *SURE, "--export", "out", cwd=tmp_path)
    assert answer.returncode == 1
    assert "workspace.export-failed" in answer.stderr
    (_, shop) = json.loads(run_well_here("workspace", "list", "--json", cwd=tmp_path))
    assert (shop["name"], shop["suspended"]) == ("shop", False)


def test_what_is_written_while_it_is_exported_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever works on the file itself is not kept out by a suspension."""
    run_well_here("workspace", "create", "shop", cwd=tmp_path)

    def meanwhile(handle: int) -> None:
        del handle
        with sandbar.open(tmp_path / "sandbar.db", "shop") as shop:
            shop.define(classes={"late/Thing": {}})

    with monkeypatch.context() as patched:
        patched.setattr("sandbar.cli.exporting.os.fsync", meanwhile)
        answer = run_here("workspace", *SURE, "--export", "out", cwd=tmp_path)
    assert (answer.returncode, "workspace.busy" in answer.stderr) == (1, True)
    with sandbar.open(tmp_path / "sandbar.db", "shop") as shop:
        assert "late/Thing" in shop.schema.classes()
