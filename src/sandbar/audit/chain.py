"""The chain: what a seal says of the rows that it covers, and of the seal before it.

A seal's hash is taken over its own numbers, the hash of the seal before it, and a digest of its
rows. Each of them is written down as canonical JSON first, so there is one text for one content.
Whoever changes, adds, removes or swaps anything that is sealed has to make this seal and all after
it anew; then the last one, the head, is another, and whoever has kept the head elsewhere sees it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from sandbar.errors import Incorrect
from sandbar.model import AuditRow, Seal

GENESIS = bytes(32)  # stands where the first seal names the one before it
LAST_N = (1 << 53) - 1  # a run that has ended is sealed up to here: nothing can be added to it

_FORM = "sandbar-seal-1"
_HASH_BYTES = 32
_encoder = msgspec.json.Encoder()


class RowsDigest:
    """The digest of rows in ascending order; in how many pages they came makes no difference."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0

    def add(self, rows: Sequence[AuditRow]) -> None:
        """Take in the next rows."""
        self._hash.update(_encoder.encode_lines(map(AuditRow.sealed, rows)))
        self.count += len(rows)

    def digest(self) -> bytes:
        """The digest of all rows so far."""
        return self._hash.digest()


def seal_hash(ws: int, previous: bytes, seal: Seal, rows: RowsDigest) -> bytes:
    """What the hash of a seal has to be; the one that it carries is not looked at."""
    numbers = (seal.number, seal.run, seal.first_n, seal.last_n, seal.count, seal.at_us)
    link = (_FORM, ws, *numbers, previous.hex(), rows.digest().hex())
    return hashlib.sha256(_encoder.encode(link)).digest()


class Head(NamedTuple):
    """The last seal of a chain, as it is kept elsewhere."""

    number: int
    hash: bytes


def head_of(seal: Seal | None) -> str | None:
    """The head as text: number, colon, hash."""
    return None if seal is None else f"{seal.number}:{seal.hash.hex()}"


def read_head(text: str) -> Head:
    """The head behind its text, which may also be the last line of an export."""
    try:
        word = _ExportedHead.read(text) if text.lstrip().startswith("{") else text.strip()
        number, _, digits = word.partition(":")
        head = Head(int(number), bytes.fromhex(digits))
    except (ValueError, msgspec.MsgspecError) as error:
        raise _no_head() from error
    if head.number < 1 or len(head.hash) != _HASH_BYTES:
        raise _no_head()
    return head


class _ExportedHead(msgspec.Struct):
    head: str

    @classmethod
    def read(cls, line: str) -> str:
        return msgspec.json.decode(line, type=cls).head


def _no_head() -> Incorrect:
    return Incorrect(
        "audit.head-malformed",
        "this is no head of an audit chain",
        hint="a head is NUMBER:HASH with 64 hex digits, as `sandbar audit head` prints it",
    )
