"""A defect is told to the log by kind and place; users' values are told to nobody."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

import sandbar
from sandbar.faults import log_fault

CANARY = "tell-nobody-4711"


def break_the_batch(db: sandbar.Database) -> None:
    """A handler whose document cannot be stored, because of a defect, with its value at hand."""
    canary = CANARY
    unstorable = type(canary, (), {"__repr__": lambda self: canary})()

    def handler() -> None:
        kept = canary
        transaction = db._store.open_transaction()
        assert transaction is not None
        transaction.attribute(kept, kept)
        transaction.remember("somebody", "key", unstorable, kept)

    db.run(handler, reason=canary)


SCRIPT = """
import sys
import sandbar
from tests.store.test_fault_log import break_the_batch

with sandbar.open(sys.argv[1]) as db:
    try:
        break_the_batch(db)
    except sandbar.Fault as fault:
        sys.exit(0 if fault.code == "writer.failed" else fault.code)
sys.exit("it was to fail")
"""


def test_the_log_names_kind_and_place_and_no_value(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with sandbar.open(tmp_path / "x.db") as db:
        with pytest.raises(sandbar.Fault) as caught:
            break_the_batch(db)
        assert caught.value.code == "writer.failed"
        assert db.run(lambda: db.t) == 1, "the writer goes on"
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("sandbar", logging.ERROR)
    text = record.getMessage()
    assert caught.value.data["id"] in text
    assert "builtins.TypeError" in text
    assert "sqlite/session.py:" in text
    assert record.exc_info is None, "a formatter could make the values of it"
    assert CANARY not in f"{text}{vars(record)}{caught.value}{caught.value.data}"


def test_the_library_prints_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "x.db")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_the_errors_behind_an_error_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    first, second = ValueError(CANARY), KeyError(CANARY)
    first.__context__, second.__cause__ = second, first
    log_fault("test.failed", first)
    lines = caplog.messages[0].splitlines()
    assert lines[1:] == ["builtins.ValueError", "builtins.KeyError"]
