"""An activity that kills its server, again and again: the process fails, and no other does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import sandbar
from sandbar.workflow import ProcessView
from sandbar.workflow.driving import CRASHES_MAX
from tests.conftest import Say
from tests.fault.workflow_crasher import FATAL, INNOCENT, PRINCIPAL, serve
from tests.fault.zygote import Zygote

LEASE_S = 0.5
SERVERS_MAX = 2 * CRASHES_MAX


class Story(NamedTuple):
    """How it went."""

    lost: int
    fatal: ProcessView
    innocent: ProcessView

    def __str__(self) -> str:
        codes = [(view.error or {}).get("code") for view in (self.fatal, self.innocent)]
        return (
            f"{self.lost} servers lost; the one to blame ends in {self.fatal.state} ({codes[0]}), "
            f"the one beside it in {self.innocent.state}"
        )


def crashed(zygote: Zygote, target: str, breakage: str = "none") -> Story:
    """Begin one server after the other, as whoever supervises them does, until all is done."""
    with sandbar.open(target) as db:
        ids = []
        for spec in (FATAL, INNOCENT):
            db.workflows.define(spec, principal=PRINCIPAL)
            ids.append(db.workflows.start(spec["name"], principal=PRINCIPAL).process_id)
        lost = 0
        job = f"{serve.__module__}:{serve.__name__}"
        while zygote.fork(job, target=target, lease_s=LEASE_S, breakage=breakage).wait() != 0:
            lost += 1
            assert lost <= SERVERS_MAX, "it goes on for ever"
        fatal, innocent = (db.workflows.view(id) for id in ids)
        return Story(lost, fatal, innocent)


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_what_kills_its_servers_fails_after_a_few(
    request: pytest.FixtureRequest, zygote: Zygote, tmp_path: Path, say: Say, store: str
) -> None:
    """And what ran beside it at first comes to its end."""
    target = str(tmp_path / "crashes.db")
    if store == "postgres":
        target = request.getfixturevalue("postgres_app")
    story = crashed(zygote, target)
    say(str(story))
    assert story.lost == CRASHES_MAX
    assert story.fatal.state == "c/failed"
    assert (story.fatal.error or {})["code"] == "activity.crashes"
    assert (story.innocent.state, story.innocent.error) == ("c/done", None)


def test_suspects_that_run_together_are_all_blamed(
    zygote: Zygote, tmp_path: Path, say: Say
) -> None:
    """The negative control: it is by being alone that the innocent one is told from the other."""
    story = crashed(zygote, str(tmp_path / "together.db"), "suspects-together")
    say(f"caught: {story}")
    assert {story.fatal.state, story.innocent.state} == {"c/failed"}
