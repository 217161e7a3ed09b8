"""`sandbar backup` and `sandbar restore` as a person types them."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import resource
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from sandbar.database import backup_database, restore_database
from sandbar.model import Create
from tests.backup.conftest import Site, Sites
from tests.backup.filling import prepared
from tests.cli.program import Answer, environment, run_here, serving
from tests.forked import run_within
from tests.live_server import LiveServer
from tests.ready_program import started_with_log

FILE_BYTES = 256 * 1024


def run(*words: str) -> Answer:
    """The program's answer to a command line, without a process of its own."""
    return run_here(*words, cwd=Path.cwd())


def run_well(*words: str) -> str:
    """What it prints, if all goes well."""
    answer = run(*words)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def words_of(site: Site) -> tuple[str, str]:
    return "--database", site.address


def refused(answer: Answer, code: str) -> str:
    """What the program says on stderr, if it refuses with this code and a hint."""
    assert answer.returncode == 1, answer.stdout
    assert f"({code})" in answer.stderr
    assert "try: " in answer.stderr
    return answer.stderr


@pytest.mark.parametrize("kinds", [("sqlite", "postgres"), ("postgres", "sqlite")])
def test_moving_from_one_store_to_the_other(
    sites: Sites, kinds: tuple[str, str], tmp_path: Path
) -> None:
    source, target = map(sites, kinds)
    run_well("pack", "add", "zorp", *words_of(source))
    key = re.findall(r"sk-sand-\w+", run_well("key", "mint", "laptop", *words_of(source)))[0]
    file = tmp_path / "shop.backup"
    answer = run("backup", str(file), *words_of(source))
    assert answer.returncode == 0, answer.stderr
    assert "1 workspace, " in answer.stdout
    assert f"sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}" in answer.stdout
    assert "hashes of all secrets" in answer.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    told = run_well("restore", str(file), *words_of(target))
    assert re.search(r"main: t \d+, the audit is intact", told)
    assert run_well("audit", "verify", *words_of(target)) == "intact\n"
    server = LiveServer(target.address)
    server.token = key
    with server:
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        answered = httpx.post(server.url, headers=server.headers, json=ask)
        assert answered.status_code == 200
        assert answered.json()["result"]["tools"]
        server.token = key[:-1] + ("0" if key[-1] != "0" else "1")
        assert httpx.post(server.url, headers=server.headers, json=ask).status_code == 401


def test_a_server_goes_on_while_its_database_is_backed_up(own: Site, tmp_path: Path) -> None:
    with serving(*words_of(own)) as server:
        run_well("pack", "add", "zorp", *words_of(own))
        run_well("backup", str(tmp_path / "it.backup"), *words_of(own))
        assert server.process.poll() is None
        if own.kind == "sqlite":
            said = refused(
                run("restore", str(tmp_path / "it.backup"), *words_of(own)), "store.server-running"
            )
            assert "stop it" in said
        else:
            refused(run("restore", str(tmp_path / "it.backup"), *words_of(own)), "backup.not-empty")


def test_nothing_is_restored_over_a_database(own: Site, tmp_path: Path) -> None:
    own.open().close()
    before = own.raw.everything()
    file = str(tmp_path / "it.backup")
    run_well("backup", file, *words_of(own))
    assert "empty database" in refused(run("restore", file, *words_of(own)), "backup.not-empty")
    with own.open("other") as db:
        db.neighbours.drop("main")
    with own.open("third") as db:
        db.neighbours.drop("other")
        assert [
            row for row in own.raw.everything()["workspace"] if row in before["workspace"]
        ] == []
    refused(run("restore", file, *words_of(own)), "backup.not-empty")


def test_a_postgres_database_must_be_prepared(
    sites: Sites, fresh_postgres: str, tmp_path: Path
) -> None:
    source = sites("sqlite")
    source.open().close()
    file = str(tmp_path / "it.backup")
    run_well("backup", file, *words_of(source))
    said = refused(run("restore", file, "--database", fresh_postgres), "store.not-installed")
    assert "sandbar migrate" in said
    refused(run("backup", f"{file}2", "--database", fresh_postgres), "store.not-installed")
    run_well("migrate", fresh_postgres)
    refused(run("restore", file, "--database", fresh_postgres), "store.privileged-role")


def test_only_a_backup_is_overwritten_and_only_by_force(sites: Sites, tmp_path: Path) -> None:
    source, file = sites("sqlite"), tmp_path / "it.backup"
    source.open().close()
    database = Path(source.address).read_bytes()
    for words in ((), ("--force",)):
        refused(run("backup", source.address, *words, *words_of(source)), "backup.exists")
    assert Path(source.address).read_bytes() == database
    run_well("backup", str(file), *words_of(source))
    first = file.read_bytes()
    assert "--force" in refused(run("backup", str(file), *words_of(source)), "backup.exists")
    assert file.read_bytes() == first
    run_well("backup", str(file), "--force", *words_of(source))
    assert file.read_bytes() != first
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    refused(run("backup", str(link), *words_of(source)), "backup.exists")


