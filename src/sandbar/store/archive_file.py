"""The file of a backup: a line that says what it is, blocks of rows, and a digest of all of it.

    {"format":"sandbar-backup","version":2,…}⏎
    length (4 bytes), a compressed block: [what, workspace, rows]      again and again
    0 (4 bytes), SHA-256 of everything before (32 bytes)

A block has a limit of bytes when it is unpacked, and one of rows, so the memory that reading takes
does not depend on who wrote the file. Columns have types and bounds; whatever else is refused.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec

from sandbar.errors import Conflict, Incorrect, Unsupported
from sandbar.store.archive import (
    TABLES,
    WORKSPACE_NUMBER_MAX,
    Kind,
    Table,
    Values,
    WorkspaceRow,
    damaged,
)
from sandbar.store.usage import Limits, limits_of

FORMAT = "sandbar-backup"
VERSION = 2  # 1 had no limits of workspaces
BLOCK_BYTES_MAX = 128 * 1024 * 1024  # for a single row; others have about `_BLOCK_BYTES`
BLOCK_ROWS_MAX = 50_000
WORKSPACES_MAX = 1_000_000
_BLOCK_BYTES = 1024 * 1024
_HEADER_BYTES_MAX = 4096
_IDS_MAX = 4_000_000  # of one transaction, which has 10,000 operations at most
_CHUNK_BYTES = 1024 * 1024
_DIGEST_BYTES = 32
_LENGTH_BYTES = 4
_LEVEL = 4  # about a tenth larger than by the usual 6, in less than half of the time

_WORKSPACES = "workspace"
_END = "end"
_ARRAY32 = b"\xdd"
_TRIPLE = b"\x93"

Progress = Callable[[int], None]


class Header(msgspec.Struct, frozen=True):
    """The first line."""

    format: str
    version: int
    sandbar: str
    made: str


class Block(NamedTuple):
    """Rows of one table and workspace."""

    ws: int
    table: Table
    rows: list[Values]


_Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_Small = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
_Natural = Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)]
_Number = Annotated[int, msgspec.Meta(ge=1, le=WORKSPACE_NUMBER_MAX)]
_Name = Annotated[str, msgspec.Meta(max_length=255)]
_Limits = Annotated[str, msgspec.Meta(max_length=10_000)]
_Since1 = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 53) - 1)]

_TYPES: dict[Kind, Any] = {
    Kind.NUMBER: _Long,
    Kind.SMALL: _Small,
    Kind.TEXT: str,
    Kind.TEXT_OR_NONE: str | None,
    Kind.BYTES: bytes,
    Kind.NUMBERS: Annotated[list[_Long], msgspec.Meta(max_length=_IDS_MAX)],
}
_encode = msgspec.msgpack.Encoder().encode
_blocks = msgspec.msgpack.Decoder(tuple[str, _Natural, msgspec.Raw])
_workspaces: dict[int, msgspec.msgpack.Decoder[Any]] = {
    1: msgspec.msgpack.Decoder(list[tuple[_Number, _Name, _Since1, _Natural, _Natural, _Natural]]),
    2: msgspec.msgpack.Decoder(
        list[tuple[_Number, _Name, _Since1, _Natural, _Natural, _Natural, _Limits]]
    ),
}
_totals = msgspec.msgpack.Decoder(list[tuple[str, _Natural]])


def rows_decoder(table: Table) -> msgspec.msgpack.Decoder[list[Values]]:
    """Rows of all columns, or without those at the end that were added later."""
    make_type: Any = namedtuple  # `rename`, because a column may be called class
    row = make_type(table.name, table.columns, rename=True, defaults=table.later.values())
    kinds = (_TYPES[kind] for kind in table.columns.values())
    row.__annotations__ = dict(zip(row._fields, kinds, strict=True))
    return msgspec.msgpack.Decoder(list[row])  # type: ignore[valid-type]


_rows = {name: rows_decoder(table) for name, table in TABLES.items()}
_texts = {
    name: [
        place
        for place, kind in enumerate(table.columns.values())
        if kind in (Kind.TEXT, Kind.TEXT_OR_NONE)
    ]
    for name, table in TABLES.items()
}


# --- writing -------------------------------------------------------------------------------------


class ArchiveWriter:
    """Writes a backup to an open file, from its first byte to its last."""

    def __init__(self, file: BinaryIO, header: Header, workspaces: Sequence[WorkspaceRow]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._totals = dict.fromkeys(TABLES, 0)
        if len(workspaces) > WORKSPACES_MAX:
            raise _too_large(f"{len(workspaces):,} workspaces", f"{WORKSPACES_MAX:,} of them")
        self._write(msgspec.json.encode(header) + b"\n")
        self._put_block(_WORKSPACES, 0, [_encode(row) for row in workspaces])

    def put(self, ws: int, table: Table, rows: Iterator[Values], wrote: Progress) -> int:
        """Write all rows of a workspace in a table; how many there were."""
        total, size = 0, 0
        block: list[bytes] = []
        for row in rows:
            encoded = _encode(row)
            block.append(encoded)
            size += len(encoded)
            if size >= _BLOCK_BYTES or len(block) == BLOCK_ROWS_MAX:
                self._put_block(table.name, ws, block)
                wrote(len(block))
                total, size = total + len(block), 0
                block = []
        if block:
            self._put_block(table.name, ws, block)
            wrote(len(block))
        total += len(block)
        self._totals[table.name] += total
        return total

    def finish(self) -> str:
        """Write the end; what `sha256sum` says of the whole file, in hex."""
        self._put_block(_END, 0, [_encode(total) for total in self._totals.items()])
        self._write(bytes(_LENGTH_BYTES))
        self._write(self._hash.digest())
        return self._hash.hexdigest()

    def _put_block(self, what: str, ws: int, rows: list[bytes]) -> None:
        """The same bytes as of the triple at once, without having all of it twice in memory."""
        head = _TRIPLE + _encode(what) + _encode(ws) + _ARRAY32 + len(rows).to_bytes(4, "big")
        block = head + b"".join(rows)
        if len(block) > BLOCK_BYTES_MAX:
            raise _too_large(
                f"a row of {what} in workspace {ws} with {len(block):,} bytes",
                f"{BLOCK_BYTES_MAX:,}",
            )
        packed = zlib.compress(block, _LEVEL)
        self._write(len(packed).to_bytes(_LENGTH_BYTES, "big"))
        self._write(packed)

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)


# --- reading -------------------------------------------------------------------------------------


def read_header(file: BinaryIO) -> Header:
    """The first line of a file that is a backup, and one that this version can read."""
    line = file.readline(_HEADER_BYTES_MAX)
    try:
        header = msgspec.json.decode(line, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _foreign() from error
    if header.format != FORMAT or header.version < 1 or not line.endswith(b"\n"):
        raise _foreign()
    if header.version > VERSION:
        raise Conflict(
            "backup.newer",
            f"this backup was written by Sandbar {header.sandbar[:40]}, in a form that is newer"
            " than this version knows",
            hint="restore it with that version or a later one",
        )
    return header


def check_archive(file: BinaryIO, size: int, progress: Progress) -> Header:
    """Read all of a file and compare it with its digest, before anything is done with it."""
    header = read_header(file)
    file.seek(0)
    left = size - _DIGEST_BYTES
    hashed = hashlib.sha256()
    while left > 0 and (chunk := file.read(min(left, _CHUNK_BYTES))):
        hashed.update(chunk)
        left -= len(chunk)
        progress(file.tell())
    if left != 0 or file.read(_DIGEST_BYTES) != hashed.digest():
        raise damaged("its digest does not fit, so it was cut off or changed")
    return header


class ArchiveReader:
    """Reads the blocks of a backup, one after the other; all is well only if `blocks` ends."""

    def __init__(self, file: BinaryIO) -> None:
        file.seek(0)
        self._file = file
        self._hash = hashlib.sha256()
        self.header = read_header(file)
        end = file.tell()
        file.seek(0)
        self._hash.update(file.read(end))
        what, _, raw = self._next_block() or ("", 0, msgspec.Raw())
        if what != _WORKSPACES:
            raise damaged("it does not begin with its workspaces")
        _check_length(raw, WORKSPACES_MAX, least=0)
        with _decoding():
            decoder = _workspaces[self.header.version]
            self.workspaces = [WorkspaceRow(*row) for row in decoder.decode(raw)]
        self._check_workspaces()
        self.counts: dict[tuple[int, str], int] = {}

    def blocks(self, progress: Progress) -> Iterator[Block]:
        """Every block of rows; then the end is looked at, the digest once more included."""
        living = {row.ws for row in self.workspaces if not row.is_dropped}
        self.counts = {(ws, name): 0 for ws in sorted(living) for name in TABLES}
        while (found := self._next_block()) is not None:
            what, ws, raw = found
            if what == _END:
                self._check_end(raw)
                return
            if what not in TABLES or ws not in living:
                raise damaged(f"it holds {what[:40]!r} of workspace {ws}, which is unknown here")
            _check_length(raw, BLOCK_ROWS_MAX)
            with _decoding():
                rows = _rows[what].decode(raw)
            _refuse_nul(what, rows)
            self.counts[ws, what] += len(rows)
            yield Block(ws, TABLES[what], rows)
            progress(self._file.tell())
        raise damaged("its end is missing")

    def _check_workspaces(self) -> None:
        numbers = {row.ws for row in self.workspaces}
        names = {row.stored_name for row in self.workspaces}
        if len(numbers) != len(self.workspaces) or len(names) != len(self.workspaces):
            raise damaged("two of its workspaces are the same")
        if any(not row.name and not row.is_dropped for row in self.workspaces) or any(
            "\0" in name for name in names
        ):
            raise damaged("a workspace has no name")
        with _decoding():
            for row in self.workspaces:
                limits_of(Limits(), row.limits)

    def _check_end(self, raw: msgspec.Raw) -> None:
        _check_length(raw, len(TABLES))
        with _decoding():
            said = _totals.decode(raw)
        found = dict.fromkeys(TABLES, 0)
        for (_, name), rows in self.counts.items():
            found[name] += rows
        if said != list(found.items()):
            raise damaged("it holds other rows than it says")
        if self._next_block() is not None:
            raise damaged("it goes on after its end")
        digest = self._hash.digest()
        if self._file.read(_DIGEST_BYTES + 1) != digest:
            raise damaged("its digest does not fit")

    def _next_block(self) -> tuple[str, int, msgspec.Raw] | None:
        """The next block as it was written, rows still encoded; None at the end."""
        length = int.from_bytes(self._read(_LENGTH_BYTES), "big")
        if length == 0:
            return None
        if length > BLOCK_BYTES_MAX:
            raise damaged("a block is too large")
        unpacker = zlib.decompressobj()
        try:
            block = unpacker.decompress(self._read(length), BLOCK_BYTES_MAX)
        except zlib.error as error:
            raise damaged("a block cannot be unpacked") from error
        if unpacker.unconsumed_tail:
            raise damaged("a block is too large when it is unpacked")
        if not unpacker.eof or unpacker.unused_data:
            raise damaged("a block is cut off")
        with _decoding():
            return _blocks.decode(block)

    def _read(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) != length:
            raise damaged("its end is missing")
        self._hash.update(data)
        return data


class _Decoding:
    """Says what a block holds that it must not."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, msgspec.MsgspecError | RecursionError | UnicodeDecodeError):
            raise damaged(f"a block is malformed ({str(error)[:200]})") from error


def _decoding() -> _Decoding:
    return _Decoding()


def _check_length(rows: msgspec.Raw, most: int, least: int = 1) -> None:
    """Look at how many rows there are before memory is taken for them."""
    head = bytes(memoryview(rows)[:5])
    if head[:1] != _ARRAY32 or not least <= int.from_bytes(head[1:], "big") <= most:
        raise damaged("a block has no rows, or too many")


def _refuse_nul(what: str, rows: list[Values]) -> None:
    """One of the stores would take it, the other not; we never write it."""
    for place in _texts[what]:
        if "\0" in "".join(filter(None, map(itemgetter(place), rows))):
            raise damaged(f"a text of {what} holds a NUL")


def _too_large(what: str, limit: str) -> Unsupported:
    return Unsupported(
        "backup.too-large",
        f"this database has {what}, and a backup takes {limit}",
        hint="nothing was written; copy the database by its own means (VACUUM INTO, pg_dump)",
    )


def _foreign() -> Incorrect:
    return Incorrect(
        "backup.foreign",
        "this file is no backup of Sandbar, or its beginning is damaged",
        hint="give a file that `sandbar backup` has written",
    )
