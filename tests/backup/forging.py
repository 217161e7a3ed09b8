"""Backups that no Sandbar would write: their digests are right, and nothing else has to be."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

Change = Callable[["Forgery"], None]


class Part(NamedTuple):
    """A block: table, workspace and rows."""

    what: str
    ws: int
    rows: Any


class Forgery:
    """A backup taken apart."""

    def __init__(self, data: bytes) -> None:
        line, _, rest = data.partition(b"\n")
        self.header: Any = json.loads(line)
        self.parts: list[Part] = []
        self.raw: list[bytes] = []  # blocks that stand for themselves, before the end
        while length := int.from_bytes(rest[:4], "big"):
            block = msgspec.msgpack.decode(zlib.decompress(rest[4 : 4 + length]))
            self.parts.append(Part(*block))
            rest = rest[4 + length :]

    def table(self, name: str) -> Part:
        """The first block of a table; its rows may be changed."""
        return next(part for part in self.parts if part.what == name)

    def recount(self) -> None:
        """Say how many rows there are by now."""
        for total in self.table("end").rows:
            total[1] = sum(len(part.rows) for part in self.parts if part.what == total[0])

    def data(self) -> bytes:
        """Put together again, with the right digest."""
        blocks = [packed(block_of(*part)) for part in self.parts]
        end = blocks.pop() if self.parts and self.parts[-1].what == "end" else b""
        line = json.dumps(self.header).encode() + b"\n"
        return signed(line + b"".join(blocks) + b"".join(self.raw) + end + bytes(4))


def block_of(what: str, ws: int, rows: Any) -> bytes:
    """A block before it is packed; the length of its rows takes four bytes, whatever it is."""
    encode = msgspec.msgpack.encode
    length = b"\xdd" + len(rows).to_bytes(4, "big")
    return b"\x93" + encode(what) + encode(ws) + length + b"".join(map(encode, rows))


def packed(block: bytes) -> bytes:
    """A block as it stands in a file."""
    small = zlib.compress(block, 1)
    return len(small).to_bytes(4, "big") + small


def bomb(size: int) -> bytes:
    """A block that would be so many bytes when it is unpacked; one piece of it, again and again."""
    piece = 1 << 24
    packer = zlib.compressobj(1)
    begin = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(piece)) + packer.flush(zlib.Z_FULL_FLUSH)
    small = begin + again * (size // piece) + packer.flush()
    return len(small).to_bytes(4, "big") + small


def signed(data: bytes) -> bytes:
    """With the digest behind it."""
    return data + hashlib.sha256(data).digest()


def forged(file: Path, change: Change) -> Path:
    """A changed copy of a backup, beside it."""
    forgery = Forgery(file.read_bytes())
    change(forgery)
    other = file.with_suffix(".forged")
    other.write_bytes(forgery.data())
    return other
