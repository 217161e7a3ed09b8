"""What all that is carried out in a round has in common: both sides, the journal, what is told."""

from __future__ import annotations

from sandbar.access import Guarded
from sandbar.model import Entity
from sandbar.projects.sync.entities import Entities
from sandbar.projects.sync.events import Event, Kind
from sandbar.projects.sync.journal import Agreement, Journal
from sandbar.projects.sync.meaning import Meaning
from sandbar.projects.sync.pairing import Pairing
from sandbar.projects.sync.paths import Paths
from sandbar.projects.sync.placing import Files
from sandbar.projects.sync.refusals import Refusals, Tell
from sandbar.projects.sync.wishing import Wishing

REASON = "sandbar watch"
MOVED = "entity.moved"  # somebody was first: look again


class Desk:
    """Where a round is worked on."""

    meaning: Meaning
    wishing: Wishing

    def __init__(
        self,
        db: Guarded,
        journal: Journal,
        files: Files,
        pairing: Pairing,
        entities: Entities,
        paths: Paths,
        tell: Tell,
    ) -> None:
        self.db = db
        self.files = files
        self.pairing = pairing
        self.entities = entities
        self.paths = paths
        self.tell = tell
        self.refusals = Refusals(tell)
        self.present: set[str] = set()
        self.again: set[int] = set()  # entities that were overtaken
        self.again_paths: set[str] = set()  # files that were
        self.stale: set[int] = set()  # entities that read otherwise though they have not changed
        self._journal = journal

    def begin(self, meaning: Meaning, present: set[str]) -> None:
        """A round begins; `present` is kept up to date."""
        self.meaning = meaning
        self.wishing = Wishing(self.db, meaning, self.paths)
        self.present = present
        self.again = set()
        self.again_paths = set()

    def finish(self) -> None:
        """A round ends: what is still refused is told."""
        self.refusals.settle(self.present, self.entities.names)
        self.flush()

    def flush(self) -> None:
        """Make what was done last: the files first, then what the journal says of them."""
        self.files.sync()
        self._journal.flush()

    def agree(self, path: str, entity: Entity, sha: str) -> None:
        """Note that a file and an entity say the same."""
        self.refusals.forget(path)
        self.pairing.agree([Agreement(path, entity.entity_id, entity.t, sha, entity.ident)])

    def told(
        self,
        kind: Kind,
        path: str,
        entity: Entity | Agreement,
        kept: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Tell what was done."""
        number = entity.entity if isinstance(entity, Agreement) else entity.entity_id
        name = entity.ident or str(number)
        self.tell(Event(kind=kind, path=path, entity=name, kept=kept, reason=reason))
