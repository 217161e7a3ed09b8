"""Finding, reading and loading packs."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sandbar.errors import Incorrect, NotFound
from sandbar.model import Create, Workspace

_OPERATIONS_AT_ONCE = 1000

T = TypeVar("T")


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`pack.json`: what the pack is."""

    name: str
    title: str
    description: str = ""


class SchemaFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`schema.json`: properties and classes by ident."""

    properties: dict[str, dict[str, Any]] = {}
    classes: dict[str, dict[str, Any]] = {}


class SeedEntity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `entities.json`."""

    class_: str = msgspec.field(name="class")
    slots: dict[str, Any]


class PackReport(msgspec.Struct, frozen=True):
    """What loading a pack did."""

    name: str
    title: str
    definitions: int
    entities: int
    created: int


def built_in_packs() -> list[str]:
    """The names of the packs that come with Sandbar."""
    folders = resources.files("sandbar.packs").iterdir()
    return sorted(folder.name for folder in folders if folder.joinpath("pack.json").is_file())


def load_pack(workspace: Workspace, pack: str | Path) -> PackReport:
    """Load a pack: a built-in one by name, or any folder by its path."""
    folder = _find(pack)
    manifest = _read(folder, "pack.json", Manifest)
    if manifest is None:
        raise NotFound("pack.unknown", f"{folder} has no pack.json")
    principal = f"pack/{manifest.name}"
    schema = _read(folder, "schema.json", SchemaFile) or SchemaFile()
    if schema.properties or schema.classes:
        workspace.define(schema.properties, schema.classes, principal=principal)
    seeds = _read(folder, "entities.json", list[SeedEntity]) or []
    created = _load_seeds(workspace, seeds, principal)
    definitions = len(schema.properties) + len(schema.classes)
    return PackReport(manifest.name, manifest.title, definitions, len(seeds), created)


def _load_seeds(workspace: Workspace, seeds: list[SeedEntity], principal: str) -> int:
    unnamed = [seed for seed in seeds if "db/ident" not in seed.slots]
    if unnamed:
        raise Incorrect(
            "pack.unnamed-entity",
            f"{len(unnamed)} seed entities have no db/ident",
            hint="give each one an ident, so that loading the pack twice adds nothing",
        )
    created = 0
    for start in range(0, len(seeds), _OPERATIONS_AT_ONCE):
        part = seeds[start : start + _OPERATIONS_AT_ONCE]
        operations = [Create(class_=seed.class_, slots=seed.slots) for seed in part]
        written = workspace.transact(operations, principal=principal)
        created += sum(outcome.created for outcome in written.outcomes)
    return created


def _find(pack: str | Path) -> Traversable:
    if isinstance(pack, str) and pack in built_in_packs():
        return resources.files("sandbar.packs").joinpath(pack)
    folder = Path(pack)
    if folder.joinpath("pack.json").is_file():
        return folder
    raise NotFound(
        "pack.unknown",
        f"there is no pack {str(pack)[:200]}",
        hint=f"built in: {', '.join(built_in_packs())}; or give a folder that has a pack.json",
    )


def _read(folder: Traversable, name: str, kind: type[T]) -> T | None:
    file = folder.joinpath(name)
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise Incorrect("pack.malformed", f"{name}: {error}", hint="see docs/packs.md") from error
