"""Judging an answer: what is wrong with it, in words."""

from __future__ import annotations

import re
from typing import Any

from tests.malformed.cases import Case, Expect
from tests.malformed.sending import Answer

QUICK_S = 1.0
# Statuses of 500 and above that are meant: none.
DELIBERATE_5XX: frozenset[int] = frozenset()

_LEAKS = re.compile(
    r"""Traceback | File\ "| site-packages | /src/ | \.py\b | \bat\ 0x[0-9a-f]+ | <class\ '
      | \b\w*(?:Exception|Error)\( | \b[A-Z]\w+(?:Error|Exception)\b | pydantic | msgspec | apsw
      | psycopg | starlette | uvicorn | JSONRPC[A-Z]\w+ | input_value | validation\ errors?\ for""",
    re.VERBOSE,
)


def faults_logged(log: str) -> list[str]:
    """The lines in which a server owns up to a defect, whatever its clients were told."""
    marks = ('"level": "error"', '"level": "critical"', "Traceback")
    return [line for line in log.splitlines() if any(mark in line for mark in marks)]


def complaints(case: Case, expect: Expect, answer: Answer) -> list[str]:
    """Everything that is wrong with an answer."""
    found = []
    if answer.status != expect.status:
        found.append(f"status {answer.status} instead of {expect.status}")
    if answer.status >= 500 and answer.status not in DELIBERATE_5XX:
        found.append(f"status {answer.status} is a defect")
    if answer.seconds > QUICK_S:
        found.append(f"answered after {answer.seconds:.2f} s")
    if expect.header is not None and expect.header not in answer.headers:
        found.append(f"no header {expect.header}")
    shown = answer.body + answer.headers.get("www-authenticate", "")
    if leak := _LEAKS.search(shown):
        found.append(f"leaks {leak.group()!r}")
    try:
        message = answer.message
    except ValueError:
        return [*found, f"the body is no JSON: {answer.body[:100]!r}"]
    return found + _of_message(case, expect, message)


def _of_message(case: Case, expect: Expect, message: Any) -> list[str]:
    if expect.code is None:
        return _of_result(case, expect, message)
    if not isinstance(message, dict) or "error" not in message:
        return [f"no error {expect.code}, but {str(message)[:200]}"]
    found = [] if message.get("jsonrpc") == "2.0" else ["not JSON-RPC 2.0"]
    error = message["error"]
    if error.get("code") != expect.code:
        found.append(f"code {error.get('code')} instead of {expect.code}")
    if not isinstance(error.get("message"), str) or not error["message"]:
        found.append("the error has no message")
    data = error.get("data")
    members = data if isinstance(data, dict) else {}
    found += [f"data has no {name}" for name in expect.data if name not in members]
    return found + _of_id(case, message, is_about_method=expect.code in (-32601, -32602, -32002))


def _of_result(case: Case, expect: Expect, message: Any) -> list[str]:
    if expect.status == 202:
        return [] if message is None else ["an accepted notification has an answer"]
    if expect.status != 200:
        return []
    if not isinstance(message, dict) or "result" not in message:
        return [f"no result, but {str(message)[:200]}"]
    is_tool_error = bool(message["result"].get("isError"))
    found = [] if is_tool_error == expect.is_tool_error else [f"isError is {is_tool_error}"]
    return found + _of_id(case, message, is_about_method=True)


def _of_id(case: Case, message: Any, *, is_about_method: bool) -> list[str]:
    """The request's own id; null as well where the message was refused before its method."""
    if not isinstance(case.message, dict) or "id" not in message:
        return [] if "id" in message else ["the answer has no id"]
    sent, got = case.message.get("id"), message["id"]
    if type(sent) not in (int, str):
        return [] if got is None else [f"the id {got!r} is invented"]
    if got == sent and type(got) is type(sent):
        return []
    return [] if got is None and not is_about_method else [f"the id is {got!r:.50}"]
