"""`.sandbar` in the folder: the journal, the lock, what was thrown away, and what is under way.

lock           one watch at a time
journal.jsonl  what both sides last agreed on
new/           files of ours that are being written; of no use once we are gone
swap/          what came out when a file was replaced: looked at once more before it is deleted
trash/         files of deleted entities
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sandbar.errors import Conflict, Incorrect, Unavailable
from sandbar.projects.sync.journal import Journal

NAME = ".sandbar"


class Home:
    """The folder's own folder, locked as long as it is open."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise Incorrect(
                "watch.no-folder",
                f"{folder} is no folder",
                hint="make it, or look for a typing error: nothing is made by `sandbar watch`",
            )
        self.root = folder / NAME
        self.new = self.root / "new"
        self.swap = self.root / "swap"
        self.trash = self.root / "trash"
        try:
            for place in (self.new, self.swap, self.trash):
                place.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(
                "watch.folder",
                f"{self.root} cannot be used: {error.strerror}",
                hint="look at the rights of the folder",
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise Conflict(
                "watch.running",
                f"another `sandbar watch` looks after {folder}",
                hint="end that one first (Ctrl-C), or watch another folder",
            ) from None
        try:
            self.journal = Journal(self.root / "journal.jsonl")
        except BaseException:
            os.close(self._lock)
            raise
        for left in self.new.iterdir():
            left.unlink()

    def close(self) -> None:
        """Let others have it."""
        self.journal.close()
        os.close(self._lock)
