"""HTTP answers: where one ends in a stream of bytes, and whether it is the one that was due.

A benchmark of errors says nothing, so every single answer of a round is checked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:\s*chunked", re.IGNORECASE)
_FAILED = re.compile(rb'"isError"\s*:\s*true|"error"\s*:\s*\{')
_SHOWN_BYTES = 600


class WrongAnswerError(Exception):
    """A server did not do what it is measured for."""


class Answer(NamedTuple):
    """One answer: its head, its body with the chunks put together, and where it ends."""

    head: bytes
    body: bytes
    end: int


def take_answer(received: bytes) -> Answer | None:
    """The first answer in what was received; None as long as a part of it is missing."""
    at = received.find(_HEAD_END)
    if at < 0:
        return None
    head, start = received[:at], at + len(_HEAD_END)
    length = _LENGTH.search(head)
    if length is not None:
        end = start + int(length[1])
        return Answer(head, received[start:end], end) if len(received) >= end else None
    if _CHUNKED.search(head) is None:
        raise WrongAnswerError(f"an answer of unknown length: {head[:_SHOWN_BYTES]!r}")
    return _take_chunks(head, received, start)


def _take_chunks(head: bytes, received: bytes, start: int) -> Answer | None:
    parts: list[bytes] = []
    while True:
        line_end = received.find(b"\r\n", start)
        if line_end < 0:
            return None
        size = int(received[start:line_end].partition(b";")[0], 16)
        start = line_end + 2
        if len(received) < start + size + 2:
            return None
        parts.append(received[start : start + size])
        start += size + 2
        if size == 0:
            return Answer(head, b"".join(parts), start)


def check(answer: Answer, expected: bytes) -> None:
    """Refuse whatever is not a success that contains the expected value."""
    is_success = answer.head.startswith(b"HTTP/1.1 200 ") and expected in answer.body
    if not is_success or _FAILED.search(answer.body) is not None:
        raise WrongAnswerError(
            f"expected {expected!r}, got {answer.head.partition(b' ')[2][:30]!r}"
            f" {answer.body[:_SHOWN_BYTES]!r}"
        )
