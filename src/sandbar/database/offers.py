"""What a workspace offers besides its data: verbs, and whatever its packs bring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from sandbar.access import Caller, protected_classes
from sandbar.codecs import BASE_CODECS, Codecs
from sandbar.model import Workspace
from sandbar.packs import PackCode, PackRecord, code_of, pack_records
from sandbar.verbs import Catalogue, Verb, base_catalogue, class_verb, is_class_tool_name
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


class WorkspaceCatalogue:
    """The verbs of a workspace as they are now: ours, those of its packs, the tools of classes."""

    def __init__(self, workspace: Workspace, offered: Callable[[], Catalogue]) -> None:
        self._workspace = workspace
        self._offered = offered
        # Ours are the same everywhere and need no look at the workspace: safe for an event loop.
        self.at_hand: Callable[[str], Verb | None] = base_catalogue().find

    def __iter__(self) -> Iterator[Verb]:
        return iter(self._offered())

    def find(self, name: str) -> Verb | None:
        """The verb under any of its spellings, or the one behind the name of a class's tool."""
        return self.at_hand(name) or self._found(name)

    def _found(self, name: str) -> Verb | None:
        """Only what is not ours needs a look at the workspace and its packs."""
        if is_class_tool_name(name):
            return class_verb(self._workspace.schema(), name)
        return self._offered().find(name)

    def visible_to(self, caller: Caller) -> list[Verb]:
        """The verbs that this caller may call."""
        return self._offered().visible_to(caller)
