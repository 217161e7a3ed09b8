"""`project.export` and `project.import` as verbs: who may, where to, and as a zip."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.access import Caller, local_caller
from sandbar.access.rights import rights_of_role
from sandbar.errors import Problem
from sandbar.verbs import EXPORT_URI
from sandbar.verbs import Call as VerbCall
from tests.verbs.conftest import Call, refusal


class Outside:
    """Calls verbs as somebody does who comes over MCP."""

    def __init__(self, db: sandbar.Database) -> None:
        self.db = db

    def __call__(self, verb: str, role: Any = "admin", **arguments: Any) -> Any:
        caller = Caller(f"test-{role}", role, self.db.workspace_name)
        given = {key.rstrip("_").replace("_", "-"): value for key, value in arguments.items()}
        answer = self.db.call_as(caller, verb, given)
        return msgspec.to_builtins(answer)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that the operator lets agents work in."""
    folder = tmp_path / "projects"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(zorp: sandbar.Database) -> Outside:
    return Outside(zorp)


def test_at_home_any_folder_is_written_and_read(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "shop"
    done = call("project.export", {"to": str(folder)})
    assert done["files"] == len([p for p in folder.rglob("*") if p.is_file()]) - 2
    assert (folder / "zorp/Boot/product/mud-lord.json").is_file()
    plan = call("project.import", {"from": str(folder)})
    assert (plan["applied"], plan["counts"]) == (False, {"unchanged": done["files"]})
    mud = folder / "zorp/Boot/product/mud-lord.json"
    mud.write_text(mud.read_text().replace("brown", "green"))
    plan = call("project.import", {"from": str(folder)})
    (entry,) = plan["entries"]
    assert (entry["action"], entry["slots"]) == ("change", ["footwear/color"])
    done = call("project.import", {"from": str(folder), "persist": True, "reason": "greener"})
    assert done["applied"]
    found = call("entity.history", {"entity": "product/mud-lord"})["history"][-1]
    assert found["reason"] == "greener"


def test_from_outside_no_folder_unless_the_operator_has_named_one(
    outside: Outside, tmp_path: Path
) -> None:
    for verb, given in (("project.export", {"to": "a"}), ("project.import", {"from_": "a"})):
        with pytest.raises(Problem) as refused:
            outside(verb, **given)
        assert refused.value.code == "project.no-folder"
        assert "--projects" in str(refused.value.hint)
    with pytest.raises(Problem) as none:
        outside.db.allow_projects(tmp_path / "missing")
    assert none.value.code == "project.no-root"


def test_below_the_root_each_workspace_has_its_own_place(
    outside: Outside, root: Path, zorp: sandbar.Database
) -> None:
    zorp.allow_projects(root)
    done = outside("project.export", to="shop/now")
    (home,) = root.iterdir()
    assert home.name.endswith(f"-{zorp.workspace.number}")
    assert (home / "shop/now/manifest.json").is_file()
    assert outside("project.import", from_="shop/now")["counts"] == {"unchanged": done["files"]}
    (root / "secret.json").write_text("{}")
    (home / "link").symlink_to(root)
    for path in ("../secret.json", str(root), "link/secret.json", "link", "a/../../b"):
        for verb, given in (("project.export", {"to": path}), ("project.import", {"from_": path})):
            with pytest.raises(Problem) as refused:
                outside(verb, **given)
            assert refused.value.code.startswith("project."), (path, refused.value.code)
    assert sorted(p.name for p in root.iterdir()) == sorted([home.name, "secret.json"])


def test_readers_read_the_zip_and_write_nothing(
    outside: Outside, root: Path, zorp: sandbar.Database
) -> None:
    zorp.allow_projects(root)
    with pytest.raises(Problem) as refused:
        outside("project.export", role="reader", to="mine")
    assert refused.value.code == "project.read-only"
    with pytest.raises(Problem) as forbidden:
        outside("project.import", role="reader", from_="mine")
    assert forbidden.value.code == "verb.forbidden"
    offered = outside("project.export", role="reader")
    assert offered["uri"] == EXPORT_URI + "all"
    assert offered["mime-type"] == "application/zip"
    assert list(root.iterdir()) == []


def test_the_zip_holds_what_the_caller_sees(zorp: sandbar.Database) -> None:
    reader = Caller("test-reader", "reader", zorp.workspace_name)
    archive = zipfile.ZipFile(io.BytesIO(zorp.exported(reader, None)))
    names = archive.namelist()
    assert "zorp/Boot/product/mud-lord.json" in names
    assert not [name for name in names if name.startswith("auth")]
    boots = zipfile.ZipFile(io.BytesIO(zorp.exported(reader, "zorp/Boot"))).namelist()
    kinds = {"/".join(name.split("/")[:2]) for name in boots if "/" in name}
    assert kinds == {"zorp/Boot", "zorp/MoonBoot", "zorp/SpaceBoot"}
    assert zorp.exported(reader, None) == zorp.exported(reader, None)


def test_refusals(call: Call) -> None:
    two = {"classes": ["zorp/Boot", "zorp/Sandal"]}
    assert refusal(call, "project.export", two).code == "project.one-class"
    assert refusal(call, "project.export", {"classes": ["no/such"]}).code == "class.unknown"
    assert refusal(call, "project.import", {"from": "/no/such/folder"}).code.startswith("project.")


def test_only_one_class(zorp: sandbar.Database) -> None:
    assert zorp.call("project.export", classes=["zorp/Boot"]).uri == EXPORT_URI + "zorp/Boot"


def test_an_operator_who_has_signed_in_is_not_at_this_machine(
    zorp: sandbar.Database, tmp_path: Path
) -> None:
    """Nor is who speaks for whoever has opened the file, such as an agent over standard input."""
    signed_in = Caller("service/root", "admin", zorp.workspace_name, is_operator=True)
    for caller in (signed_in, local_caller(zorp.workspace_name)):
        for surface in ("library", "cli", "stdio"):
            call = VerbCall(caller, "project.export", {"to": str(tmp_path)}, surface=surface)
            with pytest.raises(Problem) as refused:
                zorp.perform(call)
            assert refused.value.code == "project.no-folder"
    assert list(tmp_path.rglob("*.json")) == []


def test_a_key_narrowed_to_classes_reads_and_writes_no_folders(
    root: Path, zorp: sandbar.Database
) -> None:
    """In a folder it would read what others have exported, and replace it."""
    zorp.allow_projects(root)
    Outside(zorp)("project.export", to="full")
    rights = rights_of_role("writer").narrowed(classes=("zorp/Boot",))
    narrow = Caller("test-narrow", "writer", zorp.workspace_name, rights=rights)
    for verb, given in (("project.export", {"to": "full"}), ("project.import", {"from": "full"})):
        with pytest.raises(Problem) as refused:
            zorp.call_as(narrow, verb, given)
        assert refused.value.code == "project.narrow-key"
    names = zipfile.ZipFile(io.BytesIO(zorp.exported(narrow, None))).namelist()
    assert {name.split("/")[1] for name in names if "/" in name} <= {
        "Boot", "MoonBoot", "SpaceBoot",
    }  # fmt: skip
