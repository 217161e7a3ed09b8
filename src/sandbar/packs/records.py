"""What a workspace knows of its packs: one entity `pack/<name>` for each."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.access import Guarded
from sandbar.errors import Forbidden, NotFound
from sandbar.model import Create, Entity, Operation, Update, Workspace
from sandbar.packs.folders import Manifest

PACK = "pack/Pack"
PROMPT = "prompt/Prompt"

Readable = Workspace | Guarded


class PackRecord(msgspec.Struct, frozen=True):
    """A pack that was loaded into the workspace."""

    name: str
    title: str
    description: str
    version: str
    instructions: str


def pack_records(db: Readable) -> list[PackRecord]:
    """The packs of a workspace, by name."""
    return sorted((_record(entity) for entity in instances(db, PACK)), key=lambda one: one.name)


def loaded_packs(db: Readable) -> list[str]:
    """The names of the packs of a workspace."""
    return [record.name for record in pack_records(db)]


def record_operations(manifest: Manifest) -> list[Operation]:
    """What writes the record, or brings it up to date."""
    ident = f"pack/{manifest.name}"
    slots = {
        "dt/label": manifest.title,
        "db/doc": manifest.description or None,
        "pack/version": manifest.version,
        "pack/instructions": manifest.instructions or None,
    }
    return ensured(PACK, ident, slots)


def ensured(class_: str, ident: str, slots: dict[str, Any]) -> list[Operation]:
    """What makes an entity, or brings an existing one to these slots (None clears)."""
    given = {slot: value for slot, value in slots.items() if value is not None}
    made = Create(class_=class_, slots={"db/ident": ident, **given})
    return [made, Update(entity=ident, set=slots)]


def instances(db: Readable, class_: str, limit: int = 1000) -> list[Entity]:
    """The oldest instances of a class that may not be there yet, or not for this caller."""
    try:
        page = db.query(class_, limit=limit)
    except (NotFound, Forbidden) as problem:
        if problem.code not in ("class.unknown", "access.out-of-scope"):
            raise
        return []
    return sorted(page.items, key=lambda entity: entity.entity_id)


def _record(entity: Entity) -> PackRecord:
    _, _, name = (entity.ident or "").partition("/")
    return PackRecord(
        name,
        entity.get("dt/label", name),
        entity.get("db/doc", ""),
        entity.get("pack/version", ""),
        entity.get("pack/instructions", ""),
    )
