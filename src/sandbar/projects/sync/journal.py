"""What both sides last agreed on, path by path, in a file that survives any end of the process.

Lines are only ever added; whoever opens the file again drops what was left half-written, and keeps
of the rest only what still counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from sandbar.errors import Conflict

_LINES_MORE_MAX = 4000  # that no longer count, before the file is written anew
_VERSION = 1


class Agreement(msgspec.Struct, frozen=True):
    """A file and an entity that said the same: when, and what."""

    path: str
    entity: int
    t: int  # the entity's, then
    sha: str  # SHA-256 of the file, then
    ident: str | None = None


class Owner(msgspec.Struct, frozen=True):
    """Whose folder it is."""

    workspace: str
    origin: str  # the instant of the workspace's first transaction: no two have the same
    epoch: int  # another one after a restore: what t meant before, it means no more
    class_: str


class Swap(msgspec.Struct, frozen=True):
    """A file of ours that changes places with one that others may write to."""

    name: str
    path: str
    old: str  # the hash of what should come out
    new: str


class _Line(msgspec.Struct, omit_defaults=True):
    version: int | None = None
    owner: Owner | None = None
    agreed: Agreement | None = None
    forgotten: str | None = None
    swap: Swap | None = None
    swapped: str | None = None


class Kept(NamedTuple):
    """What a journal said when it was opened."""

    owner: Owner | None
    agreements: dict[str, Agreement]
    swaps: dict[str, Swap]


class Journal:
    """The journal of one folder. One process has it open at a time: its caller sees to that."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = _read(path)
        self.owner = kept.owner
        self.agreements = kept.agreements
        self.swaps = kept.swaps
        self._waiting: list[_Line] = []
        self._extra = 0
        self._fd = -1

    def begin(self, owner: Owner) -> None:
        """Write it anew, for this owner; what was agreed on with another means nothing."""
        if self.owner is not None and self.owner != owner:
            self.agreements.clear()
        self.owner = owner
        self._compact()

    def close(self) -> None:
        """Let go of the file."""
        if self._waiting and self._fd >= 0:
            self._append(self._waiting)
            self._waiting = []
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def is_in_place(self) -> bool:
        """Whether the file that we write to is still the one in the folder."""
        try:
            there = self._path.stat()
        except OSError:
            return False
        ours = os.fstat(self._fd)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def agree(self, agreements: Iterable[Agreement], forgotten: Iterable[str] = ()) -> None:
        """Note what both sides agree on from now on; `flush` makes it last."""
        for path in forgotten:
            if self.agreements.pop(path, None) is not None:
                self._waiting.append(_Line(forgotten=path))
        for agreement in agreements:
            if self.agreements.get(agreement.path) != agreement:
                self.agreements[agreement.path] = agreement
                self._waiting.append(_Line(agreed=agreement))

    def flush(self) -> None:
        """Make what was noted last. A killed process that did not come so far compares again."""
        if self._waiting:
            self._append(self._waiting)
            self._waiting = []
            os.fsync(self._fd)
        if self._extra > _LINES_MORE_MAX + len(self.agreements):
            self._compact()

    def swap(self, swap: Swap) -> None:
        """Note that a file of others may be under one of our names from now on.

        Not synced: what a power cut leaves there without a line is kept, too.
        """
        self.swaps[swap.name] = swap
        self._append([_Line(swap=swap)])

    def swapped(self, name: str) -> None:
        """Note that there is nothing under that name any more."""
        if self.swaps.pop(name, None) is not None:
            self._append([_Line(swapped=name)])

    def _append(self, lines: list[_Line]) -> None:
        text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        os.write(self._fd, text)
        self._extra += len(lines)

    def _compact(self) -> None:
        fresh = self._path.with_suffix(".new")
        lines = [_Line(version=_VERSION, owner=self.owner)]
        lines += [_Line(agreed=agreement) for agreement in self.agreements.values()]
        lines += [_Line(swap=swap) for swap in self.swaps.values()]
        self.close()
        with fresh.open("wb") as file:
            for line in lines:
                file.write(msgspec.json.encode(line) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        sync_folder(self._path.parent)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._extra = 0


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _read(path: Path) -> Kept:
    kept = Kept(None, {}, {})
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return kept
    decoder = msgspec.json.Decoder(_Line)
    for raw in text.split(b"\n")[:-1]:  # what has no end of line was cut off by the end of somebody
        try:
            line = decoder.decode(raw)
        except msgspec.DecodeError:
            break  # after a power cut the rest may be anything; what is not known is compared
        if line.version is not None:
            if line.version != _VERSION:
                raise Conflict(
                    "watch.version",
                    f"{path} was written by another version of Sandbar",
                    hint="use that version, or remove the folder .sandbar: both sides are compared",
                )
            kept = Kept(line.owner, {}, {})
        elif line.agreed is not None:
            kept.agreements[line.agreed.path] = line.agreed
        elif line.forgotten is not None:
            kept.agreements.pop(line.forgotten, None)
        elif line.swap is not None:
            kept.swaps[line.swap.name] = line.swap
        elif line.swapped is not None:
            kept.swaps.pop(line.swapped, None)
    return kept
