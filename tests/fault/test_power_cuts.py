"""The power goes at any moment: what was answered is there, and the rest is a sound beginning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Say
from tests.fault.powercut import Cuts
from tests.fault.zygote import Zygote


def cut(
    zygote: Zygote, folder: Path, seed: str, synchronous: str, *, commits: int = 250, cuts: int
) -> Cuts:
    """Run the simulation in a process of its own, because it replaces the file system."""
    out = folder / "result"
    child = zygote.fork(
        "tests.fault.powercut:run_cuts",
        folder=str(folder),
        seed=seed,
        commits=commits,
        cuts=cuts,
        synchronous=synchronous,
        out=str(out),
    )
    assert child.wait(600) == 0
    return Cuts(**json.loads(out.read_text()))


def figures(cuts: Cuts) -> str:
    """One line."""
    return (
        f"{cuts.cuts} cuts among {cuts.events} events, {cuts.answers} answers: {cuts.lost} lost, "
        f"{len(cuts.corrupt)} corrupt, {cuts.ahead} with an unanswered transaction kept"
    )


def test_a_power_cut_loses_no_answer(zygote: Zygote, tmp_path: Path, seed: str, say: Say) -> None:
    """The writer as it is, with synchronous=FULL."""
    cuts = cut(zygote, tmp_path, seed, "own", cuts=600)
    say(figures(cuts))
    assert cuts.lost == 0
    assert not cuts.corrupt, cuts.corrupt[:5]


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_without_the_sync_answers_are_lost(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say, synchronous: str
) -> None:
    """The negative controls: the loss that the writer's own setting prevents shows."""
    cuts = cut(zygote, tmp_path, seed, synchronous, cuts=100)
    say(figures(cuts))
    assert cuts.lost + len(cuts.corrupt) > cuts.cuts / 4


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ten_thousand_power_cuts(zygote: Zygote, tmp_path: Path, seed: str, say: Say) -> None:
    """The long run of the test programme (D2), over ten different loads."""
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        cuts = cut(zygote, folder, f"{seed}/{number}", "own", commits=600, cuts=1000)
        say(figures(cuts))
        assert cuts.lost == 0
        assert not cuts.corrupt, cuts.corrupt[:5]
