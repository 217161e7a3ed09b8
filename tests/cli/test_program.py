"""The `sandbar` program, run as a person runs it."""

from __future__ import annotations

import subprocess
import sys

import sandbar
from sandbar.store.postgres.store import PostgresStore


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The program's answer to a command line."""
    command = [sys.executable, "-c", "from sandbar.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_demo_tells_the_whole_story() -> None:
    answer = run("demo")
    assert answer.returncode == 0, answer.stderr
    for part in (
        "dt/Class is an instance of dt/Class",
        "did you mean",
        "Nebula High",
        "spring sale",
    ):
        assert part in answer.stdout


def test_help_names_every_command() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    assert "demo" in answer.stdout
    assert "migrate" in answer.stdout


def test_a_problem_is_said_in_words_without_a_traceback() -> None:
    answer = run("migrate", "postgresql://nobody@127.0.0.1:1/nothing")
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert "store." in answer.stderr


def test_migrate_prepares_a_database_that_opens(fresh_postgres: str) -> None:
    answer = run("migrate", fresh_postgres, "--role", "sandbar_cli_test", "--password", "pw-of-cli")
    assert answer.returncode == 0, answer.stderr
    assert "pw-of-cli" not in answer.stdout, "a password must not be echoed"
    url = fresh_postgres.replace("postgresql://postgres", "postgresql://sandbar_cli_test:pw-of-cli")
    with sandbar.open(url) as db:
        assert isinstance(db._store, PostgresStore)
        assert db.t == 1