def test_mistakes_make_nothing(sites: Sites, tmp_path: Path) -> None:
    source, folder = sites("sqlite"), tmp_path / "work"
    source.open().close()
    folder.mkdir()
    file = str(folder / "it.backup")
    refused(run("backup", file, "--database", str(folder / "none.db")), "store.no-database")
    refused(run("backup", str(folder / "no" / "x"), *words_of(source)), "backup.unwritable")
    refused(run("restore", file, "--database", str(folder / "new.db")), "backup.unreadable")
    assert list(folder.iterdir()) == []
    run_well("backup", file, *words_of(source))
    refused(run("restore", file, "--database", str(folder / "no" / "x.db")), "store.cannot-open")
    assert [path.name for path in folder.iterdir()] == ["it.backup"]


def test_a_broken_audit_is_restored_and_told(sites: Sites, tmp_path: Path) -> None:
    source, target, file = sites("postgres"), sites("sqlite"), str(tmp_path / "it.backup")
    with source.open() as db:
        db.journal.start_sealing()
        with db.recorded("test.one", surface="cli"):
            pass
    source.raw.ask("UPDATE audit SET verb = 'test.other' RETURNING n")
    run_well("backup", file, *words_of(source))
    answer = run("restore", file, *words_of(target))
    assert answer.returncode == 1
    assert "main: t 1, the audit is broken, as it was in the backup" in answer.stdout
    assert "sandbar audit verify --workspace main" in answer.stderr
    assert "broken" in run("audit", "verify", *words_of(target)).stdout


def test_a_bar_shows_how_far_it_is(sites: Sites, tmp_path: Path) -> None:
    source, target, file = sites("sqlite"), sites("sqlite"), str(tmp_path / "it.backup")
    prepared(source)
    for words in (
        ("backup", file, *words_of(source)),
        ("restore", file, *words_of(target)),
    ):
        shown = on_terminal(*words)
        assert ("saving" if words[0] == "backup" else "restoring") in shown
        assert "100%" in shown


def on_terminal(*words: str) -> str:
    """What the program shows somebody who looks."""
    ours, theirs = pty.openpty()
    process = started_with_log(words, environment({"TERM": "xterm"}), theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(30) == 0, shown
    return shown.decode()


def test_every_step_tells_how_far_it_is(source: Site, target: Site, tmp_path: Path) -> None:
    prepared(source)
    with source.open() as db, db.recorded("test.one", surface="cli"):
        pass
    told: list[tuple[str, int, int]] = []
    backup_database(source.address, tmp_path / "it.backup", lambda *how_far: told.append(how_far))
    assert {what for what, _, _ in told} == {"saving"}
    assert told[-1][1] == told[-1][2] > 2000
    told.clear()
    restore_database(tmp_path / "it.backup", target.address, lambda *how_far: told.append(how_far))
    assert {"checking", "restoring", "verifying"} <= {what for what, _, _ in told}
    for what in ("checking", "restoring", "verifying", "indexing"):
        done = [at for now, at, of in told if now == what]
        assert done == sorted(done)
    assert all(0 < done <= total for what, done, total in told if what != "indexing")


def test_ctrl_c_leaves_nothing(own: Site, sites: Sites, tmp_path: Path) -> None:
    source, file = sites("sqlite"), tmp_path / "work" / "it.backup"
    prepared(source)
    file.parent.mkdir()
    with pytest.raises(KeyboardInterrupt):
        backup_database(source.address, file, interrupting("saving"))
    assert list(file.parent.iterdir()) == []
    backup_database(source.address, file)
    with pytest.raises(KeyboardInterrupt):
        restore_database(file, own.address, interrupting("restoring"))
    assert own.is_untouched()


def interrupting(phase: str) -> Callable[[str, int, int], None]:
    """Somebody who presses Ctrl-C in the midst of it."""
    told: list[int] = []

    def progress(what: str, done: int, total: int) -> None:
        told.extend([done] if what == phase else [])
        if len(told) == 3:
            raise KeyboardInterrupt

    return progress


def test_a_disk_that_takes_no_more_is_told_and_nothing_stays(sites: Sites, tmp_path: Path) -> None:
    source, folder = sites("sqlite"), tmp_path / "work"
    prepared(source)
    with source.open() as db:  # words that cannot be packed
        docs = [{"db/doc": secrets.token_hex(1000)} for _ in range(500)]
        db.transact([Create(class_="bank/Account", slots=slots) for slots in docs])
    folder.mkdir()
    file, new = str(folder / "it.backup"), str(folder / "new.db")
    refused(on_small_disk("backup", file, *words_of(source)), "backup.unwritable")
    assert list(folder.iterdir()) == []
    run_well("backup", file, *words_of(source))
    answer = on_small_disk("restore", file, "--database", new)
    assert answer.returncode == 1
    assert re.search(r"\(store\.(full|io)\)", answer.stderr), answer.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["it.backup"]
    run_well("restore", file, "--database", new)


def on_small_disk(*words: str) -> Answer:
    """The program, where no file can get larger than a few pages."""
    return run_within({resource.RLIMIT_FSIZE: FILE_BYTES}, *words)
