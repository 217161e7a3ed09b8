"""`sandbar account` as a person uses it, against a real file."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from sandbar.access import Caller, Houses, sign_in
from sandbar.model import Workspace
from sandbar.store.sqlite.store import SqliteStore
from tests.cli.program import run_here, run_well_here

MINTED = re.compile(r"export SANDBAR_TOKEN=(sk-sand-[0-9a-f]{64})\n")


def caller_of(path: Path, token: str, workspace: str = "main") -> Caller:
    store = SqliteStore(path)
    try:
        found = Workspace.open(store, workspace)
        return sign_in(Houses(lambda name: found, workspace), token)
    finally:
        store.close()


def role_of(path: Path, token: str, workspace: str = "main") -> str:
    return caller_of(path, token, workspace).role


def test_a_minted_key_is_shown_once_and_works(tmp_path: Path) -> None:
    database = str(tmp_path / "a.db")
    said = run_well_here("account", "add", "claude", "--role", "admin", "--database", database)
    found = MINTED.search(said)
    assert found is not None
    assert "shown only now" in said
    assert role_of(Path(database), found[1]) == "admin"
    listed = run_well_here("account", "list", "--database", database)
    assert "service/claude" in listed
    assert "sk-sand" not in listed


def test_a_key_of_ones_own(tmp_path: Path) -> None:
    env = {"SANDBAR_DATABASE": str(tmp_path / "a.db")}
    said = run_well_here("account", "add", "claude", "--api-key", "super-secret-mcp-key", env=env)
    assert "export SANDBAR_TOKEN=claude:super-secret-mcp-key" in said
    assert role_of(tmp_path / "a.db", "claude:super-secret-mcp-key") == "writer"


def test_revoking_and_coming_back(tmp_path: Path) -> None:
    words = ("--database", str(tmp_path / "a.db"), "--workspace", "shop")
    first = MINTED.search(run_well_here("account", "add", "bot", *words))
    assert first is not None
    assert "counts no more" in run_well_here("account", "revoke", first[1], *words)
    assert "signs in no more" in run_well_here("account", "revoke", "bot", *words)
    assert re.search(r"service/bot +writer +no", run_well_here("account", "list", *words))
    again = MINTED.search(run_well_here("account", "add", "bot", "--role", "reader", *words))
    assert again is not None
    assert role_of(tmp_path / "a.db", again[1], "shop") == "reader"
    assert re.search(r"service/bot +reader +yes", run_well_here("account", "list", *words))


def test_what_goes_wrong_is_said_in_words(tmp_path: Path) -> None:
    words = ("--database", str(tmp_path / "a.db"))
    run_well_here("account", "add", "bot", *words)
    for wrong, code in (
        (("add", "bot"), "account.exists"),
        (("add", "two words"), "keyword.malformed"),
        (("add", "x", "--api-key", "short"), "key.malformed"),
        (("add", "x", "--api-key", "sk-sand-mine"), "key.reserved"),
        (("revoke", "nobody"), "account.unknown"),
        (("revoke", "sk-sand-00"), "key.unknown"),
        (("add", "x", "--role", "boss"), "role.unknown"),
        (("add", "x", "--person", "--email", "nowhere"), "user.email"),
    ):
        answer = run_here("account", *wrong, *words)
        assert answer.returncode == 1
        assert code in answer.stderr
        assert "try:" in answer.stderr
        assert "Traceback" not in answer.stderr
    for usage in (("--person", "--api-key", "a-good-key"), ("--email", "anna@example.com")):
        assert run_here("account", "add", "x", *usage, *words).returncode == 2


def test_a_list_without_programs_says_so(tmp_path: Path) -> None:
    run_well_here("key", "mint", "k", cwd=tmp_path)
    answer = run_here("account", "list", cwd=tmp_path)
    assert "user/owner" in answer.stdout
    assert "No programs yet" in answer.stderr
    run_well_here("account", "add", "bot", cwd=tmp_path)
    assert run_here("account", "list", cwd=tmp_path).stderr == ""
    told = json.loads(run_well_here("account", "list", "--json", cwd=tmp_path))
    assert [one["name"] for one in told["programs"]] == ["service/bot"]
    assert [(one["name"], one["is-owner"]) for one in told["people"]] == [("user/owner", True)]


def test_a_person_and_a_program_of_one_name_are_told_apart(tmp_path: Path) -> None:
    run_well_here("account", "add", "anna", "--person", cwd=tmp_path)
    for words, other in ((("user/x",), "service/x"), (("service/x", "--person"), "user/x")):
        refused = run_here("account", "add", *words, cwd=tmp_path)
        assert (refused.returncode, "account.name" in refused.stderr) == (1, True)
        assert other.partition("/")[0] in refused.stderr
    run_well_here("account", "add", "anna", cwd=tmp_path)
    for command in (("account", "revoke", "anna"), ("key", "mint", "k", "--user", "anna")):
        refused = run_here(*command, cwd=tmp_path)
        assert (refused.returncode, "account.ambiguous" in refused.stderr) == (1, True), command
        assert "write user/anna or service/anna" in refused.stderr
    assert "of service/anna" in run_well_here(
        "key", "mint", "k", "--user", "service/anna", cwd=tmp_path
    )
    assert "of user/anna" in run_well_here("key", "mint", "l", "--user", "user/anna", cwd=tmp_path)
    run_well_here("account", "revoke", "user/anna", cwd=tmp_path)
    listed = run_well_here("account", "list", cwd=tmp_path)
    assert re.search(r"user/anna +writer +no", listed)
    assert re.search(r"service/anna +writer +yes", listed)
    again = run_here("account", "add", "anna", cwd=tmp_path)
    assert "sandbar key mint --name NAME --user service/anna" in again.stderr


def test_whoever_revokes_the_owner_is_told_the_way_back(tmp_path: Path) -> None:
    run_well_here("key", "mint", "k", cwd=tmp_path)
    answer = run_here("account", "revoke", "owner", cwd=tmp_path)
    assert answer.returncode == 0
    assert "owns this workspace" in answer.stderr
    back = re.search(r"    sandbar (account add .*)\n", answer.stderr)
    assert back is not None
    refused = run_here("key", "mint", "k2", cwd=tmp_path).stderr
    assert "sandbar account add owner --person --role ROLE" in refused
    run_well_here(*back[1].split(), cwd=tmp_path)
    found = MINTED.search(run_well_here("key", "mint", "k2", cwd=tmp_path))
    assert found is not None
    assert role_of(tmp_path / "sandbar.db", found[1]) == "admin"
    run_well_here("account", "add", "bot", cwd=tmp_path)
    assert run_here("account", "revoke", "bot", cwd=tmp_path).stderr == ""


def test_how_often_a_key_may_ask_is_said_where_it_is_shown(tmp_path: Path) -> None:
    assert "60 requests a minute" in run_well_here("account", "add", "one", cwd=tmp_path)
    assert "60 requests a minute" in run_well_here("key", "mint", "k", cwd=tmp_path)
    for words in (("account", "add", "three"), ("key", "mint", "it's")):
        told = run_well_here(*words, "--workspace", "main", cwd=tmp_path)
        found = re.search(r"^    sandbar (call entity\.update .*)$", told, re.MULTILINE)
        token = MINTED.search(told)
        assert found is not None
        assert token is not None
        run_well_here(*shlex.split(found[1]), cwd=tmp_path)
        limit = caller_of(tmp_path / "sandbar.db", token[1]).limit
        assert limit is not None
        assert limit.per_minute == 600
    said = run_well_here(
        "account", "add", "two", "--rate-limit", "600", "--burst", "9", cwd=tmp_path
    )
    assert "600 requests a minute, 9 of them at once" in said
    said += run_well_here("account", "add", "six", "--rate-limit", "0", cwd=tmp_path)
    assert "as often as it likes" in said
    two, six = MINTED.findall(said)
    limits = [caller_of(tmp_path / "sandbar.db", token).limit for token in (two, six)]
    assert limits[0] is not None
    assert (limits[0].per_minute, limits[0].burst, limits[1]) == (600, 9, None)
    wrong = run_here("account", "add", "x", "--rate-limit", "-1", cwd=tmp_path)
    assert (wrong.returncode, "key.rate" in wrong.stderr) == (1, True)


def test_people_are_listed_with_programs(tmp_path: Path) -> None:
    words = ("--database", str(tmp_path / "a.db"))
    said = run_well_here("account", "add", "anna", "--person", "--role", "reader", *words)
    assert "sandbar key mint --name NAME --user user/anna" in said
    run_well_here("account", "add", "bot", *words)
    listed = run_well_here("account", "list", *words)
    assert re.search(r"service/bot +writer +yes", listed)
    assert re.search(r"user/anna +reader +yes", listed)
    assert re.search(r"user/owner +admin, owner +yes", listed)
    assert "signs in no more" in run_well_here("account", "revoke", "anna", *words)
    assert re.search(r"user/anna +reader +no", run_well_here("account", "list", *words))
