"""The log: one form for ours and the libraries' messages, and nothing that quotes a request."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_SET_UP = (
    "import logging, structlog; from sandbar.cli.logs import set_up_logs; set_up_logs('info')\n"
)


def logged(*pieces: str) -> list[dict[str, Any]]:
    """What pieces of code log."""
    code = "\n".join((_SET_UP, *pieces))
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == ""
    return [json.loads(line) for line in answer.stderr.splitlines()]


def raising(log: str) -> str:
    """Code that logs an exception whose frames and words hold a secret."""
    body = "    held = 's3cret'\n    raise ValueError(held)"
    return f"def work():\n{body}\ntry:\n    work()\nexcept ValueError:\n    {log}"


def test_our_own_messages_are_kept_whole() -> None:
    ready, defect = logged(
        "structlog.get_logger('sandbar.x').info('ready', port=80)",
        "logging.getLogger('sandbar').error('a defect %s', 'id-1')",
    )
    assert (ready["event"], ready["port"], ready["level"]) == ("ready", 80, "info")
    assert defect["event"] == "a defect id-1"


def test_an_exception_is_a_kind_and_places() -> None:
    ours, theirs = logged(
        raising("structlog.get_logger('sandbar.x').error('failed', exc_info=True)"),
        raising("logging.getLogger('uvicorn.error').exception('failed')"),
    )
    for event in (ours, theirs):
        assert event["event"] == "failed"
        assert event["error"] == "ValueError"
        assert event["passed"][-1].endswith(" work")
        assert "s3cret" not in json.dumps(event)


def test_a_library_s_message_is_only_a_place() -> None:
    event, lost = logged(
        "logging.getLogger('mcp.server').warning('bad input %s', 's3cret')",
        raising("logging.getLogger('asyncio').exception('lost s3cret')"),
    )
    assert event["event"] == "a message of mcp.server"
    assert "s3cret" not in json.dumps(event)
    assert event["place"].startswith("<string>:")
    assert "s3cret" not in json.dumps(lost)


def test_the_level_is_ours_alone() -> None:
    told = logged(
        "structlog.get_logger('sandbar.x').debug('no')", "logging.getLogger('mcp').info('no')"
    )
    assert told == []
