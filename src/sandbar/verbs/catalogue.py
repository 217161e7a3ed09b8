"""The catalogue: every verb declared once, and found under each of its spellings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import msgspec

from sandbar.access import Access, Caller
from sandbar.verbs.arguments import Reader
from sandbar.verbs.schemas import arguments_schema, class_arguments, result_schema

DESCRIPTION_MAX = 200
PREFIX = "sandbar"


class Example(msgspec.Struct, frozen=True):
    """A call that works in a fresh workspace with the pack `zorp`; a test runs it."""

    title: str
    arguments: dict[str, Any]


class Permission(NamedTuple):
    """What it takes to call a verb: what roles grant it by, what keys name it by, how far."""

    group: str
    name: str
    access: Access


_USUAL = Permission("", "", "read")


class Verb(msgspec.Struct, frozen=True, kw_only=True, dict=True):
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
    is_point_write: bool = False  # likewise, but for the commit of the `Write` that it answers
    starts_task: bool = False  # answers with `Started`: doors that know tasks say so
    is_long: bool = False  # may take longer than a request, and may be run twice: can be a task
    needs_task: bool = False  # of the two above: not for clients that know no tasks
    is_housekeeping: bool = False  # always callable, but listed only with ?tools=all
    is_open: bool = False  # needs no right: what it is told, such as a handle, is right enough
    is_exact: bool = False  # a pack's tool, listed without our prefix
    input_schema: dict[str, Any] | None = None  # an exact verb may bring its own
    group: str = ""  # what roles grant; if nothing is said, the first part of its name
    permission: Permission = _USUAL  # if nothing is said: its group, name and access
    reader: Callable[[Any], Any] | None = None  # of arguments; without it that of `arguments`

    def __post_init__(self) -> None:
        """A verb belongs to the group that its name begins with, unless it says otherwise."""
        if not self.group:
            msgspec.structs.force_setattr(self, "group", self.name.partition(".")[0])
        if self.permission is _USUAL:
            permission = Permission(self.group, self.name, self.access)
            msgspec.structs.force_setattr(self, "permission", permission)

    def may_be_called_by(self, caller: Caller) -> bool:
        """Whether a caller's rights reach this far."""
        return caller.rights.may_call(*self.permission)

    @cached_property
    def read(self) -> Callable[[Any], Any]:
        """Makes what `run` takes of the arguments of a call; compiled when it is first wanted."""
        return self.reader or Reader(self.arguments, self.aliases)

    @property
    def takes(self) -> dict[str, Any]:
        """The JSON Schema of its arguments; a copy, which may be changed."""
        return copy.deepcopy(self._takes)

    @property
    def gives(self) -> dict[str, Any] | None:
        """The JSON Schema of its result; None if that is no object of one form."""
        return copy.deepcopy(self._gives)

    @cached_property
    def class_arguments(self) -> list[str]:
        """The arguments whose schema a surface may fill with the names of concrete classes."""
        return class_arguments(self.arguments)

    @cached_property
    def _takes(self) -> dict[str, Any]:
        return self.input_schema or arguments_schema(self.arguments)

    @cached_property
    def _gives(self) -> dict[str, Any] | None:
        return result_schema(self.result)

    @property
    def dotted(self) -> str:
        """The seeds' spelling: sandbar.entity.create."""
        return self.name if self.is_exact else f"{PREFIX}.{self.name}"

    @property
    def portable(self) -> str:
        """The spelling that every client accepts: sandbar_entity_create."""
        return self.name if self.is_exact else f"{PREFIX}.{self.name}".replace(".", "_")


class Verbs(Protocol):
    """The verbs that a workspace has."""

    def __iter__(self) -> Iterator[Verb]:
        """In the order in which they are listed."""

    def find(self, name: str) -> Verb | None:
        """The verb under any of its spellings."""

    def visible_to(self, caller: Caller) -> list[Verb]:
        """The verbs that this caller may call."""


class Catalogue:
    """Verbs in their order of declaration."""

    def __init__(self, verbs: Iterable[Verb]) -> None:
        self._verbs = tuple(verbs)
        self._spelled: dict[str, Verb] = {}
        for verb in self._verbs:
            for spelling in {verb.name, verb.dotted, verb.portable}:
                assert spelling not in self._spelled, f"two verbs are called {spelling}"
                self._spelled[spelling] = verb

    def __iter__(self) -> Iterator[Verb]:
        return iter(self._verbs)

    def find(self, name: str) -> Verb | None:
        """The verb under any of its spellings."""
        return self._spelled.get(name)

    def visible_to(self, caller: Caller) -> list[Verb]:
        """The verbs that this caller may call."""
        return [verb for verb in self._verbs if verb.may_be_called_by(caller)]
