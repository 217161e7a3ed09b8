"""Formats and sources of packs: what a module may bring, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packs.test_coded import install, run_with

CODEC = """
from sandbar.codecs import Parsed

class Loud:
    format = "loud"
    media_types = ("text/x-loud",)
    suffixes = (".loud",)
    is_bulk = False

    def supports(self, schema, class_):
        return True

    def parse(self, text, schema, class_, *, place=None):
        yield Parsed(class_="garden/Bed", slots={"db/doc": text.lower()})

    def emit(self, entities, schema, *, with_class=False):
        for entity in entities:
            yield entity["db/doc"].upper()

CODECS = (Loud(),)
"""

SOURCE = """
from sandbar.codecs import Parsed
from sandbar.projects import Item

class Beds:
    name = "beds"

    def recognises(self, folder):
        return folder.has("beds.txt")

    def items(self, folder, schema, codecs, *, only=None):
        for line in folder.read("beds.txt").decode().split():
            slots = {"db/ident": f"bed/{line}"}
            yield Item(path="beds.txt", parsed=Parsed(class_="garden/Bed", slots=slots))

SOURCES = (Beds(),)
"""

USE = """
import sandbar
from pathlib import Path

store.close()
with sandbar.open(sys.argv[1]) as house:
    answer["before"] = [one.format for one in house.call("codec.list").codecs]
    house.load_pack("garden")
    answer["formats"] = [one.format for one in house.call("codec.list").codecs]
    given = {"class": "garden/Bed", "format": "loud", "source": "SOUTH"}
    made = house.call("entity.create", given)
    answer["doc"] = house.get(made.entity_id)["db/doc"]
    answer["text"] = house.call("entity.find", entity=made.entity_id, format="loud").source
    folder = Path(sys.argv[1]).parent / "old"
    folder.mkdir()
    (folder / "beds.txt").write_text("east west")
    done = house.call("project.import", {"from": str(folder), "apply": True})
    answer["source"] = done.source
    answer["beds"] = sorted(one.ident or "" for one in house.query("garden/Bed").items)
# A workspace without the pack has nothing of it.
with sandbar.open(sys.argv[1], "other") as house:
    answer["elsewhere"] = [one.format for one in house.call("codec.list").codecs]
"""


def test_formats_and_sources_of_a_pack_are_used_where_it_is_loaded(tmp_path: Path) -> None:
    install(tmp_path, code=CODEC + SOURCE)
    base = ["markdown", "json", "jsonl", "csv"]
    assert run_with(tmp_path, USE) == {
        "before": base,
        "formats": [*base, "loud"],
        "doc": "south",
        "text": "SOUTH",
        "source": "beds",
        "beds": ["", "bed/east", "bed/north", "bed/west"],
        "elsewhere": base,
    }


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("CODECS = 5", "CODECS is a tuple"),
        ("CODECS = (1,)", "CODECS: int has no format"),
        (CODEC.replace("(Loud(),)", "(Loud,)").replace("def emit", "def omit"), "type has no emit"),
        (CODEC.replace("is_bulk = False", "is_bulk = None"), "Loud has no is_bulk"),
        (CODEC.replace('(".loud",)', '".loud"'), "Loud has no suffixes"),
        (CODEC.replace('"loud"', '"json"'), "CODECS: json is ours"),
        ("SOURCES = []", "SOURCES is a tuple"),
        (SOURCE.replace("def items", "def item"), "Beds has no items"),
        (SOURCE.replace('"beds"', '"project"'), "SOURCES: project is ours"),
    ],
)
def test_what_is_no_codec_or_source_is_named_and_nothing_is_written(
    tmp_path: Path, code: str, says: str
) -> None:
    install(tmp_path, code=code)
    answer = run_with(tmp_path, 'load_pack(workspace, "garden")')
    assert (answer["code"], answer["t"]) == ("pack.code-broken", 1)
    assert says in answer["message"]


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        (CODEC, CODEC, "packs field and garden both have a format loud"),
        (SOURCE, SOURCE, "packs field and garden both have a source beds"),
        (
            SOURCE.replace('"beds"', '"notes"'),
            "",
            "packs garden and memory both have a source notes",
        ),
    ],
)
def test_two_packs_of_a_workspace_have_no_name_in_common(
    tmp_path: Path, one: str, other: str, what: str
) -> None:
    install(tmp_path, code=one)
    install(tmp_path, "field", code=other)
    second = "field" if other else "memory"
    script = f'load_pack(workspace, "garden"); load_pack(workspace, "{second}")'
    answer = run_with(tmp_path, script)
    assert (answer["code"], answer["t"]) == ("pack.code-clash", 2)
    assert what in answer["message"]
