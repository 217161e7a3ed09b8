"""The file of the official server-memory: every line can be written again from the workspace."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import sandbar
from tests.memory.importing import imported, last_t
from tests.memory.npm_server import MemoryServer

LINE = "server-memory/line"
HOSTILE = [
    "plain",
    "Plain",
    "two words",
    "  spaces around  ",
    "quote\" back\\slash 'apostrophe'",
    "line\nbreak\r\nand tab\t",
    "\u2028 and \u2029",
    "NUL \x00 inside",
    "bell \x07 and escape \x1b[31m",
    "half \ud83d of a pair",
    "🎉 emoji 👩‍💻",
    "ünïcödé 日本語 עברית",
    "Cafe\u0301",
    "Café",
    "{{argument}} [[link]] #tag --- \n---\nname: x\n---",
    "mm/foo",
    ":dt/Class",
    "null",
    "",
    "0",
    "x" * 300,
    "zero\u200bwidth",
]


def written_again(db: sandbar.Database) -> list[Any]:
    """The lines that the workspace holds, as JSON values, in the order of the entities."""
    names = {one.ident: one["memory/name"] for one in db.each("mm/Memory")}
    found = [*db.each("mm/Memory"), *db.each("mm/Relation")]
    return [_line(one, names) for one in sorted(found, key=lambda one: one.entity_id)]


def _line(one: Any, names: dict[str | None, str]) -> Any:
    is_memory = one.class_ == "mm/Memory"
    more = one.get("memory/extra" if is_memory else "relation/extra", {})
    if LINE in more:
        return json.loads(more[LINE])
    if is_memory:
        said = {
            "type": "entity",
            "name": one["memory/name"],
            "entityType": one["memory/entity-type"],
            "observations": one.get("memory/observations", []),
        }
    else:
        said = {"type": "relation", "relationType": one["relation/type"]}
        for end in ("from", "to"):
            known = one.get(f"relation/{end}")
            said[end] = one[f"relation/{end}-name"] if known is None else names[known]
    return {**said, **more}


def lines_of(file: Path) -> list[Any]:
    """The lines of a file, as JSON values."""
    return [json.loads(line) for line in file.read_bytes().split(b"\n") if line.strip()]


def by_text(lines: list[Any]) -> list[str]:
    """Lines as texts that can be sorted and compared to the letter."""
    return sorted(json.dumps(line, sort_keys=True) for line in lines)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that the real server has written."""
    file = tmp_path_factory.mktemp("npm") / "memory.jsonl"
    with MemoryServer(file) as server:
        entities = [
            {"name": name, "entityType": HOSTILE[-number], "observations": HOSTILE[:number]}
            for number, name in enumerate(HOSTILE)
        ]
        entities.append(
            {"name": "twice", "entityType": "Decision", "observations": ["a", "b", "a"]}
        )
        server.call("create_entities", entities=entities)
        server.call("create_entities", entities=[entities[0]])  # it is there: no second one
        # In one call the server does not look for doubles.
        double = {"name": "double", "entityType": "person", "observations": ["one"]}
        server.call("create_entities", entities=[double, {**double, "observations": []}])
        more = [{"entityName": "plain", "contents": [*HOSTILE, "again", "again"]}]
        server.call("add_observations", observations=more)
        chance = random.Random(7)
        relations = [
            {"from": start, "to": chance.choice(HOSTILE), "relationType": chance.choice(HOSTILE)}
            for start in HOSTILE
        ]
        relations += [
            {"from": "plain", "to": "two words", "relationType": "part_of"},
            {"from": "plain", "to": "two words", "relationType": "supersedes"},
            {"from": "plain", "to": "plain", "relationType": "cites"},
            {"from": "double", "to": "nobody", "relationType": "knows"},
            {"from": "nobody", "to": "nowhere", "relationType": "RELATED"},
            {"from": "ghost", "to": "plain", "relationType": "cites"},
        ]
        server.call("create_relations", relations=relations)
        server.call("create_relations", relations=[relations[0], *[relations[-1]] * 2])
        server.call(
            "delete_observations", deletions=[{"entityName": "plain", "observations": ["0"]}]
        )
        server.call("delete_entities", entityNames=["Café"])
        graph = server.call("read_graph")
    lines = lines_of(file)
    assert len(lines) == len(graph["entities"]) + len(graph["relations"]) > 40
    return file


def test_the_file_of_the_real_server_comes_back_line_by_line(
    memory: sandbar.Database, made: Path
) -> None:
    report = imported(memory, made)
    assert (report.source, report.reconciled) == ("server-memory", True)
    assert report.counts == {"create": len(lines_of(made))}
    again = written_again(memory)
    assert by_text(again) == by_text(lines_of(made))
    assert again == lines_of(made), "also in their order"
    kept_whole = [
        one
        for one in [*memory.each("mm/Memory"), *memory.each("mm/Relation")]
        if LINE in (one.get("memory/extra") or one.get("relation/extra") or {})
    ]
    assert 0 < len(kept_whole) < len(lines_of(made)) / 2, "most lines fit into slots"


def test_a_lost_or_changed_line_is_noticed(memory: sandbar.Database, made: Path) -> None:
    """The negative control of the test before."""
    imported(memory, made)
    expected = by_text(lines_of(made))
    memory.update("mm/two-words", {"memory/observations": None})
    assert by_text(written_again(memory)) != expected
    memory.restore("mm/two-words", to=last_t(memory) - 1)
    assert by_text(written_again(memory)) == expected
    (one, *_) = memory.query("mm/Relation", {"relation/type": "part_of"}).items
    memory.delete(one.entity_id)
    assert by_text(written_again(memory)) != expected


