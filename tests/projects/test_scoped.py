"""A key that is limited to some classes exports these, and imports nothing else."""

from __future__ import annotations

from pathlib import Path

from sandbar.access import Caller, Grant, Guarded, Rights
from sandbar.codecs import base_codecs
from sandbar.projects import (
    FolderTarget,
    RootedFolder,
    Wishes,
    apply_import,
    built_in_sources,
    choose_source,
    export_project,
    plan_import,
)
from tests.projects.conftest import NewPlace, Place, tree


def limited(place: Place, *classes: str) -> Guarded:
    """The workspace for a writer of these classes."""
    grant = Grant("*", "write", frozenset(classes))
    caller = Caller(
        "service/limited",
        "writer",
        place.db.workspace_name,
        rights=Rights(layers=(frozenset({grant}),)),
    )
    return place.db.guarded(caller)


def test_whoever_is_limited_exports_what_they_see(new_place: NewPlace, tmp_path: Path) -> None:
    place = new_place()
    place.db.load_pack("zorp")
    with RootedFolder(tmp_path, is_made=True) as folder:
        db = limited(place, "zorp/Boot")
        exported = export_project(db, base_codecs(), FolderTarget(folder))
    assert set(exported.classes) == {"zorp/Boot", "zorp/MoonBoot", "zorp/SpaceBoot"}
    assert all(path.startswith("zorp/") for path in tree(tmp_path) if "/" in path)


def test_whoever_is_limited_imports_nothing_else(new_place: NewPlace, tmp_path: Path) -> None:
    place = new_place()
    place.db.load_pack("zorp")
    place.export(tmp_path)
    for name in ("Boot/product/mud-lord", "Sandal/product/dune-drifter"):
        file = tmp_path / f"zorp/{name}.json"
        file.write_text(file.read_text().replace('"footwear/name": "', '"footwear/name": "New '))
    db = limited(place, "zorp/Boot")
    with RootedFolder(tmp_path) as folder:
        source = choose_source(folder, built_in_sources())
        for run in (plan_import, apply_import):
            done = run(db, place.db.workflows, base_codecs(), folder, source, Wishes())
            assert done.counts["change"] == 1
            assert done.reconciled
            refused = {found.path for found in done.findings}
            assert "zorp/Sandal/product/dune-drifter.json" in refused
            assert "zorp/Boot/product/mud-lord.json" not in refused
    assert place.db.get("product/mud-lord")["footwear/name"] == "New Mud Lord"
    assert place.db.get("product/dune-drifter")["footwear/name"] == "Dune Drifter"
