"""Export, import into an empty workspace, export: the same bytes. On both stores, and between."""

from __future__ import annotations

import io
import random
import subprocess
from pathlib import Path

import pytest

from sandbar.access import install_access
from sandbar.codecs import base_codecs
from sandbar.projects import FolderTarget, RootedFolder, ZipTarget, export_project
from sandbar.projects.layout import fold
from tests.conftest import Say
from tests.projects.conftest import NewPlace, Place, tree
from tests.projects.random_workspace import define_everything, define_workflows, fill

_ROADS = [("new_place", "new_place"), ("new_place", "new_postgres"), ("new_postgres", "new_place")]
_MANY = 20


def fill_at_random(place: Place, seed: str, count: int = 40) -> None:
    define_everything(place.db)
    fill(place.db, random.Random(seed), count)
    define_workflows(place.db)
    place.db.load_pack("zorp")


def check_same(origin: Place, copy: Place, folder: Path) -> None:
    """The copy has all that the origin has, and a second import has nothing to do."""
    exported = origin.export(folder / "first")
    planned = copy.plan(folder / "first")
    assert planned.findings == []
    assert planned.counts == {"create": exported.files}
    imported = copy.apply(folder / "first")
    assert imported.findings == []
    assert imported.counts == {"create": exported.files}
    assert imported.reconciled
    copy.export(folder / "second")
    assert tree(folder / "first") == tree(folder / "second")
    t = copy.db.t
    for mode in ("per-file", "atomic"):
        again = copy.apply(folder / "first", mode=mode)
        assert (again.counts, copy.db.t) == ({"unchanged": exported.files}, t)
    assert origin.plan(folder / "second").counts == {"unchanged": exported.files}


@pytest.mark.parametrize("road", _ROADS, ids=lambda road: f"{road[0][4:]}-{road[1][4:]}")
def test_a_workspace_made_by_chance_is_the_same_after_a_round_trip(
    road: tuple[str, str], request: pytest.FixtureRequest, tmp_path: Path, seed: str
) -> None:
    origin: Place = request.getfixturevalue(road[0])()
    copy: Place = request.getfixturevalue(road[1])()
    fill_at_random(origin, seed)
    check_same(origin, copy, tmp_path)


@pytest.mark.long
def test_many_workspaces_made_by_chance(
    new_place: NewPlace, tmp_path: Path, seed: str, say: Say
) -> None:
    for n in range(_MANY):
        origin, copy = new_place(), new_place()
        fill_at_random(origin, f"{seed}-{n}", 60)
        check_same(origin, copy, tmp_path / str(n))
    say(f"{_MANY} workspaces made by chance are the same bytes after a round trip")


def test_all_at_once_gives_the_same(new_place: NewPlace, tmp_path: Path, seed: str) -> None:
    origin, copy = new_place(), new_place()
    fill_at_random(origin, seed)
    exported = origin.export(tmp_path / "first")
    before = copy.db.t
    imported = copy.apply(tmp_path / "first", mode="atomic")
    assert (imported.counts, imported.findings) == ({"create": exported.files}, [])
    assert copy.db.t == before + 1
    copy.export(tmp_path / "second")
    assert tree(tmp_path / "first") == tree(tmp_path / "second")


def test_packs_are_the_same_after_a_round_trip(new_place: NewPlace, tmp_path: Path) -> None:
    origin, copy = new_place(), new_place()
    origin.db.load_pack("zorp")
    origin.db.load_pack("care")
    install_access(copy.db.workspace)
    # Accounts are never exported: whoever is referred to must be known there, by the same name.
    people = [one for one in origin.db.query("auth/User").items if not one.get("auth/owns")]
    for person in people:
        copy.db.create("auth/User", {"auth/user-name": person["auth/user-name"]})
    check_same(origin, copy, tmp_path)
    assert [pack.name for pack in copy.db.offer.packs] == ["care", "zorp"]


def test_without_the_accounts_it_is_said_whom_a_file_refers_to(
    new_place: NewPlace, tmp_path: Path
) -> None:
    origin, copy = new_place(), new_place()
    origin.db.load_pack("care")
    origin.export(tmp_path)
    imported = copy.apply(tmp_path)
    assert imported.counts["refused"]
    assert imported.reconciled
    first = imported.findings[0]
    assert first.path == "care/Family/family/okafor.json"
    assert "user/chidi" in first.message
    assert first.key == "family/members"
    assert first.line


