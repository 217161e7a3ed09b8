"""Columns of rows as PostgreSQL arrays, packed in one go.

The driver's own lists are dumped item by item in several passes; a batch spent more time there
than in the database.
"""

from __future__ import annotations

from itertools import repeat
from struct import Struct

from psycopg import pq
from psycopg.adapt import AdaptersMap, Buffer, Dumper

_HEADER = Struct("!iiiii")  # dimensions, has nulls, element type, length, lower bound
_LONG = Struct("!iq")
_LENGTH = Struct("!i")
_NULL = _LENGTH.pack(-1)

_INT8_OID, _INT8_ARRAY_OID = 20, 1016
_TEXT_OID, _TEXT_ARRAY_OID = 25, 1009
_BYTEA_OID, _BYTEA_ARRAY_OID = 17, 1001


class Longs(list[int]):
    """A `bigint[]`."""


class Texts(list[str | None]):
    """A `text[]`."""


class Blobs(list[bytes]):
    """A `bytea[]`."""


class _LongsDumper(Dumper):
    format = pq.Format.BINARY
    oid = _INT8_ARRAY_OID

    def dump(self, obj: list[int]) -> Buffer:
        """Every item is its length and eight bytes."""
        return _head(_INT8_OID, len(obj)) + b"".join(map(_LONG.pack, repeat(8), obj))


class _BlobsDumper(Dumper):
    format = pq.Format.BINARY
    oid = _BYTEA_ARRAY_OID

    def dump(self, obj: list[bytes]) -> Buffer:
        """Every item is its length and its bytes."""
        parts = [_head(_BYTEA_OID, len(obj))]
        for item in obj:
            parts += (_LENGTH.pack(len(item)), item)
        return b"".join(parts)


class _TextsDumper(Dumper):
    format = pq.Format.BINARY
    oid = _TEXT_ARRAY_OID

    def dump(self, obj: list[str | None]) -> Buffer:
        """Every item is its length and its UTF-8 bytes, or the mark of a null."""
        parts = [_head(_TEXT_OID, len(obj))]
        for item in obj:
            if item is None:
                parts.append(_NULL)
            else:
                data = item.encode()
                parts += (_LENGTH.pack(len(data)), data)
        return b"".join(parts)


def register_arrays(adapters: AdaptersMap) -> None:
    """Teach a connection these columns."""
    adapters.register_dumper(Longs, _LongsDumper)
    adapters.register_dumper(Texts, _TextsDumper)
    adapters.register_dumper(Blobs, _BlobsDumper)


def _head(element_oid: int, length: int) -> bytes:
    # The null flag is a hint that the server recomputes; zero dimensions mean an empty array.
    return (
        _HEADER.pack(1, 1, element_oid, length, 1)
        if length
        else _HEADER.pack(0, 0, element_oid, 0, 0)[:12]
    )
