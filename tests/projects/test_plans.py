"""What the plan of an import says, and that it does nothing else."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from sandbar.model import Create
from sandbar.projects.foresight import Foresight
from sandbar.projects.passes import Passes
from sandbar.projects.tally import Tally
from tests.projects.conftest import Place, codes, note


def test_a_definition_that_existing_entities_break_is_refused_in_the_plan_too(
    either_notes: Place, tmp_path: Path
) -> None:
    place = either_notes
    place.db.create("note/Note", {"db/ident": "n/old", "note/name": "Old"})
    place.export(tmp_path)
    file = tmp_path / "dt/Property/note/body.json"
    file.write_text(file.read_text().replace("{", '{"dt/required?": true,', 1))
    other = tmp_path / "dt/Property/note/mood.json"
    other.write_text(other.read_text().replace('"calm"', '"glad"', 1))
    note(tmp_path, "new")
    refused, t = (file.relative_to(tmp_path).as_posix(), "schema.would-break"), place.db.t
    planned = place.plan(tmp_path)
    assert (codes(planned), place.db.t) == ([refused], t)
    assert planned.counts == {"unchanged": 5, "change": 1, "refused": 1, "create": 1}
    at_once = place.apply(tmp_path, mode="atomic")
    assert (codes(at_once), place.db.t) == ([refused], t)
    applied = place.apply(tmp_path)
    assert (codes(applied), applied.counts) == (codes(planned), planned.counts)
    assert "required" not in place.db.schema.describe_property("note/body")


def test_a_plan_keeps_no_writer_waiting(either_notes: Place, tmp_path: Path) -> None:
    """Nor does it wait for one: it is made while another write holds the workspace."""
    place = either_notes
    place.export(tmp_path)
    file = tmp_path / "dt/Property/note/mood.json"
    file.write_text(file.read_text().replace('"calm"', '"glad"', 1))
    note(tmp_path, "a")
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        place.db.create("note/Note", {"note/name": "meanwhile"})
        is_held.set()
        assert may_go.wait(30)

    holding = threading.Thread(target=lambda: place.db.run(hold))
    holding.start()
    try:
        assert is_held.wait(30)
        assert place.plan(tmp_path).counts["change"] == 1
    finally:
        may_go.set()
        holding.join()


def test_a_plan_follows_what_is_written_meanwhile(notes: Place, tmp_path: Path) -> None:
    """What was refused is looked at again if the workspace is another by now."""
    note(tmp_path, "a", "cites: [n/b]\n")
    note(tmp_path, "b")
    plan, has_begun = Passes.try_out, []

    def overtaken(passes: Passes, foresight: Foresight) -> None:
        foresight.make(Tally())
        foresight.try_out([Create(class_="note/Note", slots={"note/name": "x"})])
        notes.db.create("note/Note", {"db/ident": "n/c", "note/name": "C"})
        cites = {"note/name": "x", "note/cites": ["n/c"]}
        foresight.try_out([Create(class_="note/Note", slots=cites)])
        has_begun.append(True)
        plan(passes, foresight)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Passes, "try_out", overtaken)
        assert notes.plan(tmp_path).counts == {"create": 2}
    assert has_begun
