"""The key that a newcomer is told to make for an agent is a writer's, not the owner's."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import sandbar
from sandbar.access import Houses, sign_in
from sandbar.errors import Forbidden
from tests.cli.program import run_well_here

ROOT = Path(__file__).parents[2]
MINTING = re.compile(r"^sandbar (key mint --name claude\b[^#\n]*)", re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/connect.md"])
def test_the_agent_of_the_quick_start_is_a_writer(page: str, tmp_path: Path) -> None:
    [command] = MINTING.findall((ROOT / page).read_text())
    said = run_well_here(*shlex.split(command), cwd=tmp_path)
    token = re.search(r"sk-sand-[0-9a-f]{64}", said)
    assert token is not None
    with sandbar.open(tmp_path / "sandbar.db") as db:
        db.load_pack("zorp")
        houses = Houses(lambda name: db.in_workspace(name).workspace, db.workspace_name)
        agent = sign_in(houses, token[0])
        assert agent.role == "writer"
        boot = {"entity": "product/mud-lord"}
        purge = boot | {"confirm": "product/mud-lord"}
        with pytest.raises(Forbidden) as refused:
            db.call_as(agent, "entity.purge", purge)
        assert refused.value.code == "verb.forbidden"
        # What it is for works.
        db.call_as(agent, "entity.update", boot | {"attributes": {"footwear/color": "pink"}})
        db.call_as(agent, "schema.define", {"classes": {"mine/Thing": {}}})
        start = {"workflow": "order/fulfillment", "subject": "product/mud-lord"}
        begun = db.call_as(agent, "workflow.start-process", start | {"data": {"quantity": 1}})
        seen = db.call_as(agent, "workflow.process-state", {"process": begun.process_id})
        assert seen.process_id == begun.process_id
