"""`sandbar doctor` and `sandbar pack`: what they say, and that looking changes nothing."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import apsw

import sandbar
from tests.cli.program import Answer, run_here, run_well_here, serving


def verdicts(answer: Answer) -> dict[str, str]:
    """Name of each check and its verdict."""
    found = re.findall(r"^(ok|warn|fail)\s+([^:]+):", answer.stdout, re.MULTILINE)
    return {name: verdict for verdict, name in found}


def test_a_folder_without_a_database(tmp_path: Path) -> None:
    answer = run_here("doctor", "--port", "0", cwd=tmp_path)
    assert answer.returncode == 0
    said = verdicts(answer)
    assert said == {"Python": "ok", "SQLite": "ok", "disk": "ok", "database": "warn", "port": "ok"}
    assert list(tmp_path.iterdir()) == [], "a look must make nothing"


def test_a_database_with_and_without_accounts(tmp_path: Path) -> None:
    run_well_here("pack", "add", "zorp", cwd=tmp_path)
    answer = run_here("doctor", "--port", "0", cwd=tmp_path)
    said = verdicts(answer)
    assert said.pop("accounts") == "warn"
    assert set(said.values()) == {"ok"}
    found = re.search(
        r"workspace main: \d+ transactions, \d+ classes, (\d+) entities", answer.stdout
    )
    assert found is not None
    (listed,) = json.loads(run_well_here("workspace", "list", "--json", cwd=tmp_path))
    assert listed["entities"] == int(found[1]) > 0, "both count alike"
    run_well_here("account", "add", "claude", cwd=tmp_path)
    assert verdicts(run_here("doctor", "--port", "0", cwd=tmp_path))["accounts"] == "ok"
    other = run_here("doctor", "--port", "0", "--workspace", "other", cwd=tmp_path)
    assert verdicts(other)["workspace other"] == "warn"


def test_it_names_the_server_of_a_file(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as running:
        told = run_well_here("doctor", "--port", "0", cwd=tmp_path)
        assert f"process {running.process.pid} serves this file" in told
    assert "none runs on this file" in run_well_here("doctor", "--port", "0", cwd=tmp_path)


def test_it_tells_what_is_still_to_be_done(tmp_path: Path) -> None:
    with sandbar.open(tmp_path / "sandbar.db") as db:
        db.create("dt/List", {"db/ident": "a/list"})
        reader = apsw.Connection(str(tmp_path / "sandbar.db"))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entity").fetchall()
        assert not db.purge("a/list").scrubbed
    answer = run_here("doctor", "--port", "0", cwd=tmp_path)
    assert (answer.returncode, verdicts(answer)["owed"]) == (0, "warn")
    assert "still to be overwritten in the file, since 20" in answer.stdout
    reader.close()
    file = apsw.Connection(str(tmp_path / "sandbar.db"))
    file.execute("UPDATE owed SET due_us = 0")  # as if it had waited
    file.close()
    assert "owed" not in verdicts(run_here("doctor", "--port", "0", cwd=tmp_path))


def test_what_is_broken_fails_with_advice(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all, but some text", encoding="utf-8")
    answer = run_here("doctor", "--database", "text.db", cwd=tmp_path)
    assert answer.returncode == 1
    assert verdicts(answer)["database"] == "fail"
    answer = run_here("doctor", "--database", "no/folder/x.db", cwd=tmp_path)
    assert (answer.returncode, verdicts(answer)["disk"]) == (1, "fail")
    answer = run_here("doctor", "--database", "postgresql://nobody@127.0.0.1:1/x", cwd=tmp_path)
    assert (answer.returncode, verdicts(answer)["database"]) == (1, "fail")


def test_a_taken_port_is_a_warning(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = run_here("doctor", "--port", str(taken.getsockname()[1]), cwd=tmp_path)
    assert (answer.returncode, verdicts(answer)["port"]) == (0, "warn")


def test_a_port_of_its_own_server_is_no_other_program_s(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with serving("--host", "0.0.0.0", cwd=tmp_path) as running:
        port = str(urlsplit(running.url).port)
        for host in ("127.0.0.1", "0.0.0.0"):
            answer = run_here("doctor", "--host", host, "--port", port, cwd=tmp_path)
            assert verdicts(answer)["port"] == "ok"
            assert f"the server of this database answers at {port}" in answer.stdout
            assert "http://0.0.0.0" not in answer.stdout
        run_well_here("key", "mint", "--name", "x", cwd=tmp_path / "other")
        other = run_here("doctor", "--port", port, cwd=tmp_path / "other")
        assert "sign-in refused" not in running.stop(), "a look is no attempt to sign in"
    assert verdicts(other)["port"] == "warn"
    assert "the Sandbar server of another database" in other.stdout


def test_it_names_variables_that_set_nothing(tmp_path: Path) -> None:
    answer = run_here("doctor", "--port", "0", cwd=tmp_path, env={"SANDBAR_DB": "x"})
    assert verdicts(answer)["settings"] == "warn"
    assert "SANDBAR_DB sets nothing" in answer.stdout


def test_packs_are_listed_and_added(tmp_path: Path) -> None:
    listed = run_well_here("pack", "list", cwd=tmp_path)
    assert "zorp" in listed
    assert not re.search(r"^zorp.*\byes\b", listed, re.MULTILINE)
    assert list(tmp_path.iterdir()) == [], "a list must make nothing"
    first = run_well_here("pack", "add", "zorp", cwd=tmp_path)
    added = r"zorp: \d+ definitions, \d+ entities, \d+ prompts, 1 workflow added\n"
    assert re.fullmatch(added, first)
    again = run_well_here("pack", "add", "zorp", "memory", cwd=tmp_path)
    assert re.fullmatch(
        r"zorp: already there, nothing to do\nmemory: \d+ definitions, \d+ prompts added\n", again
    )
    assert re.search(r"^zorp.*\byes\b", run_well_here("pack", "list", cwd=tmp_path), re.MULTILINE)
    with sandbar.open(tmp_path / "sandbar.db") as db:
        assert db.query("zorp/Footwear", limit=1).items


def test_a_pack_s_folder_is_added_by_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "garden"
    folder.mkdir()
    (folder / "pack.json").write_text('{"name": "garden", "title": "A garden"}')
    told = run_well_here("pack", "add", "zorp", "./garden", cwd=tmp_path)
    assert "garden: added; it brings no data\n" in told
    schema = {"properties": {"bed/name": {"dt/range": "db.type/string"}}, "classes": {}}
    (folder / "schema.json").write_text(json.dumps(schema))
    told = run_well_here("pack", "add", "./garden", cwd=tmp_path)
    assert told == "garden: brought up to date, 1 new or changed of 1 definition\n"
    assert re.search(r"^garden\s+A garden\s+yes", run_well_here("pack", "list", cwd=tmp_path), re.M)
