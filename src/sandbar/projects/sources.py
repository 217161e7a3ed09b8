"""What is imported: a source turns a folder into items, each of which states one entity."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Protocol

import msgspec

from sandbar.codecs import Codecs, Parsed
from sandbar.errors import Incorrect, Problem, Unsupported
from sandbar.findings import Finding
from sandbar.model import Introspection
from sandbar.projects.rooted import RootedFolder
from sandbar.suggestions import did_you_mean


class Link(msgspec.Struct, frozen=True):
    """A reference that a file makes if what it names is there: it may be no file of the folder."""

    slot: str  # for many references
    ident: str
    missing: Finding  # what is told if it is not there


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One entity as a file states it, or what is wrong with the file.

    An item with neither is a file that is no part of this (a README): it is counted, not read.
    """

    path: str
    parsed: Parsed | None = None
    problem: Problem | None = None
    digest: str | None = None  # SHA-256 of the file's bytes, if it states this entity alone
    plain_digest: str | None = None  # the same with \n for \r\n, if that makes a difference
    size: int = 0  # bytes that it takes in the file
    is_definition: bool = False  # of a class, a property or a workflow: these come first
    is_whole: bool = True  # whether slots that are not stated are to be cleared
    notes: tuple[Finding, ...] = ()  # what is to be told though it can be imported
    links: tuple[Link, ...] = ()  # to what only the workspace knows


class Source(Protocol):
    """A kind of folder that can be imported.

    Everything is read through the `RootedFolder`, by nothing else: it keeps us inside.
    """

    @property
    def name(self) -> str:
        """What people call it, such as `notes`."""

    def recognises(self, folder: RootedFolder) -> bool:
        """Whether the folder (or the one file) looks like this; it is chosen by itself then."""

    def items(
        self,
        folder: RootedFolder,
        schema: Introspection,
        codecs: Codecs,
        *,
        only: Container[str] | None = None,
    ) -> Iterator[Item]:
        """The items of every file, or of the paths in `only`; sorted by path, lazily.

        It is asked several times: all items of a path must come out the same each time, as long as
        the files do. Definitions come first: if they change the metamodel, the iterator is dropped
        and a new one made, with the metamodel of then.
        """


def choose_source(
    folder: RootedFolder, sources: Sequence[Source], name: str | None = None
) -> Source:
    """The source of that name, or the first that recognises the folder."""
    if name is not None:
        found = next((source for source in sources if source.name == name), None)
        if found is None:
            names = [source.name for source in sources]
            near = did_you_mean(name, names)
            listed = f"there are: {', '.join(names)}"
            raise Unsupported(
                "project.unknown-source",
                f"there is no source {name[:80]}",
                hint=f"{near} {listed}" if near else listed,
            )
        return found
    for source in sources:
        if source.recognises(folder):
            return source
    raise Incorrect(
        "project.unrecognised",
        f"nothing in {folder.name} can be imported",
        hint=f"name the source: {', '.join(source.name for source in sources)}",
    )
