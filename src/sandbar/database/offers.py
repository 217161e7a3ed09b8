"""What a workspace offers besides its data: verbs, and whatever its packs bring."""

from __future__ import annotations

from typing import NamedTuple

from sandbar.model import Workspace
from sandbar.packs import PackCode, PackRecord, code_of, pack_records
from sandbar.verbs import Catalogue, base_catalogue


class Offer(NamedTuple):
    """What a workspace offers besides its data; made anew when its metamodel changes."""

    generation: int
    packs: tuple[PackRecord, ...]
    code: PackCode
    catalogue: Catalogue


def offer_of(workspace: Workspace, generation: int) -> Offer:
    """Ours, and that of the packs that are recorded in the workspace."""
    packs = tuple(pack_records(workspace))
    code = code_of([pack.name for pack in packs])
    return Offer(generation, packs, code, Catalogue((*base_catalogue(), *code.verbs)))
