"""What a workspace offers besides its data: verbs, and whatever its packs bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sandbar.access import protected_classes
from sandbar.codecs import BASE_CODECS, Codecs
from sandbar.model import Workspace
from sandbar.packs import PackCode, PackRecord, code_of, pack_records
from sandbar.verbs import Catalogue, base_catalogue
from sandbar.workflow import Activity, Handlers, validation_activities


class Offer(NamedTuple):
    """What a workspace offers besides its data; made anew when its metamodel changes."""

    generation: int
    packs: tuple[PackRecord, ...]
    code: PackCode
    catalogue: Catalogue
    handlers: Handlers
    codecs: Codecs


def offer_of(workspace: Workspace, generation: int, own: Mapping[str, Activity]) -> Offer:
    """Ours, with our own activities, and that of the packs that are recorded in the workspace."""
    packs = tuple(pack_records(workspace))
    code = code_of([pack.name for pack in packs])
    catalogue = Catalogue((*base_catalogue(), *code.verbs))
    activities = {**validation_activities(protected_classes), **own, **code.activities}
    handlers = Handlers(activities, code.effects)
    codecs = Codecs((*BASE_CODECS, *code.codecs))
    return Offer(generation, packs, code, catalogue, handlers, codecs)
