"""A folder of notes and its workspace, as the tests use them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sandbar
from sandbar.access import local_caller
from sandbar.codecs import base_codecs
from sandbar.projects.sync import Event, Sync

CLASS = "mm/Memory"


class Notes:
    """A folder, a workspace, and a watch that goes round by round."""

    def __init__(self, db: sandbar.Database, folder: Path) -> None:
        self.db = db
        self.folder = folder
        self.state = folder.parent / "state"
        folder.mkdir(exist_ok=True)
        self.events: list[Event] = []
        self._sync: Sync | None = None

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def sync(self) -> Sync:
        """The watch, begun if need be."""
        if self._sync is None:
            guarded = self.db.guarded(local_caller(self.db.workspace_name))
            standing = self.db.workspace.standing
            self._sync = Sync(
                guarded,
                standing,
                base_codecs(),
                self.folder,
                CLASS,
                self.events.append,
                state=self.state,
            )
        return self._sync

    def stop(self) -> None:
        """End the watch; the next use begins another."""
        if self._sync is not None:
            self._sync.close()
            self._sync = None

    def settle(self) -> list[Event]:
        """Go round until nothing is left to do; returns what was told meanwhile."""
        before = len(self.events)
        self.sync.round()
        until = time.monotonic() + 20
        while self.sync.is_waiting:
            assert time.monotonic() < until, "it does not come to rest"
            time.sleep(0.01)
            self.sync.round()
        return self.events[before:]

    def kinds(self) -> list[str]:
        """The kinds of what `settle` tells."""
        return [event.kind for event in self.settle()]

    def write(self, path: str, text: str) -> Path:
        """Write a file as a simple editor does."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def text(self, path: str) -> str:
        """What is in a file."""
        return (self.folder / path).read_text(encoding="utf-8")

    def files(self) -> set[str]:
        """The files but those of the watch itself."""
        return {
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file() and ".sandbar" not in path.parts
        }

    def trash(self) -> list[Path]:
        """What was thrown away."""
        return [p for p in (self.folder / ".sandbar/trash").rglob("*") if p.is_file()]

    def body(self, ident: str) -> str:
        """The text of an entity."""
        return str(self.db.get(ident).get("memory/body", ""))

    def pair(self, path: str = "foo.md", ident: str = "mm/foo", body: str = "first\n") -> int:
        """A file and an entity that agree; returns the entity's number."""
        self.write(path, document(path, body))
        self.settle()
        return self.db.get(ident).entity_id

    def idents(self) -> set[str | None]:
        """The idents of the instances."""
        return {entity.ident for entity in self.db.each(CLASS)}


def document(path: str, body: str, **keys: Any) -> str:
    """A file's text, with a name."""
    name = keys.pop("name", Path(path).stem)
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return f"---\nname: {name}\n{more}---\n{body}"


def once(events: list[Event], kind: str) -> Event:
    """The one event of a kind."""
    found = [event for event in events if event.kind == kind]
    assert len(found) == 1, events
    return found[0]


def wait_for(what: Callable[[], Any], seconds: float = 15.0) -> Any:
    """What it answers, once it is true."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)
    return found
