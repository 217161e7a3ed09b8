"""The sources that are always there: an exported project, and any folder of files."""

from __future__ import annotations

from collections.abc import Container, Iterator

from msgspec.structs import replace

from sandbar.codecs import BASE_CODECS, Codecs
from sandbar.errors import Unsupported
from sandbar.model import Introspection
from sandbar.projects.layout import placed
from sandbar.projects.moving import Moves
from sandbar.projects.places import Places
from sandbar.projects.reading import read_items, read_workflow, suffix_of
from sandbar.projects.rooted import Found, RootedFolder
from sandbar.projects.sources import Item, Source
from sandbar.projects.sums import MANIFEST, SUMS, read_manifest
from sandbar.scratch import Scratch
from sandbar.workflow import DEFINITION

PROJECT = "project"
_METACLASSES = ("dt/Class", "dt/Property")
_PACK = "pack/Pack"


class ProjectSource:
    """A folder as `project.export` writes it: paths say what each file is."""

    name = PROJECT

    def recognises(self, folder: RootedFolder) -> bool:
        """Whether there is a manifest."""
        return folder.only is None and read_manifest(folder) is not None

    def items(
        self,
        folder: RootedFolder,
        schema: Introspection,
        codecs: Codecs,
        *,
        only: Container[str] | None = None,
    ) -> Iterator[Item]:
        """Definitions first, then all others."""
        first = first_classes(schema)
        places = Places(schema, folder)
        with Scratch() as scratch:
            moves = Moves(folder, scratch)
            for found, is_definition in self._files(folder, first):
                if only is None or found.path in only:
                    for read in self._read(folder, found, schema, codecs, places):
                        item = moves.named(read)
                        yield replace(item, is_definition=True) if is_definition else item

    def _files(self, folder: RootedFolder, first: frozenset[str]) -> Iterator[tuple[Found, bool]]:
        for are_definitions in (True, False):
            for found in folder.files():
                at = placed(found.path)
                if (at is not None and at.class_ in first) == are_definitions:
                    yield found, are_definitions

    def _read(
        self,
        folder: RootedFolder,
        found: Found,
        schema: Introspection,
        codecs: Codecs,
        places: Places,
    ) -> Iterator[Item]:
        at = placed(found.path)
        class_ = at.class_ if at is not None else places.class_of(found.path)
        codec = codecs.of_suffix(suffix_of(found.path))
        is_fit = at is not None or (class_ and codec and not codec.is_bulk)
        if found.path in (MANIFEST, SUMS):
            return
        if found.problem is None and not is_fit:
            yield Item(path=found.path)
        elif found.problem is None and codec is None:
            yield Item(path=found.path, problem=_unknown_format(found.path))
        elif found.problem is None and at is not None and at.class_ == DEFINITION:
            yield read_workflow(folder, found.path)
        else:
            yield from read_items(folder, found, schema, codecs, class_, places)


class FilesSource:
    """Any folder of files in formats that there is a codec for, or one such file.

    What a file is, it says itself (`type`, `_class`); or the folders that it is in (`mm/Memory/…`)
    say it, or whoever imports.
    """

    name = "files"

    def __init__(self, class_: str | None = None) -> None:
        self._class = class_

    def recognises(self, folder: RootedFolder) -> bool:
        """Whether there is any file that we may be able to read."""
        known = {suffix for codec in BASE_CODECS for suffix in codec.suffixes}
        return any(suffix_of(found.path).lower() in known for found in folder.files())

    def items(
        self,
        folder: RootedFolder,
        schema: Introspection,
        codecs: Codecs,
        *,
        only: Container[str] | None = None,
    ) -> Iterator[Item]:
        """Those of every file, by path."""
        classes = frozenset(schema.classes())
        places = Places(schema, folder)
        for found in folder.files():
            if only is None or found.path in only:
                above = "/".join(found.path.split("/")[:2])
                class_ = self._class or (above if above in classes else None)
                yield from read_items(folder, found, schema, codecs, class_, places)


def _unknown_format(path: str) -> Unsupported:
    return Unsupported(
        "project.no-codec",
        f"no codec reads {suffix_of(path) or 'a file without suffix'}",
        hint="codec.list lists the formats; a pack that brings this one is loaded first",
    )


def first_classes(schema: Introspection) -> frozenset[str]:
    """The classes whose instances come before all others: definitions, and records of packs.

    A record switches on the code of a pack, and whoever keeps what that code offers looks again
    when the metamodel changes: so both are written together.
    """

    def make() -> frozenset[str]:
        known = {_PACK} & set(schema.classes())
        return schema.below(_METACLASSES) | {DEFINITION, *known}

    return schema.derived("project.first", make)


def built_in_sources(class_: str | None = None) -> tuple[Source, ...]:
    """A project, and any folder of files; `class_` is what files are that do not say it."""
    return ProjectSource(), FilesSource(class_)
