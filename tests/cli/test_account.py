"""`sandbar account` as a person uses it, against a real file."""

from __future__ import annotations

import re
from pathlib import Path

from sandbar.access import Houses, sign_in
from sandbar.model import Workspace
from sandbar.store.sqlite.store import SqliteStore
from tests.cli.program import run, run_well

MINTED = re.compile(r"export SANDBAR_TOKEN=(sk-sand-[0-9a-f]{64})\n")


def role_of(path: Path, token: str, workspace: str = "main") -> str:
    store = SqliteStore(path)
    try:
        found = Workspace.open(store, workspace)
        return sign_in(Houses(lambda name: found, workspace), f"Bearer {token}").role
    finally:
        store.close()


def test_a_minted_key_is_shown_once_and_works(tmp_path: Path) -> None:
    database = str(tmp_path / "a.db")
    said = run_well("account", "add", "claude", "--role", "admin", "--database", database)
    found = MINTED.search(said)
    assert found is not None
    assert "shown only now" in said
    assert role_of(Path(database), found[1]) == "admin"
    listed = run_well("account", "list", "--database", database)
    assert "service/claude" in listed
    assert "sk-sand" not in listed


def test_a_key_of_ones_own(tmp_path: Path) -> None:
    env = {"SANDBAR_DATABASE": str(tmp_path / "a.db")}
    said = run_well("account", "add", "claude", "--api-key", "super-secret-mcp-key", env=env)
    assert "export SANDBAR_TOKEN=claude:super-secret-mcp-key" in said
    assert role_of(tmp_path / "a.db", "claude:super-secret-mcp-key") == "writer"


def test_revoking_and_coming_back(tmp_path: Path) -> None:
    words = ("--database", str(tmp_path / "a.db"), "--workspace", "shop")
    first = MINTED.search(run_well("account", "add", "bot", *words))
    assert first is not None
    assert "counts no more" in run_well("account", "revoke", first[1], *words)
    assert "signs in no more" in run_well("account", "revoke", "bot", *words)
    assert re.search(r"service/bot +writer +no", run_well("account", "list", *words))
    again = MINTED.search(run_well("account", "add", "bot", "--role", "reader", *words))
    assert again is not None
    assert role_of(tmp_path / "a.db", again[1], "shop") == "reader"
    assert re.search(r"service/bot +reader +yes", run_well("account", "list", *words))


def test_what_goes_wrong_is_said_in_words(tmp_path: Path) -> None:
    words = ("--database", str(tmp_path / "a.db"))
    run_well("account", "add", "bot", *words)
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
        answer = run("account", *wrong, *words)
        assert answer.returncode == 1
        assert code in answer.stderr
        assert "try:" in answer.stderr
        assert "Traceback" not in answer.stderr
    for usage in (("--person", "--api-key", "a-good-key"), ("--email", "anna@example.com")):
        assert run("account", "add", "x", *usage, *words).returncode == 2
    assert "No accounts yet" in run("account", "list", "--database", str(tmp_path / "b.db")).stderr


def test_people_are_listed_with_programs(tmp_path: Path) -> None:
    words = ("--database", str(tmp_path / "a.db"))
    said = run_well("account", "add", "anna", "--person", "--role", "reader", *words)
    assert "sandbar key mint --name NAME --user anna" in said
    run_well("account", "add", "bot", *words)
    listed = run_well("account", "list", *words)
    assert re.search(r"service/bot +writer +yes", listed)
    assert re.search(r"user/anna +reader +yes", listed)
    assert re.search(r"user/owner +admin, owner +yes", listed)
    assert "signs in no more" in run_well("account", "revoke", "anna", *words)
    assert re.search(r"user/anna +reader +no", run_well("account", "list", *words))
