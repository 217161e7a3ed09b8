"""What is imported, what is refused and why, and that the rest goes on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from sandbar.access import install_access
from sandbar.errors import Problem
from sandbar.model import Create, Update
from sandbar.projects.names import Names
from tests.projects.conftest import NOTE, NewPlace, Place, codes, note, write

# --- what is wrong with files --------------------------------------------------------------------


def test_a_malformed_file_is_named_with_line_and_key_and_the_rest_goes_on(
    notes: Place, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    note(folder, "good")
    note(folder, "bad", "mood: fine\ncolour: red\n")
    (folder / "note/Note/bytes.md").write_bytes(b"---\nname: x\n---\n\xff")
    planned = notes.plan(folder)
    applied = notes.apply(folder)
    assert applied.counts == planned.counts == {"create": 1, "refused": 2}
    assert applied.findings == planned.findings
    assert applied.reconciled
    bad, other = applied.findings
    assert (bad.path, bad.line, bad.key) == ("note/Note/bad.md", 4, "colour")
    assert "colour" in bad.message
    assert bad.hint
    assert (other.path, other.line, other.code) == ("note/Note/bytes.md", 4, "project.encoding")
    assert notes.db.get("n/good").class_ == "note/Note"


def test_what_the_model_refuses_has_its_line_too(either_notes: Place, tmp_path: Path) -> None:
    either_notes.db.define(properties={"note/mood": {"dt/max": 5}})
    note(tmp_path, "good")
    note(tmp_path, "bad", "mood: much too long\n")
    note(tmp_path, "tail")
    for result in (either_notes.plan(tmp_path), either_notes.apply(tmp_path)):
        assert result.counts == {"create": 2, "refused": 1}
        [found] = result.findings
        assert (found.path, found.line) == ("note/Note/bad.md", 3)


def test_of_a_thousand_files_only_the_guilty_are_refused(notes: Place, tmp_path: Path) -> None:
    notes.db.define(classes={"note/Note": {"dt/validator": "this['note/name'] != 'evil'"}})
    for n in range(700):
        write(tmp_path, f"note/Note/{n:03}.md", f"---\nident: n/{n}\nname: good\n---\n")
    for n in (3, 399, 400, 401, 650):
        write(tmp_path, f"note/Note/{n:03}.md", f"---\nident: n/{n}\nname: evil\n---\n")
    assert notes.plan(tmp_path).counts == {"create": 695, "refused": 5}
    applied = notes.apply(tmp_path)
    assert applied.counts == {"create": 695, "refused": 5}
    assert {str(one.path)[-6:-3] for one in applied.findings} == {"003", "399", "400", "401", "650"}


def test_the_list_of_findings_has_an_end_and_the_count_is_exact(
    notes: Place, tmp_path: Path
) -> None:
    for n in range(1_200):
        write(tmp_path, f"note/Note/{n}.md", "---\nnothing: known\n---\n")
    told: list[str] = []
    applied = notes.apply(tmp_path, each=lambda planned: told.append(planned.path))
    assert applied.counts == {"refused": 1_200}
    assert len(applied.findings) == len(applied.entries) == 1_000
    assert applied.findings_count >= 1_200
    assert len(told) == 1_200


def test_two_files_about_the_same_entity(notes: Place, tmp_path: Path) -> None:
    write(tmp_path, "note/Note/a/Foo.md", "---\nname: Foo\nident: n/foo\n---\nfirst\n")
    write(tmp_path, "note/Note/b/Foo.md", "---\nname: Foo\nident: n/foo\n---\nsecond\n")
    for _ in range(2):
        assert codes(notes.apply(tmp_path)) == [("note/Note/b/Foo.md", "project.twice")]
    assert notes.db.get("n/foo")["note/body"] == "first\n"


def test_an_entity_that_nothing_tells_from_others_is_refused(notes: Place, tmp_path: Path) -> None:
    notes.db.define(
        properties={"row/code": {"dt/range": "db.type/string", "db/unique": "identity"}},
        classes={"row/Row": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["row/code", "db/doc"]}},
    )
    file = write(tmp_path, "rows.csv", "code,doc\na,one\n,two\nb,three\n")
    first = notes.apply(file, class_="row/Row")
    assert first.counts == {"create": 2, "refused": 1}
    assert (first.findings[0].code, first.findings[0].line) == ("project.nameless", 3)
    t = notes.db.t
    assert notes.apply(file, class_="row/Row").counts == {"refused": 1, "unchanged": 2}
    assert notes.db.t == t
    file.write_text("code,doc\na,changed\n")
    assert notes.apply(file, class_="row/Row").counts == {"change": 1}
    file.write_text("code\na\n")  # a column that is not there says nothing
    assert notes.apply(file, class_="row/Row").counts == {"unchanged": 1}
    file.write_text("code,doc\na,\n")  # an empty cell says that there is no value
    assert notes.apply(file, class_="row/Row").counts == {"change": 1}
    assert notes.db.get({"row/code": "a"}).get("db/doc") is None


def test_the_class_of_an_entity_never_changes(notes: Place, tmp_path: Path) -> None:
    notes.db.define(classes={"note/Other": {"dt/subclass-of": ["note/Note"]}})
    notes.db.create("note/Other", {"db/ident": "n/x", "note/name": "X"})
    note(tmp_path, "X")
    assert codes(notes.apply(tmp_path)) == [("note/Note/X.md", "project.other-class")]


def test_a_number_that_is_somebody_elses_is_refused(new_place: NewPlace, tmp_path: Path) -> None:
    place = new_place()
    place.db.define(classes={"a/A": {"dt/subclass-of": ["dt/Ref"]}, "a/B": {}})
    other = place.db.create("a/A", {"db/ident": "x/named"}).entity_id
    gone = place.db.create("a/A", {}).entity_id
    place.db.delete(gone)
    for number in (other, gone, 5, 2**45):
        body = {"_class": "a/A", "_id": number}
        write(tmp_path, f"a/A/{number}.json", json.dumps(body))
    write(tmp_path, "a/A/7000.json", '{"_class": "a/A", "_id": 7000}')
    applied = place.apply(tmp_path)
    assert applied.counts == {"create": 1, "refused": 4}
    found = dict(codes(applied))
    assert found[f"a/A/{other}.json"] == "project.number-taken"
    assert found[f"a/A/{gone}.json"] == "entity.id-taken"
    assert found[f"a/A/{2**45}.json"] == "entity.id-range"
    assert place.db.get(7000).class_ == "a/A"
    assert place.db.create("a/A", {}).entity_id > 7000


# --- references ----------------------------------------------------------------------------------


def test_references_forwards_backwards_and_in_circles(either_notes: Place, tmp_path: Path) -> None:
    count = 700  # more than are written at once
    for n in range(count):
        cites = f"cites: [n/{count - 1 - n:04}, n/{(n + 7) % count:04}]\n"
        note(tmp_path, f"{n:04}", cites + f"about: n/{(n * 31) % count:04}\n")
    applied = either_notes.apply(tmp_path)
    assert (applied.counts, applied.findings) == ({"create": count}, [])
    for n in (0, 1, 600, count - 1):
        found = either_notes.db.get(f"n/{n:04}")
        assert found["note/cites"] == [f"n/{count - 1 - n:04}", f"n/{(n + 7) % count:04}"]
        assert found["note/about"] == f"n/{(n * 31) % count:04}"
    t = either_notes.db.t
    assert either_notes.apply(tmp_path).counts == {"unchanged": count}
    assert either_notes.db.t == t


@pytest.mark.parametrize("step", [1, -1], ids=["forwards", "backwards"])
def test_a_chain_in_which_each_needs_the_next(place: Place, tmp_path: Path, step: int) -> None:
    count = 700  # more than are written at once
    place.db.define(
        properties={"c/next": {"dt/range": "c/Link", "dt/required?": True}},
        classes={"c/Link": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["c/next"]}},
    )
    for n in range(count):
        following = min(max(n + step, 0), count - 1)
        body = {"_class": "c/Link", "db/ident": f"c/{n}", "c/next": f"c/{following}"}
        write(tmp_path, f"{n:04}.json", json.dumps(body))
    applied = place.apply(tmp_path)
    assert (applied.counts, applied.findings) == ({"create": count}, [])


def test_what_stays_dangling_is_refused_by_name(notes: Place, tmp_path: Path) -> None:
    note(tmp_path, "a", "cites: [n/nowhere, n/b]\n")
    note(tmp_path, "b")
    for result in (notes.plan(tmp_path), notes.apply(tmp_path)):
        assert result.counts == {"create": 1, "refused": 1}
        [found] = result.findings
        assert (found.path, found.line, found.key) == ("note/Note/a.md", 3, "note/cites")
        assert "n/nowhere" in found.message


def test_what_refers_to_something_refused_later_is_told(
    either_notes: Place, tmp_path: Path
) -> None:
    either_notes.db.define(classes={"note/Note": {"dt/validator": "this['note/name'] != 'z'"}})
    for n in range(600):
        note(tmp_path, f"{n:03}")
    note(tmp_path, "000", "cites: [n/z]\n")
    note(tmp_path, "z")
    applied = either_notes.apply(tmp_path)
    assert applied.counts == {"create": 599, "refused": 2}
    assert applied.reconciled
    assert [found.path for found in applied.findings] == ["note/Note/z.md", "note/Note/000.md"]
    assert "n/z" in applied.findings[1].message


# --- all at once ---------------------------------------------------------------------------------


def test_all_at_once_leaves_nothing_behind_on_a_refusal(either: Place, tmp_path: Path) -> None:
    write(tmp_path, "dt/Class/a/A.json", '{"dt/subclass-of": ["dt/Ref"], "db/ident": "a/A"}')
    write(tmp_path, "a/A/x/1.json", '{"db/ident": "x/1"}')
    write(tmp_path, "a/A/9000.json", '{"_class": "a/A", "_id": 9000}')
    bad = write(tmp_path, "a/A/x/2.json", '{"db/ident": "x/2", "db/doc": 7}')
    t, before = either.db.t, either.db.schema.classes()
    refused = either.apply(tmp_path, mode="atomic", source="project")
    assert not refused.applied
    assert refused.counts == {"create": 3, "refused": 1}
    assert codes(refused)[0][0] == "a/A/x/2.json"
    assert (either.db.t, either.db.schema.classes()) == (t, before)
    bad.unlink()
    done = either.apply(tmp_path, mode="atomic", source="project")
    assert (done.applied, done.counts, either.db.t) == (True, {"create": 3}, t + 1)
    assert either.db.get(9000).class_ == "a/A"


def test_all_at_once_writes_nothing_while_there_is_a_conflict(notes: Place, tmp_path: Path) -> None:
    notes.db.create("note/Note", {"db/ident": "n/a", "note/name": "a", "note/body": "one\n"})
    notes.export(tmp_path)
    file = tmp_path / "note/Note/n/a.md"
    file.write_text(file.read_text().replace("one", "two"))
    notes.db.update("n/a", {"note/body": "three\n"})
    write(tmp_path, "note/Note/n/b.md", "---\nname: b\n---\n")
    t = notes.db.t
    assert not notes.apply(tmp_path, mode="atomic").applied
    assert notes.db.t == t
    assert notes.apply(tmp_path, mode="atomic", prefer="files").applied
    assert notes.db.get("n/a")["note/body"] == "two\n"


def test_all_at_once_is_for_some_thousand_files(notes: Place, tmp_path: Path) -> None:
    rows = "".join(f'{{"_class": "note/Note", "name": "n{n}"}}\n' for n in range(10_001))
    file = write(tmp_path, "rows.jsonl", rows)
    with pytest.raises(Problem) as caught:
        notes.apply(file, mode="atomic")
    assert caught.value.code == "project.too-much"
    assert "10,000" in caught.value.message


# --- who, and what happens meanwhile -------------------------------------------------------------


def test_a_writer_adds_but_changes_no_definitions(new_place: NewPlace, tmp_path: Path) -> None:
    origin, copy = new_place(), new_place()
    origin.db.load_pack("zorp")
    origin.export(tmp_path)
    applied = copy.apply(tmp_path, role="writer")
    refused = {path for path, _ in codes(applied)}
    assert {path.split("/")[2] for path in refused if path.startswith("dt/")} == {"pack", "prompt"}
    assert "pack/Pack/pack/zorp.json" in refused
    assert copy.db.get("product/mud-lord").class_ == "zorp/Boot"
    file = tmp_path / "dt/Property/footwear/name.json"
    file.write_text(file.read_text().replace('"db/doc": "', '"db/doc": "Changed: '))
    again = copy.apply(tmp_path, role="writer")
    assert ("dt/Property/footwear/name.json", "schema.admin-only") in codes(again)
    assert copy.apply(tmp_path, role="admin").counts["change"] == 1


def test_a_reader_imports_nothing(notes: Place, tmp_path: Path) -> None:
    note(tmp_path, "a")
    t = notes.db.t
    for run in (notes.plan, notes.apply):  # a preview takes the right of its write
        assert codes(run(tmp_path, role="reader")) == [("note/Note/a.md", "access.read-only")]
    assert notes.db.t == t


def test_links_and_pipes_among_the_files_are_told(notes: Place, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    note(folder, "a")
    (tmp_path / "secret.md").write_text("---\nname: secret\n---\n")
    (folder / "note/Note/link.md").symlink_to(tmp_path / "secret.md")
    applied = notes.apply(folder)
    assert applied.counts == {"create": 1, "refused": 1}
    assert codes(applied) == [("note/Note/link.md", "project.link")]


def test_files_that_vanish_or_change_meanwhile(notes: Place, tmp_path: Path) -> None:
    for n in range(300):
        note(tmp_path, f"{n:03}", f"cites: [n/{(n + 1) % 300:03}]\n")

    def meddle(done: int, total: int, message: str) -> None:
        if message.startswith("reading") and done:
            (tmp_path / "note/Note/150.md").unlink(missing_ok=True)
            note(tmp_path, "151", "mood: changed\n")

    applied = notes.apply(tmp_path, progress=meddle)
    assert applied.counts["create"] >= 298
    assert notes.db.get("n/151")["note/mood"] == "changed"
    note(tmp_path, "150")
    assert notes.apply(tmp_path).is_clean
    assert notes.db.get("n/149")["note/cites"] == ["n/150"]


def test_whoever_listens_can_stop_it_and_a_second_run_ends_it(notes: Place, tmp_path: Path) -> None:
    count = 700  # more than are written at once
    for n in range(count):
        note(tmp_path, f"{n:04}", f"cites: [n/{(n + 350) % count:04}]\n")
    seen: list[tuple[int, int]] = []

    class Stop(Exception):
        pass

    def stop(done: int, total: int, message: str) -> None:
        seen.append((done, total))
        if message.startswith("importing") and done >= count + 500:
            raise Stop

    with pytest.raises(Stop):
        notes.apply(tmp_path, progress=stop)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    made = notes.guarded().instance_count("note/Note")
    assert 0 < made < count
    again = notes.apply(tmp_path)
    assert again.reconciled
    assert again.counts["create"] == count - made
    assert notes.apply(tmp_path).counts == {"unchanged": count}


def test_what_was_left_half_made_is_known_by_its_mark_alone(
    new_place: NewPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin, copy = new_place(), new_place()
    origin.db.define(**NOTE)
    names = [f"{n:03}" for n in range(620)]  # 500 are written at once
    slots = [{"db/ident": f"n/{name}", "note/name": name} for name in names]
    origin.db.transact([Create(class_="note/Note", slots=one) for one in slots])
    cites = [
        Update(entity=f"n/{a}", set={"note/cites": [f"n/{b}"]})
        for a, b in zip(names, reversed(names), strict=True)
    ]
    origin.db.transact(cites)
    origin.export(tmp_path)

    class Stop(Exception):
        pass

    def stop(done: int, total: int, message: str) -> None:
        if message.startswith("linking"):
            raise Stop

    with pytest.raises(Stop):
        copy.apply(tmp_path, progress=stop)
    with monkeypatch.context() as without:
        without.setattr(Names, "half_made", lambda self, entity, slots: set())
        assert copy.plan(tmp_path).counts["kept"] > 100
    assert copy.plan(tmp_path).counts["change"] > 100
    assert set(copy.apply(tmp_path).counts) == {"change", "unchanged"}
    assert set(copy.apply(tmp_path).counts) == {"unchanged"}


def test_what_is_no_part_of_a_project_is_left_alone(notes: Place, tmp_path: Path) -> None:
    notes.export(tmp_path)
    write(tmp_path, "README.md", "# Hello\n")
    write(tmp_path, ".git/config", "x")
    write(tmp_path, "note/Note/n/x.docx", "x")
    applied = notes.apply(tmp_path)
    assert applied.counts["ignored"] == 1
    assert codes(applied) == [("note/Note/n/x.docx", "project.no-codec")]


def test_an_unknown_source_is_refused_with_those_there_are(notes: Place, tmp_path: Path) -> None:
    note(tmp_path, "a")
    with pytest.raises(Problem) as caught:
        notes.plan(tmp_path, source="project2")
    assert caught.value.code == "project.unknown-source"
    assert "project, files" in (caught.value.hint or "")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Problem) as caught:
        notes.plan(tmp_path / "empty")
    assert caught.value.code == "project.unrecognised"


# --- bare names ---------------------------------------------------------------------------------


def test_tags_are_made_by_being_used_once_and_never_changed(
    either_notes: Place, tmp_path: Path
) -> None:
    place = either_notes
    place.db.load_pack("memory")
    place.db.create("mm/Tag", {"db/ident": "tag/known", "tag/name": "KNOWN"})
    for n in range(5):
        text = f"---\nname: M {n}\ntags: [Known, Fresh, Stated]\n---\nText\n"
        write(tmp_path, f"mm/Memory/m{n}.md", text)
    write(tmp_path, "mm/Tag/stated.md", "---\nname: Stated\ndescription: has a file\n---\n")
    planned = place.plan(tmp_path)
    applied = place.apply(tmp_path)
    assert planned.counts == applied.counts == {"create": 7}  # five, tag/fresh and tag/stated
    assert applied.reconciled
    assert place.db.get("mm/m3")["memory/tags"] == ["tag/known", "tag/fresh", "tag/stated"]
    assert place.db.get("tag/known")["tag/name"] == "KNOWN"
    assert place.db.get("tag/fresh")["tag/name"] == "Fresh"
    assert place.db.get("tag/stated")["db/doc"] == "has a file"
    t = place.db.t
    assert place.apply(tmp_path).counts == {"unchanged": 6}
    assert place.db.t == t


def test_half_characters_and_huge_numbers_are_refused(notes: Place, tmp_path: Path) -> None:
    notes.db.load_pack("memory")
    rows: tuple[dict[str, Any], ...] = (
        {"name": "half a tag", "tags": ["a\ud800x", "whole"]},
        {"name": "half a name", "related": ["n/\ud800x"]},
        {"name": "a huge number", "related": [10**30]},
        {"name": "half an ident", "ident": "n/\ud800x"},
        {"name": "good"},
    )
    for n, row in enumerate(rows):
        write(tmp_path, f"mm/Memory/{n}.json", json.dumps({"_class": "mm/Memory", **row}))
    odd = os.fsencode(tmp_path) + b"/mm/Memory/caf\xe9.json"
    shutil.copy(os.fsencode(tmp_path) + b"/mm/Memory/4.json", odd)
    for planned in (notes.plan(tmp_path), notes.apply(tmp_path)):
        assert planned.counts == {"create": 2, "refused": 6}  # with tag/whole and half a tag
    assert [one["memory/name"] for one in notes.db.each("mm/Memory")] == ["good"]
    alone = notes.apply(Path(os.fsdecode(odd)))
    assert [found.code for found in alone.findings] == ["project.name"]


def test_a_name_that_is_no_text_among_files_whose_links_follow(
    notes: Place, tmp_path: Path
) -> None:
    count = 700  # more than are written at once
    for n in range(count):
        note(tmp_path, str(n), f"ident: n/{n}\ncites: [n/{count - 1 - n}]\n")
    odd = os.fsencode(tmp_path) + b"/note/Note/caf\xe9.md"
    shutil.copy(os.fsencode(tmp_path) + b"/note/Note/1.md", odd)
    assert notes.apply(tmp_path).counts == {"create": count, "refused": 1}
    assert all(one["note/cites"] for one in notes.db.each("note/Note"))


# --- whom a file may not let in -----------------------------------------------------------------


def test_accounts_are_never_imported(notes: Place, tmp_path: Path) -> None:
    install_access(notes.db.workspace)
    account = {
        "_class": "auth/ServiceAccount",
        "auth/service-name": "service/sync-bot",
        "auth/principal-name": "service/sync-bot",
        "auth/api-key-hash": "a-key-that-somebody-else-knows",
        "auth/active?": True,
    }
    role = {"_class": "auth/Role", "db/ident": "auth.role/mine"}
    write(tmp_path, "a.json", json.dumps(account))
    write(tmp_path, "b.json", json.dumps(role))
    write(tmp_path, "c.json", json.dumps({"_class": "note/Note", "name": "fine"}))
    for result in (notes.plan(tmp_path), notes.apply(tmp_path)):
        assert result.counts == {"create": 1, "refused": 2}
        assert {code for _, code in codes(result)} == {"project.accounts"}
    assert not notes.db.query("auth/ServiceAccount").items
