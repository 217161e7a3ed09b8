"""Malformed requests in three lanes: the exact answer for each, and the server goes on.

The corpus stands in `bodies`, `envelopes`, `parameters`, `headers`, `signing_in`, `tasks` and
`transport`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.malformed.bodies import BODIES
from tests.malformed.cases import OK, Case, Expect, Lane, request, tool_call
from tests.malformed.envelopes import ENVELOPES
from tests.malformed.headers import HEADERS
from tests.malformed.parameters import PARAMETERS
from tests.malformed.sending import Answer, Door, send
from tests.malformed.signing_in import SIGNING_IN
from tests.malformed.tasks import TASKS
from tests.malformed.transport import TRANSPORT
from tests.malformed.verdict import QUICK_S, complaints, faults_logged

CORPUS = [*BODIES, *ENVELOPES, *PARAMETERS, *HEADERS, *SIGNING_IN, *TASKS, *TRANSPORT]
RUNS = [(case, lane) for case in CORPUS for lane in case.expect]
NORMAL = Case("a normal call", OK, message=tool_call("sandbar.schema.datatypes", {}))


@pytest.mark.parametrize(
    ("case", "lane"), RUNS, ids=[f"{lane}: {case.name}" for case, lane in RUNS]
)
def test_a_malformed_request_gets_its_exact_answer(case: Case, lane: Lane, door: Door) -> None:
    assert _found(case, lane, door) == []
    afterwards = _found(NORMAL, lane, door)
    assert afterwards == [], "the server must answer as if nothing had happened"


def _found(case: Case, lane: Lane, door: Door) -> list[str]:
    """What is wrong; on a busy machine an answer may be late once, not three times."""
    for _ in range(3):
        found = complaints(case, case.expect[lane], send(case, lane, door))
        if not any(complaint.startswith("answered after") for complaint in found):
            break
    return found


def test_the_corpus_is_as_large_as_promised(
    record_property: Callable[[str, object], None],
) -> None:
    record_property("figure", f"{len(CORPUS)} malformed requests, {len(RUNS)} in three lanes")
    names = [case.name for case in CORPUS]
    assert len(set(names)) == len(names), "a name is used twice"
    older = [case for case in CORPUS if "bare" in case.expect or "session" in case.expect]
    current = [case for case in CORPUS if "envelope" in case.expect]
    assert min(len(older), len(current)) >= 150


# --- the checker itself ---------------------------------------------------------------------------

CASE = Case("control", OK, message=request("tools/list", id=7))
GOOD = '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}'
NOT_FOUND = Expect(200, -32601)


def _answer(body: str = GOOD, status: int = 200, seconds: float = 0.0) -> Answer:
    return Answer(status, {"content-type": "application/json"}, body, seconds)


def test_the_checker_has_nothing_against_the_right_answer() -> None:
    assert complaints(CASE, NOT_FOUND, _answer()) == []


@pytest.mark.parametrize(
    ("expect", "answer", "complaint"),
    [
        (Expect(404, -32601), _answer(), "status 200 instead of 404"),
        (Expect(200, -32602), _answer(), "code -32601 instead of -32602"),
        (Expect(200), _answer(), "no result"),
        (Expect(200, -32601, data=("uri",)), _answer(), "data has no uri"),
        (Expect(200, -32601, header="allow"), _answer(), "no header allow"),
        (NOT_FOUND, _answer(status=500), "status 500 is a defect"),
        (NOT_FOUND, _answer(seconds=QUICK_S + 0.1), "answered after 1.10 s"),
        (NOT_FOUND, _answer(GOOD.replace('"id":7', '"id":8')), "the id is 8"),
        (NOT_FOUND, _answer(GOOD.replace('"id":7', '"id":"7"')), "the id is '7'"),
        (NOT_FOUND, _answer(GOOD.replace("Method not found", "KeyError: x")), "leaks 'KeyError'"),
        (NOT_FOUND, _answer(GOOD.replace("Method", "Traceback (most")), "leaks 'Traceback'"),
        (NOT_FOUND, _answer(GOOD.replace("Method", "/a/app.py")), "leaks '.py'"),
        (NOT_FOUND, _answer(GOOD[:-1]), "the body is no JSON"),
        (Expect(202), _answer(status=202), "an accepted notification has an answer"),
        (
            Expect(200, is_tool_error=True),
            _answer('{"jsonrpc":"2.0","id":7,"result":{}}'),
            "isError is False",
        ),
    ],
)
def test_the_checker_reports_a_wrong_expectation_or_answer(
    expect: Expect, answer: Answer, complaint: str
) -> None:
    assert any(found.startswith(complaint) for found in complaints(CASE, expect, answer))


def test_a_defect_in_the_log_is_found() -> None:
    quiet = '{"event": "ready", "level": "info"}\n{"event": "refused", "level": "warning"}\n'
    assert faults_logged(quiet) == []
    loud = '{"event": "Exception in ASGI application", "level": "error"}'
    assert faults_logged(quiet + loud + "\n") == [loud]


def test_a_wrong_expectation_is_reported_against_the_live_server(door: Door) -> None:
    wrong = Case("control", {"bare": Expect(200, -32602)}, message=request("no/such"))
    assert complaints(wrong, wrong.expect["bare"], send(wrong, "bare", door)) == [
        "code -32601 instead of -32602"
    ]
