"""Every single operation of the disk may fail: no false answer, no half write, no lasting harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Say
from tests.fault.io_errors import Failures
from tests.fault.zygote import Zygote


def fail_everywhere(
    zygote: Zygote, folder: Path, seed: str, *, lasting: bool, step: int, breakage: str = "none"
) -> Failures:
    """Let one operation after another fail, in a process of its own."""
    out = folder / "result"
    child = zygote.fork(
        "tests.fault.io_errors:run_failures",
        folder=str(folder),
        seed=seed,
        lasting=lasting,
        step=step,
        out=str(out),
        breakage=breakage,
    )
    assert child.wait(600) == 0
    return Failures(**json.loads(out.read_text()))


def assert_no_harm(result: Failures, say: Say) -> None:
    """Every answer was true, and service resumed."""
    say(
        f"{result.runs} failures: {result.answered} answered, {result.refused} refused "
        f"({', '.join(result.codes)}), {len(result.wrong)} wrong"
    )
    assert not result.wrong, result.wrong[:5]
    assert not result.stuck, result.stuck[:5]
    assert result.runs > 10


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "until-mended"])
def test_a_failing_disk(zygote: Zygote, tmp_path: Path, seed: str, say: Say, lasting: bool) -> None:
    """Some of the operations in turn."""
    assert_no_harm(fail_everywhere(zygote, tmp_path, seed, lasting=lasting, step=7), say)


def test_answers_before_the_commit_are_caught(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say
) -> None:
    """The negative control: whoever answers first cannot take it back when the commit fails."""
    early = "answer-before-commit"
    result = fail_everywhere(zygote, tmp_path, seed, lasting=True, step=60, breakage=early)
    say(f"{len(result.wrong)} of {result.runs} runs were caught")
    assert result.wrong


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "until-mended"])
def test_a_failing_disk_at_every_operation(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say, lasting: bool
) -> None:
    """All of them."""
    assert_no_harm(fail_everywhere(zygote, tmp_path, seed, lasting=lasting, step=1), say)
