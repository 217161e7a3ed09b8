"""The services of a workspace without a database around it, for tests of verbs and packs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sandbar.access import Caller, Guarded
from sandbar.audit import Note
from sandbar.codecs import Codecs, base_codecs
from sandbar.projects import Source
from sandbar.verbs import Call, Permission, Verbs, dispatch
from sandbar.workflow import Workflows


class BareServices:
    """A workspace that one caller looks at, with some verbs and perhaps workflows."""

    sources: tuple[Source, ...] = ()
    projects: Path | None = None

    def __init__(self, db: Guarded, verbs: Verbs, workflows: Workflows | None = None) -> None:
        self.db = db
        self.catalogue = verbs
        self._workflows = workflows

    @property
    def workflows(self) -> Workflows:
        """Its workflows."""
        assert self._workflows is not None, "these services were made without workflows"
        return self._workflows

    @property
    def codecs(self) -> Codecs:
        """The formats that are ours."""
        return base_codecs()

    @property
    def neighbours(self) -> Any:
        """There is no database."""
        raise AssertionError("these services know of no other workspace")

    @property
    def journal(self) -> Any:
        """There is no database."""
        raise AssertionError("these services know of no audit")

    def guarded(self, caller: Caller, permission: Permission | None = None) -> Guarded:
        """The workspace as the caller sees it, whatever is called."""
        assert caller is self.db.caller
        return self.db

    def load_pack(self, pack: str, *, progress: Any) -> Any:
        """There is no database."""
        raise AssertionError("these services load no packs")

    def count_streams(self, workspace: str) -> int:
        """None is open."""
        return 0

    def perform(self, call: Call) -> Any:
        """Put a call through the turnstile."""
        note = Note(self.db.number, call.caller.principal, surface="test", method="call")
        return dispatch(self, call, note)
