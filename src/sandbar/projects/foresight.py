"""What entities of an import will find done when they come: definitions and tags, unwritten."""

from __future__ import annotations

from collections.abc import Sequence

from sandbar.model import Operation, Outcome, Preview
from sandbar.projects.defining import Definitions
from sandbar.projects.findings import REFUSALS
from sandbar.projects.judging import Verdict
from sandbar.projects.making import Making
from sandbar.projects.names import Names
from sandbar.projects.tally import Tally


class Foresight:
    """Previews the writes of an import, as its passes would make them."""

    def __init__(
        self,
        definitions: Definitions,
        sound: Sequence[Verdict],
        making: Making,
        names: Names,
        greatest: int,
    ) -> None:
        """`greatest` is the greatest number that an entity is to have."""
        self._definitions = definitions
        self._sound = sound
        self._making = making
        self._names = names
        self._greatest = greatest
        self._preview: Preview | None = None

    def make(self, tally: Tally) -> None:
        """Tell what would be made before the entities."""
        self._making.write(self._transact, self._names, tally)

    def try_out(self, operations: Sequence[Operation]) -> None:
        """Raise what the write of these would be refused for, as the workspace is by now."""
        preview = self._ahead()
        try:
            preview.foresee(operations)
        except REFUSALS:
            if not preview.is_outdated():
                raise
            self._preview = None
            self.make(Tally())  # told already
            self._ahead().foresee(operations)

    def _transact(self, operations: Sequence[Operation]) -> list[Outcome]:
        return self._ahead().transact(operations)

    def _ahead(self) -> Preview:
        if self._preview is None:
            self._preview = self._definitions.foreseen(self._sound, self._greatest)
        return self._preview