def test_it_can_be_searched_queried_and_followed(memory: sandbar.Database, made: Path) -> None:
    imported(memory, made)
    plain = memory.get("mm/plain")
    assert plain["memory/name"] == "plain"
    assert plain["memory/part-of"] == ["mm/two-words"]
    assert plain["memory/supersedes"] == ["mm/two-words"]
    assert memory.get("mm/two-words")["memory/superseded-by"] == ["mm/plain"]
    assert "memory/cites" not in plain.slots, "a memory does not cite itself"
    assert memory.get("mm/twice")["memory/type"] == "decision"
    hits = memory.search("apostrophe", class_="mm/Memory").items
    assert len(hits) > 3, "observations are text"
    (knows,) = memory.query("mm/Relation", {"relation/type": "knows"}).items
    assert (knows["relation/from"], knows["relation/to-name"]) == ("mm/double", "nobody")


def test_a_second_import_changes_nothing_and_a_grown_file_adds_what_is_new(
    memory: sandbar.Database, made: Path, tmp_path: Path
) -> None:
    imported(memory, made)
    before = last_t(memory)
    assert set(imported(memory, made).counts) == {"unchanged"}
    assert last_t(memory) == before
    file = tmp_path / "memory.jsonl"
    file.write_bytes(made.read_bytes())
    with MemoryServer(file) as server:
        new = {"name": "new", "entityType": "idea", "observations": ["fresh"]}
        server.call("create_entities", entities=[new])
        server.call("add_observations", observations=[{"entityName": "twice", "contents": ["c"]}])
    report = imported(memory, file)
    assert {k: v for k, v in report.counts.items() if k != "unchanged"} == {
        "create": 1,
        "change": 1,
    }
    assert by_text(written_again(memory)) == by_text(lines_of(file))


def _written(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


ENTITY = '{"type":"entity","name":"A","entityType":"t","observations":[]}'


def test_blank_lines_unknown_keys_and_doubles_by_hand(
    memory: sandbar.Database, tmp_path: Path
) -> None:
    file = _written(
        tmp_path,
        "",
        ENTITY,
        "   ",
        '{"observations":["x"],"name":"A","entityType":"t","type":"entity"}',
        '{"type":"entity","name":"B","entityType":"t","observations":[],"createdAt":"2025-01-01",'
        '"score":1.5,"deep":{"a":[1,null,true]}}',
        '{"type":"entity","name":"C","entityType":"t","observations":[],"huge":1e400}',
        '{"type":"entity","name":"D","entityType":"t","observations":[],"big":123456789012345678901}',
        '{"type":"entity","name":"E","entityType":"t","observations":[],"nul":"\\u0000"}',
        f'{{"type":"entity","name":"F","entityType":"t","observations":[],"{LINE}":"mine"}}',
        '{"type":"relation","from":"A","to":"B","relationType":"r","weight":0.5}',
        '{"type":"relation","from":"A","to":"B","relationType":"r"}',
        '{"type":"relation","from":"A","to":"B","relationType":"r"}',
        '{"type":"relation","from":"B","to":"A","relationType":"r","from":"A"}',
        "",
    )
    report = imported(memory, file)
    assert report.counts == {"create": 11}
    found = written_again(memory)
    assert by_text(found) == by_text(lines_of(file))
    assert memory.get("mm/b")["memory/extra"]["score"] == 1.5
    (twice,) = [one for one in memory.each("mm/Relation") if LINE in one.get("relation/extra", {})]
    assert twice["relation/extra"][LINE].count('"from"') == 2, "the line itself is kept"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "no JSON"),
        ("[1]", "neither an entity nor a relation"),
        ('{"type":"thing"}', "neither an entity nor a relation"),
        ('{"type":["entity"]}', "neither an entity nor a relation"),
        ('{"type":"entity","name":"X","entityType":"t"}', "observations"),
        ('{"type":"entity","name":5,"entityType":"t","observations":[]}', "$.name"),
        ('{"type":"entity","name":"X","entityType":"t","observations":[1]}', "$.observations"),
        ('{"type":"relation","from":"A","to":null,"relationType":"r"}', "$.to"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_malformed_line_is_named_and_the_rest_goes_on(
    memory: sandbar.Database, tmp_path: Path, line: str, said: str
) -> None:
    report = imported(memory, _written(tmp_path, ENTITY, line, ENTITY.replace("A", "B")))
    assert report.counts == {"create": 2, "refused": 1}
    (finding,) = report.findings
    assert (finding.code, finding.line) == ("server-memory.malformed", 2)
    assert said in finding.message


def test_bytes_that_are_no_text_are_named(memory: sandbar.Database, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_bytes(ENTITY.encode() + b'\n{"type":"entity","name":"\xff"}\n')
    report = imported(memory, file)
    assert report.counts == {"create": 1, "refused": 1}
    assert report.findings[0].line == 2


def test_it_is_recognised_alone_and_in_its_folder(memory: sandbar.Database, tmp_path: Path) -> None:
    file = _written(tmp_path, ENTITY)
    assert imported(memory, file, is_dry=True).source == "server-memory"
    assert imported(memory, tmp_path, is_dry=True).source == "server-memory"
    file.write_text('{"_class": "mm/Memory", "name": "X"}\n', encoding="utf-8")
    assert imported(memory, file, is_dry=True).source == "files"
    with pytest.raises(sandbar.Problem) as caught:
        imported(memory, tmp_path.parent, "server-memory")
    assert caught.value.code == "server-memory.no-file"
