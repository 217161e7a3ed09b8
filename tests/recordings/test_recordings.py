"""What the program answers is what it answered when `base` was recorded, but for what is meant.

All of it: `python -m tests.recordings record DIR`, then `… compare tests/recordings/base DIR`.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.recordings.__main__ import BASE, MEANT
from tests.recordings.comparing import Meant, differences, load_meant, report
from tests.recordings.keeping import Recording, read, write
from tests.recordings.places import sqlite_place
from tests.recordings.plain import Plain
from tests.recordings.recorders import RECORDERS, recorded

EXAMPLES = "examples-bare-dotted"
KINDS = [
    "seeds",
    EXAMPLES,
    "examples-session-portable",
    "examples-envelope-portable",
    "mistakes",
]
pytestmark = pytest.mark.xdist_group("recordings")


@pytest.fixture(scope="module")
def base() -> Recording:
    """The recording that is kept."""
    return read(BASE)


def test_everything_that_can_be_recorded_is_kept(base: Recording) -> None:
    assert base.keys() >= RECORDERS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_are_those_of_the_recording(base: Recording, kind: str) -> None:
    with sqlite_place() as place:
        now = {kind: recorded(kind, place)}
    found = differences({kind: base[kind]}, now, load_meant(MEANT))
    assert not found, report(found)


# --- the comparison itself -----------------------------------------------------------------------


@pytest.fixture
def bare(base: Recording) -> Recording:
    """A part of the recording."""
    return {kind: base[kind] for kind in (EXAMPLES, "mistakes")}


def _changed(base: Recording, kind: str, name: str, old: str, new: str) -> Recording:
    """The recording with another word in one exchange."""
    (entry,) = [one for one in base[kind] if one["name"] == name]

    def spoilt(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spoilt(item) for key, item in value.items()}
        if isinstance(value, list):
            return [spoilt(item) for item in value]
        return value.replace(old, new) if isinstance(value, str) else value

    changed = [spoilt(one) if one is entry else one for one in base[kind]]
    assert changed != base[kind]
    return {**base, kind: changed}


def test_a_changed_answer_is_reported(bare: Recording) -> None:
    changed = _changed(bare, "mistakes", "entity.find: no entity", "argument.missing", "gone")
    (found,) = differences(bare, changed, [])
    assert (found.kind, found.name) == ("mistakes", "entity.find: no entity")
    assert "-" in found.diff
    assert '"gone"' in report([found])


def test_a_changed_header_status_or_row_of_the_audit_is_reported(bare: Recording) -> None:
    kind = EXAMPLES
    for old, new in (("x-request-id", "X-Request-Id"), ("200 OK", "200 Ok"), ("tools/call", "?")):
        changed = _changed(bare, kind, "entity.find 1", old, new)
        assert [one.name for one in differences(bare, changed, [])] == ["entity.find 1"]


def test_an_exchange_too_few_or_in_another_place_is_reported(bare: Recording) -> None:
    kind = EXAMPLES
    fewer = {**bare, kind: bare[kind][1:]}
    assert bare[kind][0]["name"] in [one.name for one in differences(bare, fewer, [])]
    swapped = {**bare, kind: [bare[kind][1], bare[kind][0], *bare[kind][2:]]}
    assert "another order" in report(differences(bare, swapped, []))


def test_what_is_meant_is_so_word_for_word(bare: Recording) -> None:
    kind, name = "mistakes", "entity.find: no entity"
    changed = _changed(bare, kind, name, "argument.missing", "gone")
    right = Meant(f"{kind}/{name}", '"argument.missing"', '"gone"', "a test")
    assert differences(bare, changed, [right]) == []
    for wrong in (
        Meant(f"{kind}/{name}", '"argument.missing"', '"went"', "another new text"),
        Meant(f"{kind}/{name}", '"argument.mislaid"', '"gone"', "another old text"),
        Meant(f"{kind}/entity.query*", '"argument.missing"', '"gone"', "another exchange"),
    ):
        assert len(differences(bare, changed, [wrong])) == 1
    more = _changed(changed, kind, name, "HTTP/1.1", "HTTP/1.0")
    assert len(differences(bare, more, [right])) == 1


def test_names_may_be_others_if_they_are_so_everywhere() -> None:
    old = {"k": [{"name": "a", "body": "<uuid-1> <uuid-2>"}, {"name": "b", "body": "<uuid-1>"}]}
    renamed = {"k": [{"name": "a", "body": "<uuid-8> <uuid-9>"}, {"name": "b", "body": "<uuid-8>"}]}
    assert differences(old, renamed, []) == []
    confused = deepcopy(renamed)
    confused["k"][1]["body"] = "<uuid-9>"
    assert [one.name for one in differences(old, confused, [])] == ["b"]


def test_a_recording_is_read_as_it_was_written(base: Recording, tmp_path: Path) -> None:
    write(base, tmp_path)
    assert read(tmp_path) == base
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in BASE.iterdir()
    }


def test_values_are_named_by_their_identity() -> None:
    plain = Plain(address="127.0.0.1:8080")
    one, two = (f"0193e1f0-9e1d-7cc3-9b5e-2f6a3c1d4e5{n}" for n in (1, 2))
    assert plain.value({"id": one, "of": [two, one]}) == {
        "id": "<uuid-1>",
        "of": ["<uuid-2>", "<uuid-1>"],
    }
    assert plain.text("http://127.0.0.1:8080/mcp") == "http://<address>/mcp"
    assert plain.text("2001-02-03T04:05:06Z") == "2001-02-03T04:05:06Z", "no time of ours"
    assert plain.value('{"t":7,"x":[1.0]}') == {"$json": {"t": 7, "x": [1.0]}}
