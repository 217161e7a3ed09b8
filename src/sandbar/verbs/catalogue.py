"""The catalogue: every verb declared once, and found under each of its spellings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from sandbar.access import Access, Caller
from sandbar.verbs.arguments import Reader

DESCRIPTION_MAX = 200
PREFIX = "sandbar"


class Example(msgspec.Struct, frozen=True):
    """A call that works in a fresh workspace with the pack `zorp`; a test runs it."""

    title: str
    arguments: dict[str, Any]


class Verb(msgspec.Struct, frozen=True, kw_only=True):
    """One operation: what it takes, what it answers, who may call it, and how it is described."""

    name: str  # "entity.create"; of an exact verb the name as it stands on the wire
    title: str
    description: str  # for a model: what it does, what to use instead
    access: Access
    arguments: type[msgspec.Struct]
    result: Any  # a Struct type, or Content for verbs that answer with content blocks
    run: Callable[[Any, Any], Any]  # (Context, arguments) -> result
    examples: tuple[Example, ...] = ()
    aliases: dict[str, str] = {}  # other spellings of arguments → ours
    is_destructive: bool = False
    is_idempotent: bool = False
    writes_files: bool = False  # whoever may read may call it, and it is not read-only for all that
    is_core: bool = False  # part of ?tools=core
    is_point_read: bool = False  # microseconds on SQLite: may run on the event loop
    starts_task: bool = False  # answers with `Started`: doors that know tasks say so
    is_long: bool = False  # may take longer than a request, and may be run twice: can be a task
    needs_task: bool = False  # of the two above: not for clients that know no tasks
    is_housekeeping: bool = False  # always callable, but listed only with ?tools=all
    is_exact: bool = False  # a pack's tool, listed without our prefix
    input_schema: dict[str, Any] | None = None  # an exact verb may bring its own
    group: str = ""  # what roles grant; if nothing is said, the first part of its name

    def __post_init__(self) -> None:
        """A verb belongs to the group that its name begins with, unless it says otherwise."""
        if not self.group:
            msgspec.structs.force_setattr(self, "group", self.name.partition(".")[0])

    def may_be_called_by(self, caller: Caller) -> bool:
        """Whether a caller's rights reach this far."""
        return caller.rights.may_call(self.group, self.name, self.access)

    @property
    def dotted(self) -> str:
        """The seeds' spelling: sandbar.entity.create."""
        return self.name if self.is_exact else f"{PREFIX}.{self.name}"

    @property
    def portable(self) -> str:
        """The spelling that every client accepts: sandbar_entity_create."""
        return self.name if self.is_exact else f"{PREFIX}.{self.name}".replace(".", "_")


class Ready(NamedTuple):
    """A verb with its compiled reader of arguments."""

    verb: Verb
    read: Callable[[Any], Any]


class Catalogue:
    """Verbs in their order of declaration."""

    def __init__(self, verbs: Iterable[Verb]) -> None:
        self._verbs = tuple(verbs)
        self._ready: dict[str, Ready] = {}
        for verb in self._verbs:
            ready = Ready(verb, Reader(verb.arguments, verb.aliases))
            for spelling in {verb.name, verb.dotted, verb.portable}:
                assert spelling not in self._ready, f"two verbs are called {spelling}"
                self._ready[spelling] = ready

    def __iter__(self) -> Iterator[Verb]:
        return iter(self._verbs)

    def find(self, name: str) -> Verb | None:
        """The verb under any of its spellings."""
        ready = self._ready.get(name)
        return None if ready is None else ready.verb

    def ready(self, name: str) -> Ready | None:
        """The verb under any of its spellings, ready to be called."""
        return self._ready.get(name)

    def visible_to(self, caller: Caller) -> list[Verb]:
        """The verbs that this caller may call."""
        return [verb for verb in self._verbs if verb.may_be_called_by(caller)]
