"""The official suites pass, and would not pass on a server without the fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.exceptions import EXPECTED_FAILURES
from tests.conformance.minimal import MinimalServer
from tests.conformance.proxy import SigningProxy
from tests.conformance.suites import SUITES, Outcome, Suite, objections, run_suite
from tests.live_server import LiveServer

pytestmark = pytest.mark.xdist_group("conformance")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with the fixtures of the suites as a pack."""
    path = tmp_path_factory.mktemp("conformance") / "live.db"
    with LiveServer(path, packs=["everything"]) as server:
        yield server


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_the_suite_passes(
    suite: Suite,
    live: LiveServer,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    with SigningProxy(live.port, live.token) as proxy:
        outcome = run_suite(suite, proxy.url, tmp_path)
    record_property("figure", outcome.figure())
    found = objections(outcome, suite, EXPECTED_FAILURES)
    assert not found, "\n".join([*found, outcome.output[-3000:]])
    live.check_log()


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_server_without_the_fixtures_fails(suite: Suite, tmp_path: Path) -> None:
    with MinimalServer() as minimal, SigningProxy(minimal.port, "nobody:nothing") as proxy:
        outcome = run_suite(suite, proxy.url, tmp_path)
    assert "tools-call-simple-text" in outcome.failed
    assert any(one.startswith("resources-read-text: ") for one in objections(outcome, suite, {}))
    assert not any(one.startswith("tools-list: ") for one in objections(outcome, suite, {}))


def test_a_key_is_asked_for(live: LiveServer, tmp_path: Path) -> None:
    with SigningProxy(live.port, "nobody:nothing") as proxy:
        outcome = run_suite(SUITES[0], proxy.url, tmp_path)
    assert len(outcome.failed) > SUITES[0].scenarios / 2


def _outcome(**statuses: str) -> Outcome:
    checks = {name: [_check(status)] for name, status in statuses.items()}
    return Outcome(checks, "")


def _check(status: str) -> dict[str, str]:
    return {"id": "check", "description": "what is checked", "status": status}


_TWO = Suite("two", "none", (), 2)


def test_a_run_as_expected_meets_no_objection() -> None:
    outcome = _outcome(ping="SUCCESS", tasks="FAILURE")
    assert objections(outcome, _TWO, {"tasks": "not yet", "other": "in another suite"}) == []
    assert outcome.figure() == "2 scenarios, 1 failing, 1 success, 1 failure"


@pytest.mark.parametrize(
    ("outcome", "objection"),
    [
        (_outcome(ping="FAILURE", tasks="FAILURE"), "ping: check: what is checked"),
        (_outcome(ping="SUCCESS", tasks="SUCCESS"), "tasks: passes, yet is expected to fail"),
        (_outcome(tasks="FAILURE"), "1 scenarios were run instead of 2"),
        (_outcome(ping="INFO", tasks="FAILURE"), "ping: checked nothing"),
    ],
    ids=["failed", "passed unexpectedly", "left out", "checked nothing"],
)
def test_whatever_is_not_as_expected_is_told(outcome: Outcome, objection: str) -> None:
    (found,) = objections(outcome, _TWO, {"tasks": "not yet"})
    assert found.startswith(objection)
