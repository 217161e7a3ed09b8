"""The official suites pass, and would not pass on a server without the fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.exceptions import EXPECTED_FAILURES
from tests.conformance.minimal import MinimalServer
from tests.conformance.proxy import SigningProxy
from tests.conformance.suites import SUITES, Outcome, Suite, objections, run_suite
from tests.live_server import LiveServer

pytestmark = pytest.mark.xdist_group("conformance")


Outcomes = dict[tuple[str, str], Future[Outcome]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """What every suite finds; two run at a time, the longest first, since they mostly wait."""
    folder = tmp_path_factory.mktemp("conformance")
    runs = {"fixtures": _on_fixtures, "minimal": _on_minimal, "stranger": _on_a_wrong_key}
    with ThreadPoolExecutor(2) as pool:
        yield {
            (kind, suite.name): pool.submit(run, suite, new_folder(folder / f"{kind}-{number}"))
            for kind, run in runs.items()
            for number, suite in reversed([*enumerate(SUITES)])
            if kind != "stranger" or number == 0
        }


def new_folder(path: Path) -> Path:
    path.mkdir()
    return path


def _on_fixtures(suite: Suite, folder: Path) -> Outcome:
    """With the fixtures of the suites as a pack; an error in the server's log raises."""
    with (
        LiveServer(folder / "live.db", packs=["everything"]) as live,
        SigningProxy(live.port, live.token) as proxy,
    ):
        return run_suite(suite, proxy.url, new_folder(folder / "found"))


def _on_a_wrong_key(suite: Suite, folder: Path) -> Outcome:
    with (
        LiveServer(folder / "live.db", packs=["everything"]) as live,
        SigningProxy(live.port, "nobody:nothing") as proxy,
    ):
        return run_suite(suite, proxy.url, new_folder(folder / "found"))


def _on_minimal(suite: Suite, folder: Path) -> Outcome:
    with MinimalServer() as minimal, SigningProxy(minimal.port, "nobody:nothing") as proxy:
        return run_suite(suite, proxy.url, folder)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_the_suite_passes(
    suite: Suite, outcomes: Outcomes, record_property: Callable[[str, object], None]
) -> None:
    outcome = outcomes["fixtures", suite.name].result()
    record_property("figure", outcome.figure())
    found = objections(outcome, suite, EXPECTED_FAILURES)
    assert not found, "\n".join([*found, outcome.output[-3000:]])


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_server_without_the_fixtures_fails(suite: Suite, outcomes: Outcomes) -> None:
    outcome = outcomes["minimal", suite.name].result()
    assert "tools-call-simple-text" in outcome.failed
    assert any(one.startswith("resources-read-text: ") for one in objections(outcome, suite, {}))
    assert not any(one.startswith("tools-list: ") for one in objections(outcome, suite, {}))


def test_a_key_is_asked_for(outcomes: Outcomes) -> None:
    outcome = outcomes["stranger", SUITES[0].name].result()
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
