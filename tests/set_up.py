"""Steps of the set-up that have failed: told once, with the cause, and not by each who needs them.

The first test that needs what is missing fails with the cause. All others that need it are *left
out*: the closing line counts them, and the run has failed by the first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.outcomes import Failed

LEFT_OUT = "left out"
PLACE = "SANDBAR_TESTS_POSTGRES_DIRECTORY"  # the folder that all processes of a run share
_REASON = (
    "sandbar_left_out"  # the attribute of a report; it passes from the workers to the controller
)


class SetUpFailed(Failed):
    """What the tests need is not there, and could not be put there.

    An outcome, as pytest has others, and no `Exception`: a test that expects one must not take it.
    """

    def __init__(self, step: str, cause: str) -> None:
        super().__init__(f"the set-up of {step} has failed: {cause}")
        self.step = step


def failed_step(error: BaseException | None) -> SetUpFailed | None:
    """The failure of a step that an error comes from."""
    while error is not None:
        if isinstance(error, SetUpFailed):
            return error
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shorten the report of the first to its cause, and turn the others' into those left out."""
    report = yield
    failure = failed_step(None if call.excinfo is None else call.excinfo.value)
    if failure is None or report.outcome != "failed":
        return report
    if _is_first(failure.step):
        report.longrepr = (
            f"{failure}\nAll other tests that need {failure.step} are left out of this run."
        )
    else:
        report.outcome = "skipped"
        report.longrepr = (str(report.location[0]), report.location[1] or 0, str(failure))
        setattr(report, _REASON, failure.step)
    return report


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Count those that were left out apart."""
    return (LEFT_OUT, "-", LEFT_OUT.upper()) if hasattr(report, _REASON) else None


def _is_first(step: str) -> bool:
    """Whether nobody has told of it, in any process of the run."""
    stamp = Path(os.environ[PLACE]) / f"told-{re.sub('[^a-z]+', '-', step.lower())}"
    try:
        os.close(os.open(stamp, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True
