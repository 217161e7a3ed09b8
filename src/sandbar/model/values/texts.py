"""Keyword, symbol, uuid, uri and bytes: values that are text with a grammar.

Each has one canonical spelling; whatever is not exactly in its grammar is refused, not repaired.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from urllib.parse import urlsplit
from uuid import UUID

from sandbar.errors import Incorrect
from sandbar.keywords import parse_keyword
from sandbar.model.values.door import MAX_BYTES
from sandbar.model.values.refusals import refused
from sandbar.model.values.scalars import plain_text

MAX_URI_BYTES = 8 * 1024
MAX_BASE64 = (MAX_BYTES + 2) // 3 * 4

_SHORT = 256

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_UUID_EXAMPLE = '"0f8fad5b-d9cb-469f-a165-70867728950e"'
_URI_START = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:.", re.DOTALL)
_URI_BAD = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_URI_EXAMPLE = '"https://example.org/boots/1"'
_BYTES_EXAMPLE = '"aGVsbG8="'


def decode_keyword(value: object) -> str:
    """`status/open`, without a leading colon."""
    if type(value) is str and value.isascii() and "\0" not in value and len(value) <= _SHORT:
        return parse_keyword(value)
    return parse_keyword(plain_text(value, "a keyword", '"status/open"'))


def decode_symbol(value: object) -> str:
    """`my/name`: a keyword's grammar that never had a colon."""
    text = plain_text(value, "a symbol", '"core/inc"')
    if text.startswith(":"):
        raise refused("malformed", "a symbol, which has no colon", value, '"core/inc"')
    try:
        return parse_keyword(text)
    except Incorrect as problem:
        code = problem.code.removeprefix("keyword.")
        raise refused(code, "a symbol: name or ns/name", value, '"core/inc"') from None


def decode_uuid(value: object) -> str:
    """Lower-case text with hyphens."""
    if isinstance(value, UUID):
        return str(value)
    text = plain_text(value, "a uuid", _UUID_EXAMPLE).lower()
    if _UUID.fullmatch(text) is None:
        raise refused("malformed", "a uuid of 36 characters", value, _UUID_EXAMPLE)
    return text


def decode_uri(value: object) -> str:
    """An absolute URI, kept as written."""
    text = plain_text(value, "a uri", _URI_EXAMPLE, MAX_URI_BYTES)
    if _URI_BAD.search(text) is not None:
        raise refused("malformed", "a uri without white space", value, _URI_EXAMPLE)
    if _URI_START.match(text) is None:
        raise refused("malformed", "a uri that begins with a scheme", value, _URI_EXAMPLE)
    try:
        urlsplit(text)
    except ValueError:
        raise refused("malformed", "a well-formed uri", value, _URI_EXAMPLE) from None
    return text


def decode_bytes(value: object) -> str:
    """Base64 of the standard alphabet, padded."""
    if isinstance(value, bytes | bytearray | memoryview):
        if len(raw := bytes(value)) > MAX_BYTES:
            raise refused("too-long", "at most 1 MiB of bytes", value, _BYTES_EXAMPLE)
        return b64encode(raw).decode("ascii")
    text = plain_text(value, "bytes in base64", _BYTES_EXAMPLE, MAX_BASE64)
    try:
        raw = b64decode(text.encode(), validate=True)
    except Base64Error:
        raise refused("malformed", "padded standard base64", value, _BYTES_EXAMPLE) from None
    if len(raw) > MAX_BYTES:
        raise refused("too-long", "at most 1 MiB of bytes", value, _BYTES_EXAMPLE)
    if b64encode(raw).decode("ascii") != text:  # stray bits after the last byte
        raise refused("malformed", "canonical base64", value, _BYTES_EXAMPLE)
    return text
