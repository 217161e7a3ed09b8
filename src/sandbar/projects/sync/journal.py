"""What both sides last agreed on, path by path, in a file that survives any end of the process.

Lines are only ever added; whoever opens the file again drops what was left half-written, and keeps
of the rest only what still counts. Each line is signed: what somebody else has written, all of it
or only what follows our own lines, is not believed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from sandbar.errors import Conflict
from sandbar.projects.sync.proving import Proofs
from sandbar.projects.sync.spots import NEW, Spot, is_inside, write_all

_NAME = "journal.jsonl"
_FRESH = "journal.new"
_LINE_BYTES_MAX = 256 * 1024
_SWAP_NAME = re.compile(r"[0-9a-f]{1,32}")
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

    owner: Owner | None  # as the first line says, proven or not; all else was proven
    agreements: dict[str, Agreement]
    swaps: dict[str, Swap]


class Journal:
    """The journal of one folder. One process has it open at a time: its caller sees to that."""

    def __init__(self, home: Path, folder: int, proofs: Proofs) -> None:
        self._path = home / _NAME
        self._folder = folder  # the same as `home`, open
        self._proofs = proofs
        kept = _read(self._path, Spot(folder, _NAME), proofs)
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
            there = self._path.lstat()
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
        write_all(self._fd, _text(lines, self._proofs))
        self._extra += len(lines)

    def _compact(self) -> None:
        lines = [_Line(version=_VERSION, owner=self.owner)]
        lines += [_Line(agreed=agreement) for agreement in self.agreements.values()]
        lines += [_Line(swap=swap) for swap in self.swaps.values()]
        proofs = self._proofs.anew()
        spot = Spot(self._folder, _FRESH)
        spot.unlink()  # whatever it is: a link, too
        fresh = spot.open(NEW | os.O_APPEND, 0o600)
        try:
            write_all(fresh, _text(lines, proofs))
            os.fsync(fresh)
            spot.rename(Spot(self._folder, _NAME))
            os.fsync(self._folder)
        except BaseException:
            os.close(fresh)
            raise
        self._waiting = []  # it is all in there
        self.close()
        self._fd, self._proofs, self._extra = fresh, proofs, 0


def _text(lines: list[_Line], proofs: Proofs) -> bytes:
    return b"".join(proofs.signed(msgspec.json.encode(line)) for line in lines)


def _read(path: Path, spot: Spot, proofs: Proofs) -> Kept:
    try:
        number = spot.open()
    except FileNotFoundError:
        return Kept(None, {}, {})
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EISDIR, "no file", str(path))
    with os.fdopen(number, "rb") as file:
        return _read_lines(path, file, proofs)


def _read_lines(path: Path, file: BinaryIO, proofs: Proofs) -> Kept:
    kept = Kept(None, {}, {})
    decoder = msgspec.json.Decoder(_Line)
    # What has no end of line was cut off by the end of somebody; no line of ours is so long.
    while (raw := file.readline(_LINE_BYTES_MAX)).endswith(b"\n"):
        is_ours = proofs.is_next(raw)
        if not is_ours and kept.owner is not None:
            break  # somebody else has added it
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            break  # after a power cut the rest may be anything; what is not known is compared
        if line.version not in (None, _VERSION):
            raise Conflict(
                "watch.version",
                f"{path} was written by another version of Sandbar",
                hint="use that version, or remove the folder .sandbar: both sides are compared",
            )
        if kept.owner is None:
            kept = Kept(line.owner, {}, {})
        if not is_ours or kept.owner is None:
            break  # nothing in it is believed; whose it claims to be is enough to refuse it
        _take(kept, line)
    return kept


def _take(kept: Kept, line: _Line) -> None:
    if line.agreed is not None:
        if is_inside(line.agreed.path):
            kept.agreements[line.agreed.path] = line.agreed
    elif line.forgotten is not None:
        kept.agreements.pop(line.forgotten, None)
    elif line.swap is not None:
        if is_inside(line.swap.path) and _SWAP_NAME.fullmatch(line.swap.name):
            kept.swaps[line.swap.name] = line.swap
    elif line.swapped is not None:
        kept.swaps.pop(line.swapped, None)