def test_an_archive_holds_the_same_files_and_is_always_the_same(
    new_place: NewPlace, tmp_path: Path, seed: str
) -> None:
    origin, copy = new_place(), new_place()
    fill_at_random(origin, seed)
    origin.export(tmp_path / "first")
    copy.apply(tmp_path / "first")
    archives = []
    for place in (origin, copy):
        file = io.BytesIO()
        export_project(place.guarded(), base_codecs(), ZipTarget(file))
        archives.append(file.getvalue())
    assert archives[0] == archives[1]
    (tmp_path / "project.zip").write_bytes(archives[0])
    unzip = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])"
    run = ["python3", "-c", unzip, str(tmp_path / "project.zip"), str(tmp_path / "unzipped")]
    subprocess.run(run, check=True, timeout=60)
    assert tree(tmp_path / "unzipped") == tree(tmp_path / "first")


def test_sha256sum_agrees(place: Place, tmp_path: Path, seed: str) -> None:
    fill_at_random(place, seed)
    place.export(tmp_path / "project")
    command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    done = subprocess.run(command, cwd=tmp_path / "project", timeout=60, check=False)
    assert done.returncode == 0


def test_an_export_shows_one_moment(place: Place, tmp_path: Path) -> None:
    define_everything(place.db)
    for n in range(30):
        place.db.create("all/Plain", {"db/ident": f"x/{n}", "all/long-one": 0})
    before = place.db.t

    def meddle(done: int, total: int, message: str) -> None:
        place.db.update("x/29", {"all/long-one": place.db.t})
        place.db.create("all/Plain", {"db/ident": f"later/{place.db.t}"})

    with RootedFolder(tmp_path / "p", is_made=True) as folder:
        target = FolderTarget(folder)
        exported = export_project(place.guarded(), base_codecs(), target, progress=meddle)
    assert exported.t == before
    assert place.db.t > before
    assert exported.classes["all/Plain"] == 30
    assert b'"all/long-one": 0' in (tmp_path / "p/all/%50lain/x/29.json").read_bytes()


def test_nothing_that_is_secret_or_of_access_or_of_processes_is_exported(
    place: Place, tmp_path: Path
) -> None:
    define_everything(place.db)
    install_access(place.db.workspace)
    define_workflows(place.db)
    place.db.create("all/Plain", {"db/ident": "x/1", "all/password": "swordfish"})
    place.db.workflows.start("order/way", "x/1", principal="test")
    place.export(tmp_path)
    files = tree(tmp_path)
    assert b"swordfish" not in b"".join(files.values())
    assert not [path for path in files if path.startswith(("auth/", "dt/Class/auth"))]
    flows = [path for path in files if "workflow" in path]
    assert flows == ["workflow/Definition/%63on/%41ux.json", "workflow/Definition/order/way.json"]


def test_some_classes_alone_can_be_exported(place: Place, tmp_path: Path) -> None:
    place.db.load_pack("zorp")
    exported = place.export(tmp_path, classes=["zorp/Boot"])
    assert set(exported.classes) == {"zorp/Boot", "zorp/MoonBoot", "zorp/SpaceBoot"}


def test_names_with_marks_survive_a_round_trip_and_keep_apart(
    either: Place, new_place: NewPlace, tmp_path: Path
) -> None:
    """However letters are composed: some file systems take both spellings for one name."""
    slots = {"ह/नि": {"dt/range": "db.type/keyword", "db/cardinality": "many"}}
    either.db.define(properties=slots, classes={"वि/षय": {"dt/slots": list(slots)}})
    for ident in ("हिन्दी/शब्द", "caf\u00e9/x", "cafe\u0301/x", "n/\u00e9", "n/e\u0301"):
        either.db.create("वि/षय", {"db/ident": ident, "ह/नि": [ident, "ภาษา/ที่"]})
    check_same(either, new_place(), tmp_path)
    assert len({fold(name) for name in tree(tmp_path / "first")}) == len(tree(tmp_path / "first"))
